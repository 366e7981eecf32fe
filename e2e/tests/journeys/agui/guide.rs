//! docs/ask-ai.md, "Level 3: one protocol".

use std::fs;

use e2e::{
    Browser, ExchangeOutcome, FolderSite, Format, MockProvider, NodeProject, Script, TestBed, Turn,
    program_paths,
};
use serde_json::json;

use super::page::build;
use crate::code_block;

const GUIDE: &str = include_str!("../../../../docs/ask-ai.md");

/// Returns the arguments of the agent in the guide, without the URL of the bridge.
pub(super) fn agent_arguments() -> Vec<&'static str> {
    let command = code_block(GUIDE, "sh", "--allowed-origins");
    let (_, arguments) = command
        .split_once("--bridge-url http://localhost:3001 ")
        .unwrap();
    arguments.split_whitespace().collect()
}

/// Returns the command of the guide that copies the page of a client, with `PATH` and `copilotkit` in it.
pub(super) fn copy_command() -> &'static str {
    let steps = code_block(GUIDE, "sh", "cp PATH");
    steps.lines().next().unwrap()
}

fn level_3() -> &'static str {
    let (_, section) = GUIDE.split_once("## Level 3: one protocol\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    section
}

/// The steps of the guide. Only the ports, the key and the URL of the provider differ, and the
/// packages are those that xtask has installed.
#[tokio::test]
async fn from_an_empty_folder_to_a_client_of_ag_ui() {
    let provider = MockProvider::start(Script::new([
        Turn::from_text("Milk is missing.").call("add_item", json!({ "text": "Milk" })),
        Turn::from_text("Now you have it all."),
        Turn::from_text("You are ").pause_after(1).text("welcome."),
    ]))
    .await;
    let url = provider.base_url(Format::Anthropic);
    let variables = [
        ("MCP_WEB_AGENT_PROVIDER", "anthropic"),
        ("MCP_WEB_AGENT_BASE_URL", &url),
    ];
    let agent = code_block(level_3(), "sh", "mcp-web agent").replace("YOUR-KEY", MockProvider::KEY);
    let bridge = code_block(level_3(), "sh", "mcp-web bridge");
    let (bed, agent_host) = TestBed::from_two_shells(bridge, &agent, &variables).await;

    let project = NodeProject::empty_with_agui_packages("http-agent");
    let bridge_host = format!("localhost:{}", bed.address().port());
    let page = code_block(level_3(), "html", "HttpAgent")
        .replace("localhost:3001", &bridge_host)
        .replace("localhost:3003", &agent_host);
    fs::write(project.path().join("index.html"), page).unwrap();
    build(&project).await;
    let site = FolderSite::start(project.path().join("dist")).await;
    let browser = Browser::open().await;
    browser.goto(&site.url()).await;

    let press = "document.querySelector('#ask button').click()";
    browser.eval(press, json!(null)).await;
    wait_for_text(
        &browser,
        "#answer",
        "Milk is missing. [add_item] Now you have it all.",
    )
    .await;
    wait_for_text(&browser, "#list", "FlourMilk").await;
    let request = provider.wait_for_request(0).await.body.to_string();
    assert!(request.contains("Flour"), "the context is sent: {request}");

    browser.eval(press, json!(null)).await;
    wait_for_text(&browser, "#answer", "You are ").await;
    let request = provider.wait_for_request(2).await.body.to_string();
    assert!(request.contains("Now you have it all."), "{request}");
    let cancel = "document.querySelector('#cancel').click()";
    browser.eval(cancel, json!(null)).await;
    let exchange = provider.wait_for_end(2).await;
    assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
    assert_eq!(browser.console().await, [""; 0], "the console is empty");
}

/// Waits until the element has this text; a timeout reports the text that it has.
async fn wait_for_text(browser: &Browser, selector: &str, text: &str) {
    let shown = format!("document.querySelector('{selector}').textContent");
    let condition = format!("{shown} === {} || Promise.reject({shown})", json!(text));
    browser.wait_for(&condition).await;
}

#[test]
fn the_guide_links_the_tested_pages_with_their_versions() {
    let folder = program_paths::workspace().join("e2e/agui");
    for (page, package, name) in [
        ("http-agent/main.ts", "@ag-ui/client", "`@ag-ui/client`"),
        (
            "copilotkit/main.tsx",
            "@copilotkit/react-core",
            "CopilotKit",
        ),
        (
            "assistant-ui/main.tsx",
            "@assistant-ui/react",
            "assistant-ui",
        ),
    ] {
        let page = folder.join(page);
        assert!(page.is_file(), "{}", page.display());
        let link = page.strip_prefix(program_paths::workspace()).unwrap();
        assert!(GUIDE.contains(&format!("(../{})", link.display())));
        let manifest = page.with_file_name("package.json");
        let manifest: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(manifest).unwrap()).unwrap();
        let version = manifest["dependencies"][package].as_str().unwrap();
        assert!(
            GUIDE.contains(&format!("{name} {version}")),
            "{name} {version}"
        );
    }
}
