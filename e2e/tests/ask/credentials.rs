//! What tokens are good for.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use e2e::{AgentService, Format, MockProvider, NativeItem, NativePage, TestBed, with_deadline};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::direct_client::{client, events, put_query, script};
use crate::test_bed::{QueryEvents, QueryTestBed, query};

type TokenSender = mpsc::UnboundedSender<String>;

/// An agent that takes queries, and passes their tokens on.
async fn record_token(State(tokens): State<TokenSender>, headers: HeaderMap) -> StatusCode {
    let token = headers["mcp-web-query-token"].to_str().unwrap();
    let _ = tokens.send(token.to_owned());
    StatusCode::OK
}

#[tokio::test]
async fn a_token_that_is_foreign_or_of_a_query_that_is_over_opens_nothing() {
    let (tokens, mut token) = mpsc::unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(record_token).with_state(tokens);
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let world = TestBed::bridge_with(&["--agent-url", &url]).await;
    let page = NativePage::open(&world, "board", vec![NativeItem::echo()]).await;
    page.send_query(query("q-over", "Hello")).await;
    let token = with_deadline("the token of a query", token.recv())
        .await
        .unwrap();
    let complete = format!("{}/query/q-over/complete", world.url());
    let report = client().put(complete).bearer_auth(&token);
    let report = report
        .json(&json!({ "message": "Done" }))
        .send()
        .await
        .unwrap();
    assert_eq!(report.status(), 200);
    let heard = QueryEvents::collect_rest(&page, "q-over").await;
    assert_eq!(heard.last()["result"], "Done");

    let provider = MockProvider::start(script()).await;
    let place = e2e::AgentEndpoint::reserve();
    let agent = AgentService::start(&place, &world, &provider, Format::Anthropic, &[]).await;
    let asking = QueryTestBed {
        provider,
        world,
        agent,
        endpoint: place,
    };
    let asked = |uuid: &str| json!({ "uuid": uuid, "prompt": "Hello" });
    let answer = put_query(
        &asking,
        asking.endpoint.token(),
        Some(&token),
        &asked("q-2"),
    )
    .await;
    let told = events(answer).await;
    assert_eq!(told.last().unwrap()["type"], "query_failure", "{told:?}");
    assert!(!format!("{told:?}").contains(&token), "{told:?}");
    asking.assert_idle_without_leaks().await;
    assert_eq!(asking.provider.exchanges().len(), 0, "no model is asked");

    // A bridge takes tokens that pages make up: this one has no page.
    let token = Some("a-token-of-nobody-0123456789abcdef");
    let answer = put_query(&asking, asking.endpoint.token(), token, &asked("q-3")).await;
    let told = events(answer).await;
    let calls = &told.last().unwrap()["toolCalls"];
    assert_eq!(calls, &json!([]), "{told:?}");
    asking.assert_idle_without_leaks().await;
    server.abort();
}
