//! Pages of `@mcp-web/core` 0.1, and the messages that they receive of the bridge.

use std::ops::DerefMut;

use bridge::{Compat, Config, ServerHandle};
use raw_page::PageSocket;
pub(crate) use raw_page::V1Page;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Error;

use crate::kit::{TOKEN, poll_json, post_tool_call, start_bridge, test_config, with_members};

/// The configuration of a bridge with `--compat mcp-web`.
pub(crate) fn compat_config() -> Config {
    let mut config = test_config();
    config.compatibility.compat = Some(Compat::McpWeb);
    config
}

/// Connects a [`V1Page`] to the bridge of a test.
pub(crate) trait ConnectV1Page: DerefMut<Target = PageSocket> {
    /// Opens the socket without sending anything.
    async fn open(bridge: &ServerHandle, session: &str) -> V1Page {
        let path = format!("/?session={session}");
        V1Page::open_at(bridge, &path, None).await.unwrap()
    }

    /// Opens the socket at a path, with this `Origin` header.
    async fn open_at(
        bridge: &ServerHandle,
        path: &str,
        origin: Option<&str>,
    ) -> Result<V1Page, Error> {
        let origin = origin.map(|origin| ("origin", origin));
        V1Page::open_to(bridge.local_addr(), path, origin.as_slice()).await
    }

    /// Opens the socket and authenticates.
    async fn connect(bridge: &ServerHandle, session: &str) -> V1Page {
        V1Page::connect_with(bridge, session, json!({})).await
    }

    /// Opens the socket and authenticates with these members added or replaced.
    async fn connect_with(bridge: &ServerHandle, session: &str, members: Value) -> V1Page {
        let mut page = V1Page::open(bridge, session).await;
        page.authenticate(session, members).await;
        page.recv_authenticated().await;
        page
    }

    /// Authenticates like a page in a browser, with these members added or replaced.
    async fn authenticate(&mut self, session: &str, members: Value) {
        let message = json!({ "type": "authenticate", "sessionId": session, "authToken": TOKEN,
            "origin": "http://localhost:5173", "pageTitle": "A compat page", "userAgent": "a browser",
            "timestamp": 1_700_000_000_000_u64 });
        self.send_json(with_members(message, members)).await;
    }
}

impl ConnectV1Page for V1Page {}

/// Checks that a REST call of this tool reaches the page and returns.
pub(crate) async fn assert_serves(bridge: &ServerHandle, page: &mut V1Page, tool: &str) {
    let call = post_tool_call(bridge, tool, json!({}));
    let ((status, result), ()) = tokio::join!(call, page.echo_call());
    assert_eq!(status, 200, "{result}");
}

/// Waits until the bridge lists this tool, which shows that it has processed all earlier messages
/// of the page.
pub(crate) async fn wait_for_tool(bridge: &ServerHandle, tool: &str) {
    let has_tool = |session: &Value| {
        let tools = session["available_tools"].as_array();
        tools.is_some_and(|tools| tools.iter().any(|name| name == tool))
    };
    let is_listed = |body: &Value| body["sessions"].as_array().unwrap().iter().any(has_tool);
    poll_json(bridge, "/sessions", is_listed).await;
}

/// Waits until the only session has this number of tools, and returns their names.
pub(crate) async fn wait_for_tools(bridge: &ServerHandle, count: usize) -> Vec<String> {
    let tools = |body: &Value| {
        let tools = body["sessions"][0]["available_tools"].as_array();
        tools.cloned().unwrap_or_default()
    };
    let body = poll_json(bridge, "/sessions", |body| tools(body).len() == count).await;
    let name = |tool: &Value| tool.as_str().unwrap().to_owned();
    tools(&body).iter().map(name).collect()
}

/// Waits until there is this number of sessions, and returns them.
pub(crate) async fn wait_for_sessions(bridge: &ServerHandle, count: usize) -> Vec<Value> {
    let has_count = |body: &Value| body["sessions"].as_array().unwrap().len() == count;
    let body = poll_json(bridge, "/sessions", has_count).await;
    body["sessions"].as_array().unwrap().clone()
}

/// Starts a bridge without `--compat`, and a page that has registered [`tool`] with this name.
pub(crate) async fn start_with_tool(name: &str) -> (ServerHandle, V1Page) {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool(name)).await;
    wait_for_tools(&bridge, 1).await;
    (bridge, page)
}

/// A tool that takes an optional integer `n`.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "d", "inputSchema": { "type": "object",
        "properties": { "n": { "type": "integer" } } } })
}
