//! A page of `@mcp-web/core` 0.1, which sends and receives frames one by one.

use bridge::{Compat, Config, ServerHandle};
use futures_util::SinkExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::kit::{
    Socket, TOKEN, close_going_away, next_frame, poll_json, post_tool_call, start_bridge,
    test_config, with_deadline, with_members,
};

/// The configuration of a bridge with `--compat mcp-web`.
pub(crate) fn compat_config() -> Config {
    Config {
        compat: Some(Compat::McpWeb),
        ..test_config()
    }
}

/// The connection of a page of mcp-web 0.1.
pub(crate) struct CompatPage {
    socket: Socket,
}

impl CompatPage {
    /// Opens the socket without sending anything.
    pub(crate) async fn open(bridge: &ServerHandle, session: &str) -> Self {
        Self::open_at(bridge, &format!("/?session={session}"), None)
            .await
            .unwrap()
    }

    /// Opens the socket at a path, with this `Origin` header.
    pub(crate) async fn open_at(
        bridge: &ServerHandle,
        path: &str,
        origin: Option<&str>,
    ) -> Result<Self, Error> {
        let url = format!("ws://{}{path}", bridge.local_addr());
        let mut request = url.into_client_request().unwrap();
        if let Some(origin) = origin {
            let origin = origin.parse().unwrap();
            request.headers_mut().insert("origin", origin);
        }
        let connecting = tokio_tungstenite::connect_async(request);
        let (socket, _) = with_deadline("upgrade", connecting).await?;
        Ok(Self { socket })
    }

    /// Opens the socket and authenticates.
    pub(crate) async fn connect(bridge: &ServerHandle, session: &str) -> Self {
        Self::connect_with(bridge, session, json!({})).await
    }

    /// Opens the socket and authenticates with these members added or replaced.
    pub(crate) async fn connect_with(bridge: &ServerHandle, session: &str, members: Value) -> Self {
        let mut page = Self::open(bridge, session).await;
        page.authenticate(session, members).await;
        let authenticated = page.recv().await;
        assert_eq!(authenticated["type"], "authenticated", "{authenticated}");
        page
    }

    /// Authenticates like a page in a browser, with these members added or replaced.
    pub(crate) async fn authenticate(&mut self, session: &str, members: Value) {
        let message = json!({ "type": "authenticate", "sessionId": session, "authToken": TOKEN,
            "origin": "http://localhost:5173", "pageTitle": "A compat page", "userAgent": "a browser",
            "timestamp": 1_700_000_000_000_u64 });
        self.send(with_members(message, members)).await;
    }

    pub(crate) async fn register_tool(&mut self, tool: Value) {
        self.send(json!({ "type": "register-tool", "tool": tool }))
            .await;
    }

    pub(crate) async fn register_resource(&mut self, resource: Value) {
        self.send(json!({ "type": "register-resource", "resource": resource }))
            .await;
    }

    pub(crate) async fn respond(&mut self, call: &Value, result: Value) {
        let id = &call["requestId"];
        self.send(json!({ "type": "tool-response", "requestId": id, "result": result }))
            .await;
    }

    pub(crate) async fn send(&mut self, frame: Value) {
        self.send_text(frame.to_string()).await;
    }

    /// Sends a frame, and returns whether the connection is still open.
    pub(crate) async fn try_send(&mut self, frame: Value) -> bool {
        self.send_frame(Message::Text(frame.to_string().into()))
            .await
            .is_ok()
    }

    pub(crate) async fn send_text(&mut self, text: String) {
        self.send_frame(Message::Text(text.into())).await.unwrap();
    }

    pub(crate) async fn send_frame(&mut self, message: Message) -> Result<(), Error> {
        self.socket.send(message).await
    }

    /// Buffers a frame, which is sent with the next one.
    pub(crate) async fn feed(&mut self, frame: Value) {
        let frame = Message::Text(frame.to_string().into());
        self.socket.feed(frame).await.unwrap();
    }

    /// The message in the next frame.
    pub(crate) async fn recv(&mut self) -> Value {
        match self.recv_frame().await {
            Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("expected a message, got {other:?}"),
        }
    }

    /// The next frame other than pings and pongs; `None` when the connection has ended.
    pub(crate) async fn recv_frame(&mut self) -> Option<Message> {
        next_frame(&mut self.socket).await
    }

    /// The code and reason of the close frame, which must be the next frame.
    pub(crate) async fn recv_close(&mut self) -> (u16, String) {
        match self.recv_frame().await {
            Some(Message::Close(Some(frame))) => (frame.code.into(), frame.reason.to_string()),
            other => panic!("expected a close frame, got {other:?}"),
        }
    }

    /// The tool call, which must be the next message.
    pub(crate) async fn recv_call(&mut self) -> Value {
        let call = self.recv().await;
        assert_eq!(call["type"], "tool-call", "{call}");
        call
    }

    /// Receives a tool call, which must be the next message, and responds with its own input.
    pub(crate) async fn echo_call(&mut self) {
        let call = self.recv_call().await;
        self.respond(&call, call["toolInput"].clone()).await;
    }

    /// Checks that a REST call of this tool reaches the page and returns.
    pub(crate) async fn assert_serves(&mut self, bridge: &ServerHandle, tool: &str) {
        let call = post_tool_call(bridge, tool, json!({}));
        let ((status, result), ()) = tokio::join!(call, self.echo_call());
        assert_eq!(status, 200, "{result}");
    }

    /// Waits until the bridge lists this tool, which shows that it has processed all earlier
    /// messages.
    pub(crate) async fn wait_for_tool(&self, bridge: &ServerHandle, tool: &str) {
        let has_tool = |session: &Value| {
            let tools = session["available_tools"].as_array();
            tools.is_some_and(|tools| tools.iter().any(|name| name == tool))
        };
        let is_listed = |body: &Value| body["sessions"].as_array().unwrap().iter().any(has_tool);
        poll_json(bridge, "/sessions", is_listed).await;
    }

    /// Closes the socket as a browser does for a closed document.
    pub(crate) async fn close(mut self) {
        close_going_away(&mut self.socket).await;
    }
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
pub(crate) async fn start_with_tool(name: &str) -> (ServerHandle, CompatPage) {
    let bridge = start_bridge().await;
    let mut page = CompatPage::connect(&bridge, "s").await;
    page.register_tool(tool(name)).await;
    wait_for_tools(&bridge, 1).await;
    (bridge, page)
}

/// A tool that takes an optional integer `n`.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "d", "inputSchema": { "type": "object",
        "properties": { "n": { "type": "integer" } } } })
}
