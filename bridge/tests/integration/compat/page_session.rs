//! Connection, authentication, page info and reconnection of mcp-web 0.1 pages.

use std::time::Duration;

use bridge::PageTimings;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::kit::*;
use crate::kit::*;

#[tokio::test]
async fn a_page_without_a_protocol_version_speaks_the_compat_protocol() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let mut page = V1Page::open(&bridge, "s").await;
    page.authenticate("s", json!({})).await;
    let authenticated = page.recv().await;
    let expected = json!({ "type": "authenticated", "sessionId": "s", "success": true });
    assert_eq!(authenticated, expected);
    page.register_tool(tool("add")).await;
    wait_for_tools(&bridge, 1).await;
    let handler = async {
        // The next frame is the call: mcp-web 0.1 has no messages about clients and registrations.
        let call = page.recv_call().await;
        let id = &call["requestId"];
        let expected = json!({ "type": "tool-call", "requestId": id, "toolName": "add",
            "toolInput": { "n": 1 } });
        assert_eq!(call, expected);
        page.respond(&call, json!({ "sum": 2 })).await;
    };
    let (answer, ()) = tokio::join!(client.call("add", json!({ "n": 1 })), handler);
    assert_eq!(result_text(&answer["result"]), r#"{"sum":2}"#);
    let call = post_tool_call(&bridge, "add", json!({ "n": 2 }));
    let ((status, result), ()) = tokio::join!(call, page.echo_call());
    assert_eq!((status, result_text(&result)), (200, r#"{"n":2}"#));
}

#[tokio::test]
async fn the_page_socket_is_at_root_and_ws_for_any_non_empty_session() {
    let bridge = start_bridge().await;
    let long = "x".repeat(500);
    let ids = ["1", "a%20tab/%3F%C3%A9", long.as_str()];
    for id in ids {
        let path = format!("/?session={id}");
        let mut page = V1Page::open_at(&bridge, &path, None).await.unwrap();
        // The session id is taken from the URL, not from the message.
        page.authenticate("another", json!({})).await;
        let authenticated = page.recv().await;
        let decoded = id
            .replace("%20", " ")
            .replace("%3F", "?")
            .replace("%C3%A9", "é");
        assert_eq!(authenticated["sessionId"], decoded);
    }
    let mut page = V1Page::open_at(&bridge, "/ws?session=w", None)
        .await
        .unwrap();
    page.authenticate("w", json!({})).await;
    assert_eq!(page.recv().await["type"], "authenticated");
}

#[tokio::test]
async fn a_page_socket_url_without_a_session_is_400() {
    let bridge = start_bridge().await;
    for path in ["/", "/?session=", "/?other=1", "/ws", "/ws?session="] {
        match V1Page::open_at(&bridge, path, None).await {
            Err(Error::Http(response)) => assert_eq!(response.status(), 400, "{path}"),
            other => panic!("{path}: {:?}", other.map(|_| "connected").unwrap_err()),
        }
    }
}

#[tokio::test]
async fn activity_before_authenticate_does_not_extend_the_timeout() {
    let bridge = start_bridge_with(config_with_page_timings(PageTimings {
        authenticate_within: Duration::from_millis(300),
        ..PageTimings::default()
    }))
    .await;
    let activity = || json!({ "type": "activity", "timestamp": 1 });
    let mut page = V1Page::open(&bridge, "s").await;
    page.send_json(activity()).await;
    page.authenticate("s", json!({})).await;
    assert_eq!(page.recv().await["type"], "authenticated");

    // Activity does not give a page that never authenticates more time.
    let mut busy = V1Page::open(&bridge, "busy").await;
    let mut sent = 0;
    while busy
        .send_frame(Message::text(activity().to_string()))
        .await
        .is_ok()
    {
        sent += 1;
    }
    assert!(sent > 1, "{sent}");
    assert_eq!(wait_for_sessions(&bridge, 1).await[0]["session_id"], "s");

    // The first message of a native page must be `authenticate`.
    let mut native = V1Page::open(&bridge, "native").await;
    native.send_json(activity()).await;
    native
        .authenticate("native", json!({ "protocol": 2 }))
        .await;
    assert_eq!(native.recv_close().await.0, 1008);
}

#[tokio::test]
async fn page_info_is_optional_and_the_origin_comes_from_the_header() {
    let bridge = start_bridge().await;
    let mut bare = V1Page::open(&bridge, "bare").await;
    bare.send_json(json!({ "type": "authenticate", "authToken": TOKEN, "timestamp": 0 }))
        .await;
    assert_eq!(bare.recv().await["type"], "authenticated");
    let header = Some("http://localhost:4000");
    let mut browser = V1Page::open_at(&bridge, "/?session=b", header)
        .await
        .unwrap();
    browser.authenticate("b", json!({})).await;
    assert_eq!(browser.recv().await["type"], "authenticated");
    let sessions = wait_for_sessions(&bridge, 2).await;
    for absent in ["origin", "page_title", "session_name"] {
        assert!(sessions[0].get(absent).is_none(), "{}", sessions[0]);
    }
    // The origin in the page's message is ignored.
    assert_eq!(sessions[1]["origin"], "http://localhost:4000");
    assert_eq!(sessions[1]["page_title"], "A compat page");
    assert_eq!(sessions[1]["last_activity"], "2023-11-14T22:13:20.000Z");
}

#[tokio::test]
async fn last_activity_uses_the_clock_of_the_page() {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.send_json(json!({ "type": "activity", "timestamp": 1_700_000_001_234_u64 }))
        .await;
    let expected = "2023-11-14T22:13:21.234Z";
    let is_updated = |body: &Value| body["sessions"][0]["last_activity"] == expected;
    poll_json(&bridge, "/sessions", is_updated).await;
}

#[tokio::test]
async fn a_second_connection_supersedes_the_first_and_starts_without_tools() {
    let bridge = start_bridge().await;
    let mut first = V1Page::connect(&bridge, "s").await;
    first.register_tool(tool("old")).await;
    wait_for_tools(&bridge, 1).await;
    let mut second = V1Page::connect(&bridge, "s").await;
    assert_eq!(wait_for_tools(&bridge, 0).await, [""; 0]);
    second.register_tool(tool("new")).await;
    assert_eq!(wait_for_tools(&bridge, 1).await, ["new"]);
    // The later close of the old connection removes nothing.
    while first.recv_frame().await.is_some() {}
    drop(first);
    assert_serves(&bridge, &mut second, "new").await;
}

#[tokio::test]
async fn a_response_on_a_newer_connection_completes_the_call() {
    let bridge = start_bridge().await;
    let mut first = V1Page::connect(&bridge, "s").await;
    first.register_tool(tool("slow")).await;
    wait_for_tools(&bridge, 1).await;
    let handler = async {
        let call = first.recv_call().await;
        let mut second = V1Page::connect(&bridge, "s").await;
        second.respond(&call, json!("late")).await;
        second
    };
    let ((status, result), _second) =
        tokio::join!(post_tool_call(&bridge, "slow", json!({})), handler);
    assert_eq!((status, result_text(&result)), (200, "late"));
}

#[tokio::test]
async fn a_session_id_in_use_is_rejected_for_another_token() {
    let (bridge, mut page) = start_with_tool("mine").await;
    let mut stranger = V1Page::open(&bridge, "s").await;
    let token = json!({ "authToken": "another-token-0123456789" });
    stranger.authenticate("s", token.clone()).await;
    let rejected = stranger.recv().await;
    assert_eq!(rejected["type"], "authentication-failed");
    assert_eq!(rejected["code"], "InvalidSession");
    assert_eq!(stranger.recv_close().await.0, 1008);
    assert_serves(&bridge, &mut page, "mine").await;
    // After the page has closed, another token can use the id.
    page.close().await;
    wait_for_sessions(&bridge, 0).await;
    V1Page::connect_with(&bridge, "s", token).await;
}

#[tokio::test]
async fn reauthenticating_clears_tools_and_keeps_calls_in_flight() {
    let (bridge, mut page) = start_with_tool("old").await;
    let handler = async {
        let call = page.recv_call().await;
        page.authenticate("s", json!({ "sessionName": "again" }))
            .await;
        assert_eq!(page.recv().await["type"], "authenticated");
        assert_eq!(wait_for_tools(&bridge, 0).await, [""; 0]);
        page.register_tool(tool("new")).await;
        assert_eq!(wait_for_tools(&bridge, 1).await, ["new"]);
        page.respond(&call, json!("answered")).await;
    };
    let ((_, result), ()) = tokio::join!(post_tool_call(&bridge, "old", json!({})), handler);
    assert_eq!(result_text(&result), "answered");
    let names = wait_for_sessions(&bridge, 1).await;
    assert_eq!(names[0]["session_name"], "again");
    assert_serves(&bridge, &mut page, "new").await;

    // The session cannot change its token.
    let token = json!({ "authToken": "another-token-0123456789" });
    page.authenticate("s", token).await;
    assert_eq!(page.recv().await["code"], "InvalidSession");
    assert_eq!(page.recv_close().await.0, 1008);
    wait_for_sessions(&bridge, 0).await;
}

#[tokio::test]
async fn compat_pages_have_no_page_grace_and_no_heartbeat_timeout() {
    let bridge = start_bridge_with(config_with_page_timings(PageTimings {
        heartbeat: Duration::from_millis(20),
        page_grace: Duration::from_millis(1),
        ..PageTimings::default()
    }))
    .await;
    // Neither page reads, so neither responds to pings. Only the native page is disconnected.
    let mut page = V1Page::connect(&bridge, "silent").await;
    page.register_tool(tool("t")).await;
    wait_for_tools(&bridge, 1).await;
    let native = Page::connect(&bridge, "native", TOKEN).await;
    wait_for_sessions(&bridge, 2).await;
    assert_eq!(
        wait_for_sessions(&bridge, 1).await[0]["session_id"],
        "silent"
    );
    assert_serves(&bridge, &mut page, "t").await;
    drop(native);

    // A broken connection ends the session at once, despite `page_grace`.
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    wait_for_tools(&bridge, 1).await;
    let connected_at = std::time::Instant::now();
    let disconnect = async {
        page.recv_call().await;
        drop(page);
    };
    let ((_, result), ()) = tokio::join!(post_tool_call(&bridge, "t", json!({})), disconnect);
    assert_eq!(error_code(&result), Some("PageGone"), "{result}");
    wait_for_sessions(&bridge, 0).await;
    assert!(connected_at.elapsed() < PageTimings::default().page_grace);
}

#[tokio::test]
async fn many_activity_frames_do_not_delay_calls() {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    for at in 0..10_000_u64 {
        page.feed_json(json!({ "type": "activity", "timestamp": at }))
            .await;
    }
    assert_serves(&bridge, &mut page, "t").await;
}

#[tokio::test]
async fn reauthenticating_with_more_than_64_kib_closes_with_1008() {
    let (bridge, mut page) = start_with_tool("t").await;
    let title = "é".repeat(30_000);
    page.authenticate("s", json!({ "pageTitle": title })).await;
    assert_eq!(page.recv().await["type"], "authenticated");
    let title = "é".repeat(40_000);
    page.authenticate("s", json!({ "pageTitle": title })).await;
    let (code, reason) = page.recv_close().await;
    assert_eq!(code, 1008);
    assert!(reason.contains("65536 bytes"), "{reason}");
    wait_for_sessions(&bridge, 0).await;
}
