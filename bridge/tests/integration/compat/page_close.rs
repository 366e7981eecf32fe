//! Rejected mcp-web 0.1 pages, and the end of their connections.

use std::time::Duration;

use bridge::{Config, PageLimits, PageTimings, SessionLimitPolicy, Tabs};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::kit::*;
use crate::kit::*;

fn config_with_limit(session_limit_policy: SessionLimitPolicy) -> Config {
    let tabs = Tabs {
        session_limit_policy,
        ..Tabs::default()
    };
    Config {
        tabs,
        page_limits: PageLimits {
            max_sessions: 1,
            ..PageLimits::default()
        },
        ..test_config()
    }
}

fn authentication_failed(error: &str, code: &str) -> Value {
    json!({ "type": "authentication-failed", "error": error, "code": code })
}

#[tokio::test]
async fn session_limit_reject_fails_authentication_and_closes_with_1008() {
    let bridge = start_bridge_with(config_with_limit(SessionLimitPolicy::Reject)).await;
    let first = V1Page::connect_with(&bridge, "a", json!({ "sessionName": "n" })).await;
    let mut second = V1Page::open(&bridge, "b").await;
    // The session limit is checked before the name.
    second
        .authenticate("b", json!({ "sessionName": "n" }))
        .await;
    let text = "Session limit exceeded";
    assert_eq!(
        second.recv().await,
        authentication_failed(text, "SessionLimitExceeded")
    );
    assert_eq!(second.recv_close().await, (1008, text.to_owned()));
    // A page that reconnects to its session does not count twice.
    let reconnected = V1Page::connect(&bridge, "a").await;
    assert_eq!(wait_for_sessions(&bridge, 1).await[0]["session_id"], "a");
    drop((first, reconnected));
}

#[tokio::test]
async fn session_limit_close_oldest_closes_the_page_connected_first() {
    let bridge = start_bridge_with(Config {
        page_limits: PageLimits {
            max_sessions: 2,
            ..PageLimits::default()
        },
        ..config_with_limit(SessionLimitPolicy::CloseOldest)
    })
    .await;
    let mut oldest = V1Page::connect_with(&bridge, "a", json!({ "sessionName": "n" })).await;
    let _other = V1Page::connect(&bridge, "b").await;
    // The name is free, because the page that used it is closed.
    let _newest = V1Page::connect_with(&bridge, "c", json!({ "sessionName": "n" })).await;
    let reason = "Session limit exceeded, closing oldest session";
    let message =
        json!({ "type": "session-closed", "reason": reason, "code": "SessionLimitExceeded" });
    assert_eq!(oldest.recv().await, message);
    let closed = oldest.recv_close().await;
    assert_eq!(closed, (1008, "Session limit exceeded".to_owned()));
    let remaining = wait_for_sessions(&bridge, 2).await;
    assert_eq!(
        [&remaining[0]["session_id"], &remaining[1]["session_id"]],
        ["b", "c"]
    );
}

#[tokio::test]
async fn a_session_name_in_use_is_rejected_until_its_page_closes() {
    let bridge = start_bridge().await;
    let named = || json!({ "sessionName": "board" });
    let holder = V1Page::connect_with(&bridge, "a", named()).await;
    let mut second = V1Page::open(&bridge, "b").await;
    second.authenticate("b", named()).await;
    let error = "Session name \"board\" is already in use";
    let message = second.recv().await;
    assert_eq!(
        message,
        authentication_failed(error, "SessionNameAlreadyInUse")
    );
    let reason = "Session name already in use".to_owned();
    assert_eq!(second.recv_close().await, (1008, reason));
    // A page may keep its own name, and pages without a name do not conflict.
    let reconnected = V1Page::connect_with(&bridge, "a", named()).await;
    let unnamed = V1Page::connect(&bridge, "c").await;
    let also_unnamed = V1Page::connect(&bridge, "d").await;
    wait_for_sessions(&bridge, 3).await;
    reconnected.close().await;
    wait_for_sessions(&bridge, 2).await;
    V1Page::connect_with(&bridge, "b", named()).await;
    drop((holder, unnamed, also_unnamed));
}

#[tokio::test]
async fn missing_and_short_tokens_are_rejected_with_compat_codes() {
    let bridge = start_bridge().await;
    for (token, code) in [
        (json!(null), "MissingAuthentication"),
        (json!(""), "MissingAuthentication"),
        (json!("short"), "InvalidAuthentication"),
    ] {
        let mut page = V1Page::open(&bridge, "s").await;
        page.authenticate("s", json!({ "authToken": token })).await;
        let message = page.recv().await;
        assert_eq!(message["type"], "authentication-failed");
        assert_eq!(message["code"], code);
        assert!(message["error"].is_string(), "{message}");
        assert_eq!(page.recv_close().await, (1008, code.to_owned()));
    }
}

#[tokio::test]
async fn a_foreign_origin_at_the_root_path_receives_an_explanation() {
    let bridge = start_bridge().await;
    let evil = Some("https://evil.example");
    let mut page = V1Page::open_at(&bridge, "/?session=s", evil).await.unwrap();
    let message = page.recv().await;
    assert_eq!(message["code"], "OriginNotAllowed");
    assert!(message["error"].as_str().unwrap().contains("evil.example"));
    assert_eq!(page.recv_close().await.0, 1008);
}

#[tokio::test]
async fn an_expired_session_receives_session_expired_and_closes_with_1008() {
    let page_timings = PageTimings {
        max_session_duration: Duration::from_millis(50),
        ..PageTimings::default()
    };
    let bridge = start_bridge_with(Config {
        page_timings,
        ..test_config()
    })
    .await;
    let mut page = V1Page::connect(&bridge, "s").await;
    let message = page.recv().await;
    let expected = json!({ "type": "session-expired", "code": "SessionExpired" });
    assert_eq!(message, expected);
    assert_eq!(
        page.recv_close().await,
        (1008, "Session expired".to_owned())
    );
    wait_for_sessions(&bridge, 0).await;
}

#[tokio::test]
async fn invalid_json_and_incomplete_registrations_close_with_1003() {
    let bridge = start_bridge().await;
    let invalid = || (1003, "Invalid JSON".to_owned());
    let text = |text: &str| Message::Text(text.to_owned().into());
    for invalid_message in [
        text("nonsense"),
        text("{"),
        text(""),
        text("null"),
        text("[]"),
    ] {
        let mut fresh = V1Page::open(&bridge, "fresh").await;
        fresh.send_frame(invalid_message.clone()).await.unwrap();
        assert_eq!(
            fresh.recv_close().await,
            invalid(),
            "{invalid_message:?} first"
        );
        let mut page = V1Page::connect(&bridge, "s").await;
        page.send_frame(invalid_message.clone()).await.unwrap();
        assert_eq!(
            page.recv_close().await,
            invalid(),
            "{invalid_message:?} later"
        );
    }
    for invalid_message in [
        text(r#"{"type":"register-tool"}"#),
        text(r#"{"type":"register-tool","tool":null}"#),
        text(r#"{"type":"register-tool","tool":"t"}"#),
        text(r#"{"type":"register-resource"}"#),
        text(r#"{"type":"register-resource","resource":[]}"#),
        Message::Binary(vec![1].into()),
    ] {
        let mut page = V1Page::connect(&bridge, "s").await;
        page.send_frame(invalid_message.clone()).await.unwrap();
        assert_eq!(page.recv_close().await, invalid(), "{invalid_message:?}");
    }
}

#[tokio::test]
async fn shutdown_closes_with_1000_server_shutting_down() {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    let closed = async {
        let closed = page.recv_close().await;
        // A browser closes the connection at this point.
        drop(page);
        closed
    };
    let ((), closed) = tokio::join!(bridge.shutdown(), closed);
    assert_eq!(closed, (1000, "Server shutting down".to_owned()));
}

#[tokio::test]
async fn unknown_and_malformed_messages_are_ignored() {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    for malformed in [
        json!({}),
        json!({ "type": 7 }),
        json!({ "type": "no-such-type", "tool": 1 }),
        json!({ "type": "heartbeat-ack", "sequence": 1 }),
        json!({ "type": "leaving" }),
        json!({ "type": "query_cancel" }),
        json!({ "type": "query" }),
        json!({ "type": "query", "uuid": 7, "prompt": null, "context": {} }),
        json!({ "type": "activity" }),
        json!({ "type": "activity", "timestamp": "now" }),
        json!({ "type": "activity", "timestamp": -1e300 }),
        json!({ "type": "tool-response" }),
        json!({ "type": "tool-response", "requestId": 5, "result": {} }),
        json!({ "type": "tool-response", "requestId": "nobody's", "result": {} }),
        json!({ "type": "resource-response", "requestId": "nobody's", "content": "c" }),
        json!({ "type": "authenticate", "authToken": [] }),
    ] {
        page.send_json(malformed).await;
    }
    page.send_text("{\"type\":\"tool-response\",\"requestId\":\"\\ud800\"}".to_owned())
        .await;
    wait_for_tools(&bridge, 1).await;
    assert_serves(&bridge, &mut page, "t").await;
    let another = V1Page::connect_with(&bridge, "t", json!({ "authToken": TOKEN })).await;
    wait_for_sessions(&bridge, 2).await;
    drop(another);
}
