//! A small agent: it hears what it is asked, and each test says what it answers.

use std::io;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bridge::{Agent, Config, ServerHandle};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::{http_client, test_config, with_deadline};

/// A random UUID, as pages make them.
pub(crate) const UUID: &str = "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11";

/// What an agent was sent.
pub(crate) struct AgentRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    responder: oneshot::Sender<Response>,
}

impl AgentRequest {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The token of the query.
    pub(crate) fn query_token(&self) -> String {
        let token = &self.headers["mcp-web-query-token"];
        token.to_str().unwrap().to_owned()
    }

    pub(crate) fn respond(self, status: u16) {
        // The bridge may have given it up.
        let _ = self
            .responder
            .send(StatusCode::from_u16(status).unwrap().into_response());
    }

    /// Answers with a stream of events, which begins with the acceptance.
    pub(crate) async fn respond_with_stream(self) -> AgentEventStream {
        let uuid = self.json()["uuid"].as_str().unwrap().to_owned();
        let (sender, receiver) = mpsc::channel(8);
        let pieces = futures_util::stream::unfold(receiver, |mut receiver| async {
            Some((receiver.recv().await?, receiver))
        });
        let body = Body::from_stream(pieces);
        let answer = ([(CONTENT_TYPE, "text/event-stream")], body).into_response();
        let _ = self.responder.send(answer);
        let events = AgentEventStream { uuid, sender };
        events.send_event("query_accepted", json!({})).await;
        events
    }
}

/// The stream of events of a query. Dropping it ends it.
pub(crate) struct AgentEventStream {
    pub(crate) uuid: String,
    sender: mpsc::Sender<io::Result<Bytes>>,
}

impl AgentEventStream {
    /// One message, as a page hears it.
    pub(crate) async fn send_event(&self, kind: &str, more: Value) {
        let mut message = json!({ "type": kind, "uuid": self.uuid });
        for (key, value) in more.as_object().unwrap() {
            message[key] = value.clone();
        }
        self.send_raw(&format!("event: {kind}\ndata: {message}\n\n"))
            .await;
    }

    pub(crate) async fn send_text_progress(&self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        self.send_event("query_progress", json!({ "content": content }))
            .await;
    }

    /// Any text.
    pub(crate) async fn send_raw(&self, text: &str) {
        // The bridge may have given it up.
        let _ = self.sender.send(Ok(text.to_owned().into())).await;
    }

    /// The connection breaks.
    pub(crate) async fn break_off(self) {
        let _ = self.sender.send(Err(io::Error::other("cut"))).await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Nobody reads it any more.
    pub(crate) async fn wait_closed(&self) {
        with_deadline("end of the stream", self.sender.closed()).await;
    }
}

pub(crate) struct MockAgent {
    pub(crate) address: String,
    requests: mpsc::UnboundedReceiver<AgentRequest>,
    task: JoinHandle<()>,
}

impl Drop for MockAgent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl MockAgent {
    pub(crate) async fn start() -> Self {
        let (sender, requests) = mpsc::unbounded_channel();
        let router = axum::Router::new()
            .fallback(forward_request)
            .with_state(sender);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            requests,
            task,
        }
    }

    /// Settings of a bridge that asks it.
    pub(crate) fn config(&self) -> Config {
        Config {
            agent: Agent {
                agent_url: Some(self.address.parse().unwrap()),
                ..Agent::default()
            },
            ..test_config()
        }
    }

    pub(crate) async fn next_request(&mut self) -> AgentRequest {
        with_deadline("request to the agent", self.requests.recv())
            .await
            .unwrap()
    }

    /// Takes the next query.
    pub(crate) async fn accept_query(&mut self) -> AcceptedQuery {
        let sent = self.next_request().await;
        assert_eq!(sent.method, Method::PUT);
        let asked = sent.json();
        let token = sent.headers.get("mcp-web-query-token");
        let token = token.map(|token| token.to_str().unwrap().to_owned());
        sent.respond(200);
        AcceptedQuery {
            uuid: asked["uuid"].as_str().unwrap().to_owned(),
            token,
        }
    }

    /// Whether it has been sent anything that nobody has looked at.
    pub(crate) fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }
}

async fn forward_request(
    State(agent): State<mpsc::UnboundedSender<AgentRequest>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let (answer, answered) = oneshot::channel();
    let sent = AgentRequest {
        method: parts.method,
        path: parts.uri.to_string(),
        headers: parts.headers,
        body,
        responder: answer,
    };
    let _ = agent.send(sent);
    answered
        .await
        .unwrap_or_else(|_| StatusCode::OK.into_response())
}

/// A query that the agent has taken.
pub(crate) struct AcceptedQuery {
    pub(crate) uuid: String,
    pub(crate) token: Option<String>,
}

impl AcceptedQuery {
    /// A report, with the query's token if it has one.
    pub(crate) async fn report(
        &self,
        bridge: &ServerHandle,
        what: &str,
        body: Value,
    ) -> (u16, Value) {
        let request = report_request(bridge, &self.uuid, what).json(&body);
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        send_for_json(request).await
    }

    /// The same, which must be taken.
    pub(crate) async fn report_ok(&self, bridge: &ServerHandle, what: &str, body: Value) {
        let answer = self.report(bridge, what, body).await;
        assert_eq!(answer, (200, json!({ "success": true })), "{what}");
    }
}

/// A report on a query.
pub(crate) fn report_request(bridge: &ServerHandle, uuid: &str, what: &str) -> RequestBuilder {
    let method = match what {
        "progress" => Method::POST,
        _ => Method::PUT,
    };
    http_client().request(method, format!("{}/query/{uuid}/{what}", bridge.url()))
}

/// Status and body.
pub(crate) async fn send_for_json(request: RequestBuilder) -> (u16, Value) {
    let response = with_deadline("HTTP answer", request.send()).await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}
