//! Calls that outlive their document.

use std::time::{Duration, Instant};

use bridge::{Config, Memory, PageTimings, ServerHandle};
use bridge_protocol::{CallHandOver, Leaving, PageToBridge, ToolCall};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::kit::*;

/// Connects another document of the session `s`.
async fn next_document(bridge: &ServerHandle, tools: &[Value]) -> Page {
    let mut page = Page::open(bridge, "s", None).await;
    page.send_json(json!({
        "type": "authenticate",
        "protocol": 2,
        "authToken": TOKEN,
        "sessionId": "s",
        "documentId": "the next document",
    }))
    .await;
    page.register(tools).await;
    page
}

/// Receives a call, arms its hand-over, and leaves.
async fn hand_over(page: &mut Page, state: Value) -> ToolCall {
    let call = page.recv_call().await;
    page.send(PageToBridge::CallHandOver(CallHandOver {
        request_id: call.request_id.clone(),
        state: Some(to_raw_value(&state).unwrap()),
    }))
    .await;
    let hands_over = vec![call.request_id.clone()];
    page.send(PageToBridge::Leaving(Leaving { hands_over }))
        .await;
    while page.recv_frame().await.is_some() {}
    call
}

#[tokio::test]
async fn the_next_document_continues_the_call_of_each_kind_of_client() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    for over_mcp in [false, true] {
        let mut first = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
        let documents = async {
            let call = hand_over(&mut first, json!({ "step": 1 })).await;
            assert!(call.context.continuation.is_none());
            let mut next = next_document(&bridge, &[echo_tool()]).await;
            let continued = next.recv_call().await;
            assert_eq!(continued.request_id, call.request_id);
            assert_eq!(continued.tool_input.get(), call.tool_input.get());
            let state = continued.context.continuation.as_ref().unwrap();
            assert_eq!(state.get(), r#"{"step":1}"#);
            assert_eq!(continued.context.hand_overs, Some(1));
            let timeouts = [call.context.timeout_ms, continued.context.timeout_ms];
            assert!(timeouts[1] <= timeouts[0] && timeouts[1] > Some(1_000));
            next.respond(&continued, json!({ "done": true })).await;
            next.close().await;
        };
        let calling = async {
            if over_mcp {
                client.call("echo", json!({ "n": 1 })).await["result"].clone()
            } else {
                post_tool_call(&bridge, "echo", json!({ "n": 1 })).await.1
            }
        };
        let (answer, ()) = tokio::join!(calling, documents);
        assert_eq!(answer["structuredContent"], json!({ "done": true }));
    }
}

#[tokio::test]
async fn a_call_ends_when_no_document_continues_within_page_return() {
    let config = config_with_page_timings(PageTimings {
        page_return: Duration::from_millis(50),
        ..PageTimings::default()
    });
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let since = Instant::now();
    let (answer, _) = tokio::join!(
        post_tool_call(&bridge, "echo", json!({})),
        hand_over(&mut page, json!(1))
    );
    assert_eq!(error_code(&answer.1), Some("PageGone"), "{}", answer.1);
    let text = result_text(&answer.1);
    assert!(text.contains("has not come back") && text.contains("list_active_sessions"));
    assert!(since.elapsed() >= Duration::from_millis(50));
}

#[tokio::test]
async fn arguments_are_validated_for_the_tool_of_the_next_document() {
    let bridge = start_bridge().await;
    let with_schema = |schema: Value| json!({ "name": "echo", "inputSchema": schema });
    let number = json!({ "type": "object", "properties": { "n": { "type": "number" } } });
    let text = json!({ "type": "object", "properties": { "n": { "type": "string" } } });
    let both = json!({ "type": "object", "properties": { "n": { "type": ["string", "number"] } } });
    for (schema, is_valid) in [(text, false), (both, true)] {
        let tools = [with_schema(number.clone())];
        let mut first = Page::with_tools(&bridge, "s", &tools).await;
        let documents = async {
            hand_over(&mut first, json!(1)).await;
            let mut next = next_document(&bridge, &[with_schema(schema)]).await;
            if is_valid {
                next.echo_call().await;
            }
            next
        };
        let (answer, next) = tokio::join!(
            post_tool_call(&bridge, "echo", json!({ "n": 1 })),
            documents
        );
        if is_valid {
            assert_eq!(answer.1["structuredContent"], json!({ "n": 1 }));
        } else {
            assert_eq!(error_code(&answer.1), Some("InvalidArguments"));
        }
        next.close().await;
    }
}

/// The states of calls count in the memory budget of the bridge.
#[tokio::test]
async fn without_memory_for_its_state_a_call_ends_with_its_document() {
    let bridge = start_bridge_with(Config {
        memory: Memory {
            max_memory_bytes: Some(64 * 1024 * 1024),
        },
        ..test_config()
    })
    .await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let mut open = Vec::new();
    // Calls, which the page does not answer, use up the memory: less than a state is left.
    for bytes in [2_000_000, 40_000] {
        loop {
            let call = json!({ "toolName": "echo", "toolInput": { "text": "x".repeat(bytes) } });
            let request = http_client()
                .post(format!("{}/tool-call", bridge.url()))
                .bearer_auth(TOKEN)
                .json(&call);
            let mut response = tokio::spawn(mock_agent::send_for_json(request));
            tokio::select! {
                call = page.recv_call() => open.push((call, response)),
                refusal = &mut response => {
                    assert_eq!(refusal.unwrap().0, 503);
                    break;
                }
            }
        }
    }
    let (call, response) = open.swap_remove(0);
    let state = to_raw_value(&"y".repeat(60_000)).unwrap();
    page.send(PageToBridge::CallHandOver(CallHandOver {
        request_id: call.request_id.clone(),
        state: Some(state),
    }))
    .await;
    let hands_over = vec![call.request_id];
    page.send(PageToBridge::Leaving(Leaving { hands_over }))
        .await;
    let (_, answer) = response.await.unwrap();
    assert_eq!(error_code(&answer), Some("PageGone"), "{answer}");
    let text = result_text(&answer);
    assert!(text.contains("no memory for its state"), "{text}");
}

/// The next document may connect before the bridge has read what the former one has sent.
#[tokio::test]
async fn a_document_that_connects_early_continues_from_the_last_state() {
    let bridge = start_bridge().await;
    let arm = async |page: &mut Page, call: &ToolCall, state: Value| {
        page.send(PageToBridge::CallHandOver(CallHandOver {
            request_id: call.request_id.clone(),
            state: Some(to_raw_value(&state).unwrap()),
        }))
        .await;
    };
    for leaves in [true, false] {
        let mut first = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
        let documents = async {
            let call = first.recv_call().await;
            arm(&mut first, &call, json!({ "step": 1 })).await;
            let mut next = next_document(&bridge, &[echo_tool()]).await;
            if !leaves {
                drop(first);
                return next;
            }
            arm(&mut first, &call, json!({ "step": 2 })).await;
            let hands_over = vec![call.request_id.clone()];
            first
                .send(PageToBridge::Leaving(Leaving { hands_over }))
                .await;
            let continued = next.recv_call().await;
            let state = continued.context.continuation.as_ref().unwrap();
            assert_eq!(state.get(), r#"{"step":2}"#);
            next.respond(&continued, json!({ "done": true })).await;
            next
        };
        let calling = post_tool_call(&bridge, "echo", json!({}));
        let (answer, next) = tokio::join!(calling, documents);
        if leaves {
            assert_eq!(answer.1["structuredContent"], json!({ "done": true }));
        } else {
            assert_eq!(error_code(&answer.1), Some("PageGone"), "{}", answer.1);
        }
        next.close().await;
    }
}
