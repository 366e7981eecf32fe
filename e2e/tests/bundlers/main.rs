//! The npm package in real projects of bundlers and development servers. In each of them, an MCP
//! client calls a tool of the page in Chromium. `docs/bundlers.md` has the table.
#![allow(clippy::unwrap_used)]

mod document;
mod next;
mod project;
mod scripts;
mod vite;

use e2e::{Browser, Era, McpClient, TestBed, Transport};
use serde_json::json;

/// Opens the page at `site`, and lets an MCP client change it through its tool.
async fn check_client_changes_page(bed: &TestBed, site: &str) {
    let browser = Browser::open().await;
    let (bridge, token) = (bed.url(), bed.token());
    browser
        .goto(&format!("{site}?bridge={bridge}&token={token}"))
        .await;
    browser
        .wait_for("window.mcpWeb?.status.state === 'connected'")
        .await;
    let mut client = McpClient::connect(bed, Transport::Http, Era::Discover).await;
    client
        .wait_for_tools("it has `set_heading`", |tools| {
            tools.iter().any(|tool| tool == "set_heading")
        })
        .await;
    let call = client.call("set_heading", json!({ "text": "Changed by a client" }));
    assert_ne!(call.await.unwrap().is_error, Some(true));
    browser
        .wait_for("document.querySelector('h1').textContent === 'Changed by a client'")
        .await;
}
