//! The examples in `demo-app/examples`: the same app with the hooks of each framework.

use std::fs;
use std::path::Path;

use e2e::{Browser, Era, McpClient, NodeProject, ProcessGroup, TestBed, Transport, program_paths};
use serde_json::{Value, json};

use crate::{PageToken, has, open_with_page_token, vite, vite_preview, vite_url};

/// How often a client calls two tools one right after the other.
const CALLS_IN_A_ROW: usize = 20;

/// How often the development server replaces a module that the page uses.
const HOT_UPDATES: u32 = 50;

#[tokio::test]
async fn react() {
    check_example("react").await;
}

#[tokio::test]
async fn react_18() {
    let mut bed = TestBed::bridge().await;
    let project = example("react", &bed);
    project.install_react_18();
    check_project("react-18", &project, &mut bed).await;
}

#[tokio::test]
async fn vue() {
    check_example("vue").await;
}

#[tokio::test]
async fn svelte() {
    check_example("svelte").await;
}

/// The handler and the description of a tool change, and no dependency of an effect.
#[tokio::test]
async fn hot_updates_leave_one_session_with_the_newest_tool() {
    let mut bed = TestBed::bridge().await;
    let project = example("react", &bed);
    report_changes(project.path());
    let mut server = vite(&project, &["--port", "0", "--host", "127.0.0.1"]);
    let browser = Browser::open().await;
    open(&browser, &mut server, &mut bed).await;
    let mut client = McpClient::connect(&bed, Transport::Http, Era::Initialize).await;
    client
        .wait_for_tools("it has `add_item`", |tools| has(tools, "add_item"))
        .await;
    browser
        .eval("window.documentIsTheSame = true", json!(null))
        .await;

    let component = project.path().join("src/ShoppingList.tsx");
    let source = fs::read_to_string(&component).unwrap();
    for update in 1..=HOT_UPDATES {
        let edited = source
            .replace("Adds something to the", &format!("Edit {update} of the"))
            .replace(
                "`Added ${name}`",
                &format!("`Edit {update} added ${{name}}`"),
            );
        fs::write(&component, edited).unwrap();
        browser
            .eval("return fetch('/changed').then(() => null)", json!(null))
            .await;
        let expected = format!("Edit {update} of the shopping list");
        client.wait_for_description("add_item", &expected).await;
    }

    let result = client.call("add_item", json!({ "name": "Eggs" })).await;
    assert_eq!(text_of(&result.unwrap()), "Edit 50 added Eggs");
    assert_eq!(
        browser
            .eval("return window.documentIsTheSame", json!(null))
            .await,
        true,
        "the page was not loaded again"
    );
    let sessions = client.call("list_sessions", json!({})).await.unwrap();
    let sessions = serde_json::to_value(sessions).unwrap()["structuredContent"]["sessions"].clone();
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
}

/// Each block of code in a guide is a part of the example that the tests build and use.
#[test]
fn the_guides_show_parts_of_the_examples() {
    let workspace = program_paths::workspace();
    for name in ["react", "vue", "svelte"] {
        let mut sources = String::new();
        read_sources(
            &workspace.join("demo-app/examples").join(name).join("src"),
            &mut sources,
        );
        let guide = fs::read_to_string(workspace.join(format!("docs/{name}.md"))).unwrap();
        let blocks: Vec<_> = guide.split("\n```").skip(1).step_by(2).collect();
        assert!(
            blocks.len() >= 5,
            "docs/{name}.md has {} blocks",
            blocks.len()
        );
        for block in blocks {
            let (_, code) = block.split_once('\n').unwrap();
            assert!(
                sources.contains(&without_indentation(code)),
                "no source of the example {name} has this part:\n{code}"
            );
        }
    }
}

/// The guide for Next shows files of the project that the tests of the bundlers build and use.
#[test]
fn the_guide_for_next_shows_the_project_of_the_bundlers() {
    let workspace = program_paths::workspace();
    let guide = fs::read_to_string(workspace.join("docs/next.md")).unwrap();
    let shown = ["ai-provider.tsx", "heading.tsx"];
    for name in shown {
        let file = workspace.join("e2e/bundlers/next/app").join(name);
        let source = fs::read_to_string(file).unwrap();
        assert!(
            guide.contains(&format!("`app/{name}`")) && guide.contains(&format!("\n{source}```")),
            "docs/next.md does not show app/{name} as it is"
        );
    }
    assert_eq!(guide.matches("\n```tsx").count(), shown.len());
}

/// Adds the sources in a folder to a text, without indentation.
fn read_sources(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        sources.push_str(&without_indentation(&source));
        sources.push('\n');
    }
}

fn without_indentation(code: &str) -> String {
    let lines: Vec<_> = code.lines().map(str::trim).collect();
    lines.join("\n")
}

/// Builds an example, and uses its tools, its resource and its prompt as a client.
async fn check_example(name: &str) {
    let mut bed = TestBed::bridge().await;
    let project = example(name, &bed);
    check_project(name, &project, &mut bed).await;
}

async fn check_project(name: &str, project: &NodeProject, bed: &mut TestBed) {
    let mut server = vite_preview(project).await;
    let browser = Browser::open().await;
    open(&browser, &mut server, bed).await;

    let mut client = McpClient::connect(bed, Transport::Http, Era::Discover).await;
    client
        .wait_for_tools("it has both tools", |tools| {
            has(tools, "add_item") && has(tools, "mark_bought")
        })
        .await;
    let added = client
        .call("add_item", json!({ "name": "Eggs" }))
        .await
        .unwrap();
    assert_eq!(text_of(&added), "Added Eggs");
    browser
        .wait_for(
            "[...document.querySelectorAll('li')].some((item) => item.textContent === 'Eggs')",
        )
        .await;
    // The handler of the latest render has the current state of the page.
    let again = client
        .call("add_item", json!({ "name": "Eggs" }))
        .await
        .unwrap();
    assert_eq!(again.is_error, Some(true));
    assert_eq!(text_of(&again), "\"Eggs\" is on the list already");
    let description = "Marks something as bought. Still to buy: Milk, Eggs";
    client
        .wait_for_description("mark_bought", description)
        .await;

    for item in ["Milk", "Eggs"] {
        let marked = client
            .call("mark_bought", json!({ "name": item }))
            .await
            .unwrap();
        assert_ne!(marked.is_error, Some(true), "{}", text_of(&marked));
        let condition = format!(
            "[...document.querySelectorAll('li')].find((item) => item.textContent === '{item}').querySelector('input').checked"
        );
        browser.wait_for(&condition).await;
    }
    client
        .wait_for_tools("nothing is left to buy", |tools| !has(tools, "mark_bought"))
        .await;

    let list = client.read("shopping://list").await;
    let items: Value = serde_json::from_str(list["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        items,
        json!([{ "name": "Milk", "isBought": true }, { "name": "Eggs", "isBought": true }])
    );
    // The user unchecks an item, and the tool is back.
    browser
        .eval("document.querySelector('li input').click()", json!(null))
        .await;
    client
        .wait_for_description(
            "mark_bought",
            "Marks something as bought. Still to buy: Milk",
        )
        .await;
    // A result is sent after the definitions that its call has changed, so the next call meets them.
    for round in 0..CALLS_IN_A_ROW {
        let item = json!({ "name": format!("Item {round}") });
        client.call("add_item", item.clone()).await.unwrap();
        let marked = client.call("mark_bought", item).await.unwrap();
        assert_ne!(marked.is_error, Some(true), "{}", text_of(&marked));
    }
    browser.screenshot(&format!("example-{name}")).await;
}

/// Creates the project of an example whose page connects to the bridge of the test bed.
fn example(name: &str, bed: &TestBed) -> NodeProject {
    let project = NodeProject::copy_of_example(name);
    write_env(project.path(), &bed.url());
    project
}

/// Makes the development server reload a change as soon as it is notified: its file watcher loses events
/// that follow each other within some milliseconds.
fn report_changes(project: &Path) {
    let config = project.join("vite.config.ts");
    let text = fs::read_to_string(&config).unwrap();
    let plugin = r#"plugins: [react(), {
    name: "report-changes",
    configureServer(server) {
      server.middlewares.use("/changed", (request, response) => {
        server.watcher.emit("change", `${process.cwd()}/src/ShoppingList.tsx`);
        response.end();
      });
    },
  }], server: { watch: null }"#;
    assert!(text.contains("plugins: [react()]"), "{text}");
    fs::write(&config, text.replace("plugins: [react()]", plugin)).unwrap();
}

fn write_env(project: &Path, bridge: &str) {
    fs::write(project.join(".env"), format!("VITE_BRIDGE_URL={bridge}\n")).unwrap();
}

/// Opens the example in the browser and waits until it is connected.
async fn open(browser: &Browser, server: &mut ProcessGroup, bed: &mut TestBed) {
    let url = vite_url(server).await;
    let page = PageToken {
        connected: "document.querySelector('.status')?.textContent.trim().startsWith('connected')",
        token: "localStorage.getItem(Object.keys(localStorage).find((key) => key.startsWith('mcp-web:token:')))",
    };
    open_with_page_token(browser, &url, bed, page).await;
}

fn text_of(result: &impl serde::Serialize) -> String {
    let result = serde_json::to_value(result).unwrap();
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}
