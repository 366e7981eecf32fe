//! Agents that respond with a stream of events: the messages that the page receives, and the ways
//! in which streams end.

use std::time::Duration;

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::{OTHER_UUID, query_message, recv_query_event, start_query, tools_status};
use crate::kit::mock_agent::{AgentEventStream, MockAgent, UUID, report_request, send_for_json};
use crate::kit::*;

/// A query whose agent streams its events through an [`AgentEventStream`].
pub(super) struct StreamedQuery {
    pub(super) bridge: ServerHandle,
    pub(super) agent: MockAgent,
    pub(super) page: Page,
    pub(super) token: String,
}

/// Starts a query with these members at an agent that accepts it with a stream.
pub(super) async fn start_stream(members: Value) -> (AgentEventStream, StreamedQuery) {
    start_stream_with(members, Duration::from_secs(45)).await
}

async fn start_stream_with(
    members: Value,
    agent_silence: Duration,
) -> (AgentEventStream, StreamedQuery) {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.agent_silence = agent_silence;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "asks", &[echo_tool()]).await;
    let message = with_members(query_message(UUID), members);
    page.send_json(message).await;
    let request = agent.next_request().await;
    assert_eq!(request.headers["accept"], "text/event-stream");
    let token = request.query_token();
    let events = request.respond_with_stream().await;
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
    let query = StreamedQuery {
        bridge,
        agent,
        page,
        token,
    };
    (events, query)
}

impl StreamedQuery {
    /// Receives the failure of the query, after which its token is invalid.
    async fn recv_failure(&mut self) -> Value {
        let failure = recv_query_event(&mut self.page).await;
        assert_eq!(failure["type"], "query_failure", "{failure}");
        assert_eq!(tools_status(&self.bridge, &self.token).await, 401);
        failure
    }

    /// Receives the failure of a query whose stream was lost. The agent may still be working on it,
    /// so the bridge cancels it there.
    async fn recv_stream_failure(&mut self, error: &str) {
        let failure = self.recv_failure().await;
        assert_eq!(failure["code"], "AgentUnavailable", "{failure}");
        let message = failure["error"].as_str().unwrap();
        assert!(message.starts_with(error), "{message}");
        self.recv_cancellation().await;
    }

    async fn recv_cancellation(&mut self) {
        self.agent.recv_cancellation(UUID).await.respond(204);
    }
}

#[tokio::test]
async fn streamed_events_reach_the_page_in_order_and_unchanged() {
    let (events, mut query) = start_stream(json!({})).await;
    let steps = [
        json!({ "type": "text", "text": "Two \n\"cards\"" }),
        json!({ "type": "tool-started", "id": "1", "tool": "echo", "arguments": { "z": 1, "a": 2.0 } }),
        json!({ "any": ["thing"] }),
    ];
    for content in &steps {
        let progress = json!({ "content": content });
        events.send_event("query_progress", progress).await;
    }
    for content in steps {
        assert_eq!(recv_query_event(&mut query.page).await["content"], content);
    }
    events
        .send_raw(": keepalive\n\nevent: later\ndata: more\n\n")
        .await;
    let complete = json!({ "result": { "text": "done" }, "toolCalls": [] });
    events.send_event("query_complete", complete).await;
    let expected = json!({ "type": "query_complete", "uuid": UUID,
        "result": { "text": "done" }, "toolCalls": [] });
    assert_eq!(recv_query_event(&mut query.page).await, expected);
    events.wait_closed().await;
    assert_eq!(tools_status(&query.bridge, &query.token).await, 401);
    // The agent has ended the query itself, so the bridge sends no cancellation.
    assert!(query.agent.is_idle());
}

#[tokio::test]
async fn lone_surrogates_in_events_and_reports_become_replacement_characters() {
    let text = "cut \u{fffd}";
    for (event, body, field) in [
        (
            "query_progress",
            r#"{"content":{"type":"text","text":"cut \ud83d"}}"#,
            "/content/text",
        ),
        (
            "query_complete",
            r#"{"result":{"cut \ud83d":1,"a":"cut \ud83d"}}"#,
            "/result/a",
        ),
        (
            "query_failure",
            r#"{"error":"cut \ud83d","reason":"cut \ud83d"}"#,
            "/reason",
        ),
        ("query_cancel", r#"{"reason":"cut \ud83d"}"#, "/reason"),
    ] {
        let (events, mut query) = start_stream(json!({})).await;
        events
            .send_raw(&format!("event: {event}\ndata: {body}\n\n"))
            .await;
        let received = recv_query_event(&mut query.page).await;
        assert_eq!(received["type"], event, "{received}");
        assert_eq!(received.pointer(field), Some(&json!(text)), "{received}");
    }
    for (report, body, field) in [
        ("progress", r#"{"message":"cut \ud83d"}"#, "/content"),
        ("complete", r#"{"message":"cut \ud83d"}"#, "/result"),
        ("fail", r#"{"error":"cut \ud83d"}"#, "/error"),
        ("cancel", r#"{"reason":"cut \ud83d"}"#, "/reason"),
    ] {
        let (bridge, _agent, mut page, accepted) = start_query(json!({})).await;
        let request = report_request(&bridge, &accepted.uuid, report);
        let request = request.bearer_auth(accepted.token.unwrap()).body(body);
        let answer = send_for_json(request).await;
        assert_eq!(answer, (200, json!({ "success": true })), "{report}");
        let received = recv_query_event(&mut page).await;
        assert_eq!(received.pointer(field), Some(&json!(text)), "{received}");
    }
}

#[tokio::test]
async fn model_failures_keep_their_code_and_reason() {
    let (events, mut query) = start_stream(json!({})).await;
    let failure_event =
        json!({ "error": "the model is busy", "reason": "wait", "code": "ModelRateLimited" });
    events
        .send_event("query_failure", failure_event.clone())
        .await;
    let failure = query.recv_failure().await;
    let expected = with_members(
        json!({ "type": "query_failure", "uuid": UUID }),
        failure_event,
    );
    assert_eq!(failure, expected);
    events.wait_closed().await;
}

#[tokio::test]
async fn a_stream_that_ends_early_fails_the_query_at_once() {
    let (events, mut query) = start_stream(json!({})).await;
    events.send_text_progress("so far").await;
    assert_eq!(
        recv_query_event(&mut query.page).await["type"],
        "query_progress"
    );
    drop(events);
    query
        .recv_stream_failure("The agent ended its stream before the query")
        .await;
}

#[tokio::test]
async fn a_broken_stream_fails_the_query_at_once() {
    let (events, mut query) = start_stream(json!({})).await;
    events.send_text_progress("so far").await;
    assert_eq!(
        recv_query_event(&mut query.page).await["type"],
        "query_progress"
    );
    events.break_off().await;
    query
        .recv_stream_failure("The stream of the agent broke: ")
        .await;
}

#[tokio::test]
async fn a_silent_stream_fails_the_query() {
    let silence = Duration::from_millis(100);
    let (events, mut query) = start_stream_with(json!({}), silence).await;
    query
        .recv_stream_failure("The agent said nothing for 100ms")
        .await;
    events.wait_closed().await;
}

#[tokio::test]
async fn an_event_over_the_limit_fails_the_query_and_closes_its_stream() {
    let (events, mut query) = start_stream(json!({})).await;
    events.send_text_progress(&"x".repeat(1024 * 1024)).await;
    let failure = query.recv_failure().await;
    assert_eq!(failure["code"], "AgentFailed", "{failure}");
    let error = "The agent sent an event of more than 1048576 bytes";
    assert_eq!(failure["error"], error);
    events.wait_closed().await;
    query.recv_cancellation().await;
}

#[tokio::test]
async fn events_after_the_final_event_are_ignored() {
    let (events, mut query) = start_stream(json!({})).await;
    events
        .send_event("query_complete", json!({ "result": "first" }))
        .await;
    events.send_text_progress("late").await;
    events
        .send_event("query_failure", json!({ "error": "second" }))
        .await;
    assert_eq!(recv_query_event(&mut query.page).await["result"], "first");
    // The next event is one of another query.
    query.page.send_json(query_message(OTHER_UUID)).await;
    query.agent.next_request().await.respond(200);
    assert_eq!(recv_query_event(&mut query.page).await["uuid"], OTHER_UUID);
}

#[tokio::test]
async fn the_response_tool_result_is_returned_before_the_stream_is_closed() {
    let response_tool = json!({ "responseTool": { "name": "echo" } });
    let (events, mut query) = start_stream(response_tool).await;
    let url = query.bridge.url();
    let call = post_tool_call_to(&url, &query.token, "echo", json!({ "a": 1 }));
    let (result, ()) = tokio::join!(call, query.page.echo_call());
    assert_eq!(result.0, 200, "{}", result.1);
    let complete = recv_query_event(&mut query.page).await;
    assert_eq!(complete["toolCalls"][0]["tool"], "echo", "{complete}");
    assert!(!events.is_closed());
    // The bridge closes the stream, because the agent does not end it.
    events.wait_closed().await;
    assert!(query.agent.is_idle());
}

#[tokio::test]
async fn malformed_events_fail_the_query_and_unknown_events_are_ignored() {
    let (events, mut query) = start_stream(json!({})).await;
    events.send_raw("event: ping\ndata: -\n\n").await;
    events.send_event("query_later", json!({})).await;
    events.send_raw("event: query_progress\ndata: {\n\n").await;
    let failure = query.recv_failure().await;
    assert_eq!(failure["code"], "AgentFailed", "{failure}");
    query.recv_cancellation().await;
}

#[tokio::test]
async fn a_page_cancel_closes_the_stream_and_is_sent_to_the_agent() {
    let (events, mut query) = start_stream(json!({})).await;
    query
        .page
        .send_json(json!({ "type": "query_cancel", "uuid": UUID }))
        .await;
    let closed = tokio::time::timeout(Duration::from_secs(1), events.wait_closed());
    closed.await.unwrap();
    query.recv_cancellation().await;
    assert_eq!(tools_status(&query.bridge, &query.token).await, 401);
}

#[tokio::test]
async fn the_page_gets_the_reason_of_an_agent_that_does_not_accept_its_query() {
    let short = json!({ "error": "ProtocolViolation", "code": "ProtocolViolation",
        "message": "the context is malformed" });
    let endless = json!({ "code": "ProtocolViolation", "message": "x".repeat(20_000) });
    for (body, code, reason) in [
        (short, "ProtocolViolation", "the context is malformed"),
        (endless, "AgentFailed", "does not accept this query"),
    ] {
        let mut agent = MockAgent::start().await;
        let bridge = start_bridge_with(agent.config()).await;
        let mut page = Page::connect(&bridge, "asks", TOKEN).await;
        page.send_json(query_message(UUID)).await;
        let response = (axum::http::StatusCode::BAD_REQUEST, axum::Json(body));
        agent.next_request().await.respond_with(response);
        let failure = recv_query_event(&mut page).await;
        assert_eq!(failure["code"], code, "{failure}");
        assert_eq!(failure["error"], "Agent responded with 400: Bad Request");
        let actual = failure["reason"].as_str().unwrap();
        assert!(actual.contains(reason), "{failure}");
    }
}

#[tokio::test]
async fn agent_error_statuses_map_to_codes_with_a_remedy() {
    for (status, code, remedy) in [
        (400, "AgentFailed", "does not accept this query"),
        (401, "AgentUnavailable", "agent_token"),
        (409, "QueryCompleted", "ask with a new one"),
        (413, "RequestTooLarge", "less context"),
        (422, "AgentFailed", "does not accept this query"),
        (429, "QueryLimitExceeded", "again later"),
        (500, "AgentUnavailable", "agent_url"),
    ] {
        let mut agent = MockAgent::start().await;
        let bridge = start_bridge_with(agent.config()).await;
        let mut page = Page::connect(&bridge, "asks", TOKEN).await;
        page.send_json(query_message(UUID)).await;
        agent.next_request().await.respond(status);
        let failure = recv_query_event(&mut page).await;
        assert_eq!(failure["code"], code, "{failure}");
        let error = failure["error"].as_str().unwrap();
        assert!(
            error.starts_with(&format!("Agent responded with {status}: ")),
            "{error}"
        );
        assert!(
            failure["reason"].as_str().unwrap().contains(remedy),
            "{failure}"
        );
        assert!(agent.is_idle());
    }
}
