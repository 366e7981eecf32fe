//! Queries without an event stream, as in mcp-web 0.1: 200 once accepted, and reports to the routes
//! of the bridge.

use axum::Router;
use axum::extract::{Request, State};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::kit::*;

type Report = (String, Value);

/// Accepts reports as a bridge does, and refuses MCP requests.
async fn record_report(
    State(reports): State<mpsc::Sender<Report>>,
    request: Request,
) -> StatusCode {
    let route = format!("{} {}", request.method(), request.uri().path());
    if request.uri().path() == "/mcp" {
        return StatusCode::UNAUTHORIZED;
    }
    let bearer = request.headers()["authorization"].clone();
    assert_eq!(bearer, "Bearer mcp-web-query-of-nobody");
    let body = axum::body::to_bytes(request.into_body(), 10_000);
    let body = serde_json::from_slice(&body.await.unwrap()).unwrap();
    reports.send((route, body)).await.unwrap();
    StatusCode::OK
}

#[tokio::test]
async fn a_bridge_that_does_not_read_events_receives_reports() {
    let (sender, mut reports) = mpsc::channel(8);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(record_report).with_state(sender);
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let agent = agent::bind(settings()).await.unwrap();
    let agent = agent.serve(&format!("http://{address}")).unwrap();
    let accepted = status_and_body(as_bridge(put(&agent, UUID, &prompt("hello")))).await;
    assert_eq!(accepted, (200, json!({ "uuid": UUID })));
    let (route, body) = with_deadline("report", reports.recv()).await.unwrap();
    assert_eq!(route, format!("PUT /query/{UUID}/fail"));
    let error = body["error"].as_str().unwrap();
    assert!(error.contains("the bridge at"), "{error}");
    agent.shutdown().await;
    server.abort();
}

#[tokio::test]
async fn a_real_bridge_accepts_the_reports() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    // The bridge opens a query as for a frontend, and returns its token.
    let request = http_client().put(format!("{}/query/{UUID}", bed.bridge.url()));
    let (status, response) = status_and_body(request.bearer_auth(TOKEN).json(&json!({}))).await;
    assert_eq!(status, 200, "{response}");
    let token = response["token"].as_str().unwrap();
    let request = bed
        .put(UUID, &prompt("/add_card {}"))
        .bearer_auth(CREDENTIAL);
    let accepted = status_and_body(request.header("mcp-web-query-token", token)).await;
    assert_eq!(accepted, (200, json!({ "uuid": UUID })));
    let call = page.recv_call().await;
    page.respond(&call, json!(1)).await;
    bed.wait_for_running(0).await;
    // The query has ended at the bridge: its token is no longer valid.
    let tools = http_client().get(format!("{}/tools", bed.bridge.url()));
    assert_eq!(status_and_body(tools.bearer_auth(token)).await.0, 401);
}
