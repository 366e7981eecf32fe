//! The access that the tokens of queries and pages give.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use e2e::{AgentService, Format, MockProvider, PageTool, QueryPage, TestBed, with_deadline};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::direct_client::{client, put_query, read_events, script};
use crate::test_bed::{QueryEvents, QueryTestBed, query};

type TokenSender = mpsc::UnboundedSender<String>;

/// Accepts a query as an agent does, and passes its token to the test.
async fn record_token(State(tokens): State<TokenSender>, headers: HeaderMap) -> StatusCode {
    let token = headers["mcp-web-query-token"].to_str().unwrap();
    let _ = tokens.send(token.to_owned());
    StatusCode::OK
}

#[tokio::test]
async fn tokens_of_ended_queries_and_unknown_tokens_give_no_access() {
    let (tokens, mut token) = mpsc::unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(record_token).with_state(tokens);
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let bridge = TestBed::bridge_with(&["--agent-url", &url]).await;
    let page = QueryPage::open(&bridge, "board", vec![PageTool::echo()]).await;
    page.send_query(query("q-over", "Hello")).await;
    let token = with_deadline("the token of a query", token.recv())
        .await
        .unwrap();
    let complete = format!("{}/query/q-over/complete", bridge.url());
    let report = client().put(complete).bearer_auth(&token);
    let report = report
        .json(&json!({ "message": "Done" }))
        .send()
        .await
        .unwrap();
    assert_eq!(report.status(), 200);
    let events = QueryEvents::collect_rest(&page, "q-over").await;
    assert_eq!(events.last()["result"], "Done");

    let provider = MockProvider::start(script()).await;
    let endpoint = e2e::AgentEndpoint::reserve();
    let agent = AgentService::start(&endpoint, &bridge, &provider, Format::Anthropic, &[]).await;
    let bed = QueryTestBed {
        provider,
        bridge,
        agent,
        endpoint,
    };
    let body = |uuid: &str| json!({ "uuid": uuid, "prompt": "Hello" });
    let answer = put_query(&bed, bed.endpoint.token(), Some(&token), &body("q-2")).await;
    let events = read_events(answer).await;
    assert_eq!(
        events.last().unwrap()["type"],
        "query_failure",
        "{events:?}"
    );
    assert!(!format!("{events:?}").contains(&token), "{events:?}");
    bed.assert_idle_without_leaks().await;
    assert_eq!(
        bed.provider.exchanges().len(),
        0,
        "no request is sent to the model"
    );

    // A bridge accepts tokens that pages generate, but this one has no page.
    let token = Some("a-token-of-nobody-0123456789abcdef");
    let answer = put_query(&bed, bed.endpoint.token(), token, &body("q-3")).await;
    let events = read_events(answer).await;
    let calls = &events.last().unwrap()["toolCalls"];
    assert_eq!(calls, &json!([]), "{events:?}");
    bed.assert_idle_without_leaks().await;
    server.abort();
}
