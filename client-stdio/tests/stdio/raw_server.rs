//! A server that says word for word what a test tells it to, and shows word for word what it hears:
//! servers with a model of the protocol can neither send nor see what their model does not know.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use serde::Deserialize;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::client::DEADLINE;
use crate::server::{bind, free_port, url};

/// On a runtime of its own: dropping it cuts every connection, like a killed process.
pub(crate) struct RawServer {
    runtime: Option<Runtime>,
    pub(crate) address: SocketAddr,
    requests: mpsc::UnboundedReceiver<ReceivedRequest>,
    /// Read while waiting for something else.
    buffered: VecDeque<ReceivedRequest>,
}

/// A request of HTTP that waits for its response.
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
        let (hear, heard) = mpsc::unbounded_channel();
        let runtime = Runtime::new().unwrap();
        let serving = runtime.spawn(async move {
            let listener = bind(address)
                .await
                .tap_io(|socket| socket.set_nodelay(true).unwrap());
            let routes = axum::Router::new()
                .fallback(receive_request)
                .with_state(hear);
            tokio::spawn(async move { axum::serve(listener, routes).await });
        });
        serving.await.unwrap();
        Self {
            runtime: Some(runtime),
            address,
            requests: heard,
            buffered: VecDeque::new(),
        }
    }

    pub(crate) fn url(&self) -> String {
        url(self.address)
    }

    /// The next POST of a message with this method. Other requests are kept for later.
    pub(crate) async fn post(&mut self, method: &str) -> ReceivedRequest {
        self.wait_for(|heard| heard.method_name().as_deref() == Some(method))
            .await
    }

    /// The next POST of a reply or an error.
    pub(crate) async fn reply(&mut self) -> ReceivedRequest {
        self.wait_for(|heard| heard.method == Method::POST && heard.method_name().is_none())
            .await
    }

    /// The GET of the MCP session's event stream.
    pub(crate) async fn get(&mut self) -> ReceivedRequest {
        self.wait_for(|heard| heard.method == Method::GET).await
    }

    /// Lets a client of the session era in and gives the stream of its MCP session.
    pub(crate) async fn begin_session(&mut self) -> EventStream {
        self.initialize().await;
        self.post("notifications/initialized").await.accept();
        self.get().await.stream()
    }

    pub(crate) async fn initialize(&mut self) {
        let result = serde_json::json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": { "name": "raw", "version": "1" },
        });
        self.post("initialize").await.answer(&result);
    }

    /// Lets a client of the stateless era in.
    pub(crate) async fn discover(&mut self) {
        let result = serde_json::json!({ "supportedVersions": ["2026-07-28"] });
        self.post("server/discover").await.answer(&result);
    }

    async fn wait_for(&mut self, wanted: impl Fn(&ReceivedRequest) -> bool) -> ReceivedRequest {
        if let Some(at) = self.buffered.iter().position(&wanted) {
            return self.buffered.remove(at).unwrap();
        }
        loop {
            let heard = timeout(DEADLINE, self.requests.recv()).await;
            let heard = heard.expect("heard in time").unwrap();
            if wanted(&heard) {
                return heard;
            }
            self.buffered.push_back(heard);
        }
    }
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

    /// The method of the message, which may hold what no `Value` can.
    fn method_name(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Named {
            method: Option<String>,
        }
        serde_json::from_str::<Named>(&self.text).ok()?.method
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn accept(self) {
        self.respond(StatusCode::ACCEPTED.into_response());
    }

    /// Answers with one JSON body.
    pub(crate) fn json(self, text: &str) {
        let headers = [
            (header::CONTENT_TYPE.as_str(), "application/json"),
            ("mcp-session-id", "raw-session"),
        ];
        self.respond((headers, text.to_owned()).into_response());
    }

    /// Answers with a result, as an MCP session.
    pub(crate) fn answer(self, result: &Value) {
        let id = &self.message()["id"];
        self.json(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ));
    }

    /// Refuses with a status and a body.
    pub(crate) fn refuse(self, status: u16, text: &str) {
        let status = StatusCode::from_u16(status).unwrap();
        let headers = [(header::CONTENT_TYPE, "application/json")];
        self.respond((status, headers, text.to_owned()).into_response());
    }

    /// Refuses the token, with a challenge.
    pub(crate) fn challenge(self, status: u16, challenge: &'static str, text: &'static str) {
        let status = StatusCode::from_u16(status).unwrap();
        let headers = [
            (header::CONTENT_TYPE, "application/json"),
            (header::WWW_AUTHENTICATE, challenge),
        ];
        self.respond((status, headers, text).into_response());
    }

    /// Answers with a stream of events.
    pub(crate) fn stream(self) -> EventStream {
        let (events, messages) = mpsc::channel(16);
        let messages = futures_util::stream::unfold(messages, async |mut messages| {
            Some((messages.recv().await?, messages))
        });
        let headers = [(header::CONTENT_TYPE, "text/event-stream")];
        self.respond((headers, Body::from_stream(messages)).into_response());
        EventStream(events)
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

    /// Sends a message byte by byte.
    pub(crate) async fn send_in_pieces(&self, text: &str) {
        let event = format!("event: message\ndata: {text}\n\n");
        for byte in event.into_bytes() {
            self.0.send(Ok(vec![byte].into())).await.unwrap();
        }
    }

    /// Waits until nobody reads any more.
    pub(crate) async fn closed(&self) {
        timeout(DEADLINE, self.0.closed())
            .await
            .expect("hung up in time");
    }
}

async fn receive_request(
    State(hear): State<mpsc::UnboundedSender<ReceivedRequest>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let (respond, response) = oneshot::channel();
    let heard = ReceivedRequest {
        method: parts.method,
        headers: parts.headers,
        text: String::from_utf8(body.to_vec()).unwrap(),
        respond,
    };
    // The test may have ended, or not want to answer.
    let _ = hear.send(heard);
    response
        .await
        .unwrap_or_else(|_| StatusCode::NO_CONTENT.into_response())
}
