//! Whole-system journeys: real bridge, real browser, real AI clients. One module per journey.
#![allow(clippy::unwrap_used)]

mod ask_ai;
mod ask_guide;
mod asked_in_page;
mod bridge_restart;
mod cancel;
mod cancel_while_asking;
mod client_conformance;
mod client_first;
mod conformance;
mod connected_clients;
mod demo_page;
mod failures;
mod guides;
mod large_results;
mod mcp_app;
mod no_wasm;
mod page_unloaded;
mod pinned_session;
mod readme;
mod renewal;
mod screenshots;
mod suspended;
mod thousand_calls;
mod tool_removed;
mod typescript_client;
mod v1_client;
mod v1_page;
mod v1_query;
mod vite_project;
mod walls;
mod walls_session;
mod watched_resource;
mod whole_protocol;

use e2e::{Browser, Era, Leg, Site, World};

/// Every way in which an MCP client reaches a tool.
const EVERY_WAY: [(Leg, Era); 4] = [
    (Leg::Http, Era::Initialize),
    (Leg::Http, Era::Discover),
    (Leg::Stdio, Era::Initialize),
    (Leg::Stdio, Era::Discover),
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
async fn open_app(site: &Site, world: &World) -> Browser {
    let browser = Browser::open().await;
    browser.goto(&site.app(world)).await;
    browser.wait_for("journey.ready").await;
    browser
}

fn has(tools: &[String], name: &str) -> bool {
    tools.iter().any(|tool| tool == name)
}
