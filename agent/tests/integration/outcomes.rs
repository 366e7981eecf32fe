//! The outcomes of queries: each query has exactly one, and nothing of it runs afterwards.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::kit::*;

fn delete_query(bed: &TestBed, uuid: &str) -> RequestBuilder {
    http_client().delete(format!("{}/{uuid}", bed.agent.url()))
}

/// Sends a query as a frontend, up to a tool call that the page has not answered.
async fn start_with_open_call(
    bed: &TestBed,
    page: &mut Page,
    query: Value,
) -> (EventStream, bridge_protocol::ToolCall) {
    let request = bed.put(UUID, &query).bearer_auth(TOKEN);
    let mut events = EventStream::open(streaming(request)).await;
    assert_eq!(
        events.next().await.unwrap(),
        json!({ "type": "query_accepted", "uuid": UUID })
    );
    let call = page.recv_call().await;
    (events, call)
}

async fn expect_no_call(mut page: Page) {
    // The next event is that of this query.
    page.send_json(json!({ "type": "query", "uuid": "after", "prompt": "hello", "context": [] }))
        .await;
    let event = page.recv_type("query_").await;
    assert_eq!(event["uuid"], "after", "{event}");
}

#[tokio::test]
async fn nothing_of_a_cancelled_query_runs_once_its_delete_is_answered() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let two_calls = prompt("/add_card {\"n\": 1}\n\n/add_card {\"n\": 2}");
    let (events, call) = start_with_open_call(&bed, &mut page, two_calls).await;
    for foreign in ["token-of-another-page-0123456789", CREDENTIAL] {
        let (status, refused) =
            status_and_body(delete_query(&bed, UUID).bearer_auth(foreign)).await;
        assert_eq!((status, &refused["error"]), (404, &json!("QueryNotFound")));
    }
    assert_eq!(status_and_body(delete_query(&bed, UUID)).await.0, 401);
    let (status, _) = status_and_body(delete_query(&bed, UUID).bearer_auth(TOKEN)).await;
    assert_eq!(status, 204);
    page.expect_cancel(&call).await;
    let last = events.last().await;
    assert_eq!(
        (&last["type"], &last["uuid"]),
        (&json!("query_cancel"), &json!(UUID))
    );
    bed.wait_for_running(0).await;
    let (status, _) = status_and_body(delete_query(&bed, UUID).bearer_auth(TOKEN)).await;
    assert_eq!(status, 404);
    expect_no_call(page).await;
}

#[tokio::test]
async fn a_reader_that_goes_away_cancels_the_query() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let (events, call) = start_with_open_call(&bed, &mut page, prompt("/add_card {}")).await;
    drop(events);
    page.expect_cancel(&call).await;
    bed.wait_for_running(0).await;
    expect_no_call(page).await;
}

#[tokio::test]
async fn a_query_fails_after_its_timeout() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let query = json!({ "prompt": "/add_card {}", "timeout": 1500 });
    let (events, call) = start_with_open_call(&bed, &mut page, query).await;
    let last = events.last().await;
    assert_eq!(
        (&last["type"], &last["code"]),
        (&json!("query_failure"), &json!("QueryTimeout"))
    );
    page.expect_cancel(&call).await;
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn the_timeout_of_the_operator_applies_to_all_queries() {
    let mut settings = settings();
    settings.limits.query_timeout = Duration::from_millis(1500);
    let bed = TestBed::start_with(settings).await;
    let mut page = bed.connect_page().await;
    let query = json!({ "prompt": "/add_card {}", "timeout": 3_600_000 });
    let (events, _) = start_with_open_call(&bed, &mut page, query).await;
    let last = events.last().await;
    assert_eq!(last["code"], "QueryTimeout");
    assert!(last["error"].as_str().unwrap().contains("1.5s"), "{last}");
}

#[tokio::test]
async fn an_agent_that_stops_sends_its_readers_a_failure() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let (events, call) = start_with_open_call(&bed, &mut page, prompt("/add_card {}")).await;
    let url = bed.agent.url();
    with_deadline("end of the agent", bed.agent.shutdown()).await;
    page.expect_cancel(&call).await;
    let last = events.last().await;
    assert_eq!(
        (&last["type"], &last["code"]),
        (&json!("query_failure"), &json!("AgentUnavailable"))
    );
    assert!(
        http_client().put(url).send().await.is_err(),
        "the agent still listens"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_request_that_does_not_end() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let agent = agent::bind(settings()).await.unwrap();
    let agent = agent.serve("http://127.0.0.1:9").unwrap();
    let address = agent.local_addr();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "PUT /query/a HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {CREDENTIAL}\r\n\
         mcp-web-query-token: t\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    // The agent waits for the body, which is not sent.
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100");
    let started = tokio::time::Instant::now();
    agent.shutdown().await;
    assert_eq!(started.elapsed().as_secs(), 5);
}
