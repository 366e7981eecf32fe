//! The query that agents receive, and their reports when it is complete.

use serde_json::{Value, json};

use super::event_streams::start_stream;
use super::{query_message, recv_query_event, start_query};
use crate::kit::mock_agent::{MockAgent, UUID};
use crate::kit::*;

fn usage() -> Value {
    json!({ "models": { "m": { "input": 7, "output": 2, "cached": 3, "thinking": 1 } },
        "milliseconds": 1500 })
}

fn foreign_call() -> Value {
    json!({ "tool": "search", "arguments": { "q": "x" }, "result": [1], "source": "files" })
}

#[tokio::test]
async fn all_fields_of_a_query_reach_the_agent() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent.config()).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    let picture = "x".repeat(12 * 1024 * 1024);
    let query = with_members(
        query_message(UUID),
        json!({
            "localTime": "2026-11-25T10:15:00+01:00[Europe/Berlin]",
            "attachments": [
                { "name": "plan.png", "mimeType": "image/png", "data": picture },
                { "mimeType": "text/plain", "data": "aGk=" },
            ],
            "conversation": "c-1",
            "responseSchema": { "type": "object", "z": 1, "a": 2.0 },
            "approve": ["echo"],
        }),
    );
    let text = query.to_string();
    for part in bridge_protocol::message_parts::split(&text, 1) {
        page.send_text(part).await;
    }
    let request = agent.next_request().await;
    assert!(request.json() == query, "the agent receives another query");
    let body = String::from_utf8_lossy(&request.body);
    assert!(body.contains(r#""a":2.0"#), "numbers keep their spelling");
}

#[tokio::test]
async fn a_streamed_completion_carries_usage_any_result_and_foreign_calls() {
    let (events, mut query) = start_stream(json!({ "responseSchema": {} })).await;
    let result = json!({ "cards": [1, 2.5, null] });
    let own = json!({ "tool": "echo", "arguments": {} });
    let complete =
        json!({ "result": result, "usage": usage(), "toolCalls": [own, foreign_call()] });
    events.send_event("query_complete", complete).await;
    let expected = json!({ "type": "query_complete", "uuid": UUID, "result": result,
        "usage": usage(), "toolCalls": [foreign_call()] });
    assert_eq!(recv_query_event(&mut query.page).await, expected);
}

#[tokio::test]
async fn a_result_that_is_null_reaches_the_page() {
    let (events, mut query) = start_stream(json!({ "responseSchema": {} })).await;
    events
        .send_event("query_complete", json!({ "result": null }))
        .await;
    let expected =
        json!({ "type": "query_complete", "uuid": UUID, "result": null, "toolCalls": [] });
    assert_eq!(recv_query_event(&mut query.page).await, expected);
}

#[tokio::test]
async fn the_usage_of_a_query_with_a_response_tool_reaches_the_page() {
    let (events, mut query) = start_stream(json!({ "responseTool": { "name": "echo" } })).await;
    let url = query.bridge.url();
    let call = post_tool_call_to(&url, &query.token, "echo", json!({ "n": 1 }));
    let (result, ()) = tokio::join!(call, query.page.echo_call());
    assert_eq!(result.0, 200, "{}", result.1);
    let complete = json!({ "result": null, "usage": usage(), "toolCalls": [foreign_call()] });
    events.send_event("query_complete", complete).await;
    let complete = recv_query_event(&mut query.page).await;
    assert_eq!(complete["usage"], usage(), "{complete}");
    assert_eq!(complete.get("result"), None);
    assert_eq!(complete["toolCalls"][0]["tool"], "echo");
    assert_eq!(complete["toolCalls"][1], foreign_call());
}

#[tokio::test]
async fn a_reported_completion_carries_the_same() {
    let result = json!({ "cards": [1, 2.5, null] });
    for (body, value) in [
        (json!({ "message": "42" }), json!("42")),
        (json!({ "result": result }), result.clone()),
        (json!({ "result": null }), Value::Null),
    ] {
        let (bridge, _agent, mut page, query) = start_query(json!({})).await;
        for malformed in [
            json!({}),
            json!({ "message": 42 }),
            json!({ "message": null }),
        ] {
            let (status, answer) = query.report(&bridge, "complete", malformed).await;
            assert_eq!(status, 400, "{answer}");
            assert_eq!(answer["error"], "Invalid request body");
        }
        let more = json!({ "usage": usage(), "toolCalls": [foreign_call()] });
        query
            .report_ok(&bridge, "complete", with_members(body, more))
            .await;
        let expected = json!({ "type": "query_complete", "uuid": UUID, "result": value,
            "usage": usage(), "toolCalls": [foreign_call()] });
        assert_eq!(recv_query_event(&mut page).await, expected);
    }
}

#[tokio::test]
async fn a_usage_that_is_too_large_or_no_object_is_left_out() {
    for usage in [json!({ "x": "x".repeat(17_000) }), json!([]), json!("x")] {
        let (events, mut query) = start_stream(json!({})).await;
        let complete = json!({ "result": "done", "usage": usage });
        events.send_event("query_complete", complete).await;
        let complete = recv_query_event(&mut query.page).await;
        assert_eq!(complete["result"], "done", "{complete}");
        assert_eq!(complete.get("usage"), None);
    }
}
