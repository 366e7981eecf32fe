//! Servers over HTTP whose responses are unusual, as standards permit.

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{Json, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::{TryStreamExt, stream};
use http::{HeaderMap, StatusCode, header};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpPostResponse,
};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::mcp::upstream::mcp_http_client::{HttpError, McpHttpClient};

const EVENTS: &str = "text/event-stream";

/// The result of each tool in the response to its call. `M` is the message, and `|` divides what is
/// sent at once.
const TOOLS: [(&str, &str, &str); 16] = [
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
    ("too_long_without_id", EVENTS, "data: LONG\n\n"),
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

/// Continues the stream of the tool `resumed`, and sends an event that is too long in every other one.
async fn resume(State(resumed): State<Arc<Resumed>>, headers: HeaderMap) -> Response {
    let last_event_id = headers.get("last-event-id");
    if last_event_id.is_some_and(|id| id == "7") {
        let id = resumed.last_id.lock().unwrap().clone();
        return tool_response("plain", &id);
    }
    resumed.long_events.fetch_add(1, Ordering::Relaxed);
    let tool = match last_event_id {
        Some(_) => "too_long",
        None => "too_long_without_id",
    };
    tool_response(tool, &Value::Null)
}

/// The streams that a server resumes.
#[derive(Default)]
struct Resumed {
    /// The id of the last message.
    last_id: Mutex<Value>,
    /// How often a stream with an event that is too long was opened.
    long_events: AtomicUsize,
}

/// A server whose responses are unusual.
struct Unusual {
    url: String,
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
        let upstream = upstream(json!({ "url": &url }), None, &Arc::default(), None);
        upstream.start().await.unwrap();
        Self {
            url,
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
    for (tool, ..) in TOOLS.iter().filter(|it| !it.0.starts_with("too_long")) {
        let output = server.call(tool).await;
        assert_eq!(output.text, "cut \u{fffd}", "{tool}: {output:?}");
        assert!(!output.is_error(), "{tool}");
    }
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_stream_with_an_event_that_is_too_long_fails_and_is_not_resumed() {
    let server = Unusual::start().await;
    for tool in ["too_long", "too_long_without_id"] {
        let output = server.call(tool).await;
        assert!(output.is_error(), "{tool}: {output:?}");
    }
    assert_eq!(server.resumed.long_events.load(Ordering::Relaxed), 0);
    for tool in ["plain", "resumed"] {
        assert_eq!(server.call(tool).await.text, "cut \u{fffd}", "{tool}");
    }
    server.upstream.stop().await;
}

/// Reads a stream to its end, which is an error.
async fn read_to_error(mut events: BoxedSseResponse) {
    let reading = async {
        while events.try_next().await?.is_some() {}
        Ok(())
    };
    let outcome: Result<(), SseError> = timeout(Duration::from_secs(10), reading).await.unwrap();
    assert!(outcome.is_err());
}

#[tokio::test]
async fn streams_with_an_event_that_is_too_long_are_not_opened_again() {
    let server = Unusual::start().await;
    let http = http_client::build(&Url::parse(&server.url).unwrap()).unwrap();
    let client = McpHttpClient::new(http, 1024 * 1024);
    let url: Arc<str> = server.url.as_str().into();
    let post = async |tool: &str| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool } });
        let call = serde_json::from_value(call).unwrap();
        let response = client.post_message(Arc::clone(&url), call, None, None, HashMap::new());
        match response.await.unwrap() {
            StreamableHttpPostResponse::Sse(events, _) => read_to_error(events).await,
            other => panic!("{other:?}"),
        }
    };
    let get = |id: Option<&str>| {
        let id = id.map(str::to_owned);
        client.get_stream(Arc::clone(&url), None, id, None, HashMap::new())
    };
    let opened = || server.resumed.long_events.load(Ordering::Relaxed);
    post("too_long").await;
    // The response to a message says nothing of the stream of the session.
    post("too_long_without_id").await;
    read_to_error(get(None).await.unwrap()).await;
    assert_eq!(opened(), 1);
    for id in [None, Some("1"), None] {
        let again = get(id).await.err();
        let is_ended = matches!(again, Some(HttpError::ServerDoesNotSupportSse));
        assert!(is_ended, "{id:?}: {again:?}");
    }
    assert_eq!(opened(), 1);
    server.upstream.stop().await;
}
