//! Limits, each with its number, its key in the configuration, and an error that names the key.

use std::time::Duration;

use bridge::{Config, PageLimits, PageTimings, ServerHandle};
use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::{Value, json};

use crate::kit::*;

#[tokio::test]
async fn realms_pages_and_mcp_sessions_are_limited() {
    let mut config = test_config();
    config.tokens.max_realms = Some(1);
    config.page_limits = PageLimits {
        max_sessions: 1,
        ..PageLimits::default()
    };
    config.mcp_sessions.max_clients = 1;
    let bridge = start_bridge_with(config).await;
    let page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for (session, token, code, seconds, setting) in [
        (
            "second",
            TOKEN,
            ErrorCode::SessionLimitExceeded,
            30,
            "max_sessions",
        ),
        (
            "first",
            OTHER_TOKEN,
            ErrorCode::RealmLimitExceeded,
            10,
            "max_realms",
        ),
    ] {
        let mut rejected = Page::open(&bridge, session, None).await;
        rejected.authenticate(session, token).await;
        let (refused, after_s, message) = recv_retry(&mut rejected).await;
        assert_eq!(refused.as_deref(), Some(code.as_str()));
        assert_eq!(after_s, seconds);
        assert!(message.ends_with(&format!("`{setting}`")), "{message}");
    }
    let client = McpClient::connect(&bridge, TOKEN).await;
    // Without an open stream the session would be idle, and the next one would evict it.
    let _stream = client.listen().await;
    assert_initialize_is_503(&bridge, TOKEN, "max_clients").await;

    // A closed page frees its slot.
    page.close().await;
    let next = Page::connect(&bridge, "next", TOKEN).await;
    next.close().await;
}

/// Checks that another MCP session is rejected with an error that names the setting.
async fn assert_initialize_is_503(bridge: &ServerHandle, token: &str, setting: &str) {
    let info = json!({ "name": "second", "version": "1" });
    let request = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth(token)
        .json(&initialize_request("2025-06-18", json!({}), info));
    let response = with_deadline("response", request.send()).await.unwrap();
    assert_eq!(response.status(), 503);
    assert!(response.headers().contains_key("retry-after"));
    let problem: Value = response.json().await.unwrap();
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains(setting), "{message}");
}

#[tokio::test]
async fn max_mcp_sessions_applies_across_all_tokens() {
    let mut config = test_config();
    config.mcp_sessions.max_mcp_sessions = Some(1);
    let bridge = start_bridge_with(config).await;
    let _client = McpClient::connect(&bridge, TOKEN).await;
    assert_initialize_is_503(&bridge, OTHER_TOKEN, "max_mcp_sessions").await;
}

#[tokio::test]
async fn max_pending_pages_limits_unauthenticated_pages() {
    let page_limits = PageLimits {
        max_pending_pages: Some(1),
        ..PageLimits::default()
    };
    let bridge = start_bridge_with(Config {
        page_limits,
        ..test_config()
    })
    .await;
    let mut first = Page::open(&bridge, "a", None).await;
    let mut second = Page::open(&bridge, "b", None).await;
    // Either connection may have been counted first.
    let (rejected, mut other) = tokio::select! {
        refused = recv_retry(&mut first) => (refused, second),
        refused = recv_retry(&mut second) => (refused, first),
    };
    let (code, after_s, message) = rejected;
    assert_eq!((code, after_s), (None, 1), "{message}");
    assert!(message.ends_with("`max_pending_pages`"), "{message}");
    other.authenticate("c", TOKEN).await;
}

#[tokio::test]
async fn definitions_and_their_bytes_are_limited_per_page() {
    let config = Config {
        page_limits: PageLimits {
            max_definitions: 2,
            max_definition_bytes: 500,
            ..PageLimits::default()
        },
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let registered = page
        .register(&[
            json!({ "name": "a" }),
            json!({ "name": "b" }),
            json!({ "name": "c" }),
        ])
        .await;
    assert_eq!(registered.items.len(), 2);
    assert!(
        registered.errors[0].message.contains("max_definitions"),
        "{}",
        registered.errors[0].message
    );
    let registered = page
        .register(&[json!({ "name": "a", "description": "x".repeat(600) })])
        .await;
    assert_eq!(
        registered.errors[0].code,
        ErrorCode::DefinitionLimitExceeded
    );
    assert!(
        registered.errors[0]
            .message
            .contains("max_definition_bytes"),
        "{}",
        registered.errors[0].message
    );
}

#[tokio::test]
async fn calls_in_flight_are_limited_and_their_slots_released() {
    let mut config = test_config();
    config.calls.max_calls = 1;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let handler = async {
        let call = page.recv_call().await;
        let (_, rejected) = post_tool_call(&bridge, "echo", json!({})).await;
        assert_eq!(error_code(&rejected), Some("CallLimitExceeded"));
        assert!(result_text(&rejected).contains("max_calls"), "{rejected}");
        page.respond(&call, json!({})).await;
    };
    let (first, ()) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), handler);
    assert!(first.1.get("isError").is_none(), "{}", first.1);
    assert_echo(&bridge, &mut page).await;
}

#[tokio::test]
async fn a_result_over_the_limit_fails_only_its_call() {
    let mut config = test_config();
    config.results.max_result_bytes = 1000;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let handler = page.serve_call(json!("x".repeat(2000)));
    let (answer, _call) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), handler);
    assert_eq!(error_code(&answer.1), Some("ResultTooLarge"));
    assert!(
        result_text(&answer.1).contains("2002 bytes") && result_text(&answer.1).contains("1000")
    );
    assert_echo(&bridge, &mut page).await;
}

#[tokio::test]
async fn a_result_at_the_default_limit_passes() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let text = "x".repeat(Config::default().results.max_result_bytes - 2);
    let handler = page.serve_call(json!(text));
    let (answer, _call) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), handler);
    assert_eq!(result_text(&answer.1).len(), text.len());
}

#[tokio::test]
async fn a_call_without_a_response_times_out() {
    let mut config = test_config();
    config.calls.call_timeout = Duration::from_millis(50);
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (answer, _) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), page.recv_call());
    assert_eq!(error_code(&answer.1), Some("CallTimeout"), "{}", answer.1);
    assert!(
        result_text(&answer.1).contains("call_timeout"),
        "{}",
        answer.1
    );
}

#[tokio::test]
async fn a_page_that_does_not_read_is_disconnected_and_its_calls_fail() {
    let mut config = test_config();
    config.calls.max_calls = 100;
    config.page_timings = PageTimings {
        call_receipt: Duration::from_millis(20),
        page_grace: Duration::from_millis(50),
        ..PageTimings::default()
    };
    let bridge = start_bridge_with(config).await;
    let _unread = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    // The calls exceed the socket buffers of both sides and the outbox of the page.
    let text = "x".repeat(100_000);
    let callers = (0..100).map(|_| async {
        loop {
            let (_, answer) = post_tool_call(&bridge, "echo", json!({ "text": text })).await;
            let code = error_code(&answer).unwrap();
            if !["CallMayHaveRun", "PageSuspended"].contains(&code) {
                return code.to_owned();
            }
        }
    });
    let codes = with_deadline("answers", futures_util::future::join_all(callers)).await;
    // Calls that arrived after the disconnect found no page.
    assert!(
        codes
            .iter()
            .all(|code| code == "PageGone" || code == "NoSessionsFound"),
        "{codes:?}"
    );
}

#[tokio::test]
async fn a_page_silent_for_three_heartbeats_is_disconnected() {
    let config = config_with_page_timings(PageTimings {
        heartbeat: Duration::from_millis(50),
        page_grace: Duration::from_millis(50),
        ..PageTimings::default()
    });
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    // After the call the page reads nothing, so it does not respond to pings either.
    let (answer, _) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), page.recv_call());
    assert_eq!(error_code(&answer.1), Some("PageGone"), "{}", answer.1);
}

#[tokio::test]
async fn waiting_clients_over_the_limit_are_served_without_notifications() {
    let mut config = test_config();
    config.tokens.max_realms = Some(1);
    let bridge = start_bridge_with(config).await;
    let _waiting = McpClient::connect(&bridge, "token-of-the-waiting-client-0123456789").await;
    let over_limit = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(over_limit.tool_names().await.len(), 5);
    // The page is not notified of the client, but the client sees the tools of the page.
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let BridgeToPage::Clients(clients) = page.recv().await else {
        panic!("the list of clients is the first message")
    };
    assert!(clients.clients.is_empty(), "{clients:?}");
    page.register(&[echo_tool()]).await;
    assert_eq!(over_limit.tool_names().await.len(), 6);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_an_unfinished_request() {
    use tokio::io::AsyncWriteExt;
    let bridge = start_bridge().await;
    let mut slow = tokio::net::TcpStream::connect(bridge.local_addr())
        .await
        .unwrap();
    let head = format!(
        "POST /tool-call HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Length: 100\r\n\r\n{{",
        bridge.local_addr()
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    with_deadline("shutdown", bridge.shutdown()).await;
}
