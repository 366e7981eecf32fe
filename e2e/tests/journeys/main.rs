//! Whole-system journeys: real bridge, real browser, real AI clients. One module per journey.
#![allow(clippy::unwrap_used)]

mod ask_ai;
mod ask_ai_guide;
mod bridge_restart;
mod browser_restrictions;
mod cancel;
mod cancel_while_asking;
mod client_conformance;
mod client_first;
mod conformance;
mod connected_clients;
mod connection_failures;
mod demo_page;
mod full_protocol;
mod guides;
mod large_results;
mod mcp_app;
mod no_wasm;
mod page_query;
mod page_unloaded;
mod pinned_session;
mod readme;
mod resource_subscription;
mod screenshots;
mod session_identity;
mod suspended_tab;
mod thousand_calls;
mod token_renewal;
mod tool_removed;
mod typescript_client;
mod v1_client;
mod v1_page;
mod v1_query;
mod vite_project;

use e2e::{Browser, Era, StaticSite, TestBed, Transport};

/// Every way in which an MCP client reaches a tool.
const EVERY_WAY: [(Transport, Era); 4] = [
    (Transport::Http, Era::Initialize),
    (Transport::Http, Era::Discover),
    (Transport::Stdio, Era::Initialize),
    (Transport::Stdio, Era::Discover),
];

/// The tools that are listed whatever page is connected.
const META_TOOLS: [&str; 5] = [
    "get_connection_status",
    "list_active_sessions",
    "list_session_tools",
    "call_session_tool",
    "get_result",
];

/// Opens the journeys' app in a new browser and waits until its tools are registered.
async fn open_app(site: &StaticSite, world: &TestBed) -> Browser {
    let browser = Browser::open().await;
    browser.goto(&site.app(world)).await;
    browser.wait_for("journey.ready").await;
    browser
}

fn has(tools: &[String], name: &str) -> bool {
    tools.iter().any(|tool| tool == name)
}
