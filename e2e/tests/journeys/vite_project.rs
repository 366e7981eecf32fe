//! A Vite project imports the npm package without any configuration.

use std::process::Stdio;

use e2e::{
    Browser, Era, McpClient, NodeProject, ProcessGroup, TestBed, Transport, program_paths,
    with_deadline,
};
use serde_json::json;
use tokio::process::Command;

use crate::has;

#[tokio::test]
async fn works_under_vite_dev() {
    let project = vite_project().await;
    let mut server = vite(&project, &["--port", "0", "--host", "127.0.0.1"]);
    a_client_changes_the_page(&wait_for_url(&mut server).await).await;
}

#[tokio::test]
async fn works_after_vite_build() {
    let project = vite_project().await;
    vite(&project, &["build"]).wait_for_line("built in").await;
    let mut server = vite(&project, &["preview", "--port", "0", "--host", "127.0.0.1"]);
    a_client_changes_the_page(&wait_for_url(&mut server).await).await;
}

async fn a_client_changes_the_page(site: &str) {
    let world = TestBed::bridge().await;
    let browser = Browser::open().await;
    let (bridge, token) = (world.url(), world.token());
    browser
        .goto(&format!("{site}?bridge={bridge}&token={token}"))
        .await;
    browser
        .wait_for("mcpWeb.status.state === 'connected'")
        .await;

    let mut client = McpClient::connect(&world, Transport::Http, Era::Discover).await;
    client
        .wait_for_tools("it has `set_heading`", |tools| has(tools, "set_heading"))
        .await;
    let call = client.call("set_heading", json!({ "text": "Changed by a client" }));

    assert_ne!(call.await.unwrap().is_error, Some(true));
    browser
        .wait_for("document.querySelector('h1').textContent === 'Changed by a client'")
        .await;
}

/// A project with the SDK installed as npm installs a published package: packed and copied.
async fn vite_project() -> NodeProject {
    let project = NodeProject::copy_of("vite-app");
    let sdk = format!(
        "mcp-web-sdk@file:{}",
        program_paths::sdk_package().display()
    );
    let install = [
        "install",
        "--install-links",
        "--offline",
        "--no-audit",
        "--no-fund",
        &sdk,
    ];
    let mut npm = Command::new("npm");
    npm.args(install)
        .current_dir(project.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = with_deadline("npm install", npm.output())
        .await
        .expect("npm starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "npm install: {said}");
    project
}

fn vite(project: &NodeProject, arguments: &[&str]) -> ProcessGroup {
    let vite = program_paths::node_modules().join("vite/bin/vite.js");
    let vite = vite.display().to_string();
    project.node("vite", &[&[vite.as_str()], arguments].concat())
}

/// The URL that the server prints.
async fn wait_for_url(server: &mut ProcessGroup) -> String {
    let line = server.wait_for_line("http://127.0.0.1:").await;
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    url.expect("the line has a URL").to_owned()
}
