//! Servers over HTTP whose responses are unusual, as standards permit.

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{Json, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream;
use http::{HeaderMap, StatusCode, header};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::*;

const EVENTS: &str = "text/event-stream";

/// The result of each tool in the response to its call. `M` is the message, and `|` divides what is
/// sent at once.
const TOOLS: [(&str, &str, &str); 15] = [
    ("plain", EVENTS, "data: M\n\n"),
    ("name_alone", EVENTS, "data\n\nevent\ndata: M\n\n"),
    (
        "unknown_fields",
        EVENTS,
        "x: 1\ny\n: comment\n:\ndata: M\n\n",
    ),
    (
        "repeated_fields",
        EVENTS,
        "event: a\nevent: message\nid: 1\nid: 2\nretry: 5\nretry: 6\ndata: M\n\n",
    ),
    (
        "unusable_fields",
        EVENTS,
        "retry: soon\nid: a\0b\ndata: M\n\n",
    ),
    ("byte_order_mark", EVENTS, "\u{feff}data: M\r\n\r\n"),
    ("returns", EVENTS, "data: M\r\r"),
    (
        "cut_line_ends",
        EVENTS,
        "event: message\r|\ndata: M\r|\n\r|\n",
    ),
    ("other_event", EVENTS, "event: ping\ndata: M\n\ndata: M\n\n"),
    (
        "parameters",
        "Text/Event-Stream; charset=UTF-8",
        "data: M\n\n",
    ),
    ("json", "application/json", "M"),
    ("json_parameters", "Application/JSON; charset=utf-8", "M"),
    // As large as with a picture that models read.
    ("large_json", "application/json", "LARGE M"),
    // An id for events makes rmcp resume a stream that fails.
    ("too_long", EVENTS, "id: 1\n\nid: 2\ndata: LONG\n\n"),
    ("resumed", EVENTS, "id: 7\nretry: 1\n\n"),
];

fn tool_response(name: &str, id: &Value) -> Response {
    let (_, content_type, template) = TOOLS.iter().find(|tool| tool.0 == name).unwrap();
    let message = json!({ "jsonrpc": "2.0", "id": id, "result": {
        "content": [{ "type": "text", "text": "CUT" }] } });
    // As JavaScript writes half of a surrogate pair.
    let message = message.to_string().replace("CUT", r"cut \ud83d");
    let text = template.replace('M', &message);
    let text = text.replace("LARGE", &" ".repeat(5 * 1024 * 1024));
    let text = text.replace("LONG", &"x".repeat(7 * 1024 * 1024));
    let chunks: Vec<_> = text
        .split('|')
        .map(|chunk| Ok::<_, Infallible>(chunk.to_owned()))
        .collect();
    let body = Body::from_stream(stream::iter(chunks));
    ([(header::CONTENT_TYPE, *content_type)], body).into_response()
}

async fn answer(State(resumed): State<Arc<Resumed>>, Json(request): Json<Value>) -> Response {
    let id = &request["id"];
    *resumed.last_id.lock().unwrap() = id.clone();
    match request["method"].as_str().unwrap() {
        "initialize" | "tools/list" => {
            Json(answer_setup(&request, &TOOLS.map(|(name, ..)| name))).into_response()
        }
        "tools/call" => tool_response(request["params"]["name"].as_str().unwrap(), id),
        // A refusal that does not have the id, from something in front of the server.
        "server/discover" => (StatusCode::BAD_REQUEST, "Bad Request").into_response(),
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

/// Continues the stream of the tool `resumed`, and sends the event that is too long again.
async fn resume(State(resumed): State<Arc<Resumed>>, headers: HeaderMap) -> Response {
    if headers.get("last-event-id").is_some_and(|id| id == "7") {
        let id = resumed.last_id.lock().unwrap().clone();
        return tool_response("plain", &id);
    }
    resumed.long_events.fetch_add(1, Ordering::Relaxed);
    tool_response("too_long", &Value::Null)
}

/// The streams that a server resumes.
#[derive(Default)]
struct Resumed {
    /// The id of the last message.
    last_id: Mutex<Value>,
    /// How often the stream with an event that is too long was resumed.
    long_events: AtomicUsize,
}

/// A server whose responses are unusual.
struct Unusual {
    upstream: Upstream,
    resumed: Arc<Resumed>,
    _serving: AbortOnDropHandle<()>,
}

impl Unusual {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let resumed = Arc::<Resumed>::default();
        let router = Router::new().route("/mcp", post(answer).get(resume));
        let router = router.with_state(Arc::clone(&resumed));
        let serving = async move { axum::serve(listener, router).await.unwrap() };
        let serving = AbortOnDropHandle::new(tokio::spawn(serving));
        let upstream = upstream(json!({ "url": url }), None, &Arc::default(), None);
        upstream.start().await.unwrap();
        Self {
            upstream,
            resumed,
            _serving: serving,
        }
    }

    async fn call(&self, tool: &str) -> CallOutput {
        let context = SourceContext {
            user: "ada".to_owned(),
        };
        let call = self.upstream.call(tool, Map::new(), &context);
        timeout(Duration::from_secs(10), call).await.expect(tool)
    }
}

#[tokio::test]
async fn every_permitted_form_of_a_response_is_read() {
    let server = Unusual::start().await;
    for (tool, ..) in TOOLS.iter().filter(|tool| tool.0 != "too_long") {
        let output = server.call(tool).await;
        assert_eq!(output.text, "cut \u{fffd}", "{tool}: {output:?}");
        assert!(!output.is_error(), "{tool}");
    }
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_stream_with_an_event_that_is_too_long_fails_and_is_not_resumed() {
    let server = Unusual::start().await;
    let output = server.call("too_long").await;
    assert!(output.is_error(), "{output:?}");
    assert_eq!(server.resumed.long_events.load(Ordering::Relaxed), 0);
    for tool in ["plain", "resumed"] {
        assert_eq!(server.call(tool).await.text, "cut \u{fffd}", "{tool}");
    }
    server.upstream.stop().await;
}
