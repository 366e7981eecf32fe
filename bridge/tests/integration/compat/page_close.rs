//! The page socket: who is not let in, and how a connection ends.

use std::time::Duration;

use bridge::{Config, SessionLimitPolicy, Tabs};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::kit::{V1Page, sessions, tool, tools_of};
use crate::kit::{TOKEN, bridge, bridge_with, on_free_port, tool_call};

fn limited(session_limit_policy: SessionLimitPolicy) -> Config {
    let tabs = Tabs {
        session_limit_policy,
        ..Tabs::default()
    };
    Config {
        tabs,
        max_sessions: 1,
        ..on_free_port()
    }
}

fn refused(error: &str, code: &str) -> Value {
    json!({ "type": "authentication-failed", "error": error, "code": code })
}

#[tokio::test]
async fn session_limit_reject_fails_authentication_and_closes_with_1008() {
    let bridge = bridge_with(limited(SessionLimitPolicy::Reject)).await;
    let first = V1Page::connect_with(&bridge, "a", json!({ "sessionName": "n" })).await;
    let mut second = V1Page::open(&bridge, "b").await;
    // The limit goes before the name.
    second
        .authenticate("b", json!({ "sessionName": "n" }))
        .await;
    let text = "Session limit exceeded";
    assert_eq!(second.hear().await, refused(text, "SessionLimitExceeded"));
    assert_eq!(second.closed().await, (1008, text.to_owned()));
    // The page of a known session is not one more.
    let again = V1Page::connect(&bridge, "a").await;
    assert_eq!(sessions(&bridge, 1).await[0]["session_id"], "a");
    drop((first, again));
}

#[tokio::test]
async fn session_limit_close_oldest_closes_the_page_connected_first() {
    let bridge = bridge_with(Config {
        max_sessions: 2,
        ..limited(SessionLimitPolicy::CloseOldest)
    })
    .await;
    let mut oldest = V1Page::connect_with(&bridge, "a", json!({ "sessionName": "n" })).await;
    let _other = V1Page::connect(&bridge, "b").await;
    // The name is free, for its holder goes.
    let _newest = V1Page::connect_with(&bridge, "c", json!({ "sessionName": "n" })).await;
    let reason = "Session limit exceeded, closing oldest session";
    let told =
        json!({ "type": "session-closed", "reason": reason, "code": "SessionLimitExceeded" });
    assert_eq!(oldest.hear().await, told);
    let closed = oldest.closed().await;
    assert_eq!(closed, (1008, "Session limit exceeded".to_owned()));
    let left = sessions(&bridge, 2).await;
    assert_eq!([&left[0]["session_id"], &left[1]["session_id"]], ["b", "c"]);
}

#[tokio::test]
async fn a_session_name_in_use_is_rejected_until_its_page_closes() {
    let bridge = bridge().await;
    let named = || json!({ "sessionName": "board" });
    let holder = V1Page::connect_with(&bridge, "a", named()).await;
    let mut second = V1Page::open(&bridge, "b").await;
    second.authenticate("b", named()).await;
    let error = "Session name \"board\" is already in use";
    let told = second.hear().await;
    assert_eq!(told, refused(error, "SessionNameAlreadyInUse"));
    let reason = "Session name already in use".to_owned();
    assert_eq!(second.closed().await, (1008, reason));
    // Its own name is not taken, and those without one never clash.
    let again = V1Page::connect_with(&bridge, "a", named()).await;
    let unnamed = V1Page::connect(&bridge, "c").await;
    let also_unnamed = V1Page::connect(&bridge, "d").await;
    sessions(&bridge, 3).await;
    again.go_away().await;
    sessions(&bridge, 2).await;
    V1Page::connect_with(&bridge, "b", named()).await;
    drop((holder, unnamed, also_unnamed));
}

#[tokio::test]
async fn missing_and_short_tokens_are_rejected_with_compat_codes() {
    let bridge = bridge().await;
    for (token, code) in [
        (json!(null), "MissingAuthentication"),
        (json!(""), "MissingAuthentication"),
        (json!("short"), "InvalidAuthentication"),
    ] {
        let mut page = V1Page::open(&bridge, "s").await;
        page.authenticate("s", json!({ "authToken": token })).await;
        let told = page.hear().await;
        assert_eq!(told["type"], "authentication-failed");
        assert_eq!(told["code"], code);
        assert!(told["error"].is_string(), "{told}");
        assert_eq!(page.closed().await, (1008, code.to_owned()));
    }
}

#[tokio::test]
async fn a_foreign_origin_at_the_root_path_receives_an_explanation() {
    let bridge = bridge().await;
    let evil = Some("https://evil.example");
    let mut page = V1Page::open_at(&bridge, "/?session=s", evil).await.unwrap();
    let told = page.hear().await;
    assert_eq!(told["code"], "OriginNotAllowed");
    assert!(told["error"].as_str().unwrap().contains("evil.example"));
    assert_eq!(page.closed().await.0, 1008);
}

#[tokio::test]
async fn an_expired_session_receives_session_expired_and_closes_with_1008() {
    let tabs = Tabs {
        max_session_duration: Duration::from_millis(50),
        ..Tabs::default()
    };
    let bridge = bridge_with(Config {
        tabs,
        ..on_free_port()
    })
    .await;
    let mut page = V1Page::connect(&bridge, "s").await;
    let told = page.hear().await;
    let exactly = json!({ "type": "session-expired", "code": "SessionExpired" });
    assert_eq!(told, exactly);
    assert_eq!(page.closed().await, (1008, "Session expired".to_owned()));
    sessions(&bridge, 0).await;
}

#[tokio::test]
async fn invalid_json_and_incomplete_registrations_close_with_1003() {
    let bridge = bridge().await;
    let invalid = || (1003, "Invalid JSON".to_owned());
    let text = |text: &str| Message::Text(text.to_owned().into());
    for bad in [
        text("nonsense"),
        text("{"),
        text(""),
        text("null"),
        text("[]"),
    ] {
        let mut fresh = V1Page::open(&bridge, "fresh").await;
        fresh.send(bad.clone()).await.unwrap();
        assert_eq!(fresh.closed().await, invalid(), "{bad:?} first");
        let mut page = V1Page::connect(&bridge, "s").await;
        page.send(bad.clone()).await.unwrap();
        assert_eq!(page.closed().await, invalid(), "{bad:?} later");
    }
    for bad in [
        text(r#"{"type":"register-tool"}"#),
        text(r#"{"type":"register-tool","tool":null}"#),
        text(r#"{"type":"register-tool","tool":"t"}"#),
        text(r#"{"type":"register-resource"}"#),
        text(r#"{"type":"register-resource","resource":[]}"#),
        Message::Binary(vec![1].into()),
    ] {
        let mut page = V1Page::connect(&bridge, "s").await;
        page.send(bad.clone()).await.unwrap();
        assert_eq!(page.closed().await, invalid(), "{bad:?}");
    }
}

#[tokio::test]
async fn shutdown_closes_with_1000_server_shutting_down() {
    let bridge = bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    let closed = async {
        let closed = page.closed().await;
        // As a browser does then.
        drop(page);
        closed
    };
    let ((), closed) = tokio::join!(bridge.shutdown(), closed);
    assert_eq!(closed, (1000, "Server shutting down".to_owned()));
}

#[tokio::test]
async fn unknown_and_malformed_messages_are_ignored() {
    let bridge = bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    for odd in [
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
        page.say(odd).await;
    }
    page.say_text("{\"type\":\"tool-response\",\"requestId\":\"\\ud800\"}".to_owned())
        .await;
    tools_of(&bridge, 1).await;
    let both = async { tokio::join!(tool_call(&bridge, "t", json!({ "n": 1 })), page.echo()) };
    assert_eq!(both.await.0.0, 200);
    let another = V1Page::connect_with(&bridge, "t", json!({ "authToken": TOKEN })).await;
    sessions(&bridge, 2).await;
    drop(another);
}
