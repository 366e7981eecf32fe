//! MCP over HTTP in both protocol eras, with details that a client library would hide.

use std::time::Duration;

use bridge_protocol::BridgeToPage;
use serde_json::json;

use crate::kit::*;

#[tokio::test]
async fn stateless_clients_discover_list_and_call_tools() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = StatelessClient::new(&bridge);
    let discovered = client.request("server/discover", json!({})).await;
    let revisions = discovered["result"]["supportedVersions"]
        .as_array()
        .unwrap();
    assert!(
        revisions.contains(&json!(STATELESS_REVISION)),
        "{discovered}"
    );
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 6);
    assert_eq!(tools[5]["name"], "echo");
    let params = json!({ "name": "echo", "arguments": { "n": 9 } });
    let call = client.request("tools/call", params);
    let (answer, call) = tokio::join!(call, page.serve_call(json!({ "n": 9 })));
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({ "n": 9 }),
        "{answer}"
    );
    assert_eq!(call.context.client.unwrap().info.name, CLIENT_NAME);
}

#[tokio::test]
async fn mcp_is_served_at_the_root_path() {
    let bridge = start_bridge().await;
    let mut client = McpClient::connect(&bridge, TOKEN).await;
    client.url = format!("{}/", bridge.url());
    assert_eq!(client.tool_names().await.len(), 5);
}

#[tokio::test]
async fn missing_and_wildcard_accept_headers_are_tolerated() {
    let bridge = start_bridge().await;
    for accept in [None, Some("*/*"), Some("application/json")] {
        let info = json!({ "name": "lenient", "version": "1" });
        let mut request = http_client()
            .post(format!("{}/mcp", bridge.url()))
            .bearer_auth(TOKEN)
            .json(&initialize_request("2025-11-25", json!({}), info));
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{accept:?}");
        let answer = rpc_response(response).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    }
}

#[tokio::test]
async fn every_revision_with_a_handshake_is_supported() {
    let bridge = start_bridge().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let info = json!({ "name": "old", "version": "1" });
        let request = http_client()
            .post(format!("{}/mcp", bridge.url()))
            .bearer_auth(TOKEN)
            .json(&initialize_request(revision, json!({}), info));
        let answer = rpc_response(request.send().await.unwrap()).await;
        assert_eq!(answer["result"]["protocolVersion"], revision);
        assert_eq!(
            answer["result"]["capabilities"]["tools"]["listChanged"],
            true
        );
    }
}

#[tokio::test]
async fn an_mcp_session_belongs_to_the_token_that_opened_it() {
    let bridge = start_bridge().await;
    let owner = McpClient::connect(&bridge, TOKEN).await;
    let mut stranger = McpClient::connect(&bridge, OTHER_TOKEN).await;
    stranger.session = owner.session.clone();
    let list = rpc_request(1, "tools/list", json!({}));
    assert_eq!(stranger.post(&list).await.status(), 404);
    let deleted = stranger.delete_session().await;
    assert!(deleted.status().is_client_error(), "{deleted:?}");
    assert_eq!(
        owner.tool_names().await.len(),
        5,
        "another token ended the session"
    );
    assert!(owner.delete_session().await.status().is_success());
    assert_eq!(owner.post(&list).await.status(), 404);
}

#[tokio::test]
async fn waiting_clients_are_notified_when_a_page_registers_tools() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(client.tool_names().await.len(), 5);
    let mut events = client.listen().await;
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let stateless = StatelessClient::new(&bridge);
    let mut subscription = EventStream::new(stateless.send("subscriptions/listen", params).await);
    let acknowledged = "notifications/subscriptions/acknowledged";
    subscription.find_method(acknowledged).await;
    let _page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for stream in [&mut events, &mut subscription] {
        stream.find_method("notifications/tools/list_changed").await;
    }
    assert_eq!(client.tool_names().await.len(), 6);
}

#[tokio::test]
async fn a_cancelled_notification_reaches_the_page() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let message = rpc_request(77, "tools/call", json!({ "name": "echo", "arguments": {} }));
    let _open = client.post(&message).await;
    let call = page.recv_call().await;
    client.cancel_request(77).await;
    let cancel = page.recv_call_cancel().await;
    assert_eq!(cancel.request_id, call.request_id);
}

#[tokio::test]
async fn cancellation_matches_request_ids_in_any_json_spelling() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    for (request_id, cancelled_id) in [
        (r#""call-1""#, r#""call-1""#),
        (r#""call-2""#, r#""call\u002d2""#),
        (r#""\u0063all-3""#, r#""call-3""#),
        ("-4", "-4"),
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{request_id},"method":"tools/call","params":{{"name":"echo"}}}}"#
        );
        let _open = client.post_text(message).await;
        let call = page.recv_call().await;
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{cancelled_id}}}}}"#
        );
        assert_eq!(client.post_text(cancel).await.status(), 202);
        let cancel = page.recv_call_cancel().await;
        assert_eq!(cancel.request_id, call.request_id, "{request_id}");
    }
}

#[tokio::test]
async fn in_2025_revisions_delete_cancels_calls_and_a_dropped_stream_does_not() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let call = |id| rpc_request(id, "tools/call", json!({ "name": "echo", "arguments": {} }));
    drop(client.post(&call(5)).await);
    let first = page.recv_call().await;
    // If the drop were a cancellation, the page would receive it before the second call.
    let _open = client.post(&call(6)).await;
    let second = loop {
        match page.recv().await {
            BridgeToPage::ToolCall(call) => break call,
            BridgeToPage::CallCancel(cancel) => panic!("{} was cancelled", cancel.request_id),
            _ => {}
        }
    };
    assert!(client.delete_session().await.status().is_success());
    let mut cancelled = [
        page.recv_call_cancel().await.request_id,
        page.recv_call_cancel().await.request_id,
    ];
    cancelled.sort();
    let mut expected = [first.request_id, second.request_id];
    expected.sort();
    assert_eq!(cancelled, expected);
}

#[tokio::test]
async fn a_stateless_disconnect_cancels_the_call() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let caller = tokio::spawn(
        StatelessClient::new(&bridge)
            .build("tools/call", params)
            .send(),
    );
    let call = page.recv_call().await;
    caller.abort();
    let cancel = page.recv_call_cancel().await;
    assert_eq!(cancel.request_id, call.request_id);
}

#[tokio::test]
async fn the_session_header_pins_a_client_to_a_page() {
    let bridge = start_bridge().await;
    let _left = Page::with_tools(&bridge, "left", &[echo_tool()]).await;
    let mut right = Page::with_tools(&bridge, "right", &[echo_tool()]).await;
    let params = json!({ "name": "echo", "arguments": { "n": 4 } });
    let pinned = StatelessClient::new(&bridge)
        .build("tools/call", params)
        .header("mcp-web-session", "right")
        .send();
    let call = async { rpc_response(pinned.await.unwrap()).await };
    let (answer, ()) = tokio::join!(call, right.echo_call());
    assert_eq!(answer["result"]["structuredContent"]["n"], 4, "{answer}");
}

#[tokio::test]
async fn pages_are_notified_of_connected_clients() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let connected = page.wait_for_clients(1).await;
    assert_eq!(connected[0].info.name, CLIENT_NAME);
    assert_eq!(connected[0].protocol_version, "2025-11-25");
    assert!(client.delete_session().await.status().is_success());
    page.wait_for_clients(0).await;
}

#[tokio::test]
async fn client_names_and_versions_are_truncated() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let long = "é".repeat(10_000);
    let info = json!({ "name": long, "title": long, "version": long });
    let initialize = initialize_request("2025-06-18", json!({}), info);
    let request = http_client().post(format!("{}/mcp", bridge.url()));
    let response = request.bearer_auth(TOKEN).json(&initialize).send();
    assert_eq!(response.await.unwrap().status(), 200);
    let connected = page.wait_for_clients(1).await;
    let info = &connected[0].info;
    let texts = [Some(&info.name), info.title.as_ref(), info.version.as_ref()];
    for text in texts {
        assert_eq!(text.unwrap().chars().count(), 128);
    }
}

#[tokio::test]
async fn an_idle_mcp_session_expires() {
    let mut config = test_config();
    config.mcp_sessions.mcp_session_idle = Duration::from_millis(50);
    let bridge = start_bridge_with(config).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    page.wait_for_clients(1).await;
    page.wait_for_clients(0).await;
    let list = rpc_request(1, "tools/list", json!({}));
    assert_eq!(client.post(&list).await.status(), 404);
}
