//! A test server that sends exactly the text that a test passes to it, and returns exactly the text
//! that it receives. A server with types for messages would lose everything that its types lack.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::client::{Client, DEADLINE, Era};
use crate::server::{bind, free_port, url};

/// A server on a separate runtime. Dropping it closes all connections, like a killed process.
pub(crate) struct RawServer {
    runtime: Option<Runtime>,
    pub(crate) address: SocketAddr,
    requests: mpsc::UnboundedReceiver<ReceivedRequest>,
    /// Requests that arrived while the test waited for others.
    buffered: VecDeque<ReceivedRequest>,
}

/// An HTTP request that waits for its response.
pub(crate) struct ReceivedRequest {
    method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    respond: oneshot::Sender<Response>,
}

/// An event stream that is open.
pub(crate) struct EventStream(mpsc::Sender<Result<Bytes, Infallible>>);

impl RawServer {
    pub(crate) async fn start() -> Self {
        Self::start_on(free_port().await).await
    }

    pub(crate) async fn start_on(address: SocketAddr) -> Self {
        let (sender, requests) = mpsc::unbounded_channel();
        let runtime = Runtime::new().unwrap();
        let serving = runtime.spawn(async move {
            let listener = bind(address)
                .await
                .tap_io(|socket| socket.set_nodelay(true).unwrap());
            let routes = axum::Router::new()
                .fallback(receive_request)
                .with_state(sender);
            tokio::spawn(async move { axum::serve(listener, routes).await });
        });
        serving.await.unwrap();
        Self {
            runtime: Some(runtime),
            address,
            requests,
            buffered: VecDeque::new(),
        }
    }

    pub(crate) fn url(&self) -> String {
        url(self.address)
    }

    /// Waits for the next POST of a message with this method. Other requests are stored for later.
    pub(crate) async fn post(&mut self, method: &str) -> ReceivedRequest {
        self.wait_for(|request| request.method_name().as_deref() == Some(method))
            .await
    }

    /// Waits for the next POST of a reply or an error.
    pub(crate) async fn reply(&mut self) -> ReceivedRequest {
        self.wait_for(|request| request.method == Method::POST && request.method_name().is_none())
            .await
    }

    /// Waits for the GET of the MCP session's event stream.
    pub(crate) async fn get(&mut self) -> ReceivedRequest {
        self.wait_for(|request| request.method == Method::GET).await
    }

    /// Starts a client and waits until its session with this server is online. Returns the event
    /// stream of the MCP session, if there is one.
    pub(crate) async fn connect(
        &mut self,
        command: Command,
        era: Era,
    ) -> (Client, Option<EventStream>) {
        if era == Era::Session {
            let (client, events) =
                tokio::join!(Client::ready_with(command, era), self.begin_session());
            return (client, Some(events));
        }
        let mut client = Client::ready_with(command, era).await;
        let id = client.send_request("tools/list", json!({})).await;
        self.discover().await;
        let tools = json!({ "tools": [] });
        self.post("tools/list").await.answer(&tools);
        client.response(id).await;
        (client, None)
    }

    /// Answers the handshake of an MCP session and returns its event stream.
    pub(crate) async fn begin_session(&mut self) -> EventStream {
        self.initialize().await;
        self.post("notifications/initialized").await.accept();
        self.get().await.stream()
    }

    pub(crate) async fn initialize(&mut self) {
        self.post("initialize").await.answer(&initialize_result());
    }

    /// Answers the handshake of a client whose MCP session this server does not know. The client may
    /// ask for the event stream of that session first.
    pub(crate) async fn initialize_again(&mut self) {
        loop {
            let is_initialize =
                |request: &ReceivedRequest| request.method_name().as_deref() == Some("initialize");
            let is_either =
                |request: &ReceivedRequest| request.method == Method::GET || is_initialize(request);
            let request = self.wait_for(is_either).await;
            if is_initialize(&request) {
                return request.answer(&initialize_result());
            }
            request.json_with_status(404, "{}");
        }
    }

    /// Answers the handshake of the stateless era.
    pub(crate) async fn discover(&mut self) {
        let result = json!({ "supportedVersions": ["2026-07-28"] });
        self.post("server/discover").await.answer(&result);
    }

    /// Waits for a request that matches `predicate`. Others are stored for later.
    async fn wait_for(&mut self, predicate: impl Fn(&ReceivedRequest) -> bool) -> ReceivedRequest {
        if let Some(index) = self.buffered.iter().position(&predicate) {
            return self.buffered.remove(index).unwrap();
        }
        let request = timeout(DEADLINE, async {
            loop {
                let request = self.requests.recv().await.unwrap();
                if predicate(&request) {
                    return request;
                }
                self.buffered.push_back(request);
            }
        });
        request.await.expect("a request in time")
    }
}

fn initialize_result() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "serverInfo": { "name": "raw", "version": "1" },
    })
}

impl Drop for RawServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl ReceivedRequest {
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    /// Returns the method of the message. The message is not parsed as a whole, because a `Value`
    /// cannot represent every JSON text.
    fn method_name(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct WithMethod {
            method: Option<String>,
        }
        serde_json::from_str::<WithMethod>(&self.text).ok()?.method
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn accept(self) {
        self.respond(StatusCode::ACCEPTED.into_response());
    }

    /// Answers with a JSON body.
    pub(crate) fn json(self, text: &str) {
        let headers = [
            (header::CONTENT_TYPE.as_str(), "application/json"),
            ("mcp-session-id", "raw-session"),
        ];
        self.respond((headers, text.to_owned()).into_response());
    }

    /// Answers the message with a result.
    pub(crate) fn answer(self, result: &Value) {
        let id = &self.message()["id"];
        self.json(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ));
    }

    /// Answers with an HTTP status and a JSON body.
    pub(crate) fn json_with_status(self, status: u16, text: &str) {
        let status = StatusCode::from_u16(status).unwrap();
        let headers = [(header::CONTENT_TYPE, "application/json")];
        self.respond((status, headers, text.to_owned()).into_response());
    }

    /// Rejects the token with an HTTP status, a challenge and a JSON body.
    pub(crate) fn challenge(self, status: u16, challenge: &'static str, text: &'static str) {
        let status = StatusCode::from_u16(status).unwrap();
        let headers = [
            (header::CONTENT_TYPE, "application/json"),
            (header::WWW_AUTHENTICATE, challenge),
        ];
        self.respond((status, headers, text).into_response());
    }

    /// Answers with an event stream.
    pub(crate) fn stream(self) -> EventStream {
        let (sender, receiver) = mpsc::channel(16);
        let chunks = futures_util::stream::unfold(receiver, async |mut receiver| {
            Some((receiver.recv().await?, receiver))
        });
        let headers = [(header::CONTENT_TYPE, "text/event-stream")];
        self.respond((headers, Body::from_stream(chunks)).into_response());
        EventStream(sender)
    }

    fn respond(self, response: Response) {
        self.respond.send(response).unwrap();
    }
}

impl EventStream {
    pub(crate) async fn send(&self, text: &str) {
        let event = format!("event: message\ndata: {text}\n\n");
        self.0.send(Ok(event.into())).await.unwrap();
    }

    /// Sends an event without data, from which the stream can be resumed.
    pub(crate) async fn send_id(&self, id: &str) {
        let event = format!("id: {id}\ndata:\n\n");
        self.0.send(Ok(event.into())).await.unwrap();
    }

    /// Sends a comment, as a bridge does to show that it is there.
    pub(crate) async fn keep_alive(&self) {
        self.0.send(Ok(":\n\n".into())).await.unwrap();
    }

    /// Sends a message as chunks of one byte.
    pub(crate) async fn send_bytewise(&self, text: &str) {
        let event = format!("event: message\ndata: {text}\n\n");
        for byte in event.into_bytes() {
            self.0.send(Ok(vec![byte].into())).await.unwrap();
        }
    }

    /// Waits until the client has dropped the response.
    pub(crate) async fn closed(&self) {
        timeout(DEADLINE, self.0.closed())
            .await
            .expect("closed in time");
    }
}

async fn receive_request(
    State(sender): State<mpsc::UnboundedSender<ReceivedRequest>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let (respond, response) = oneshot::channel();
    let request = ReceivedRequest {
        method: parts.method,
        headers: parts.headers,
        text: String::from_utf8(body.to_vec()).unwrap(),
        respond,
    };
    // The test may have ended, or may drop the request without an answer.
    let _ = sender.send(request);
    response
        .await
        .unwrap_or_else(|_| StatusCode::NO_CONTENT.into_response())
}
