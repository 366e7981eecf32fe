//! An MCP client of few words.

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::{TOKEN, http_client, with_deadline};

/// An MCP client of the 2025 revisions, over HTTP by hand.
pub(crate) struct McpClient {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) session: String,
    /// Its `User-Agent`.
    user_agent: &'static str,
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

    /// A client that calls itself so.
    pub(crate) async fn connect_as(bridge: &ServerHandle, name: &str) -> Self {
        let mut client = Self::new(bridge, TOKEN, "");
        client.initialize(name, "2025-11-25", json!({})).await;
        client
    }

    /// A client whose requests have this `User-Agent`.
    pub(crate) async fn connect_with_user_agent(
        bridge: &ServerHandle,
        agent: &'static str,
        capabilities: Value,
    ) -> Self {
        let mut client = Self::new(bridge, TOKEN, agent);
        client
            .initialize("door-test", "2025-11-25", capabilities)
            .await;
        client
    }

    fn new(bridge: &ServerHandle, token: &str, user_agent: &'static str) -> Self {
        Self {
            url: format!("{}/mcp", bridge.url()),
            token: token.to_owned(),
            session: String::new(),
            user_agent,
            http: http_client(),
        }
    }

    /// A client of a revision, and the text that answered its `initialize`.
    pub(crate) async fn connect_with_revision(
        bridge: &ServerHandle,
        token: &str,
        version: &str,
        capabilities: Value,
    ) -> (Self, String) {
        let mut client = Self::new(bridge, token, "");
        let text = client.initialize("door-test", version, capabilities).await;
        (client, text)
    }

    /// Opens its session. The text that answered `initialize`.
    async fn initialize(&mut self, name: &str, version: &str, capabilities: Value) -> String {
        let params = json!({ "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": { "name": name, "version": "1.0.0" } });
        let response = self.post(&rpc_request(0, "initialize", params)).await;
        assert_eq!(response.status(), 200);
        self.session = response.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let text = with_deadline("answer", response.text()).await.unwrap();
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&initialized).await.status(), 202);
        text
    }

    pub(crate) async fn post(&self, message: &Value) -> reqwest::Response {
        self.post_text(message.to_string()).await
    }

    /// A message as it is written.
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
        if !self.user_agent.is_empty() {
            request = request.header("user-agent", self.user_agent);
        }
        with_deadline("HTTP answer", request.send()).await.unwrap()
    }

    pub(crate) async fn request(&self, method: &str, params: Value) -> Value {
        rpc_response(self.post(&rpc_request(1, method, params)).await).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
        .await
    }

    pub(crate) async fn tool_names(&self) -> Vec<String> {
        let answer = self.request("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Sends a request whose answer comes as a stream of events.
    pub(crate) async fn request_stream(&self, id: u64, method: &str, params: Value) -> EventStream {
        EventStream::new(self.post(&rpc_request(id, method, params)).await)
    }

    /// Sends a request whose answer takes its time.
    pub(crate) async fn start_request(&self, method: &str, params: Value) -> reqwest::Response {
        self.post(&rpc_request(1, method, params)).await
    }

    /// Ends the session.
    pub(crate) async fn delete_session(&self) -> reqwest::Response {
        let request = self
            .http
            .delete(&self.url)
            .bearer_auth(&self.token)
            .header("mcp-session-id", &self.session);
        with_deadline("HTTP answer", request.send()).await.unwrap()
    }

    /// Answers a request of the server.
    pub(crate) async fn respond(&self, asked: &Value, result: Value) {
        let response = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
        assert_eq!(self.post(&response).await.status(), 202);
    }

    /// Comes back to a stream after an event.
    pub(crate) async fn resume(&self, last_event: &str) -> EventStream {
        EventStream::new(self.get_after(last_event).await)
    }

    /// The answer to coming back to a stream after an event.
    pub(crate) async fn get_after(&self, last_event: &str) -> reqwest::Response {
        let request = self
            .http
            .get(&self.url)
            .bearer_auth(&self.token)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &self.session)
            .header("last-event-id", last_event);
        with_deadline("event stream", request.send()).await.unwrap()
    }

    /// The standalone stream of notifications.
    pub(crate) async fn listen(&self) -> reqwest::Response {
        let request = self
            .http
            .get(&self.url)
            .bearer_auth(&self.token)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &self.session);
        let response = with_deadline("event stream", request.send()).await.unwrap();
        assert_eq!(response.status(), 200);
        response
    }
}

pub(crate) fn rpc_request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The JSON-RPC answer in a response, be it JSON or an event stream.
pub(crate) async fn rpc_response(mut response: reqwest::Response) -> Value {
    if response.headers()["content-type"]
        .to_str()
        .unwrap()
        .starts_with("application/json")
    {
        return response.json().await.unwrap();
    }
    find_event(&mut response, |message| message.get("id").is_some()).await
}

/// Reads events until one fits.
pub(crate) async fn find_event(
    response: &mut reqwest::Response,
    fits: impl Fn(&Value) -> bool,
) -> Value {
    let (mut text, mut cut) = (String::new(), Vec::new());
    loop {
        let chunk = with_deadline("event", response.chunk()).await.unwrap();
        push_utf8(&mut text, &mut cut, &chunk.expect("the stream goes on"));
        while let Some((event, rest)) = text.split_once("\n\n") {
            let data = event.lines().find_map(|line| line.strip_prefix("data:"));
            let message = data.and_then(|data| serde_json::from_str::<Value>(data.trim()).ok());
            let rest = rest.to_owned();
            if let Some(message) = message.filter(&fits) {
                return message;
            }
            text = rest;
        }
    }
}

/// Chunks end anywhere, in the middle of a character too: what is cut waits for the next one.
fn push_utf8(text: &mut String, cut: &mut Vec<u8>, chunk: &[u8]) {
    cut.extend_from_slice(chunk);
    let whole = match std::str::from_utf8(cut) {
        Ok(all) => all.len(),
        Err(error) => error.valid_up_to(),
    };
    text.push_str(std::str::from_utf8(&cut[..whole]).unwrap());
    cut.drain(..whole);
}

/// A stream of events, read one by one.
pub(crate) struct EventStream {
    response: reqwest::Response,
    text: String,
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

    /// The next message; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let Some(id) = field("id:") {
                    self.last_id = Some(id.trim().to_owned());
                }
                let data = field("data:").and_then(|data| serde_json::from_str(data.trim()).ok());
                if data.is_some() {
                    return data;
                }
                continue;
            }
            let chunk = with_deadline("event", self.response.chunk()).await.ok()??;
            push_utf8(&mut self.text, &mut self.partial, &chunk);
        }
    }

    /// The id of the first event, which may have nothing in it.
    pub(crate) async fn first_event_id(&mut self) -> String {
        loop {
            let id = self.text.lines().find_map(|line| line.strip_prefix("id:"));
            if let Some(id) = id.filter(|_| self.text.contains("\n\n")) {
                return id.trim().to_owned();
            }
            let chunk = with_deadline("event", self.response.chunk()).await.unwrap();
            let chunk = chunk.expect("the stream goes on");
            push_utf8(&mut self.text, &mut self.partial, &chunk);
        }
    }

    /// Reads on to a message that fits.
    pub(crate) async fn find(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await.expect("the stream goes on");
            if fits(&message) {
                return message;
            }
        }
    }

    /// Reads on to a message with this method.
    pub(crate) async fn find_method(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method).await
    }

    /// Reads on to the answer of the request.
    pub(crate) async fn find_response(&mut self) -> Value {
        self.find(|message| message.get("result").is_some() || message.get("error").is_some())
            .await
    }
}
