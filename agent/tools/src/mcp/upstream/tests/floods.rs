//! Servers that send notifications, or lines that are not messages, without end.

use std::convert::Infallible;

use axum::extract::Json;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Router, body::Body};
use http::{StatusCode, header};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::*;

/// The time of a call.
const CALL_TIME: Duration = Duration::from_secs(5);

async fn call_in_time(upstream: &Upstream, tool: &str) -> CallOutput {
    let context = SourceContext {
        user: "ada".to_owned(),
    };
    let call = upstream.call(tool, Map::new(), &context);
    timeout(CALL_TIME, call).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_send_without_end_are_closed_and_others_answer() {
    let good = TestServer::new("");
    good.upstream.start().await.unwrap();
    let behaviours = ["log", "progress", "changes", "garbage"];
    let flooding = behaviours.map(TestServer::new);
    for server in &flooding {
        server.upstream.start().await.unwrap();
    }
    let calls = flooding
        .iter()
        .map(|server| call_in_time(&server.upstream, "write"));
    let calls = futures_util::future::join_all(calls);
    let others = async {
        loop {
            let output = call_in_time(&good.upstream, "read").await;
            assert!(!output.is_error(), "{}", output.text);
        }
    };
    let outputs = tokio::select! {
        outputs = calls => outputs,
        () = others => unreachable!(),
    };
    for (output, behaviour) in outputs.iter().zip(behaviours) {
        assert_eq!(output.outcome, CallStatus::Unavailable, "{behaviour}");
        let text = &output.text;
        assert!(
            text.contains("has ended during the call"),
            "{behaviour}: {text}"
        );
    }
    for server in &flooding {
        let starts = std::fs::read_to_string(server.folder.path().join("starts")).unwrap();
        let pid = starts.trim().parse().unwrap();
        eventually("the process is ended", || !runs(pid)).await;
    }
    good.upstream.stop().await;
}

/// Answers a message of the client, and a call with events without end.
async fn answer(Json(request): Json<Value>) -> Response {
    let id = &request["id"];
    match request["method"].as_str().unwrap() {
        "initialize" | "tools/list" => Json(answer_setup(&request, &["go"])).into_response(),
        "tools/call" => {
            let notification = json!({ "jsonrpc": "2.0", "method": "notifications/message",
                "params": { "level": "info", "data": "x".repeat(200) } });
            let events = format!("data: {notification}\n\n").repeat(100);
            let stream =
                futures_util::stream::repeat_with(move || Ok::<_, Infallible>(events.clone()));
            let kind = [(header::CONTENT_TYPE, "text/event-stream")];
            (kind, Body::from_stream(stream)).into_response()
        }
        "server/discover" => {
            let error = json!({ "code": -32601, "message": "no such method" });
            Json(json!({ "jsonrpc": "2.0", "id": id, "error": error })).into_response()
        }
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

#[tokio::test]
async fn a_server_over_http_that_notifies_without_end_is_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().route("/mcp", post(answer));
    let serving = async move { axum::serve(listener, router).await.unwrap() };
    let _serving = AbortOnDropHandle::new(tokio::spawn(serving));
    let upstream = upstream(json!({ "url": url }), None, &Arc::default(), None);
    upstream.start().await.unwrap();
    let output = call_in_time(&upstream, "go").await;
    assert_eq!(output.outcome, CallStatus::Unavailable, "{}", output.text);
    assert!(
        output.text.contains("has ended during the call"),
        "{}",
        output.text
    );
    upstream.stop().await;
}
