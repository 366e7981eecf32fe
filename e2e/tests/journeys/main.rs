//! Journeys through the whole system: real bridge, real browser, real AI clients. One module each.
#![allow(clippy::print_stderr, clippy::print_stdout)]
#![allow(clippy::unwrap_used)]

mod agent_tools;
mod agent_tools_guide;
mod agui;
mod ask_ai;
mod ask_ai_guide;
mod ask_element;
mod ask_features;
mod bridge_restart;
mod broken_output;
mod browser_restrictions;
mod cancel;
mod cancel_while_asking;
mod checkers;
mod client_conformance;
mod client_first;
mod conformance;
mod connected_clients;
mod connection_failures;
mod demo_order;
mod demo_page;
mod frameworks;
mod full_protocol;
mod guides;
mod hand_over;
mod large_results;
mod lowdefy;
mod lowdefy_attacks;
mod lowdefy_guide;
mod mcp_app;
mod native_guide;
mod native_page_tools;
mod native_program;
mod no_wasm;
mod node_app;
mod node_guide;
mod page_query;
mod page_tools;
mod page_unloaded;
mod person_only;
mod pinned_session;
mod plugins;
mod readme;
mod receipts;
mod resource_subscription;
mod schema_libraries;
mod screenshots;
mod session_identity;
mod several_bridges;
mod state_tools;
mod suspended_tab;
mod testing_kit;
mod thousand_calls;
mod token_renewal;
mod tool_removed;
mod two_users;
mod typescript_client;
mod v1_client;
mod v1_page;
mod v1_query;
mod webmcp;

use e2e::{
    BridgeEndpoint, Browser, Era, NodeProject, ProcessGroup, StaticSite, TestBed, Transport,
    program_paths,
};

/// All combinations with which an MCP client can reach a tool.
const TRANSPORTS_AND_ERAS: [(Transport, Era); 4] = [
    (Transport::Http, Era::Initialize),
    (Transport::Http, Era::Discover),
    (Transport::Stdio, Era::Initialize),
    (Transport::Stdio, Era::Discover),
];

/// The built-in tools, which are listed whether a page is connected or not.
const BUILTIN_TOOLS: [&str; 5] = [
    "get_connection_status",
    "list_active_sessions",
    "list_session_tools",
    "call_session_tool",
    "get_result",
];

/// Opens the app of the journeys in a new browser and waits until its tools are registered.
async fn open_app(site: &StaticSite, bed: &impl BridgeEndpoint) -> Browser {
    let browser = Browser::open().await;
    browser.goto(&site.app(bed)).await;
    browser.wait_for("journey.ready").await;
    browser
}

/// Opens a URL and sets the token of the test bed to the one that the page generated, which is the
/// value of `token`.
async fn open_with_page_token(browser: &Browser, url: &str, bed: &mut TestBed, page: PageToken) {
    browser.goto(url).await;
    browser.wait_for(page.connected).await;
    let token = format!("return {}", page.token);
    let token = browser.eval(&token, serde_json::json!(null)).await;
    bed.set_token(token.as_str().unwrap().to_owned());
}

/// How to find out that a page is connected, and the token that it generated.
struct PageToken {
    connected: &'static str,
    token: &'static str,
}

/// Returns the token in the entry of a client's configuration.
fn configured_token(server: &serde_json::Value) -> String {
    let header = server["headers"]["Authorization"].as_str();
    let token = header.and_then(|header| header.strip_prefix("Bearer "));
    token
        .expect("the configuration contains the token")
        .to_owned()
}

/// How long a command of a guide may take.
const COMMAND_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// Runs a command that ends, and returns what it prints to stdout. `script` is used in messages.
async fn stdout_of(mut command: tokio::process::Command, script: &str) -> String {
    let output = tokio::time::timeout(COMMAND_TIMEOUT, command.output()).await;
    let output = output.unwrap().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{stdout}{stderr}");
    stdout
}

/// Returns the code block in `language` of a Markdown document that contains `text`.
fn code_block<'a>(document: &'a str, language: &str, text: &str) -> &'a str {
    let fence = format!("\n```{language}\n");
    let blocks = document.split(&fence).skip(1);
    let mut blocks = blocks.filter_map(|rest| rest.split("\n```").next());
    let found = blocks.find(|block| block.contains(text));
    found.unwrap_or_else(|| panic!("there is no {language} block with {text:?}"))
}

/// Runs Vite in a project.
fn vite(project: &NodeProject, arguments: &[&str]) -> ProcessGroup {
    let vite = program_paths::node_modules().join("vite/bin/vite.js");
    let vite = vite.display().to_string();
    project.node("vite", &[&[vite.as_str()], arguments].concat())
}

/// Builds a project with Vite and serves the result.
async fn vite_preview(project: &NodeProject) -> ProcessGroup {
    vite(project, &["build"]).wait_for_line("built in").await;
    vite(project, &["preview", "--port", "0", "--host", "127.0.0.1"])
}

/// Waits until Vite has printed its URL.
async fn vite_url(server: &mut ProcessGroup) -> String {
    let line = server.wait_for_line("http://127.0.0.1:").await;
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    url.expect("the line has a URL").to_owned()
}

fn has(tools: &[String], name: &str) -> bool {
    tools.iter().any(|tool| tool == name)
}
