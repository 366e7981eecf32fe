//! Calls of an agent that wait for the approval of a person.

use std::time::Duration;

use bridge::Config;
use serde_json::{Value, json};

use super::{OTHER_UUID, query_message, recv_query_event};
use crate::kit::mock_agent::{AgentEventStream, AgentRequest, MockAgent, UUID};
use crate::kit::*;

const SECRET: &str = "an-agent-secret-of-32-characters";

/// Starts a bridge with a page whose agent streams the events of a query.
async fn start_approvals(
    change: impl FnOnce(&mut Config),
) -> (bridge::ServerHandle, MockAgent, Page, AgentEventStream) {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.agent_token = Some(SECRET.parse().unwrap());
    change(&mut config);
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "asks", &[echo_tool()]).await;
    page.send_json(query_message(UUID)).await;
    let events = agent.next_request().await.respond_with_stream().await;
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
    (bridge, agent, page, events)
}

async fn request_approval(events: &AgentEventStream, call: &str) -> Value {
    let content = json!({ "type": "approval-requested", "id": call, "tool": "echo",
        "source": "files", "arguments": { "n": 1 }, "expiresInMs": 60_000 });
    events
        .send_event("query_progress", json!({ "content": content }))
        .await;
    content
}

/// Requests an approval, which the page receives.
async fn request_and_recv(events: &AgentEventStream, page: &mut Page, call: &str) {
    let content = request_approval(events, call).await;
    assert_eq!(recv_query_event(page).await["content"], content);
}

fn answer(uuid: &str, call: &str, approved: bool) -> Value {
    json!({ "type": "query_answer", "uuid": uuid, "id": call, "approved": approved })
}

/// Receives the next request to the agent, which must be an answer for this call.
async fn recv_answer(agent: &mut MockAgent, encoded_call: &str) -> AgentRequest {
    let request = agent.next_request().await;
    let path = format!("/query/{UUID}/approvals/{encoded_call}");
    assert_eq!((request.method.as_str(), &request.path), ("PUT", &path));
    assert_eq!(request.headers["authorization"], format!("Bearer {SECRET}"));
    assert!(request.headers.get("mcp-web-query-token").is_none());
    request
}

#[tokio::test]
async fn the_answer_of_a_page_is_forwarded_to_the_agent() {
    let (_bridge, mut agent, mut page, events) = start_approvals(|_| {}).await;
    let odd = "a/b?c#%2e é\\";
    for (call, encoded, approved) in [
        ("1", "1", true),
        (odd, "a%2Fb%3Fc%23%252e%20%C3%A9%5C", false),
    ] {
        request_and_recv(&events, &mut page, call).await;
        page.send_json(answer(UUID, call, approved)).await;
        let request = recv_answer(&mut agent, encoded).await;
        assert_eq!(request.json(), json!({ "approved": approved }));
        // 404: the request has expired at the agent, which reports this itself.
        request.respond(if approved { 204 } else { 404 });
    }
    events.send_text_progress("next").await;
    let next = recv_query_event(&mut page).await;
    assert_eq!(next["content"]["text"], "next");
    assert!(agent.is_idle());
}

#[tokio::test]
async fn a_page_is_notified_that_its_answer_did_not_reach_the_agent_and_answers_again() {
    let (_bridge, mut agent, mut page, events) = start_approvals(|_| {}).await;
    request_and_recv(&events, &mut page, "1").await;
    page.send_json(answer(UUID, "1", true)).await;
    recv_answer(&mut agent, "1").await.respond(503);
    let note = recv_query_event(&mut page).await;
    assert_eq!(note["content"]["type"], "note", "{note}");
    assert_eq!(
        note["content"]["text"],
        "The answer did not reach the agent: Agent responded with 503: Service Unavailable; \
         answer again"
    );
    page.send_json(answer(UUID, "1", true)).await;
    recv_answer(&mut agent, "1").await.respond(204);
}

#[tokio::test]
async fn an_agent_that_never_answers_an_approval_delays_nothing_else() {
    let (bridge, mut agent, mut page, events) = start_approvals(|config| {
        config.agent.agent_timeout = Duration::from_secs(2);
    })
    .await;
    request_and_recv(&events, &mut page, "1").await;
    page.send_json(answer(UUID, "1", true)).await;
    let _unanswered = recv_answer(&mut agent, "1").await;
    assert_echo(&bridge, &mut page).await;
    request_and_recv(&events, &mut page, "2").await;
    page.send_json(answer(UUID, "2", true)).await;
    recv_answer(&mut agent, "2").await.respond(204);
    let note = recv_query_event(&mut page).await;
    assert_eq!(
        note["content"]["text"],
        "The answer did not reach the agent: Agent did not answer within 2s; answer again"
    );
    page.send_json(answer(UUID, "1", true)).await;
    let _unanswered_again = recv_answer(&mut agent, "1").await;
    // The end of the query does not wait for the request.
    events
        .send_event("query_complete", json!({ "result": "done" }))
        .await;
    let complete = recv_query_event(&mut page).await;
    assert_eq!(complete["type"], "query_complete", "{complete}");
}

#[tokio::test]
async fn ten_thousand_answers_are_one_request_to_the_agent() {
    let (bridge, mut agent, mut page, events) = start_approvals(|_| {}).await;
    request_and_recv(&events, &mut page, "1").await;
    let endless = "x".repeat(100_000);
    for number in 0..10_000 {
        let frame = match number {
            0 => answer(UUID, &endless, true),
            1 => answer(&endless, "1", true),
            _ => match number % 4 {
                0 => answer(UUID, &number.to_string(), true),
                1 => answer(OTHER_UUID, "1", true),
                2 => answer(UUID, "..", true),
                _ => answer(UUID, "1", false),
            },
        };
        page.send_json(frame).await;
    }
    let only = recv_answer(&mut agent, "1").await;
    assert_echo(&bridge, &mut page).await;
    only.respond(204);
    request_and_recv(&events, &mut page, "2").await;
    page.send_json(answer(UUID, "2", true)).await;
    recv_answer(&mut agent, "2").await.respond(204);
    assert!(agent.is_idle());
}

#[tokio::test]
async fn only_the_page_of_the_query_can_answer() {
    let (bridge, mut agent, mut page, events) = start_approvals(|_| {}).await;
    request_and_recv(&events, &mut page, "1").await;
    let mut other_tab = Page::connect(&bridge, "other", TOKEN).await;
    let mut other_user = Page::connect(&bridge, "asks", OTHER_TOKEN).await;
    for foreign in [&mut other_tab, &mut other_user] {
        foreign.send_json(answer(UUID, "1", true)).await;
        // The answer to this shows that the frame before was handled.
        let attach = json!({ "type": "query_attach", "uuid": UUID });
        foreign.send_json(attach).await;
        assert_eq!(recv_query_event(foreign).await["code"], "QueryNotFound");
    }
    page.send_json(answer(UUID, "1", false)).await;
    let request = recv_answer(&mut agent, "1").await;
    assert_eq!(request.json(), json!({ "approved": false }));
    assert!(agent.is_idle());
}

#[tokio::test]
async fn a_reloaded_page_answers_the_request_that_is_open() {
    let (bridge, mut agent, mut page, events) = start_approvals(|_| {}).await;
    request_and_recv(&events, &mut page, "1").await;
    page.close().await;
    poll_json(&bridge, "/sessions", |body| body["sessions"] == json!([])).await;
    let unseen = request_approval(&events, "2").await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(json!({ "type": "query_attach", "uuid": UUID }))
        .await;
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
    let first = recv_query_event(&mut page).await;
    assert_eq!(
        (&first["content"]["id"], &first["number"]),
        (&json!("1"), &json!(1))
    );
    let mut second = recv_query_event(&mut page).await["content"].take();
    // It has waited for the page.
    let remaining = second["expiresInMs"].as_u64().unwrap();
    assert!(unseen["expiresInMs"].as_u64() >= Some(remaining));
    second["expiresInMs"] = unseen["expiresInMs"].clone();
    assert_eq!(second, unseen);
    for call in ["1", "2"] {
        page.send_json(answer(UUID, call, true)).await;
        recv_answer(&mut agent, call).await.respond(204);
    }
}

#[tokio::test]
async fn an_answer_without_its_fields_closes_the_page() {
    let (_bridge, _agent, mut page, _events) = start_approvals(|_| {}).await;
    page.send_json(json!({ "type": "query_answer", "uuid": UUID }))
        .await;
    assert_eq!(page.recv_close().await.0, 1008);
}
