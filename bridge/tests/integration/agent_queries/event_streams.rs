//! Agents that answer with a stream of events: what the page hears, and how streams end.

use std::time::Duration;

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::{query, told, with};
use crate::kit::mock_agent::{AgentEventStream, MockAgent, UUID, send_for_json};
use crate::kit::{Page, TOKEN, echo_tool, http_client, start_bridge_with, with_deadline};

/// A bridge, its agent, and a page whose query the agent has taken.
pub(super) struct Rest {
    pub(super) bridge: ServerHandle,
    pub(super) agent: MockAgent,
    pub(super) page: Page,
    pub(super) token: String,
}

/// The same with the stream that answers the query.
pub(super) struct World {
    pub(super) events: AgentEventStream,
    pub(super) rest: Rest,
}

pub(super) async fn streaming(more: Value) -> World {
    streaming_within(more, Duration::from_secs(45)).await
}

async fn streaming_within(more: Value, silence: Duration) -> World {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.agent_silence = silence;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "asks", &[echo_tool()]).await;
    page.send_json(with(query(UUID), more)).await;
    let asked = agent.next_request().await;
    assert_eq!(asked.headers["accept"], "text/event-stream");
    let token = asked.query_token();
    let events = asked.respond_with_stream().await;
    assert_eq!(told(&mut page).await["type"], "query_accepted");
    let rest = Rest {
        bridge,
        agent,
        page,
        token,
    };
    World { events, rest }
}

impl Rest {
    async fn failure(&mut self) -> Value {
        let failure = told(&mut self.page).await;
        assert_eq!(failure["type"], "query_failure", "{failure}");
        assert_eq!(self.status_of_token().await, 401);
        failure
    }

    /// The query fails because its agent cannot be heard, which may be at work all the same.
    async fn lost(&mut self, error: &str) {
        let failure = self.failure().await;
        assert_eq!(failure["code"], "AgentUnavailable", "{failure}");
        let said = failure["error"].as_str().unwrap();
        assert!(said.starts_with(error), "{said}");
        self.agent_is_told().await;
    }

    async fn status_of_token(&self) -> u16 {
        let tools = http_client().get(format!("{}/tools", self.bridge.url()));
        let answer = with_deadline("answer", tools.bearer_auth(&self.token).send()).await;
        answer.unwrap().status().as_u16()
    }

    async fn agent_is_told(&mut self) {
        let stop = self.agent.next_request().await;
        let path = format!("/query/{UUID}");
        assert_eq!(
            (stop.method.as_str(), stop.path.as_str()),
            ("DELETE", &*path)
        );
        stop.respond(204);
    }
}

#[tokio::test]
async fn streamed_events_reach_the_page_in_order_and_unchanged() {
    let World {
        events,
        rest: mut world,
    } = streaming(json!({})).await;
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
        assert_eq!(told(&mut world.page).await["content"], content);
    }
    events
        .send_raw(": keepalive\n\nevent: later\ndata: more\n\n")
        .await;
    let complete = json!({ "result": { "text": "done" }, "toolCalls": [] });
    events.send_event("query_complete", complete).await;
    let expected = json!({ "type": "query_complete", "uuid": UUID,
        "result": { "text": "done" }, "toolCalls": [] });
    assert_eq!(told(&mut world.page).await, expected);
    events.wait_closed().await;
    assert_eq!(world.status_of_token().await, 401);
    // It has said so itself.
    assert!(world.agent.is_idle());
}

#[tokio::test]
async fn model_failures_keep_their_code_and_reason() {
    let World {
        events,
        rest: mut world,
    } = streaming(json!({})).await;
    let why = json!({ "error": "the model is busy", "reason": "wait", "code": "ModelRateLimited" });
    events.send_event("query_failure", why.clone()).await;
    let failure = world.failure().await;
    let expected = with(json!({ "type": "query_failure", "uuid": UUID }), why);
    assert_eq!(failure, expected);
    events.wait_closed().await;
}

#[tokio::test]
async fn a_stream_that_ends_early_fails_the_query_at_once() {
    let World {
        events,
        rest: mut world,
    } = streaming(json!({})).await;
    events.send_text_progress("so far").await;
    assert_eq!(told(&mut world.page).await["type"], "query_progress");
    drop(events);
    world
        .lost("The agent ended its stream before the query")
        .await;
}

#[tokio::test]
async fn a_broken_stream_fails_the_query_at_once() {
    let World {
        events,
        rest: mut world,
    } = streaming(json!({})).await;
    events.send_text_progress("so far").await;
    assert_eq!(told(&mut world.page).await["type"], "query_progress");
    events.break_off().await;
    world.lost("The stream of the agent broke: ").await;
}

#[tokio::test]
async fn a_silent_stream_fails_the_query() {
    let silence = Duration::from_millis(100);
    let World {
        events,
        rest: mut world,
    } = streaming_within(json!({}), silence).await;
    world.lost("The agent said nothing for 100ms").await;
    events.wait_closed().await;
}

#[tokio::test]
async fn an_event_over_the_limit_fails_the_query_and_closes_its_stream() {
    let World {
        events,
        rest: mut world,
    } = streaming(json!({})).await;
    events.send_text_progress(&"x".repeat(1024 * 1024)).await;
    let failure = world.failure().await;
    assert_eq!(failure["code"], "AgentFailed", "{failure}");
    let error = "The agent sent an event of more than 1048576 bytes";
    assert_eq!(failure["error"], error);
    events.wait_closed().await;
    world.agent_is_told().await;
}

#[tokio::test]
async fn events_after_the_final_event_are_ignored() {
    let World {
        events,
        rest: mut world,
    } = streaming(json!({})).await;
    events
        .send_event("query_complete", json!({ "result": "first" }))
        .await;
    events.send_text_progress("late").await;
    events
        .send_event("query_failure", json!({ "error": "second" }))
        .await;
    assert_eq!(told(&mut world.page).await["result"], "first");
    // What comes next of queries is of another one.
    let other = "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e12";
    world.page.send_json(query(other)).await;
    world.agent.next_request().await.respond(200);
    assert_eq!(told(&mut world.page).await["uuid"], other);
}

#[tokio::test]
async fn the_response_tool_result_is_returned_before_the_stream_is_closed() {
    let more = json!({ "responseTool": { "name": "echo" } });
    let World {
        events,
        rest: mut world,
    } = streaming(more).await;
    let call = http_client().post(format!("{}/tool-call", world.bridge.url()));
    let body = json!({ "toolName": "echo", "toolInput": { "a": 1 } });
    let call = call.bearer_auth(&world.token).json(&body);
    let (called, ()) = tokio::join!(send_for_json(call), world.page.echo_call());
    assert_eq!(called.0, 200, "{}", called.1);
    let complete = told(&mut world.page).await;
    assert_eq!(complete["toolCalls"][0]["tool"], "echo", "{complete}");
    assert!(!events.is_closed());
    // One that does not end it then is cut.
    events.wait_closed().await;
    assert!(world.agent.is_idle());
}

#[tokio::test]
async fn malformed_events_fail_the_query_and_unknown_events_are_ignored() {
    let World {
        events,
        rest: mut world,
    } = streaming(json!({})).await;
    events.send_raw("event: ping\ndata: -\n\n").await;
    events.send_event("query_later", json!({})).await;
    events.send_raw("event: query_progress\ndata: {\n\n").await;
    let failure = world.failure().await;
    assert_eq!(failure["code"], "AgentFailed", "{failure}");
    world.agent_is_told().await;
}

#[tokio::test]
async fn a_page_cancel_closes_the_stream_and_is_sent_to_the_agent() {
    let World {
        events,
        rest: mut world,
    } = streaming(json!({})).await;
    world
        .page
        .send_json(json!({ "type": "query_cancel", "uuid": UUID }))
        .await;
    let closed = tokio::time::timeout(Duration::from_secs(1), events.wait_closed());
    closed.await.unwrap();
    world.agent_is_told().await;
    assert_eq!(world.status_of_token().await, 401);
}

#[tokio::test]
async fn agent_error_statuses_map_to_codes_with_a_remedy() {
    for (status, code, remedy) in [
        (401, "AgentUnavailable", "agent_token"),
        (409, "QueryCompleted", "ask with a new one"),
        (429, "QueryLimitExceeded", "again later"),
        (500, "AgentUnavailable", "agent_url"),
    ] {
        let mut agent = MockAgent::start().await;
        let bridge = start_bridge_with(agent.config()).await;
        let mut page = Page::connect(&bridge, "asks", TOKEN).await;
        page.send_json(query(UUID)).await;
        agent.next_request().await.respond(status);
        let failure = told(&mut page).await;
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
