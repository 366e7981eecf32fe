//! A Vite project imports the npm package without any configuration.

use std::process::Stdio;

use e2e::{Browser, Era, McpClient, NodeProject, TestBed, Transport, program_paths, with_deadline};
use serde_json::json;
use tokio::process::Command;

use crate::{has, vite, vite_preview, vite_url};

#[tokio::test]
async fn works_under_vite_dev() {
    let project = vite_project(&["--install-links"]).await;
    let mut server = vite(&project, &["--port", "0", "--host", "127.0.0.1"]);
    check_client_changes_page(&vite_url(&mut server).await).await;
}

#[tokio::test]
async fn works_after_vite_build() {
    let project = vite_project(&["--install-links"]).await;
    let mut server = vite_preview(&project).await;
    check_client_changes_page(&vite_url(&mut server).await).await;
}

/// As the README says. The development server does not serve the wasm of a linked folder.
#[tokio::test]
async fn works_under_vite_dev_as_a_linked_folder() {
    let project = vite_project(&[]).await;
    let mut server = vite(&project, &["--port", "0", "--host", "127.0.0.1"]);
    check_client_changes_page(&vite_url(&mut server).await).await;
}

#[tokio::test]
async fn works_after_vite_build_as_a_linked_folder() {
    let project = vite_project(&[]).await;
    let mut server = vite_preview(&project).await;
    check_client_changes_page(&vite_url(&mut server).await).await;
}

async fn check_client_changes_page(site: &str) {
    let bed = TestBed::bridge().await;
    let browser = Browser::open().await;
    let (bridge, token) = (bed.url(), bed.token());
    browser
        .goto(&format!("{site}?bridge={bridge}&token={token}"))
        .await;
    browser
        .wait_for("mcpWeb.status.state === 'connected'")
        .await;

    let mut client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    client
        .wait_for_tools("it has `set_heading`", |tools| has(tools, "set_heading"))
        .await;
    let call = client.call("set_heading", json!({ "text": "Changed by a client" }));

    assert_ne!(call.await.unwrap().is_error, Some(true));
    browser
        .wait_for("document.querySelector('h1').textContent === 'Changed by a client'")
        .await;
}

/// Creates a project with the SDK. npm links the folder, or with `--install-links` installs it like
/// a published package: packed and copied.
async fn vite_project(options: &[&str]) -> NodeProject {
    let project = NodeProject::copy_of("vite-app");
    let sdk = format!(
        "mcp-web-sdk@file:{}",
        program_paths::sdk_package().display()
    );
    let install = ["install", "--offline", "--no-audit", "--no-fund", &sdk];
    let mut npm = Command::new("npm");
    npm.args(install)
        .args(options)
        .current_dir(project.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = with_deadline("npm install", npm.output())
        .await
        .expect("npm starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "npm install: {errors}");
    project
}
