//! Next with its two bundlers, and TypeScript: a client component that makes its `McpWeb` in the
//! module, and one that uses the hooks for React.

use std::fs;

use e2e::{Browser, Era, McpClient, TestBed, Transport};
use serde_json::json;

use crate::check_client_changes_page;
use crate::project::{Install, Project, within_build_time};
use crate::vite::url;

const ADDRESS: [&str; 4] = ["--port", "0", "--hostname", "127.0.0.1"];

/// How often the development server replaces the module that makes the `McpWeb`.
const HOT_UPDATES: u32 = 50;

#[tokio::test]
async fn dev_with_turbopack() {
    check_dev("--turbopack").await;
}

#[tokio::test]
async fn dev_with_webpack() {
    check_dev("--webpack").await;
}

#[tokio::test]
async fn build_with_turbopack() {
    check_build("--turbopack").await;
}

#[tokio::test]
async fn build_with_webpack() {
    check_build("--webpack").await;
}

/// Description and handler change, and no dependency of an effect.
#[tokio::test]
async fn hot_updates_leave_one_session_with_the_newest_tool() {
    let bed = TestBed::bridge().await;
    let project = project(&bed).await;
    let next = project.path().join("node_modules/next/dist/bin/next");
    let mut server = project.node(&next, &[&["dev"], &ADDRESS[..]].concat());
    let site = url(&mut server).await;
    compile_page(&site).await;
    let browser = Browser::open().await;
    browser.goto(&site).await;
    browser
        .wait_for("window.mcpWeb?.status.state === 'connected'")
        .await;
    let mut client = McpClient::connect(&bed, Transport::Http, Era::Initialize).await;
    let [heading, provider] =
        ["app/heading.tsx", "app/ai-provider.tsx"].map(|file| project.path().join(file));
    let source = fs::read_to_string(&heading).unwrap();
    let provider_source = fs::read_to_string(&provider).unwrap();
    for update in 1..=HOT_UPDATES {
        let edited = source
            .replace(
                "Changes the heading",
                &format!("Edit {update} changes the heading"),
            )
            .replace(
                "return { text }",
                &format!("return {{ text: `edit {update}: ${{text}}` }}"),
            );
        fs::write(&heading, edited).unwrap();
        // Every other update also runs `new McpWeb()` again.
        if update % 2 == 0 {
            fs::write(&provider, format!("{provider_source}// {update}\n")).unwrap();
        }
        client
            .wait_for_description("set_heading", &format!("Edit {update} changes"))
            .await;
    }
    let result = client.call("set_heading", json!({ "text": "x" })).await;
    let result = serde_json::to_value(result.unwrap()).unwrap();
    assert_eq!(
        result["structuredContent"]["text"], "edit 50: x",
        "{result}"
    );
    let sessions = client.call("list_sessions", json!({})).await.unwrap();
    let sessions = serde_json::to_value(sessions).unwrap()["structuredContent"]["sessions"].clone();
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
}

async fn check_dev(bundler: &str) {
    let bed = TestBed::bridge().await;
    let project = project(&bed).await;
    let next = project.path().join("node_modules/next/dist/bin/next");
    let mut server = project.node(&next, &[&["dev", bundler], &ADDRESS[..]].concat());
    let site = url(&mut server).await;
    compile_page(&site).await;
    check_client_changes_page(&bed, &site).await;
}

async fn check_build(bundler: &str) {
    let bed = TestBed::bridge().await;
    let project = project(&bed).await;
    let next = project.path().join("node_modules/next/dist/bin/next");
    project.run_node(&next, &["build", bundler]).await;
    let mut server = project.node(&next, &[&["start"], &ADDRESS[..]].concat());
    check_client_changes_page(&bed, &url(&mut server).await).await;
}

/// Lets the development server compile the page, which it does at the first request.
async fn compile_page(site: &str) {
    let response = within_build_time("the page to be compiled", reqwest::get(site)).await;
    response.unwrap().error_for_status().unwrap();
}

async fn project(bed: &TestBed) -> Project {
    let project = Project::new("next", Install::Npm).await;
    project.add_packages("next");
    project.write(".env", &format!("NEXT_PUBLIC_BRIDGE_URL={}\n", bed.url()));
    // The page has the token of the client, and shows the test its `McpWeb`.
    let provider = fs::read_to_string(project.path().join("app/ai-provider.tsx")).unwrap();
    let url = "bridgeUrl: process.env.NEXT_PUBLIC_BRIDGE_URL,\n});\n";
    assert!(provider.contains(url), "{provider}");
    let for_test = format!(
        "bridgeUrl: process.env.NEXT_PUBLIC_BRIDGE_URL,\n  authToken: {:?},\n}});\nObject.assign(globalThis, {{ mcpWeb }});\n",
        bed.token()
    );
    project.write("app/ai-provider.tsx", &provider.replace(url, &for_test));
    project
}
