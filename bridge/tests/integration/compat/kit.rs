//! A page as `@mcp-web/core` 0.1 makes it, frame by frame.

use bridge::{Compat, Config, ServerHandle};
use futures_util::SinkExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::kit::{
    Socket, TOKEN, close_going_away, http_client, next_frame, test_config, with_deadline,
};

/// A bridge that its pages and clients take for their own.
pub(crate) fn compat() -> Config {
    Config {
        compat: Some(Compat::McpWeb),
        ..test_config()
    }
}

/// The socket of a page.
pub(crate) struct CompatPage {
    socket: Socket,
}

impl CompatPage {
    /// An open socket that has said nothing yet.
    pub(crate) async fn open(bridge: &ServerHandle, session: &str) -> Self {
        Self::open_at(bridge, &format!("/?session={session}"), None)
            .await
            .unwrap()
    }

    /// The same at a path, from an origin.
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

    /// A page that was let in.
    pub(crate) async fn connect(bridge: &ServerHandle, session: &str) -> Self {
        Self::connect_with(bridge, session, json!({})).await
    }

    /// The same with more to say of itself.
    pub(crate) async fn connect_with(bridge: &ServerHandle, session: &str, more: Value) -> Self {
        let mut page = Self::open(bridge, session).await;
        page.authenticate(session, more).await;
        let welcome = page.recv().await;
        assert_eq!(welcome["type"], "authenticated", "{welcome}");
        page
    }

    /// Says who it is, as a page in a browser; `more` replaces or adds.
    pub(crate) async fn authenticate(&mut self, session: &str, more: Value) {
        let mut hello = json!({ "type": "authenticate", "sessionId": session, "authToken": TOKEN,
            "origin": "http://localhost:5173", "pageTitle": "A v1 page", "userAgent": "a browser",
            "timestamp": 1_700_000_000_000_u64 });
        for (key, value) in more.as_object().unwrap() {
            hello[key] = value.clone();
        }
        self.send(hello).await;
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

    /// The same until the bridge closes the connection.
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

    /// Puts a frame into the buffer, to be sent with the next.
    pub(crate) async fn feed(&mut self, frame: Value) {
        let frame = Message::Text(frame.to_string().into());
        self.socket.feed(frame).await.unwrap();
    }

    /// The next frame.
    pub(crate) async fn recv(&mut self) -> Value {
        match self.recv_frame().await {
            Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("no message but {other:?}"),
        }
    }

    /// The next frame that is no ping; `None` when the connection is over.
    pub(crate) async fn recv_frame(&mut self) -> Option<Message> {
        next_frame(&mut self.socket).await
    }

    /// The close frame, which must be next: its code and reason.
    pub(crate) async fn recv_close(&mut self) -> (u16, String) {
        match self.recv_frame().await {
            Some(Message::Close(Some(frame))) => (frame.code.into(), frame.reason.to_string()),
            other => panic!("no close frame but {other:?}"),
        }
    }

    /// The next call, which must be next.
    pub(crate) async fn recv_call(&mut self) -> Value {
        let call = self.recv().await;
        assert_eq!(call["type"], "tool-call", "{call}");
        call
    }

    /// Answers one call with its own input.
    pub(crate) async fn echo_call(&mut self) {
        let call = self.recv_call().await;
        self.respond(&call, call["toolInput"].clone()).await;
    }

    /// Waits until the bridge has read all that was said before this tool was registered.
    pub(crate) async fn wait_for_tool(&self, bridge: &ServerHandle, tool: &str) {
        let has = |session: &Value| {
            let tools = session["available_tools"].as_array();
            tools.is_some_and(|tools| tools.iter().any(|it| it == tool))
        };
        let fits = |answer: &Value| answer["sessions"].as_array().unwrap().iter().any(has);
        poll_until(bridge, "/sessions", fits).await;
    }

    /// Closes as a browser does when the document goes away.
    pub(crate) async fn close(mut self) {
        close_going_away(&mut self.socket).await;
    }
}

/// What `GET` answers at a path, as soon as it fits.
pub(crate) async fn poll_until(
    bridge: &ServerHandle,
    path: &str,
    fits: impl Fn(&Value) -> bool,
) -> Value {
    let get = async || {
        let request = http_client().get(format!("{}{path}", bridge.url()));
        let answer = request.bearer_auth(TOKEN).send().await.unwrap();
        answer.json::<Value>().await.unwrap()
    };
    let seen = async {
        loop {
            let answer = get().await;
            if fits(&answer) {
                return answer;
            }
        }
    };
    with_deadline(path, seen).await
}

/// The names of the tools of the only session, as soon as it has so many.
pub(crate) async fn wait_for_tools(bridge: &ServerHandle, many: usize) -> Vec<String> {
    let tools = |answer: &Value| {
        let tools = answer["sessions"][0]["available_tools"].as_array();
        tools.cloned().unwrap_or_default()
    };
    let answer = poll_until(bridge, "/sessions", |answer| tools(answer).len() == many).await;
    let name = |tool: &Value| tool.as_str().unwrap().to_owned();
    tools(&answer).iter().map(name).collect()
}

/// The sessions, as soon as there are so many.
pub(crate) async fn wait_for_sessions(bridge: &ServerHandle, many: usize) -> Vec<Value> {
    let fits = |answer: &Value| answer["sessions"].as_array().unwrap().len() == many;
    let answer = poll_until(bridge, "/sessions", fits).await;
    answer["sessions"].as_array().unwrap().clone()
}

/// A tool that any input fits.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "d", "inputSchema": { "type": "object",
        "properties": { "n": { "type": "integer" } } } })
}
