//! A mock agent, which passes each request to the test; the test decides how to respond.

use std::io;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bridge::{Agent, Config, ServerHandle};
use bridge_protocol::{QUERY_CALLER_HEADER, QueryCaller};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::{http_client, test_config, with_deadline, with_members};

/// A random UUID, like those that pages generate.
pub(crate) const UUID: &str = "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11";

/// A request that the agent has received.
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

    /// The token of the query, which the bridge sends in a header.
    pub(crate) fn query_token(&self) -> String {
        let token = &self.headers["mcp-web-query-token"];
        token.to_str().unwrap().to_owned()
    }

    /// The caller of the query, from the header of the bridge.
    pub(crate) fn caller(&self) -> QueryCaller {
        let header = self.headers[QUERY_CALLER_HEADER].to_str().unwrap();
        QueryCaller::from_header(header).unwrap()
    }

    pub(crate) fn respond_with(self, response: impl IntoResponse) {
        // The bridge may have dropped the request.
        let _ = self.responder.send(response.into_response());
    }

    pub(crate) fn respond(self, status: u16) {
        self.respond_with(StatusCode::from_u16(status).unwrap());
    }

    /// Responds with a stream of events, which begins with the acceptance.
    pub(crate) async fn respond_with_stream(self) -> AgentEventStream {
        let uuid = self.json()["uuid"].as_str().unwrap().to_owned();
        let (sender, receiver) = mpsc::channel(8);
        let chunks = futures_util::stream::unfold(receiver, |mut receiver| async {
            Some((receiver.recv().await?, receiver))
        });
        let body = Body::from_stream(chunks);
        let response = ([(CONTENT_TYPE, "text/event-stream")], body).into_response();
        let _ = self.responder.send(response);
        let events = AgentEventStream { uuid, sender };
        events.send_event("query_accepted", json!({})).await;
        events
    }
}

/// The event stream of a query, which ends when this value is dropped.
pub(crate) struct AgentEventStream {
    pub(crate) uuid: String,
    sender: mpsc::Sender<io::Result<Bytes>>,
}

impl AgentEventStream {
    /// Sends an event with a message of this type and these members, which the page receives.
    pub(crate) async fn send_event(&self, kind: &str, members: Value) {
        let message = with_members(json!({ "type": kind, "uuid": self.uuid }), members);
        self.send_raw(&format!("event: {kind}\ndata: {message}\n\n"))
            .await;
    }

    pub(crate) async fn send_text_progress(&self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        self.send_event("query_progress", json!({ "content": content }))
            .await;
    }

    /// Sends text that need not be a valid event.
    pub(crate) async fn send_raw(&self, text: &str) {
        // The bridge may have closed the stream.
        let _ = self.sender.send(Ok(text.to_owned().into())).await;
    }

    /// Breaks the connection.
    pub(crate) async fn break_off(self) {
        let _ = self.sender.send(Err(io::Error::other("broken off"))).await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until the bridge has closed the stream.
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

    /// The configuration of a bridge that sends its queries to this agent.
    pub(crate) fn config(&self) -> Config {
        Config {
            agent: Agent {
                agent_url: vec![self.address.parse().unwrap()],
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

    /// Receives and accepts the next query.
    pub(crate) async fn accept_query(&mut self) -> AcceptedQuery {
        let request = self.next_request().await;
        assert_eq!(request.method, Method::PUT);
        let query = request.json();
        let token = request.headers.get("mcp-web-query-token");
        let token = token.map(|token| token.to_str().unwrap().to_owned());
        request.respond(200);
        AcceptedQuery {
            uuid: query["uuid"].as_str().unwrap().to_owned(),
            token,
        }
    }

    /// Receives the next request, which must be the cancellation of this query.
    pub(crate) async fn recv_cancellation(&mut self, uuid: &str) -> AgentRequest {
        let request = self.next_request().await;
        assert_eq!(request.method, Method::DELETE);
        assert_eq!(request.path, format!("/query/{uuid}"));
        assert!(request.body.is_empty());
        request
    }

    /// Whether the test has received all requests.
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
    let (responder, response) = oneshot::channel();
    let request = AgentRequest {
        method: parts.method,
        path: parts.uri.to_string(),
        headers: parts.headers,
        body,
        responder,
    };
    let _ = agent.send(request);
    response
        .await
        .unwrap_or_else(|_| StatusCode::OK.into_response())
}

/// A query that the agent has accepted.
pub(crate) struct AcceptedQuery {
    pub(crate) uuid: String,
    pub(crate) token: Option<String>,
}

impl AcceptedQuery {
    /// Sends a report with the query's token, if there is one, and returns the status and the body.
    pub(crate) async fn report(
        &self,
        bridge: &ServerHandle,
        report: &str,
        body: Value,
    ) -> (u16, Value) {
        let request = report_request(bridge, &self.uuid, report).json(&body);
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        send_for_json(request).await
    }

    /// Sends a report that the bridge must accept.
    pub(crate) async fn report_ok(&self, bridge: &ServerHandle, report: &str, body: Value) {
        let response = self.report(bridge, report, body).await;
        assert_eq!(response, (200, json!({ "success": true })), "{report}");
    }
}

/// The request that reports `progress`, `complete`, `fail` or `cancel` of a query, without a token.
pub(crate) fn report_request(bridge: &ServerHandle, uuid: &str, report: &str) -> RequestBuilder {
    let method = if report == "progress" {
        Method::POST
    } else {
        Method::PUT
    };
    http_client().request(method, format!("{}/query/{uuid}/{report}", bridge.url()))
}

/// Sends a request, and returns the status and the JSON body; the body is null if it is not JSON.
pub(crate) async fn send_for_json(request: RequestBuilder) -> (u16, Value) {
    let response = with_deadline("HTTP response", request.send())
        .await
        .unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}
