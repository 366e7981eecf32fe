//! MCP over HTTP, both eras, by hand: what a client library would hide.

use std::time::Duration;

use bridge::{Config, ServerHandle};
use bridge_protocol::BridgeToPage;
use serde_json::{Value, json};

use crate::kit::*;

const V2026: &str = "2026-07-28";

/// A request of the stateless era, with the headers that it demands.
pub(crate) fn stateless(
    bridge: &ServerHandle,
    method: &str,
    params: Value,
) -> reqwest::RequestBuilder {
    stateless_with(bridge, method, params, json!({}))
}

/// The same of a client that can do something.
pub(crate) fn stateless_with(
    bridge: &ServerHandle,
    method: &str,
    mut params: Value,
    capabilities: Value,
) -> reqwest::RequestBuilder {
    let own = [
        ("protocolVersion", json!(V2026)),
        (
            "clientInfo",
            json!({ "name": "door-test", "version": "1.0.0" }),
        ),
        ("clientCapabilities", capabilities),
    ];
    for (key, value) in own {
        params["_meta"][format!("io.modelcontextprotocol/{key}")] = value;
    }
    let mut builder = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth(TOKEN)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", V2026)
        .header("mcp-method", method);
    if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
        builder = builder.header("mcp-name", name);
    }
    builder.json(&rpc_request(1, method, params))
}

pub(crate) async fn stateless_answer(bridge: &ServerHandle, method: &str, params: Value) -> Value {
    rpc_response(
        with_deadline("answer", stateless(bridge, method, params).send())
            .await
            .unwrap(),
    )
    .await
}

#[tokio::test]
async fn stateless_clients_discover_list_and_call_tools() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let found = stateless_answer(&bridge, "server/discover", json!({})).await;
    assert!(
        found["result"]["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!(V2026)),
        "{found}"
    );
    let listed = stateless_answer(&bridge, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 6);
    assert_eq!(tools[5]["name"], "echo");
    let call = stateless_answer(
        &bridge,
        "tools/call",
        json!({ "name": "echo", "arguments": { "n": 9 } }),
    );
    let heard = async {
        let call = page.recv_call().await;
        page.respond(&call, json!({ "n": 9 })).await;
        call
    };
    let (answer, call) = tokio::join!(call, heard);
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({ "n": 9 }),
        "{answer}"
    );
    assert_eq!(call.context.client.unwrap().info.name, "door-test");
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
        let initialize = rpc_request(
            0,
            "initialize",
            json!({ "protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": { "name": "lenient", "version": "1" } }),
        );
        let mut builder = http_client()
            .post(format!("{}/mcp", bridge.url()))
            .bearer_auth(TOKEN)
            .json(&initialize);
        if let Some(accept) = accept {
            builder = builder.header("accept", accept);
        }
        let response = builder.send().await.unwrap();
        assert_eq!(response.status(), 200, "{accept:?}");
        let answer = rpc_response(response).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    }
}

#[tokio::test]
async fn every_revision_with_a_handshake_is_supported() {
    let bridge = start_bridge().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let initialize = rpc_request(
            0,
            "initialize",
            json!({ "protocolVersion": version,
            "capabilities": {}, "clientInfo": { "name": "old", "version": "1" } }),
        );
        let request = http_client()
            .post(format!("{}/mcp", bridge.url()))
            .bearer_auth(TOKEN)
            .json(&initialize);
        let answer = rpc_response(request.send().await.unwrap()).await;
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(
            answer["result"]["capabilities"]["tools"]["listChanged"],
            true
        );
    }
}

#[tokio::test]
async fn an_mcp_session_belongs_to_the_token_that_opened_it() {
    let bridge = start_bridge().await;
    let mine = McpClient::connect(&bridge, TOKEN).await;
    let mut theirs = McpClient::connect(&bridge, "token-of-somebody-else-0123456789").await;
    theirs.session = mine.session.clone();
    let response = theirs.post(&rpc_request(1, "tools/list", json!({}))).await;
    assert_eq!(response.status(), 404);
    let delete = |token: String| {
        let session = mine.session.clone();
        let url = mine.url.clone();
        async move {
            let request = http_client()
                .delete(url)
                .bearer_auth(token)
                .header("mcp-session-id", session);
            request.send().await.unwrap().status().as_u16()
        }
    };
    assert!(delete(theirs.token.clone()).await >= 400);
    assert_eq!(
        mine.tool_names().await.len(),
        5,
        "a stranger closed the session"
    );
    assert!(delete(mine.token.clone()).await < 300);
    let response = mine.post(&rpc_request(1, "tools/list", json!({}))).await;
    assert_eq!(response.status(), 404);
}

#[tokio::test]
async fn waiting_clients_are_notified_when_a_page_registers_tools() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(client.tool_names().await.len(), 5);
    let mut events = client.listen().await;
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut subscription = with_deadline(
        "stream",
        stateless(&bridge, "subscriptions/listen", listen).send(),
    )
    .await
    .unwrap();
    find_event(&mut subscription, |event| {
        event["method"] == "notifications/subscriptions/acknowledged"
    })
    .await;
    let _page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let changed = |event: &Value| event["method"] == "notifications/tools/list_changed";
    find_event(&mut events, changed).await;
    find_event(&mut subscription, changed).await;
    assert_eq!(client.tool_names().await.len(), 6);
}

/// The call that the page is told to stop.
async fn cancelled(page: &mut Page) -> bridge_protocol::CallId {
    loop {
        if let BridgeToPage::CallCancel(cancel) = page.recv().await {
            return cancel.request_id;
        }
    }
}

#[tokio::test]
async fn a_cancelled_notification_reaches_the_page() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let message = rpc_request(77, "tools/call", json!({ "name": "echo", "arguments": {} }));
    let _open = client.post(&message).await;
    let call = page.recv_call().await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 77, "reason": "changed my mind" } });
    assert_eq!(client.post(&cancel).await.status(), 202);
    assert_eq!(cancelled(&mut page).await, call.request_id);
}

#[tokio::test]
async fn cancellation_matches_request_ids_in_any_json_spelling() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    for (called, taken_back) in [
        (r#""call-1""#, r#""call-1""#),
        (r#""call-2""#, r#""call\u002d2""#),
        (r#""\u0063all-3""#, r#""call-3""#),
        ("-4", "-4"),
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{called},"method":"tools/call","params":{{"name":"echo"}}}}"#
        );
        let _open = client.post_text(message).await;
        let call = page.recv_call().await;
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{taken_back}}}}}"#
        );
        assert_eq!(client.post_text(cancel).await.status(), 202);
        let cancelled = with_deadline("the cancel", cancelled(&mut page)).await;
        assert_eq!(cancelled, call.request_id, "{called}");
    }
}

#[tokio::test]
async fn in_2025_revisions_delete_cancels_calls_and_a_dropped_stream_does_not() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let message = rpc_request(5, "tools/call", json!({ "name": "echo", "arguments": {} }));
    drop(client.post(&message).await);
    let first = page.recv_call().await;
    // Were the drop a cancel, it would come before the second call does.
    let _open = client
        .post(&rpc_request(
            6,
            "tools/call",
            json!({ "name": "echo", "arguments": {} }),
        ))
        .await;
    let second = loop {
        match page.recv().await {
            BridgeToPage::ToolCall(call) => break call,
            BridgeToPage::CallCancel(cancel) => panic!("{} was cancelled", cancel.request_id),
            _ => {}
        }
    };
    let delete = http_client()
        .delete(&client.url)
        .bearer_auth(TOKEN)
        .header("mcp-session-id", &client.session)
        .send();
    assert!(delete.await.unwrap().status().is_success());
    let mut stopped = vec![cancelled(&mut page).await, cancelled(&mut page).await];
    stopped.sort();
    let mut expected = vec![first.request_id, second.request_id];
    expected.sort();
    assert_eq!(stopped, expected);
}

#[tokio::test]
async fn a_stateless_disconnect_cancels_the_call() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let caller = tokio::spawn(stateless(&bridge, "tools/call", params).send());
    let call = page.recv_call().await;
    caller.abort();
    assert_eq!(cancelled(&mut page).await, call.request_id);
}

#[tokio::test]
async fn the_session_header_pins_a_client_to_a_page() {
    let bridge = start_bridge().await;
    let _left = Page::with_tools(&bridge, "left", &[echo_tool()]).await;
    let mut right = Page::with_tools(&bridge, "right", &[echo_tool()]).await;
    let params = json!({ "name": "echo", "arguments": { "n": 4 } });
    let pinned = stateless(&bridge, "tools/call", params)
        .header("mcp-web-session", "right")
        .send();
    let (answer_, ()) = tokio::join!(
        async { rpc_response(pinned.await.unwrap()).await },
        right.echo_call()
    );
    assert_eq!(answer_["result"]["structuredContent"]["n"], 4, "{answer_}");
}

#[tokio::test]
async fn pages_are_notified_of_connected_clients() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let connected = loop {
        match page.recv().await {
            BridgeToPage::Clients(clients) if !clients.clients.is_empty() => break clients.clients,
            _ => {}
        }
    };
    assert_eq!(connected[0].info.name, "door-test");
    assert_eq!(connected[0].protocol_version, "2025-11-25");
    let delete = http_client()
        .delete(&client.url)
        .bearer_auth(TOKEN)
        .header("mcp-session-id", &client.session)
        .send();
    assert!(delete.await.unwrap().status().is_success());
    loop {
        if let BridgeToPage::Clients(clients) = page.recv().await
            && clients.clients.is_empty()
        {
            break;
        }
    }
}

#[tokio::test]
async fn client_names_and_versions_are_truncated() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let long = "é".repeat(10_000);
    let initialize = rpc_request(
        0,
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": long, "title": long, "version": long } }),
    );
    let post = http_client().post(format!("{}/mcp", bridge.url()));
    let answer = post.bearer_auth(TOKEN).json(&initialize).send();
    assert_eq!(answer.await.unwrap().status(), 200);
    let connected = loop {
        match page.recv().await {
            BridgeToPage::Clients(clients) if !clients.clients.is_empty() => break clients.clients,
            _ => {}
        }
    };
    let info = &connected[0].info;
    let texts = [Some(&info.name), info.title.as_ref(), info.version.as_ref()];
    for text in texts {
        assert_eq!(text.unwrap().chars().count(), 128);
    }
}

#[tokio::test]
async fn an_idle_mcp_session_expires() {
    let idle = Config {
        mcp_session_idle: Duration::from_millis(50),
        ..test_config()
    };
    let bridge = start_bridge_with(idle).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let mut seen = false;
    loop {
        if let BridgeToPage::Clients(clients) = page.recv().await {
            if seen && clients.clients.is_empty() {
                break;
            }
            seen |= !clients.clients.is_empty();
        }
    }
    assert_eq!(
        client
            .post(&rpc_request(1, "tools/list", json!({})))
            .await
            .status(),
        404
    );
}
