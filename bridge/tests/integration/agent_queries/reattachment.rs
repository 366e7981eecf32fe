//! Pages that are reloaded while their agent works on a query.

use std::time::Duration;

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::event_streams::{StreamedQuery, start_stream};
use super::{query_message, recv_query_event};
use crate::kit::mock_agent::{MockAgent, UUID};
use crate::kit::*;

async fn attach(page: &mut Page) {
    page.send_json(json!({ "type": "query_attach", "uuid": UUID }))
        .await;
}

/// Waits until the bridge has registered that the document is closed.
async fn wait_for_no_page(bridge: &ServerHandle) {
    poll_json(bridge, "/sessions", |body| body["sessions"] == json!([])).await;
}

#[tokio::test]
async fn a_reloaded_page_reattaches_receives_progress_again_and_serves_calls() {
    let (events, query) = start_stream(json!({})).await;
    let StreamedQuery {
        bridge,
        agent: _agent,
        mut page,
        token,
    } = query;
    let client = McpClient::connect(&bridge, &token).await;
    events.send_text_progress("one").await;
    assert_eq!(recv_query_event(&mut page).await["content"]["text"], "one");
    page.close().await;
    wait_for_no_page(&bridge).await;
    // Both requests wait for the new document.
    let url = bridge.url();
    let list_task = tokio::spawn({
        let tools = http_client()
            .get(format!("{url}/tools"))
            .bearer_auth(&token);
        async move { tools.send().await.unwrap().json::<Value>().await.unwrap() }
    });
    let call_task = tokio::spawn(async move { client.call("echo", json!({ "a": 1 })).await });
    events.send_text_progress("two").await;

    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    attach(&mut page).await;
    let received = [
        recv_query_event(&mut page).await,
        recv_query_event(&mut page).await,
        recv_query_event(&mut page).await,
    ];
    assert_eq!(received[0]["type"], "query_accepted");
    let progress = |event: &Value| (event["number"].clone(), event["content"]["text"].clone());
    assert_eq!(progress(&received[1]), (json!(1), json!("one")));
    assert_eq!(progress(&received[2]), (json!(2), json!("two")));
    assert!(!call_task.is_finished() && !list_task.is_finished());
    page.register(&[echo_tool()]).await;
    page.echo_call().await;
    let answer = with_deadline("response", call_task).await.unwrap();
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({ "a": 1 }),
        "{answer}"
    );
    let listed = with_deadline("list", list_task).await.unwrap();
    assert_eq!(listed["tools"][0]["name"], "echo");
    events
        .send_event("query_complete", json!({ "result": "done" }))
        .await;
    let complete = recv_query_event(&mut page).await;
    assert_eq!(complete["toolCalls"][0]["tool"], "echo", "{complete}");
}

#[tokio::test]
async fn calls_waiting_for_a_reloading_page_fail_when_the_query_ends() {
    let (events, query) = start_stream(json!({})).await;
    let StreamedQuery {
        bridge,
        mut agent,
        page,
        token,
    } = query;
    let client = McpClient::connect(&bridge, &token).await;
    page.close().await;
    wait_for_no_page(&bridge).await;
    let call_task = tokio::spawn(async move { client.call("echo", json!({})).await });
    // A round trip on another connection gives the call time to arrive.
    let mut other = Page::connect(&bridge, "other", TOKEN).await;
    attach(&mut other).await;
    assert_eq!(recv_query_event(&mut other).await["code"], "QueryNotFound");
    drop(events);
    let answer = with_deadline("response", call_task).await.unwrap();
    let failed = answer["result"]["isError"] == true || answer["error"].is_object();
    assert!(failed, "{answer}");
    agent.recv_cancellation(UUID).await.respond(404);
}

#[tokio::test]
async fn a_page_reattaching_after_the_end_receives_the_outcome() {
    let (events, query) = start_stream(json!({})).await;
    let StreamedQuery { bridge, page, .. } = query;
    page.close().await;
    wait_for_no_page(&bridge).await;
    let failure = json!({ "error": "no", "code": "ModelRefused" });
    events.send_event("query_failure", failure).await;
    events.wait_closed().await;
    let mut other = Page::connect(&bridge, "other", TOKEN).await;
    attach(&mut other).await;
    assert_eq!(recv_query_event(&mut other).await["code"], "QueryNotFound");
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    attach(&mut page).await;
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
    assert_eq!(recv_query_event(&mut page).await["code"], "ModelRefused");
}

#[tokio::test]
async fn a_query_ends_when_its_page_does_not_reattach_in_time() {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    config.page_timings.query_attach = Duration::from_millis(50);
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query_message(UUID)).await;
    let events = agent.next_request().await.respond_with_stream().await;
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
    page.close().await;
    events.wait_closed().await;
    agent.recv_cancellation(UUID).await.respond(204);
}

#[tokio::test]
async fn a_query_fails_after_its_own_timeout() {
    let (events, mut query) = start_stream(json!({ "timeout": 50 })).await;
    let failure = recv_query_event(&mut query.page).await;
    assert_eq!(failure["code"], "QueryTimeout", "{failure}");
    assert!(failure["reason"].as_str().unwrap().contains("`timeout`"));
    events.wait_closed().await;
}

#[tokio::test]
async fn attaching_with_a_too_long_query_id_closes_the_page() {
    let (_events, mut query) = start_stream(json!({})).await;
    let too_long = json!({ "type": "query_attach", "uuid": "x".repeat(129) });
    query.page.send_json(too_long).await;
    assert_eq!(query.page.recv_close().await.0, 1008);
}
