//! What clients do that nobody here wrote, and what they must hear then. The clients themselves are
//! run by `e2e/tests/clients`.

use bridge::{Config, ServerHandle};
use bridge_protocol::BridgeToPage;
use serde_json::{Value, json};

use crate::kit::*;
use crate::mcp::stateless_with;

/// As Codex has it: the id of its own conversation.
const CONVERSATION: &str = "01a2b3c4-0000-7000-8000-000000000000";

/// The revision since which a stream may begin with an event without data.
const PRIMING_SINCE: &str = "2025-11-25";

fn echo_with(meta: Value) -> Value {
    json!({ "name": "echo", "arguments": { "n": 1 }, "_meta": meta })
}

/// Waits for this while the page answers the calls that reach it.
async fn while_answering<T>(page: &mut Page, request: impl Future<Output = T>) -> T {
    let answering = async {
        loop {
            page.echo_call().await;
        }
    };
    tokio::select! {
        done = request => done,
        () = answering => unreachable!("it answers for ever"),
    }
}

/// The results of a call in every era, on the lane and by rmcp.
async fn called(bridge: &ServerHandle, page: &mut Page, meta: &Value) -> Vec<Value> {
    let plain = McpClient::connect(bridge, TOKEN).await;
    // A client that can be asked is rmcp's.
    let able =
        McpClient::connect_with_capabilities(bridge, TOKEN, json!({ "elicitation": {} })).await;
    let mut results = Vec::new();
    for client in [&plain, &able] {
        let call = client.request("tools/call", echo_with(meta.clone()));
        results.push(while_answering(page, call).await["result"].take());
    }
    for capabilities in [json!({}), json!({ "elicitation": {} })] {
        let call = stateless_with(bridge, "tools/call", echo_with(meta.clone()), capabilities);
        let call =
            async { rpc_response(with_deadline("answer", call.send()).await.unwrap()).await };
        results.push(while_answering(page, call).await["result"].take());
    }
    results
}

fn code(result: &Value) -> Option<&str> {
    result["_meta"]["mcp-web/error"]["code"].as_str()
}

#[tokio::test]
async fn an_unknown_bare_session_id_is_ignored() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for meta in [
        json!({ "sessionId": CONVERSATION }),
        json!({ "sessionId": CONVERSATION, "mcp-web/sessionId": "s" }),
        json!({ "sessionId": 7 }),
        json!({ "sessionId": "s" }),
        json!({ "mcp-web/sessionId": "s" }),
    ] {
        for result in called(&bridge, &mut page, &meta).await {
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
    for result in called(&bridge, &mut one, &json!({ "sessionId": "one" })).await {
        assert_eq!(result["isError"], false, "{result}");
    }
    for result in called(&bridge, &mut one, &json!({ "sessionId": CONVERSATION })).await {
        assert_eq!(code(&result), Some("SessionNotSpecified"), "{result}");
    }
}

#[tokio::test]
async fn calls_for_a_session_that_is_gone_or_unknown_run_nowhere_else() {
    let bridge = start_bridge().await;
    let gone = Page::with_tools(&bridge, "gone", &[echo_tool()]).await;
    gone.close().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for meta in [
        json!({ "sessionId": "gone" }),
        json!({ "mcp-web/sessionId": "gone" }),
        json!({ "mcp-web/sessionId": "never" }),
        json!({ "mcp-web/sessionId": "never", "sessionId": "s" }),
    ] {
        for result in called(&bridge, &mut page, &meta).await {
            assert_eq!(code(&result), Some("SessionNotFound"), "{meta}: {result}");
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

/// The raw text of an answer to `initialize`, the beginning of the standalone stream, and that of the
/// stream of a call that takes its time, on the lane and by rmcp.
async fn beginnings(bridge: &ServerHandle, page: &mut Page, version: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for capabilities in [json!({}), json!({ "elicitation": {} })] {
        let (client, initialized) =
            McpClient::connect_with_revision(bridge, TOKEN, version, capabilities).await;
        texts.push(initialized);
        let mut params = echo_with(json!({ "progressToken": "p" }));
        params["arguments"] = json!({});
        let call = rpc_request(7, "tools/call", params);
        let reporting = async {
            let call = page.recv_call().await;
            // Something comes before the answer: the answer is a stream in any case.
            let progress =
                json!({ "type": "call-progress", "requestId": call.request_id, "progress": 1 });
            page.send_json(progress).await;
            call
        };
        let (mut response, call) = tokio::join!(client.post(&call), reporting);
        texts.push(first_event(&mut response).await);
        page.respond(&call, json!({})).await;
        let mut listening = client.listen().await;
        // A list that changes is something to hear of.
        page.register(&[json!({ "name": format!("t{version}-{}", texts.len()) })])
            .await;
        texts.push(first_event(&mut listening).await);
    }
    texts
}

/// The first event of a stream: comments are none.
async fn first_event(response: &mut reqwest::Response) -> String {
    let mut text = String::new();
    loop {
        if let Some((event, rest)) = text.split_once("\n\n") {
            match event.starts_with(':') {
                true => text = rest.to_owned(),
                false => return text,
            }
            continue;
        }
        let chunk = with_deadline("event", response.chunk()).await.unwrap();
        text += std::str::from_utf8(&chunk.expect("the stream goes on")).unwrap();
    }
}

/// Clients of older revisions read each event's data as a message.
#[tokio::test]
async fn only_2025_11_25_clients_receive_priming_events() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        for text in beginnings(&bridge, &mut page, version).await {
            let (event, _) = text.split_once("\n\n").unwrap();
            let data = event.lines().find_map(|line| line.strip_prefix("data:"));
            let data = data.map(|data| serde_json::from_str::<Value>(data.trim()));
            assert!(matches!(data, Some(Ok(_))), "{version}: {text:?}");
        }
    }
    let texts = beginnings(&bridge, &mut page, PRIMING_SINCE).await;
    let primed = |text: &&String| {
        let (event, _) = text.split_once("\n\n").unwrap();
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        field("id:").is_some()
            && field("retry:").map(str::trim) == Some("3000")
            && field("data:").map(str::trim) == Some("")
    };
    // The answer to `initialize` cannot be come back to: it names the session.
    let count = texts.iter().filter(primed).count();
    assert_eq!(count, 4, "{texts:?}");
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

/// `close()` of the TypeScript SDK, and Gemini CLI, end no session.
#[tokio::test]
async fn abandoned_mcp_sessions_do_not_block_new_clients() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let rounds = async {
        for _ in 0..1_000 {
            let client = McpClient::connect(&bridge, TOKEN).await;
            assert_eq!(client.tool_names().await.len(), 6);
        }
    };
    while_answering(&mut page, rounds).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let call = client.call("echo", json!({ "n": 1 }));
    let answer = while_answering(&mut page, call).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[tokio::test]
async fn only_the_longest_idle_mcp_session_is_evicted() {
    let config = Config {
        max_clients: 4,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let calling = McpClient::connect(&bridge, TOKEN).await;
    let call = calling.start_request("tools/call", json!({ "name": "echo", "arguments": {} }));
    let (mut call, of_page) = tokio::join!(call, page.recv_call());
    let listening = McpClient::connect(&bridge, TOKEN).await;
    let _stream = listening.listen().await;
    let [idle, used] = [(); 2].map(|()| McpClient::connect(&bridge, TOKEN));
    let (idle, used) = (idle.await, used.await);
    let list = rpc_request(1, "tools/list", json!({}));
    // Now the other one is idle for longer.
    for client in [&idle, &used] {
        assert_eq!(client.post(&list).await.status(), 200);
    }
    let newcomer = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(idle.post(&list).await.status(), 404);
    for client in [&used, &listening, &newcomer] {
        assert_eq!(client.post(&list).await.status(), 200);
    }
    page.respond(&of_page, json!({ "n": 7 })).await;
    let answer = find_event(&mut call, |message| message.get("result").is_some()).await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 7 }));
}

/// Another token's sessions are not for it to end.
#[tokio::test]
async fn an_mcp_session_is_never_evicted_for_another_token() {
    let config = Config {
        max_mcp_sessions: 1,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let first = McpClient::connect(&bridge, TOKEN).await;
    let params = json!({ "protocolVersion": PRIMING_SINCE, "capabilities": {},
        "clientInfo": { "name": "other", "version": "1" } });
    let other = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth("token-of-somebody-else-0123456789")
        .json(&rpc_request(0, "initialize", params));
    assert_eq!(
        with_deadline("refusal", other.send())
            .await
            .unwrap()
            .status(),
        503
    );
    assert_eq!(first.tool_names().await.len(), 5);
    // For its own it does.
    let second = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(second.tool_names().await.len(), 5);
}

/// A call that rmcp serves ends with its session too.
#[tokio::test]
async fn deleting_an_mcp_session_cancels_its_call_at_once() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for capabilities in [json!({}), json!({ "elicitation": {} })] {
        let client = McpClient::connect_with_capabilities(&bridge, TOKEN, capabilities).await;
        let call = client.start_request("tools/call", json!({ "name": "echo", "arguments": {} }));
        let (_response, call) = tokio::join!(call, page.recv_call());
        let began = std::time::Instant::now();
        assert_eq!(client.delete_session().await.status(), 204);
        let cancelled = page
            .recv_matching(|message| match message {
                BridgeToPage::CallCancel(cancel) => Some(cancel.request_id),
                _ => None,
            })
            .await;
        assert_eq!(cancelled, call.request_id);
        // rmcp itself waits for five seconds.
        assert!(began.elapsed() < std::time::Duration::from_secs(4));
    }
}

/// SDKs come back to the stream of a call that they have cancelled, every few seconds.
#[tokio::test]
async fn resuming_the_stream_of_a_cancelled_call_is_405() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let events = client.request_stream(7, "tools/call", json!({ "name": "echo", "arguments": {} }));
    let (mut events, _call) = tokio::join!(events, page.recv_call());
    let first = events.first_event_id().await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 7 } });
    assert_eq!(client.post(&cancel).await.status(), 202);
    assert!(events.next().await.is_none());
    let again = client.get_after(&first).await;
    assert_eq!(again.status(), 405);
    // The session goes on.
    assert_eq!(client.tool_names().await.len(), 6);
}
