//! A bridge on a free port, a page, and an MCP client of few words.

use std::sync::LazyLock;
use std::time::Duration;

use bridge::{App, Config, Running};
use bridge_protocol::parts::{Assembler, Taken};
use bridge_protocol::{
    Authenticate, BridgeToPage, CallId, CallReceived, CallResponse, Definition, Kind, PageToBridge,
    Register, RegistrationId, SessionId, ToolCall,
};
use futures_util::{SinkExt, StreamExt};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

pub(crate) const TOKEN: &str = "token-of-the-test-page-0123456789";

/// No wait in these tests takes longer unless something is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for something that must happen.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .unwrap_or_else(|_| panic!("no {what} in time"))
}

pub(crate) fn on_free_port() -> Config {
    Config {
        bind: ([127, 0, 0, 1], 0).into(),
        ..Config::default()
    }
}

pub(crate) async fn bridge() -> Running {
    bridge_with(on_free_port()).await
}

pub(crate) async fn bridge_with(config: Config) -> Running {
    bridge::serve(config, App::default()).await.unwrap()
}

/// One for all tests. It keeps no connection: that would belong to the runtime of one test.
///
/// The bridge's reqwest has TLS: it wants a provider, and making a client reads the system's
/// certificate authorities.
pub(crate) fn http() -> reqwest::Client {
    static HTTP: LazyLock<reqwest::Client> = LazyLock::new(|| {
        let provider = rustls::crypto::ring::default_provider();
        provider.install_default().unwrap();
        let builder = reqwest::Client::builder().pool_max_idle_per_host(0);
        builder.no_proxy().build().unwrap()
    });
    HTTP.clone()
}

/// The socket of a page, message by message.
pub(crate) struct Page {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    assembler: Assembler,
}

impl Page {
    /// An open socket that has said nothing yet.
    pub(crate) async fn open(bridge: &Running, session: &str, origin: Option<&str>) -> Self {
        let url = format!("ws://{}/ws?session={session}", bridge.local_addr());
        let mut request = url.into_client_request().unwrap();
        if let Some(origin) = origin {
            request
                .headers_mut()
                .insert("origin", origin.parse().unwrap());
        }
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let (socket, _) = tokio_tungstenite::connect_async_with_config(request, Some(config), true)
            .await
            .unwrap();
        let assembler = Assembler::new(usize::MAX);
        Self { socket, assembler }
    }

    /// A page that was let in.
    pub(crate) async fn connect(bridge: &Running, session: &str, token: &str) -> Self {
        let mut page = Self::open(bridge, session, None).await;
        page.authenticate(session, token).await;
        let welcome = page.hear().await;
        assert!(
            matches!(welcome, BridgeToPage::Authenticated(_)),
            "{welcome:?}"
        );
        page
    }

    /// A page with tools, given as MCP tool objects.
    pub(crate) async fn with_tools(bridge: &Running, session: &str, tools: &[Value]) -> Self {
        let mut page = Self::connect(bridge, session, TOKEN).await;
        page.register(tools).await;
        page
    }

    pub(crate) async fn authenticate(&mut self, session: &str, token: &str) {
        let hello = hello(session, token);
        self.say(PageToBridge::Authenticate(hello)).await;
    }

    /// A page of an app, let in.
    pub(crate) async fn of_app(
        bridge: &Running,
        session: &str,
        app: &str,
        tools: &[Value],
    ) -> Self {
        Self::of_app_with(TOKEN, bridge, session, app, tools).await
    }

    pub(crate) async fn of_app_with(
        token: &str,
        bridge: &Running,
        session: &str,
        app: &str,
        tools: &[Value],
    ) -> Self {
        let mut page = Self::open(bridge, session, Some("http://localhost:5173")).await;
        let app = bridge_protocol::App {
            name: app.to_owned(),
            description: None,
            version: None,
            icon: None,
        };
        let hello = Authenticate {
            app: Some(app),
            session_name: Some("tab".to_owned()),
            ..hello(session, token)
        };
        page.say(PageToBridge::Authenticate(hello)).await;
        page.register(tools).await;
        page
    }
}

fn hello(session: &str, token: &str) -> Authenticate {
    Authenticate {
        protocol: Some(2),
        auth_token: Some(token.to_owned()),
        session_id: Some(SessionId::from(session)),
        session_name: None,
        origin: None,
        page_title: Some("Test page".to_owned()),
        document_id: Some(format!("document of {session}")),
        user_agent: None,
        app: None,
        timestamp: None,
    }
}

impl Page {
    pub(crate) async fn register(&mut self, tools: &[Value]) -> bridge_protocol::Registered {
        let tools: Vec<_> = tools
            .iter()
            .map(|tool| (Kind::Tool, tool.clone()))
            .collect();
        self.register_items(&tools).await
    }

    pub(crate) async fn register_items(
        &mut self,
        items: &[(Kind, Value)],
    ) -> bridge_protocol::Registered {
        let items = items
            .iter()
            .map(|(kind, definition)| Definition {
                kind: *kind,
                definition: raw(definition),
            })
            .collect();
        let registration_id = RegistrationId::from("r");
        self.say(PageToBridge::Register(Register {
            registration_id,
            items,
        }))
        .await;
        loop {
            if let BridgeToPage::Registered(answer) = self.hear().await {
                return answer;
            }
        }
    }

    pub(crate) async fn say(&mut self, message: PageToBridge) {
        self.send(Message::Text(message.encode().into()))
            .await
            .unwrap();
    }

    pub(crate) async fn send(&mut self, message: Message) -> Result<(), Error> {
        self.socket.send(message).await
    }

    pub(crate) async fn hear(&mut self) -> BridgeToPage {
        loop {
            let frame = match self.frame().await {
                Some(Message::Text(text)) => text,
                other => panic!("no message but {other:?}"),
            };
            if let Taken::Message(message) = self.assembler.take(&frame).unwrap() {
                return BridgeToPage::decode(&message).unwrap();
            }
        }
    }

    /// The next message, however long it takes; `None` when the connection is over.
    pub(crate) async fn idle(&mut self) -> Option<BridgeToPage> {
        loop {
            let frame = match self.socket.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                _ => return None,
            };
            if let Taken::Message(message) = self.assembler.take(&frame).unwrap() {
                return Some(BridgeToPage::decode(&message).unwrap());
            }
        }
    }

    /// The next frame that is no ping; `None` when the connection is over.
    pub(crate) async fn frame(&mut self) -> Option<Message> {
        loop {
            match soon("frame", self.socket.next()).await {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(message)) => return Some(message),
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// Reads on to the close frame: its code and reason.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.frame().await {
                Some(Message::Close(Some(frame))) => {
                    return (frame.code.into(), frame.reason.to_string());
                }
                Some(_) => {}
                None => panic!("the connection ended without a close frame"),
            }
        }
    }

    /// The next call, acknowledged.
    pub(crate) async fn call(&mut self) -> ToolCall {
        loop {
            if let BridgeToPage::ToolCall(call) = self.hear().await {
                let request_id = call.request_id.clone();
                self.say(PageToBridge::CallReceived(CallReceived { request_id }))
                    .await;
                return call;
            }
        }
    }

    pub(crate) async fn answer(&mut self, call: &ToolCall, result: Value) {
        self.respond(&call.request_id, result).await;
    }

    pub(crate) async fn respond(&mut self, call: &CallId, result: Value) {
        self.say(PageToBridge::CallResponse(CallResponse {
            request_id: call.clone(),
            result: Some(raw(&result)),
            content: None,
            structured_content: None,
            meta: None,
        }))
        .await;
    }

    /// Waits for a message that this picks.
    pub(crate) async fn hear_some<T>(&mut self, pick: impl Fn(BridgeToPage) -> Option<T>) -> T {
        loop {
            if let Some(picked) = pick(self.hear().await) {
                return picked;
            }
        }
    }

    /// Says a message as JSON.
    pub(crate) async fn say_json(&mut self, message: Value) {
        self.send(Message::Text(message.to_string().into()))
            .await
            .unwrap();
    }

    /// Answers one call with its own input.
    pub(crate) async fn echo(&mut self) {
        let call = self.call().await;
        let input = serde_json::from_str(call.tool_input.get()).unwrap();
        self.answer(&call, input).await;
    }

    /// Closes as a browser does when the document goes away.
    pub(crate) async fn go_away(mut self) {
        use tokio_tungstenite::tungstenite::protocol::CloseFrame;
        let frame = CloseFrame {
            code: 1001.into(),
            reason: "".into(),
        };
        self.send(Message::Close(Some(frame))).await.unwrap();
        while self.frame().await.is_some() {}
    }
}

pub(crate) fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

pub(crate) fn echo_tool() -> Value {
    json!({ "name": "echo", "description": "Says it again", "inputSchema": { "type": "object",
        "properties": { "n": { "type": "integer" } } } })
}

/// `POST /tool-call`: status and body.
pub(crate) async fn tool_call(bridge: &Running, tool: &str, input: Value) -> (u16, Value) {
    tool_call_at(&bridge.url(), tool, input).await
}

/// The same for a bridge that is stopped meanwhile.
pub(crate) async fn tool_call_at(bridge: &str, tool: &str, input: Value) -> (u16, Value) {
    let body = json!({ "toolName": tool, "toolInput": input });
    let response = http()
        .post(format!("{bridge}/tool-call"))
        .bearer_auth(TOKEN)
        .json(&body)
        .send();
    let response = soon("answer to /tool-call", response).await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

/// The text of a result's only block.
pub(crate) fn text_of(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {result}"))
}

/// An MCP client of the 2025 revisions, over HTTP by hand.
pub(crate) struct McpClient {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) session: String,
    http: reqwest::Client,
}

impl McpClient {
    pub(crate) async fn connect(bridge: &Running, token: &str) -> Self {
        Self::with_capabilities(bridge, token, json!({})).await
    }

    pub(crate) async fn with_capabilities(
        bridge: &Running,
        token: &str,
        capabilities: Value,
    ) -> Self {
        let url = format!("{}/mcp", bridge.url());
        let mut client = Self {
            url,
            token: token.to_owned(),
            session: String::new(),
            http: http(),
        };
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": { "name": "door-test", "version": "1.0.0" } });
        let response = client.post(&request(0, "initialize", params)).await;
        assert_eq!(response.status(), 200);
        client.session = response.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let _ = answer(response).await;
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.post(&initialized).await.status(), 202);
        client
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
        soon("HTTP answer", request.send()).await.unwrap()
    }

    pub(crate) async fn request(&self, method: &str, params: Value) -> Value {
        answer(self.post(&request(1, method, params)).await).await
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
    pub(crate) async fn stream(&self, id: u64, method: &str, params: Value) -> Events {
        Events::of(self.post(&request(id, method, params)).await)
    }

    /// Answers a request of the server.
    pub(crate) async fn respond(&self, asked: &Value, result: Value) {
        let response = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
        assert_eq!(self.post(&response).await.status(), 202);
    }

    /// Comes back to a stream after an event.
    pub(crate) async fn resume(&self, last_event: &str) -> Events {
        let request = self
            .http
            .get(&self.url)
            .bearer_auth(&self.token)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &self.session)
            .header("last-event-id", last_event);
        Events::of(soon("event stream", request.send()).await.unwrap())
    }

    /// The standalone stream of notifications.
    pub(crate) async fn listen(&self) -> reqwest::Response {
        let request = self
            .http
            .get(&self.url)
            .bearer_auth(&self.token)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &self.session);
        let response = soon("event stream", request.send()).await.unwrap();
        assert_eq!(response.status(), 200);
        response
    }
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The JSON-RPC answer in a response, be it JSON or an event stream.
pub(crate) async fn answer(mut response: reqwest::Response) -> Value {
    if response.headers()["content-type"]
        .to_str()
        .unwrap()
        .starts_with("application/json")
    {
        return response.json().await.unwrap();
    }
    event(&mut response, |message| message.get("id").is_some()).await
}

/// Reads events until one fits.
pub(crate) async fn event(
    response: &mut reqwest::Response,
    fits: impl Fn(&Value) -> bool,
) -> Value {
    let (mut text, mut cut) = (String::new(), Vec::new());
    loop {
        let chunk = soon("event", response.chunk()).await.unwrap();
        push_text(&mut text, &mut cut, &chunk.expect("the stream goes on"));
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
fn push_text(text: &mut String, cut: &mut Vec<u8>, chunk: &[u8]) {
    cut.extend_from_slice(chunk);
    let whole = match std::str::from_utf8(cut) {
        Ok(all) => all.len(),
        Err(error) => error.valid_up_to(),
    };
    text.push_str(std::str::from_utf8(&cut[..whole]).unwrap());
    cut.drain(..whole);
}

/// A stream of events, read one by one.
pub(crate) struct Events {
    response: reqwest::Response,
    text: String,
    cut: Vec<u8>,
    /// The id of the last event that had one.
    pub(crate) last_id: Option<String>,
}

impl Events {
    pub(crate) fn of(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        Self {
            response,
            text: String::new(),
            cut: Vec::new(),
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
            let chunk = soon("event", self.response.chunk()).await.ok()??;
            push_text(&mut self.text, &mut self.cut, &chunk);
        }
    }

    /// The id of the first event, which may have nothing in it.
    pub(crate) async fn primed(&mut self) -> String {
        loop {
            let id = self.text.lines().find_map(|line| line.strip_prefix("id:"));
            if let Some(id) = id.filter(|_| self.text.contains("\n\n")) {
                return id.trim().to_owned();
            }
            let chunk = soon("event", self.response.chunk()).await.unwrap();
            let chunk = chunk.expect("the stream goes on");
            push_text(&mut self.text, &mut self.cut, &chunk);
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
    pub(crate) async fn method(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method).await
    }

    /// Reads on to the answer of the request.
    pub(crate) async fn answer(&mut self) -> Value {
        self.find(|message| message.get("result").is_some() || message.get("error").is_some())
            .await
    }
}
