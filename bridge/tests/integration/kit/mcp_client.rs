//! An MCP client that sends individual HTTP requests, without a client library.

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::{CLIENT_NAME, Page, TOKEN, http_client, with_deadline};

/// An MCP client of the revisions before 2026-07-28, which have sessions.
pub(crate) struct McpClient {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) session: String,
    /// The `User-Agent` header, which is not sent if this is empty.
    user_agent: &'static str,
    /// The `X-Forwarded-For` header, which is not sent if this is empty.
    forwarded_for: String,
    http: reqwest::Client,
}

impl McpClient {
    pub(crate) async fn connect(bridge: &ServerHandle, token: &str) -> Self {
        Self::connect_with_capabilities(bridge, token, json!({})).await
    }

    pub(crate) async fn connect_with_capabilities(
        bridge: &ServerHandle,
        token: &str,
        capabilities: Value,
    ) -> Self {
        let (client, _) =
            Self::connect_with_revision(bridge, token, "2025-11-25", capabilities).await;
        client
    }

    /// Connects a client with this name in its `clientInfo`.
    pub(crate) async fn connect_as(bridge: &ServerHandle, name: &str) -> Self {
        let mut client = Self::new(bridge, TOKEN, "");
        client.initialize(name, "2025-11-25", json!({})).await;
        client
    }

    /// Connects a client that sends this `User-Agent`.
    pub(crate) async fn connect_with_user_agent(
        bridge: &ServerHandle,
        user_agent: &'static str,
        capabilities: Value,
    ) -> Self {
        let mut client = Self::new(bridge, TOKEN, user_agent);
        client
            .initialize(CLIENT_NAME, "2025-11-25", capabilities)
            .await;
        client
    }

    /// Connects a client of this revision, and returns it with the body of the response to
    /// `initialize`.
    pub(crate) async fn connect_with_revision(
        bridge: &ServerHandle,
        token: &str,
        revision: &str,
        capabilities: Value,
    ) -> (Self, String) {
        let mut client = Self::new(bridge, token, "");
        let body = client.initialize(CLIENT_NAME, revision, capabilities).await;
        (client, body)
    }

    /// Connects a client whose proxy names this address.
    pub(crate) async fn connect_from(bridge: &ServerHandle, token: &str, address: &str) -> Self {
        let mut client = Self::new(bridge, token, "");
        client.forwarded_for = address.to_owned();
        client
            .initialize(CLIENT_NAME, "2025-11-25", json!({}))
            .await;
        client
    }

    fn new(bridge: &ServerHandle, token: &str, user_agent: &'static str) -> Self {
        Self {
            url: format!("{}/mcp", bridge.url()),
            token: token.to_owned(),
            session: String::new(),
            user_agent,
            forwarded_for: String::new(),
            http: http_client(),
        }
    }

    /// Opens the MCP session, and returns the body of the response to `initialize`.
    async fn initialize(&mut self, name: &str, revision: &str, capabilities: Value) -> String {
        let info = json!({ "name": name, "version": "1.0.0" });
        let request = initialize_request(revision, capabilities, info);
        let response = self.post(&request).await;
        assert_eq!(response.status(), 200);
        self.session = response.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let body = with_deadline("body", response.text()).await.unwrap();
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&initialized).await.status(), 202);
        body
    }

    /// Sends `initialize` with the id of the session that the client has, and uses the new session.
    pub(crate) async fn initialize_again(&mut self) {
        self.initialize(CLIENT_NAME, "2025-11-25", json!({})).await;
    }

    pub(crate) async fn post(&self, message: &Value) -> reqwest::Response {
        self.post_text(message.to_string()).await
    }

    /// Posts the exact text of a message.
    pub(crate) async fn post_text(&self, message: String) -> reqwest::Response {
        let mut request = self
            .http
            .post(&self.url)
            .bearer_auth(&self.token)
            .header("content-type", "application/json")
            .body(message);
        request = request.header("accept", "application/json, text/event-stream");
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
        }
        if !self.forwarded_for.is_empty() {
            request = request.header("x-forwarded-for", &self.forwarded_for);
        }
        if !self.user_agent.is_empty() {
            request = request.header("user-agent", self.user_agent);
        }
        with_deadline("HTTP response", request.send())
            .await
            .unwrap()
    }

    /// Sends a request, and returns the JSON-RPC response.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Value {
        rpc_response(self.start_request(method, params).await).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
        .await
    }

    /// Checks that a call of `echo` reaches the page and returns.
    pub(crate) async fn assert_echo(&self, page: &mut Page) {
        let call = self.call("echo", json!({ "n": 1 }));
        let (answer, ()) = tokio::join!(call, page.echo_call());
        let content = &answer["result"]["structuredContent"];
        assert_eq!(content, &json!({ "n": 1 }), "{answer}");
    }

    /// Calls `get_result`, and returns the tool result.
    pub(crate) async fn get_result(&self, arguments: Value) -> Value {
        self.call("get_result", arguments).await["result"].take()
    }

    pub(crate) async fn tool_names(&self) -> Vec<String> {
        let response = self.request("tools/list", json!({})).await;
        let tools = response["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Sends a request whose response is an event stream.
    pub(crate) async fn request_stream(&self, id: u64, method: &str, params: Value) -> EventStream {
        EventStream::new(self.post(&rpc_request(id, method, params)).await)
    }

    /// Sends a request, and returns the HTTP response before its body has been read.
    pub(crate) async fn start_request(&self, method: &str, params: Value) -> reqwest::Response {
        self.post(&rpc_request(1, method, params)).await
    }

    /// Cancels the request with this id.
    pub(crate) async fn cancel_request(&self, id: u64) {
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": id, "reason": "changed my mind" } });
        assert_eq!(self.post(&cancel).await.status(), 202);
    }

    /// Ends the MCP session.
    pub(crate) async fn delete_session(&self) -> reqwest::Response {
        let request = self
            .http
            .delete(&self.url)
            .bearer_auth(&self.token)
            .header("mcp-session-id", &self.session);
        with_deadline("HTTP response", request.send())
            .await
            .unwrap()
    }

    /// Responds to a request of the server.
    pub(crate) async fn respond(&self, request: &Value, result: Value) {
        let response = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        assert_eq!(self.post(&response).await.status(), 202);
    }

    /// Resumes the stream that sent this event.
    pub(crate) async fn resume(&self, last_event: &str) -> EventStream {
        EventStream::new(self.get_after(last_event).await)
    }

    /// The HTTP response to an attempt to resume the stream that sent this event.
    pub(crate) async fn get_after(&self, last_event: &str) -> reqwest::Response {
        let request = self.stream_request().header("last-event-id", last_event);
        with_deadline("event stream", request.send()).await.unwrap()
    }

    /// Opens the standalone stream of notifications.
    pub(crate) async fn listen(&self) -> EventStream {
        let response = with_deadline("event stream", self.stream_request().send()).await;
        EventStream::new(response.unwrap())
    }

    fn stream_request(&self) -> reqwest::RequestBuilder {
        self.http
            .get(&self.url)
            .bearer_auth(&self.token)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &self.session)
    }
}

pub(crate) fn rpc_request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(crate) fn initialize_request(revision: &str, capabilities: Value, info: Value) -> Value {
    let params = json!({ "protocolVersion": revision, "capabilities": capabilities,
        "clientInfo": info });
    rpc_request(0, "initialize", params)
}

/// The JSON-RPC response in an HTTP response, whose body is JSON or an event stream.
pub(crate) async fn rpc_response(response: reqwest::Response) -> Value {
    if response.headers()["content-type"]
        .to_str()
        .unwrap()
        .starts_with("application/json")
    {
        return response.json().await.unwrap();
    }
    let mut events = EventStream::new(response);
    events.find(|message| message.get("id").is_some()).await
}

/// A stream of server-sent events.
pub(crate) struct EventStream {
    response: reqwest::Response,
    text: String,
    /// The bytes of an incomplete character at the end of the last chunk.
    partial: Vec<u8>,
    /// The id of the last event that had one.
    pub(crate) last_id: Option<String>,
}

impl EventStream {
    pub(crate) fn new(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        Self {
            response,
            text: String::new(),
            partial: Vec::new(),
            last_id: None,
        }
    }

    /// Returns the unchanged text of the next event, without comments; `None` at the end of the
    /// stream.
    pub(crate) async fn next_event(&mut self) -> Option<String> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if event.lines().all(|line| line.starts_with(':')) {
                    continue;
                }
                assert_one_line_per_field(&event);
                if let Some(id) = event_field(&event, "id") {
                    self.last_id = Some(id.to_owned());
                }
                return Some(event);
            }
            let chunk = with_deadline("event", self.response.chunk()).await.ok()??;
            self.push_utf8(&chunk);
        }
    }

    /// Appends a chunk. If it ends in the middle of a character, the incomplete part is stored
    /// until the next chunk.
    fn push_utf8(&mut self, chunk: &[u8]) {
        self.partial.extend_from_slice(chunk);
        let complete = match std::str::from_utf8(&self.partial) {
            Ok(all) => all.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = std::str::from_utf8(&self.partial[..complete]).unwrap();
        self.text.push_str(text);
        self.partial.drain(..complete);
    }

    /// The next message; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let event = self.next_event().await?;
            let data = event_field(&event, "data");
            let message = data.and_then(|data| serde_json::from_str(data).ok());
            if message.is_some() {
                return message;
            }
        }
    }

    /// The id of the first event, which may have no data.
    pub(crate) async fn first_event_id(&mut self) -> String {
        self.next_event().await.expect("the stream continues");
        self.last_id.clone().expect("the first event has an id")
    }

    /// Reads up to the first message for which the predicate holds.
    pub(crate) async fn find(&mut self, predicate: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await.expect("the stream continues");
            if predicate(&message) {
                return message;
            }
        }
    }

    /// Reads up to and including the next message with this method.
    pub(crate) async fn find_method(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method).await
    }

    /// Reads up to the response to the request.
    pub(crate) async fn find_response(&mut self) -> Value {
        self.find(|message| message.get("result").is_some() || message.get("error").is_some())
            .await
    }
}

/// Checks that no reader of lines breaks a field: some also end a line at these characters.
pub(crate) fn assert_one_line_per_field(event: &str) {
    let separators = ['\u{85}', '\u{2028}', '\u{2029}'];
    assert!(!event.contains(separators), "{event:?}");
}

/// The value of a field of a server-sent event.
pub(crate) fn event_field<'a>(event: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix(':');
    event.lines().find_map(value).map(str::trim)
}
