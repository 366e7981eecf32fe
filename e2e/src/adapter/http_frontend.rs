//! The HTTP side of the adapter: POST, GET and DELETE on one endpoint.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::Bytes;
use axum::extract::State;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::stream::{self, Stream};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::OnceCell;

use super::child::Child;
use super::routes::{Messages, RequestKey};

const SESSION_HEADER: &str = "mcp-session-id";
const VERSION_HEADER: &str = "mcp-protocol-version";
const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";

const CAPABILITIES_META: &str = "io.modelcontextprotocol/clientCapabilities";

type CommandFactory = Arc<dyn Fn() -> Command + Send + Sync>;

/// The children: one for each MCP session, and one for all stateless requests.
#[derive(Clone)]
pub(super) struct HttpFrontend(Arc<Inner>);

struct Inner {
    command: CommandFactory,
    sessions: Mutex<HashMap<String, Arc<Child>>>,
    next_session: AtomicU64,
    shared: OnceCell<Arc<Child>>,
}

impl fmt::Debug for HttpFrontend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpFrontend")
            .finish_non_exhaustive()
    }
}

impl HttpFrontend {
    pub(super) fn new(command: CommandFactory) -> Self {
        Self(Arc::new(Inner {
            command,
            sessions: Mutex::default(),
            next_session: AtomicU64::new(1),
            shared: OnceCell::new(),
        }))
    }

    pub(super) fn into_router(self) -> Router {
        let methods = post(handle_post).get(handle_get).delete(handle_delete);
        Router::new()
            .route("/mcp", methods)
            .with_state(self)
            .layer(axum::extract::DefaultBodyLimit::disable())
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Child>>> {
        self.0.sessions.lock().expect("no holder panics")
    }

    fn spawn(&self) -> Arc<Child> {
        Arc::new(Child::spawn((self.0.command)()))
    }

    fn session(&self, headers: &HeaderMap) -> Option<Result<Arc<Child>, Response>> {
        let id = headers.get(SESSION_HEADER)?.to_str().unwrap_or_default();
        let child = self.sessions().get(id).cloned();
        Some(child.ok_or_else(|| StatusCode::NOT_FOUND.into_response()))
    }

    /// Returns the child of all stateless requests, which is started for the first one. It receives
    /// `server/discover` first, which selects its era: it would otherwise reject a first request
    /// without `_meta` as that of a client that has not sent `initialize`.
    async fn shared(&self) -> Arc<Child> {
        let start = async || {
            let child = self.spawn();
            let meta = json!({
                VERSION_META: "2026-07-28",
                CAPABILITIES_META: {},
            });
            let (_, mut messages) = child
                .request(json!({
                    "jsonrpc": "2.0",
                    "id": 0,
                    "method": "server/discover",
                    "params": { "_meta": meta },
                }))
                .await;
            messages.recv().await;
            child
        };
        self.0.shared.get_or_init(start).await.clone()
    }
}

async fn handle_post(
    State(frontend): State<HttpFrontend>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return error_response(-32700, "the body is not JSON", Value::Null);
    };
    if let Some(id) = version_mismatch(&headers, &message) {
        return error_response(-32020, "MCP-Protocol-Version and _meta differ", id);
    }
    let is_request = message.get("id").is_some() && message.get("method").is_some();
    let meta_is_complete = has_required_meta(&message);
    let begins_session = message["method"] == "initialize" && !meta_is_complete;
    if begins_session {
        return start_session(&frontend, message).await;
    }
    let (child, stateless) = match frontend.session(&headers) {
        Some(Ok(child)) => (child, false),
        Some(Err(response)) => return response,
        None => (frontend.shared().await, true),
    };
    if !is_request {
        child.notify(message).await;
        return StatusCode::ACCEPTED.into_response();
    }
    let (key, messages) = child.request(message).await;
    let guard = DisconnectGuard {
        child,
        key,
        cancels: stateless,
    };
    respond(messages, guard, meta_is_complete).await
}

async fn start_session(frontend: &HttpFrontend, message: Value) -> Response {
    let child = frontend.spawn();
    let (key, messages) = child.request(message).await;
    let number = frontend.0.next_session.fetch_add(1, Ordering::Relaxed);
    let id = format!("adapter-session-{number}");
    frontend.sessions().insert(id.clone(), child.clone());
    let guard = DisconnectGuard {
        child,
        key,
        cancels: false,
    };
    let mut response = respond(messages, guard, true).await;
    let id = HeaderValue::from_str(&id).expect("the id is visible ASCII");
    response.headers_mut().insert(SESSION_HEADER, id);
    response
}

async fn handle_get(State(frontend): State<HttpFrontend>, headers: HeaderMap) -> Response {
    match frontend.session(&headers) {
        Some(Ok(child)) => Sse::new(event_stream(Vec::new(), child.listen(), None)).into_response(),
        Some(Err(response)) => response,
        None => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

async fn handle_delete(State(frontend): State<HttpFrontend>, headers: HeaderMap) -> Response {
    let id = headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok());
    let Some(id) = id else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    match frontend.sessions().remove(id) {
        Some(_) => StatusCode::NO_CONTENT.into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Responds with JSON and the matching status if the first message is the answer, and otherwise
/// with a stream.
async fn respond(
    mut messages: Messages,
    guard: DisconnectGuard,
    meta_is_complete: bool,
) -> Response {
    let Some(first) = messages.recv().await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    if first.get("method").is_none() {
        let status = if guard.cancels {
            http_status(&first, meta_is_complete)
        } else {
            StatusCode::OK
        };
        return (status, Json(first)).into_response();
    }
    Sse::new(event_stream(vec![first], messages, Some(guard))).into_response()
}

/// Returns the HTTP status that 2026-07-28 requires (basic/transports/streamable-http).
fn http_status(answer: &Value, meta_is_complete: bool) -> StatusCode {
    match answer["error"]["code"].as_i64() {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        Some(-32602) if !meta_is_complete => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Returns whether a request has the `_meta` that 2026-07-28 requires.
fn has_required_meta(message: &Value) -> bool {
    let meta = &message["params"]["_meta"];
    meta[VERSION_META].is_string() && meta[CAPABILITIES_META].is_object()
}

fn event_stream(
    first: Vec<Value>,
    messages: Messages,
    guard: Option<DisconnectGuard>,
) -> impl Stream<Item = Result<Event, Infallible>> + Send + 'static {
    let state = (first.into_iter(), messages, guard);
    stream::unfold(state, async |(mut first, mut messages, guard)| {
        let message = match first.next() {
            Some(message) => message,
            None => messages.recv().await?,
        };
        let event = Event::default().event("message").data(message.to_string());
        Some((Ok(event), (first, messages, guard)))
    })
}

/// Cancels a stateless request when its response is dropped before the answer.
struct DisconnectGuard {
    child: Arc<Child>,
    key: RequestKey,
    cancels: bool,
}

impl Drop for DisconnectGuard {
    fn drop(&mut self) {
        if self.cancels {
            self.child.cancel(self.key);
        }
    }
}

/// Returns the id of a request whose header and body name different protocol versions.
fn version_mismatch(headers: &HeaderMap, message: &Value) -> Option<Value> {
    let named = message
        .get("params")?
        .get("_meta")?
        .get(VERSION_META)?
        .as_str()?;
    let header = headers
        .get(VERSION_HEADER)
        .and_then(|version| version.to_str().ok());
    (header != Some(named)).then(|| message["id"].clone())
}

fn error_response(code: i64, message: &str, id: Value) -> Response {
    let error =
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
    (StatusCode::BAD_REQUEST, Json(error)).into_response()
}
