//! MCP sessions and their event streams.

use std::time::Duration;

use super::*;

async fn listen(bridge: &ServerHandle, session: Option<&str>) -> EventStream {
    let mut request = http_request(bridge, Method::GET, "/").header("accept", "text/event-stream");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    let response = send(request.bearer_auth(TOKEN)).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    EventStream::new(response)
}

#[tokio::test]
async fn a_missing_or_unknown_session_id_is_one_32600_event() {
    let bridge = start_bridge_with(compat_config()).await;
    let missing = "Mcp-Session-Id header required for SSE stream";
    for (id, message) in [(None, missing), (Some("unknown"), "MCP session not found")] {
        let mut events = listen(&bridge, id).await;
        let expected = json!({ "jsonrpc": "2.0",
            "error": { "code": -32600, "message": message } });
        assert_eq!(events.next().await, Some(expected));
        assert_eq!(events.next().await, None);
        assert_eq!(events.last_id, None, "the events have no ids");
    }
}

#[tokio::test]
async fn each_registered_tool_and_closed_page_sends_one_list_changed() {
    let bridge = start_bridge_with(compat_config()).await;
    let session = open_session(&bridge).await;
    let mut events = listen(&bridge, Some(&session)).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    for name in ["t", "u", "t", "t"] {
        page.register_tool(tool(name)).await;
    }
    wait_until_processed(&bridge, &mut page, "s", "u").await;
    let mut bare = V1Page::connect(&bridge, "bare").await;
    bare.register_resource(json!({ "uri": "a:b", "name": "n" }))
        .await;
    bare.close().await;
    let mut stranger = V1Page::open(&bridge, "stranger").await;
    stranger
        .authenticate("stranger", json!({ "authToken": "another-token" }))
        .await;
    stranger.register_tool(tool("t")).await;
    page.close().await;
    let expected = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    for _ in 0..6 {
        assert_eq!(events.next().await.as_ref(), Some(&expected));
    }
    // No other notification follows, so the next event is the end of the stream.
    let deleted = send_with_session(&bridge, Method::DELETE, &session).await;
    assert_eq!(deleted.status(), 200);
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_newer_stream_replaces_the_older_one_of_its_session() {
    let bridge = start_bridge_with(compat_config()).await;
    let session = open_session(&bridge).await;
    let mut older = listen(&bridge, Some(&session)).await;
    let mut newer = listen(&bridge, Some(&session)).await;
    assert_eq!(older.next().await, None);
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    let notification = newer.next().await.unwrap();
    assert_eq!(notification["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn an_idle_session_expires_and_frees_its_slot() {
    let mut config = compat_config();
    config.mcp_sessions.mcp_session_idle = Duration::from_millis(50);
    config.mcp_sessions.max_mcp_sessions = Some(1);
    let bridge = start_bridge_with(config).await;
    let session = open_session(&bridge).await;
    let initialize = async {
        loop {
            // A request with the same token would evict the idle session.
            let request = http_request(&bridge, Method::POST, "/").bearer_auth("another-token");
            let response = send(request.json(&message(1, "initialize"))).await;
            if response.headers().contains_key("mcp-session-id") {
                return;
            }
            let answer = json_body(response).await;
            assert_eq!(answer["error"]["message"], "SessionLimitExceeded");
        }
    };
    with_deadline("slot of the idle session", initialize).await;
    let request = http_request(&bridge, Method::POST, "/").bearer_auth(TOKEN);
    let request = request.header("mcp-session-id", session);
    let response = send(request.json(&message(1, "tools/list"))).await;
    assert_eq!(response.status(), 404);
}

#[tokio::test]
async fn an_idle_session_is_evicted_and_one_with_a_stream_is_not() {
    let mut config = compat_config();
    config.mcp_sessions.max_clients = 1;
    let bridge = start_bridge_with(config).await;
    let idle = open_session(&bridge).await;
    let session = open_session(&bridge).await;
    let request = http_request(&bridge, Method::POST, "/").bearer_auth(TOKEN);
    let request = request
        .header("mcp-session-id", idle)
        .json(&message(1, "tools/list"));
    assert_eq!(send(request).await.status(), 404);
    let _stream = listen(&bridge, Some(&session)).await;
    let answer = json_body(post(&bridge, &message(2, "initialize")).await).await;
    let expected = json!({ "code": -32600, "message": "SessionLimitExceeded" });
    assert_eq!(answer["error"], expected);
    let deleted = send_with_session(&bridge, Method::DELETE, &session).await;
    assert_eq!(deleted.status(), 200);
    open_session(&bridge).await;
}

#[tokio::test]
async fn a_session_is_deleted_with_its_own_token_or_none_but_not_another() {
    let bridge = start_bridge_with(compat_config()).await;
    let session = open_session(&bridge).await;
    let request = http_request(&bridge, Method::DELETE, "/").bearer_auth("another-token");
    let response = send(request.header("mcp-session-id", &session)).await;
    assert_eq!(response.status(), 404);
    let request = http_request(&bridge, Method::DELETE, "/");
    let response = send(request.header("mcp-session-id", &session)).await;
    assert_eq!(
        response.status(),
        200,
        "on loopback the session id is enough"
    );
}
