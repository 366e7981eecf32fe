//! The lane answers as rmcp does: each request goes once as it is, and once with a member that the
//! lane does not know and rmcp does not mind.

mod harness;
mod rejections;

use std::time::{Duration, Instant};

use bridge::Config;
use bridge_protocol::BridgeToPage;
use serde_json::{Value, json};

use self::harness::World;
use crate::kit::*;

#[tokio::test]
async fn both_paths_answer_calls_identically() {
    let world = World::with_a_page().await;
    for params in [
        json!({ "name": "echo", "arguments": { "n": 1 } }),
        json!({ "name": "echo" }),
        json!({ "name": "echo", "arguments": null }),
        json!({ "name": "echo", "arguments": { "n": "no number" } }),
        json!({ "name": "echo", "arguments": { "session_id": "s", "n": 2 } }),
        json!({ "name": "echo", "arguments": { "session_id": "none" } }),
        json!({ "name": "echo", "arguments": {}, "_meta": { "sessionId": "s", "traceparent": "x" } }),
        json!({ "name": "echo", "arguments": {}, "_meta": { "sessionId": "none" } }),
        json!({ "name": "nobody's" }),
        json!({ "name": "" }),
        json!({ "name": "t\u{e9}" }),
        json!({ "name": "told" }),
        json!({ "name": "picture" }),
        json!({ "name": "blocks" }),
        json!({ "name": "wrong" }),
        json!({ "name": "fails" }),
        json!({ "name": "marked" }),
        json!({ "name": "breaks its promise" }),
        json!({ "name": "list_session_tools", "arguments": { "session_id": "s" } }),
        json!({ "name": "get_connection_status" }),
        json!({ "name": "get_result", "arguments": { "handle": 7 } }),
        json!({ "name": "call_session_tool", "arguments": {} }),
        json!({ "name": "call_session_tool",
            "arguments": { "tool_name": "echo", "arguments": { "n": 3 } } }),
    ] {
        let ascii = params["name"].as_str().unwrap().is_ascii();
        for sent in world.both(params.clone()) {
            if ascii || sent.headers.iter().all(|(name, _)| *name != "mcp-name") {
                let answer = world.is_the_lanes(sent).await;
                assert_eq!(answer["id"], 1);
            }
        }
    }
}

#[tokio::test]
async fn both_paths_answer_identically_without_a_page() {
    let world = World::of(start_bridge().await).await;
    for name in ["echo", "list_active_sessions", "list_session_tools"] {
        for sent in world.both(json!({ "name": name })) {
            world.is_the_lanes(sent).await;
        }
    }
}

#[tokio::test]
async fn request_ids_are_returned_verbatim() {
    let world = World::with_a_page().await;
    for id in [
        "0",
        "-3",
        "9007199254740993",
        "\"\"",
        "\"a b\"",
        r#""\u0061\n""#,
    ] {
        let body = format!(
            r#" {{"id":{id}, "method":"tools/call","jsonrpc":"2.0","params":{{"name":"echo"}}}}"#
        );
        let sent = world.legacy(body[1..].to_owned());
        let answer = world.is_the_lanes(sent).await;
        assert_eq!(answer["id"], serde_json::from_str::<Value>(id).unwrap());
    }
}

#[tokio::test]
async fn both_paths_list_tools_identically() {
    let world = World::with_a_page().await;
    for params in [json!({}), json!({ "_meta": { "own": 1 } })] {
        let body = rpc_request(1, "tools/list", params.clone()).to_string();
        let legacy = world.is_the_lanes(world.legacy(body)).await;
        let modern = world.is_the_lanes(world.modern("tools/list", params)).await;
        assert_eq!(legacy["result"]["tools"].as_array().unwrap().len(), 15);
        assert_eq!(modern["result"]["ttlMs"], 0);
    }
    let nothing = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    world.is_the_lanes(world.legacy(nothing.to_owned())).await;
    for params in [
        json!({ "cursor": "c" }),
        json!({ "name": "n" }),
        json!(null),
    ] {
        let body = rpc_request(1, "tools/list", params).to_string();
        world.same(&world.legacy(body)).await;
    }
}

/// rmcp's model of a tool has eight fields.
#[tokio::test]
async fn custom_tool_fields_are_listed() {
    let bridge = start_bridge().await;
    let tool = json!({ "name": "own", "example.com/own": { "z": 1, "a": null } });
    let _page = Page::with_tools(&bridge, "s", std::slice::from_ref(&tool)).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let listed = client.request("tools/list", json!({})).await;
    let own = &listed["result"]["tools"][5]["example.com/own"];
    assert_eq!(own.to_string(), tool["example.com/own"].to_string());
}

#[tokio::test]
async fn both_paths_report_progress_before_the_result() {
    let world = World::with_a_page().await;
    for token in [json!("t"), json!(7), json!(1.5), json!({})] {
        for sent in world.both(json!({ "name": "told", "_meta": { "progressToken": token } })) {
            let heard = world.same(&sent).await;
            let wanted = usize::from(token.is_string() || token.is_i64());
            assert_eq!(heard.messages.len(), 1 + wanted, "{heard:?}");
        }
    }
}

#[tokio::test]
async fn clients_that_accept_only_event_streams_receive_events() {
    let world = World::with_a_page().await;
    for sent in world.both(json!({ "name": "echo" })) {
        let heard = world
            .same(&sent.clone().header("accept", Some("text/event-stream")))
            .await;
        assert!(!heard.is_json && heard.messages.len() == 1);
        for json in [None, Some("*/*"), Some("application/json")] {
            world
                .is_the_lanes(sent.clone().header("accept", json))
                .await;
        }
        let weighed = Some("application/json;q=0.5, text/event-stream");
        world.same(&sent.header("accept", weighed)).await;
    }
}

/// Whom a page may ask takes rmcp's way, unless the tool says that it does not ask.
#[tokio::test]
async fn clients_with_capabilities_use_rmcp_unless_the_tool_opts_out() {
    let world = World::with_a_page().await;
    let able =
        McpClient::connect_with_capabilities(&world.bridge, TOKEN, json!({ "roots": {} })).await;
    for (tool, is_the_lanes) in [
        ("echo", false),
        ("marked", true),
        ("call_session_tool", false),
        ("list_active_sessions", true),
    ] {
        let declared = json!({ "io.modelcontextprotocol/clientCapabilities": { "roots": {} } });
        let params = json!({ "name": tool, "_meta": declared });
        let modern = world.same(&world.modern("tools/call", params)).await;
        assert_eq!(modern.is_json, is_the_lanes, "{tool}");
        let legacy = rpc_request(1, "tools/call", json!({ "name": tool })).to_string();
        let legacy = world
            .legacy(legacy)
            .header("mcp-session-id", Some(&able.session));
        assert_eq!(world.same(&legacy).await.is_json, is_the_lanes, "{tool}");
    }
}

#[tokio::test]
async fn a_client_request_of_an_opted_out_tool_is_rejected() {
    let bridge = start_bridge().await;
    let tool = json!({ "name": "echo", "_meta": { "mcp-web/asksClient": false } });
    let mut page = Page::with_tools(&bridge, "s", &[tool]).await;
    let able = McpClient::connect_with_capabilities(&bridge, TOKEN, json!({ "roots": {} })).await;
    let handler = async {
        let call = page.recv_call().await;
        let asked = [json!({ "key": "k", "method": "roots/list", "params": {} })];
        page.send_json(
            json!({ "type": "client-requests", "requestId": call.request_id,
            "requests": asked }),
        )
        .await;
        let refused = page
            .recv_matching(|message| match message {
                BridgeToPage::ClientResponses(heard) => heard.responses.into_iter().next(),
                _ => None,
            })
            .await;
        page.respond(&call, json!(refused.error.unwrap().message))
            .await;
    };
    let (answer, ()) = tokio::join!(able.call("echo", json!({})), handler);
    let text = result_text(&answer["result"]);
    assert!(text.contains("mcp-web/asksClient"), "{text}");
}

#[tokio::test]
async fn a_slow_call_becomes_a_resumable_stream() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let events = client.request_stream(7, "tools/call", params);
    // The answer's head comes without anything from the page.
    let (events, call) = tokio::join!(events, page.recv_call());
    let mut events = events;
    let odd = json!({ "big": 1e300, "text": "\u{2028}\n" });
    let ended = async {
        let first = events.first_event_id().await;
        drop(events);
        first
    };
    let first = ended.await;
    page.respond(&call, odd.clone()).await;
    let mut again = client.resume(&first).await;
    let answer = again.find_response().await;
    assert_eq!(answer["result"]["structuredContent"], odd);
    assert_eq!(answer["result"]["isError"], false);
    assert!(again.next().await.is_none());
}

/// A client waits for the head of an answer for so long: one that says nothing must come in time.
#[tokio::test]
async fn a_slow_stateless_call_becomes_a_stream() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let call = crate::mcp::stateless(&bridge, "tools/call", params);
    let (response, call) = tokio::join!(with_deadline("head", call.send()), page.recv_call());
    let response = response.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    page.respond(&call, json!({ "n": 1 })).await;
    let answer = rpc_response(response).await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
}

/// A session is idle only when nothing of it goes on, whoever serves it.
#[tokio::test]
async fn calls_and_streams_keep_an_mcp_session_alive() {
    let idle = Duration::from_millis(400);
    let config = Config {
        mcp_session_idle: idle,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let calling = McpClient::connect(&bridge, TOKEN).await;
    let listening = McpClient::connect(&bridge, TOKEN).await;
    let silent = McpClient::connect(&bridge, TOKEN).await;
    let _stream = listening.listen().await;
    let began = Instant::now();
    while began.elapsed() < 3 * idle {
        calling.call("get_connection_status", json!({})).await;
    }
    let list = rpc_request(1, "tools/list", json!({}));
    assert_eq!(calling.post(&list).await.status(), 200);
    assert_eq!(listening.post(&list).await.status(), 200);
    assert_eq!(silent.post(&list).await.status(), 404);
}
