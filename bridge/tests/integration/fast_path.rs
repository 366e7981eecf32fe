//! The fast path gives the same responses as rmcp. Each request is sent unchanged, and again with a
//! member that the fast path does not know, so that rmcp serves it.

pub(crate) mod harness;
mod rejections;

use std::time::{Duration, Instant};

use bridge::Config;
use serde_json::{Value, json};

use self::harness::Harness;
use crate::kit::*;

#[tokio::test]
async fn both_paths_answer_calls_identically() {
    let harness = Harness::with_page().await;
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
        json!({ "name": "progress" }),
        json!({ "name": "picture" }),
        json!({ "name": "blocks" }),
        json!({ "name": "malformed" }),
        json!({ "name": "fails" }),
        json!({ "name": "opted_out" }),
        json!({ "name": "violates its schema" }),
        json!({ "name": "list_session_tools", "arguments": { "session_id": "s" } }),
        json!({ "name": "get_connection_status" }),
        json!({ "name": "get_result", "arguments": { "handle": 7 } }),
        json!({ "name": "call_session_tool", "arguments": {} }),
        json!({ "name": "call_session_tool",
            "arguments": { "tool_name": "echo", "arguments": { "n": 3 } } }),
    ] {
        let ascii = params["name"].as_str().unwrap().is_ascii();
        for request in harness.call_in_both_eras(params.clone()) {
            if ascii || request.headers.iter().all(|(name, _)| *name != "mcp-name") {
                let answer = harness.assert_fast_path(request).await;
                assert_eq!(answer["id"], 1);
            }
        }
    }
}

#[tokio::test]
async fn both_paths_answer_identically_without_a_page() {
    let harness = Harness::new(start_bridge().await).await;
    for name in ["echo", "list_active_sessions", "list_session_tools"] {
        for request in harness.call_in_both_eras(json!({ "name": name })) {
            harness.assert_fast_path(request).await;
        }
    }
}

#[tokio::test]
async fn request_ids_are_returned_verbatim() {
    let harness = Harness::with_page().await;
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
        let request = harness.in_session(body[1..].to_owned());
        let answer = harness.assert_fast_path(request).await;
        assert_eq!(answer["id"], serde_json::from_str::<Value>(id).unwrap());
    }
}

#[tokio::test]
async fn both_paths_list_tools_identically() {
    let harness = Harness::with_page().await;
    for params in [json!({}), json!({ "_meta": { "own": 1 } })] {
        let body = rpc_request(1, "tools/list", params.clone()).to_string();
        let in_session = harness.assert_fast_path(harness.in_session(body)).await;
        let stateless = harness
            .assert_fast_path(harness.stateless("tools/list", params))
            .await;
        assert_eq!(in_session["result"]["tools"].as_array().unwrap().len(), 15);
        assert_eq!(stateless["result"]["ttlMs"], 0);
    }
    let no_params = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    harness
        .assert_fast_path(harness.in_session(no_params.to_owned()))
        .await;
    for params in [
        json!({ "cursor": "c" }),
        json!({ "name": "n" }),
        json!(null),
    ] {
        let body = rpc_request(1, "tools/list", params).to_string();
        harness.assert_same(&harness.in_session(body)).await;
    }
}

/// The `Tool` type of rmcp would drop members that it does not know.
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
    let harness = Harness::with_page().await;
    for token in [json!("t"), json!(7), json!(1.5), json!({})] {
        for request in harness
            .call_in_both_eras(json!({ "name": "progress", "_meta": { "progressToken": token } }))
        {
            let response = harness.assert_same(&request).await;
            let notifications = usize::from(token.is_string() || token.is_i64());
            assert_eq!(response.messages.len(), 1 + notifications, "{response:?}");
        }
    }
}

#[tokio::test]
async fn clients_that_accept_only_event_streams_receive_events() {
    let harness = Harness::with_page().await;
    for request in harness.call_in_both_eras(json!({ "name": "echo" })) {
        let response = harness
            .assert_same(
                &request
                    .clone()
                    .with_header("accept", Some("text/event-stream")),
            )
            .await;
        assert!(!response.is_json && response.messages.len() == 1);
        for json in [None, Some("*/*"), Some("application/json")] {
            harness
                .assert_fast_path(request.clone().with_header("accept", json))
                .await;
        }
        let weighted = Some("application/json;q=0.5, text/event-stream");
        harness
            .assert_same(&request.with_header("accept", weighted))
            .await;
    }
}

/// rmcp serves calls during which the page may send client requests: those of clients with
/// capabilities, unless the tool declares that it sends none.
#[tokio::test]
async fn clients_with_capabilities_use_rmcp_unless_the_tool_opts_out() {
    let harness = Harness::with_page().await;
    let client =
        McpClient::connect_with_capabilities(&harness.bridge, TOKEN, json!({ "roots": {} })).await;
    for (tool, is_fast_path) in [
        ("echo", false),
        ("opted_out", true),
        ("call_session_tool", false),
        ("list_active_sessions", true),
    ] {
        let declared = json!({ "io.modelcontextprotocol/clientCapabilities": { "roots": {} } });
        let params = json!({ "name": tool, "_meta": declared });
        let stateless = harness
            .assert_same(&harness.stateless("tools/call", params))
            .await;
        assert_eq!(stateless.is_json, is_fast_path, "{tool}");
        let in_session = rpc_request(1, "tools/call", json!({ "name": tool })).to_string();
        let in_session = harness
            .in_session(in_session)
            .with_header("mcp-session-id", Some(&client.session));
        assert_eq!(
            harness.assert_same(&in_session).await.is_json,
            is_fast_path,
            "{tool}"
        );
    }
}

#[tokio::test]
async fn a_client_request_of_an_opted_out_tool_is_rejected() {
    let bridge = start_bridge().await;
    let tool = json!({ "name": "echo", "_meta": { "mcp-web/asksClient": false } });
    let mut page = Page::with_tools(&bridge, "s", &[tool]).await;
    let client = McpClient::connect_with_capabilities(&bridge, TOKEN, json!({ "roots": {} })).await;
    let handler = async {
        let call = page.recv_call().await;
        let requests = [json!({ "key": "k", "method": "roots/list", "params": {} })];
        page.send_json(
            json!({ "type": "client-requests", "requestId": call.request_id,
            "requests": requests }),
        )
        .await;
        let responses = page.recv_client_responses().await;
        let error = responses[0].error.as_ref().unwrap();
        page.respond(&call, json!(error.message)).await;
    };
    let (answer, ()) = tokio::join!(client.call("echo", json!({})), handler);
    let text = result_text(&answer["result"]);
    assert!(text.contains("mcp-web/asksClient"), "{text}");
}

#[tokio::test]
async fn a_slow_call_becomes_a_resumable_stream() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let events = client.request_stream(7, "tools/call", params);
    // The head of the response arrives before the page has sent anything.
    let (mut events, call) = tokio::join!(events, page.recv_call());
    let first = events.first_event_id().await;
    drop(events);
    let unusual = json!({ "big": 1e300, "text": "\u{2028}\n" });
    page.respond(&call, unusual.clone()).await;
    let mut resumed = client.resume(&first).await;
    let answer = resumed.find_response().await;
    assert_eq!(answer["result"]["structuredContent"], unusual);
    assert_eq!(answer["result"]["isError"], false);
    assert!(resumed.next().await.is_none());
}

/// Clients have a timeout for the head of a response, so the bridge sends it before the result is
/// known.
#[tokio::test]
async fn a_slow_stateless_call_becomes_a_stream() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let client = StatelessClient::new(&bridge);
    let (response, call) = tokio::join!(client.send("tools/call", params), page.recv_call());
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    page.respond(&call, json!({ "n": 1 })).await;
    let answer = rpc_response(response).await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
}

/// A session is idle only if it has neither a call nor a stream, on the fast path or through rmcp.
#[tokio::test]
async fn calls_and_streams_keep_an_mcp_session_alive() {
    let idle = Duration::from_millis(400);
    let config = Config {
        mcp_session_idle: idle,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let calling_client = McpClient::connect(&bridge, TOKEN).await;
    let listening_client = McpClient::connect(&bridge, TOKEN).await;
    let idle_client = McpClient::connect(&bridge, TOKEN).await;
    let _stream = listening_client.listen().await;
    let started = Instant::now();
    while started.elapsed() < 3 * idle {
        calling_client
            .call("get_connection_status", json!({}))
            .await;
    }
    let list = rpc_request(1, "tools/list", json!({}));
    assert_eq!(calling_client.post(&list).await.status(), 200);
    assert_eq!(listening_client.post(&list).await.status(), 200);
    assert_eq!(idle_client.post(&list).await.status(), 404);
}
