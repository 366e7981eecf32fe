//! Next with its two bundlers: a client component that makes its `McpWeb` in the module, and uses
//! the hooks for React.

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

/// Each update runs the module again, with its `new McpWeb()`.
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
    let page = project.path().join("app/page.js");
    let source = fs::read_to_string(&page).unwrap();
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
        fs::write(&page, edited).unwrap();
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
    let environment = format!(
        "NEXT_PUBLIC_BRIDGE_URL={}\nNEXT_PUBLIC_TOKEN={}\n",
        bed.url(),
        bed.token()
    );
    project.write(".env", &environment);
    project
}
