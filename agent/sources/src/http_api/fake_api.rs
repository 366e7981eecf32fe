//! A server that plays an API: it records requests, and answers each with the next response.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The server, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct FakeApi {
    pub(crate) url: String,
    script: Arc<Script>,
    _server: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Script {
    requests: Mutex<Vec<RecordedRequest>>,
    responses: Mutex<VecDeque<Response>>,
}

/// A request that the server has received.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) method: Method,
    /// The path with the query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl RecordedRequest {
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).map(|value| value.to_str().unwrap());
        value.unwrap_or_default()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl FakeApi {
    /// Starts a server. When it has sent all responses, it answers with the status 500.
    pub(crate) async fn start(responses: impl IntoIterator<Item = Response>) -> Self {
        let script = Arc::new(Script {
            responses: Mutex::new(responses.into_iter().collect()),
            ..Script::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&script));
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            script,
            _server: server,
        }
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.script.requests.lock().unwrap().clone()
    }

    /// Returns the only request.
    pub(crate) fn request(&self) -> RecordedRequest {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        requests[0].clone()
    }
}

async fn answer(State(script): State<Arc<Script>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let request = RecordedRequest {
        method: parts.method,
        target: parts.uri.to_string(),
        headers: parts.headers,
        body: to_bytes(body, 1 << 20).await.unwrap(),
    };
    script.requests.lock().unwrap().push(request);
    let response = script.responses.lock().unwrap().pop_front();
    response.unwrap_or_else(|| json_response(500, "{}"))
}

pub(crate) fn json_response(status: u16, body: &str) -> Response {
    response_with(status, &[], body.to_owned())
}

pub(crate) fn response_with(
    status: u16,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response {
    let response = Response::builder()
        .status(StatusCode::from_u16(status).unwrap())
        .header("content-type", "application/json");
    let response = headers.iter().fold(response, |response, (name, value)| {
        response.header(*name, *value)
    });
    response.body(body.into()).unwrap()
}
