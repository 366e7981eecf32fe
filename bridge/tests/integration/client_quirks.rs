//! Behaviour of existing MCP clients that the bridge must support. `e2e/tests/clients` runs the
//! clients themselves.

use bridge::ServerHandle;
use serde_json::{Value, json};

use crate::kit::*;

/// A `sessionId` as Codex sends it: the id of its conversation.
const CONVERSATION_ID: &str = "01a2b3c4-0000-7000-8000-000000000000";

/// The first revision in which a stream may start with an event without data.
const PRIMING_REVISION: &str = "2025-11-25";

fn echo_with(meta: Value) -> Value {
    json!({ "name": "echo", "arguments": { "n": 1 }, "_meta": meta })
}

/// Waits for the future while the page responds to the calls that reach it.
async fn while_serving<T>(page: &mut Page, request: impl Future<Output = T>) -> T {
    let serving = async {
        loop {
            page.echo_call().await;
        }
    };
    tokio::select! {
        output = request => output,
        () = serving => unreachable!("the page serves forever"),
    }
}

/// Calls a tool with this `_meta` in both protocol eras, as a client with and without capabilities, and
/// returns the results.
async fn call_as_every_client(bridge: &ServerHandle, page: &mut Page, meta: &Value) -> Vec<Value> {
    let without_capabilities = McpClient::connect(bridge, TOKEN).await;
    let with_capabilities =
        McpClient::connect_with_capabilities(bridge, TOKEN, json!({ "elicitation": {} })).await;
    let mut results = Vec::new();
    for client in [&without_capabilities, &with_capabilities] {
        let call = client.request("tools/call", echo_with(meta.clone()));
        results.push(while_serving(page, call).await["result"].take());
    }
    for capabilities in [json!({}), json!({ "elicitation": {} })] {
        let client = StatelessClient::with_capabilities(bridge, capabilities);
        let call = client.request("tools/call", echo_with(meta.clone()));
        results.push(while_serving(page, call).await["result"].take());
    }
    results
}

#[tokio::test]
async fn an_unknown_bare_session_id_is_ignored() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for meta in [
        json!({ "sessionId": CONVERSATION_ID }),
        json!({ "sessionId": CONVERSATION_ID, "mcp-web/sessionId": "s" }),
        json!({ "sessionId": 7 }),
        json!({ "sessionId": "s" }),
        json!({ "mcp-web/sessionId": "s" }),
    ] {
        for result in call_as_every_client(&bridge, &mut page, &meta).await {
            assert_eq!(result["isError"], false, "{meta}: {result}");
            assert_eq!(result["structuredContent"], json!({ "n": 1 }), "{meta}");
        }
    }
}

#[tokio::test]
async fn a_bare_session_id_selects_the_page_it_names() {
    let bridge = start_bridge().await;
    let mut one = Page::with_tools(&bridge, "one", &[echo_tool()]).await;
    let _other = Page::with_tools(&bridge, "other", &[echo_tool()]).await;
    for result in call_as_every_client(&bridge, &mut one, &json!({ "sessionId": "one" })).await {
        assert_eq!(result["isError"], false, "{result}");
    }
    for result in
        call_as_every_client(&bridge, &mut one, &json!({ "sessionId": CONVERSATION_ID })).await
    {
        assert_eq!(error_code(&result), Some("SessionNotSpecified"), "{result}");
    }
}

#[tokio::test]
async fn calls_for_a_session_that_is_gone_or_unknown_run_nowhere_else() {
    let bridge = start_bridge().await;
    let closed = Page::with_tools(&bridge, "gone", &[echo_tool()]).await;
    closed.close().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for meta in [
        json!({ "sessionId": "gone" }),
        json!({ "mcp-web/sessionId": "gone" }),
        json!({ "mcp-web/sessionId": "never" }),
        json!({ "mcp-web/sessionId": "never", "sessionId": "s" }),
    ] {
        for result in call_as_every_client(&bridge, &mut page, &meta).await {
            assert_eq!(
                error_code(&result),
                Some("SessionNotFound"),
                "{meta}: {result}"
            );
            let text = result_text(&result);
            assert!(text.contains("no session `"), "{text}");
            assert!(!text.contains("SessionId("), "{text}");
        }
    }
}

#[tokio::test]
async fn a_session_key_that_is_not_a_string_is_invalid_params() {
    let bridge = start_bridge().await;
    let _page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let params = echo_with(json!({ "mcp-web/sessionId": 7 }));
    let answer = client.request("tools/call", params).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("mcp-web/sessionId"), "{message}");
}

/// The first events of three kinds of streams, for a client with and without capabilities: the response
/// to `initialize`, the response to a slow call, and the standalone stream.
async fn first_events(bridge: &ServerHandle, page: &mut Page, revision: &str) -> Vec<String> {
    let mut events = Vec::new();
    for capabilities in [json!({}), json!({ "elicitation": {} })] {
        let (client, initialized) =
            McpClient::connect_with_revision(bridge, TOKEN, revision, capabilities).await;
        let (event, _) = initialized.split_once("\n\n").unwrap();
        events.push(event.to_owned());
        let mut params = echo_with(json!({ "progressToken": "p" }));
        params["arguments"] = json!({});
        let handler = async {
            let call = page.recv_call().await;
            // Progress before the result makes the response an event stream in any case.
            let progress =
                json!({ "type": "call-progress", "requestId": call.request_id, "progress": 1 });
            page.send_json(progress).await;
            call
        };
        let stream = client.request_stream(7, "tools/call", params);
        let (mut stream, call) = tokio::join!(stream, handler);
        events.push(stream.next_event().await.unwrap());
        page.respond(&call, json!({})).await;
        let mut notifications = client.listen().await;
        // A change of the tool list sends a notification on the stream.
        page.register(&[json!({ "name": format!("t{revision}-{}", events.len()) })])
            .await;
        events.push(notifications.next_event().await.unwrap());
    }
    events
}

/// Clients of older revisions parse the data of each event as a message.
#[tokio::test]
async fn only_2025_11_25_clients_receive_priming_events() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        for event in first_events(&bridge, &mut page, revision).await {
            let data = event_field(&event, "data").map(serde_json::from_str::<Value>);
            assert!(matches!(data, Some(Ok(_))), "{revision}: {event:?}");
        }
    }
    let events = first_events(&bridge, &mut page, PRIMING_REVISION).await;
    let is_priming_event = |event: &&String| {
        event_field(event, "id").is_some()
            && event_field(event, "retry") == Some("3000")
            && event_field(event, "data") == Some("")
    };
    // The response to `initialize` cannot be resumed, because the client learns the session from
    // it.
    let count = events.iter().filter(is_priming_event).count();
    assert_eq!(count, 4, "{events:?}");
}

#[tokio::test]
async fn deleting_a_session_is_204_without_content() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let response = client.delete_session().await;
    assert_eq!(response.status(), 204);
    assert_eq!(response.text().await.unwrap(), "");
    let list = rpc_request(1, "tools/list", json!({}));
    assert_eq!(client.post(&list).await.status(), 404);
}

/// Neither `close()` of the TypeScript SDK nor Gemini CLI ends its MCP session.
#[tokio::test]
async fn abandoned_mcp_sessions_do_not_block_new_clients() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let clients = async {
        for _ in 0..1_000 {
            let client = McpClient::connect(&bridge, TOKEN).await;
            assert_eq!(client.tool_names().await.len(), 6);
        }
    };
    while_serving(&mut page, clients).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let call = client.call("echo", json!({ "n": 1 }));
    let answer = while_serving(&mut page, call).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[tokio::test]
async fn only_the_longest_idle_mcp_session_is_evicted() {
    let mut config = test_config();
    config.mcp_sessions.max_clients = 4;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let calling = McpClient::connect(&bridge, TOKEN).await;
    let call = calling.start_request("tools/call", json!({ "name": "echo", "arguments": {} }));
    let (response, call) = tokio::join!(call, page.recv_call());
    let listening = McpClient::connect(&bridge, TOKEN).await;
    let _stream = listening.listen().await;
    let [idle, used] = [(); 2].map(|()| McpClient::connect(&bridge, TOKEN));
    let (idle, used) = (idle.await, used.await);
    let list = rpc_request(1, "tools/list", json!({}));
    // `idle` makes its last request before `used`.
    for client in [&idle, &used] {
        assert_eq!(client.post(&list).await.status(), 200);
    }
    let newcomer = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(idle.post(&list).await.status(), 404);
    for client in [&used, &listening, &newcomer] {
        assert_eq!(client.post(&list).await.status(), 200);
    }
    page.respond(&call, json!({ "n": 7 })).await;
    let answer = EventStream::new(response).find_response().await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 7 }));
}

#[tokio::test]
async fn an_mcp_session_is_never_evicted_for_another_token() {
    let mut config = test_config();
    config.mcp_sessions.max_mcp_sessions = Some(1);
    let bridge = start_bridge_with(config).await;
    let first = McpClient::connect(&bridge, TOKEN).await;
    let info = json!({ "name": "other", "version": "1" });
    let other = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth(OTHER_TOKEN)
        .json(&initialize_request(PRIMING_REVISION, json!({}), info));
    let response = with_deadline("response", other.send()).await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(first.tool_names().await.len(), 5);
    // A new session of the same token evicts it.
    let second = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(second.tool_names().await.len(), 5);
}

#[tokio::test]
async fn deleting_an_mcp_session_cancels_its_call_at_once() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for capabilities in [json!({}), json!({ "elicitation": {} })] {
        let client = McpClient::connect_with_capabilities(&bridge, TOKEN, capabilities).await;
        let call = client.start_request("tools/call", json!({ "name": "echo", "arguments": {} }));
        let (_response, call) = tokio::join!(call, page.recv_call());
        let deleted_at = std::time::Instant::now();
        assert_eq!(client.delete_session().await.status(), 204);
        let cancel = page.recv_call_cancel().await;
        assert_eq!(cancel.request_id, call.request_id);
        // Ending the session must not wait for the call.
        assert!(deleted_at.elapsed() < std::time::Duration::from_secs(4));
    }
}

/// SDKs try every few seconds to resume the stream of a call that they have cancelled.
#[tokio::test]
async fn resuming_the_stream_of_a_cancelled_call_is_405() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let events = client.request_stream(7, "tools/call", json!({ "name": "echo", "arguments": {} }));
    let (mut events, _call) = tokio::join!(events, page.recv_call());
    let first = events.first_event_id().await;
    client.cancel_request(7).await;
    assert!(events.next().await.is_none());
    let resumed = client.get_after(&first).await;
    assert_eq!(resumed.status(), 405);
    // The session continues to work.
    assert_eq!(client.tool_names().await.len(), 6);
}

#[tokio::test]
async fn initialize_with_the_id_of_a_session_that_is_not_open_opens_one() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let foreign = McpClient::connect(&bridge, OTHER_TOKEN).await;
    let ended = McpClient::connect(&bridge, TOKEN).await;
    let end = http_client()
        .delete(&ended.url)
        .bearer_auth(TOKEN)
        .header("mcp-session-id", &ended.session);
    assert_eq!(
        with_deadline("end", end.send()).await.unwrap().status(),
        204
    );
    for id in [&*ended.session, &*foreign.session, "nobody's"] {
        let mut client = McpClient::connect(&bridge, TOKEN).await;
        client.session = id.to_owned();
        client.initialize_again().await;
        assert_ne!(client.session, id);
        let call = client.call("echo", json!({ "n": 1 }));
        let answer = while_serving(&mut page, call).await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    let listed = foreign.request("tools/list", json!({})).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
}

#[tokio::test]
async fn a_session_serves_get_and_delete_with_the_header_of_a_newer_version() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    for (method, status) in [("GET", 200), ("DELETE", 204), ("DELETE", 404)] {
        let request = http_client()
            .request(method.parse().unwrap(), &client.url)
            .bearer_auth(TOKEN)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &client.session)
            .header("mcp-protocol-version", STATELESS_REVISION);
        let response = with_deadline("response", request.send()).await.unwrap();
        assert_eq!(response.status(), status, "{method}");
    }
}
