//! The page socket: how a page comes, what it says of itself, and how it comes again.

use std::time::Duration;

use bridge::Config;
use serde_json::json;
use tokio_tungstenite::tungstenite::Error;

use super::kit::{CompatPage, poll_until, tool, wait_for_sessions, wait_for_tools};
use crate::kit::{
    McpClient, Page, TOKEN, error_code, post_tool_call, result_text, start_bridge,
    start_bridge_with, test_config,
};

#[tokio::test]
async fn a_page_without_a_protocol_version_speaks_the_compat_protocol() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let mut page = CompatPage::open(&bridge, "s").await;
    page.authenticate("s", json!({})).await;
    let welcome = page.recv().await;
    let exactly = json!({ "type": "authenticated", "sessionId": "s", "success": true });
    assert_eq!(welcome, exactly);
    page.register_tool(tool("add")).await;
    wait_for_tools(&bridge, 1).await;
    let reply = async {
        // The next frame: a client that is connected, or a registration, is no news in v1.
        let call = page.recv_call().await;
        let id = &call["requestId"];
        let exactly = json!({ "type": "tool-call", "requestId": id, "toolName": "add",
            "toolInput": { "n": 1 } });
        assert_eq!(call, exactly);
        page.respond(&call, json!({ "sum": 2 })).await;
    };
    let (answer, ()) = tokio::join!(client.call("add", json!({ "n": 1 })), reply);
    assert_eq!(result_text(&answer["result"]), r#"{"sum":2}"#);
    let both = async {
        tokio::join!(
            post_tool_call(&bridge, "add", json!({ "n": 2 })),
            page.echo_call()
        )
    };
    let ((status, result), ()) = both.await;
    assert_eq!((status, result_text(&result)), (200, r#"{"n":2}"#));
}

#[tokio::test]
async fn the_page_socket_is_at_root_and_ws_for_any_non_empty_session() {
    let bridge = start_bridge().await;
    let long = "x".repeat(500);
    let ids = ["1", "a%20tab/%3F%C3%A9", long.as_str()];
    for id in ids {
        let path = format!("/?session={id}");
        let mut page = CompatPage::open_at(&bridge, &path, None).await.unwrap();
        // The id in the address counts, whatever the page says.
        page.authenticate("another", json!({})).await;
        let told = page.recv().await;
        let decoded = id
            .replace("%20", " ")
            .replace("%3F", "?")
            .replace("%C3%A9", "é");
        assert_eq!(told["sessionId"], decoded);
    }
    let mut page = CompatPage::open_at(&bridge, "/ws?session=w", None)
        .await
        .unwrap();
    page.authenticate("w", json!({})).await;
    assert_eq!(page.recv().await["type"], "authenticated");
}

#[tokio::test]
async fn a_page_socket_url_without_a_session_is_400() {
    let bridge = start_bridge().await;
    for path in ["/", "/?session=", "/?other=1", "/ws", "/ws?session="] {
        match CompatPage::open_at(&bridge, path, None).await {
            Err(Error::Http(answer)) => assert_eq!(answer.status(), 400, "{path}"),
            other => panic!("{path}: {:?}", other.map(|_| "let in").unwrap_err()),
        }
    }
}

#[tokio::test]
async fn activity_before_authenticate_does_not_extend_the_timeout() {
    let bridge = start_bridge_with(Config {
        authenticate_within: Duration::from_millis(300),
        ..test_config()
    })
    .await;
    let activity = || json!({ "type": "activity", "timestamp": 1 });
    let mut page = CompatPage::open(&bridge, "s").await;
    page.send(activity()).await;
    page.authenticate("s", json!({})).await;
    assert_eq!(page.recv().await["type"], "authenticated");

    // One that never authenticates has no more time for being busy.
    let mut busy = CompatPage::open(&bridge, "busy").await;
    let mut told = 0;
    while busy.try_send(activity()).await {
        told += 1;
    }
    assert!(told > 1, "{told}");
    assert_eq!(wait_for_sessions(&bridge, 1).await[0]["session_id"], "s");

    // A page of our own dialect authenticates first.
    let mut ours = CompatPage::open(&bridge, "ours").await;
    ours.send(activity()).await;
    ours.authenticate("ours", json!({ "protocol": 2 })).await;
    assert_eq!(ours.recv_close().await.0, 1008);
}

#[tokio::test]
async fn page_info_is_optional_and_the_origin_comes_from_the_header() {
    let bridge = start_bridge().await;
    let mut bare = CompatPage::open(&bridge, "bare").await;
    bare.send(json!({ "type": "authenticate", "authToken": TOKEN, "timestamp": 0 }))
        .await;
    assert_eq!(bare.recv().await["type"], "authenticated");
    let header = Some("http://localhost:4000");
    let mut browser = CompatPage::open_at(&bridge, "/?session=b", header)
        .await
        .unwrap();
    browser.authenticate("b", json!({})).await;
    assert_eq!(browser.recv().await["type"], "authenticated");
    let sessions = wait_for_sessions(&bridge, 2).await;
    for absent in ["origin", "page_title", "session_name"] {
        assert!(sessions[0].get(absent).is_none(), "{}", sessions[0]);
    }
    // Not what the page claims.
    assert_eq!(sessions[1]["origin"], "http://localhost:4000");
    assert_eq!(sessions[1]["page_title"], "A v1 page");
    assert_eq!(sessions[1]["last_activity"], "2023-11-14T22:13:20.000Z");
}

#[tokio::test]
async fn last_activity_uses_the_clock_of_the_page() {
    let bridge = start_bridge().await;
    let mut page = CompatPage::connect(&bridge, "s").await;
    page.send(json!({ "type": "activity", "timestamp": 1_700_000_001_234_u64 }))
        .await;
    let told = "2023-11-14T22:13:21.234Z";
    let fits = |answer: &serde_json::Value| answer["sessions"][0]["last_activity"] == told;
    poll_until(&bridge, "/sessions", fits).await;
}

#[tokio::test]
async fn a_second_connection_supersedes_the_first_and_starts_without_tools() {
    let bridge = start_bridge().await;
    let mut first = CompatPage::connect(&bridge, "s").await;
    first.register_tool(tool("old")).await;
    wait_for_tools(&bridge, 1).await;
    let mut second = CompatPage::connect(&bridge, "s").await;
    assert_eq!(wait_for_tools(&bridge, 0).await, [""; 0]);
    second.register_tool(tool("new")).await;
    assert_eq!(wait_for_tools(&bridge, 1).await, ["new"]);
    // The late close of the old socket removes nothing.
    while first.recv_frame().await.is_some() {}
    drop(first);
    let both = async {
        tokio::join!(
            post_tool_call(&bridge, "new", json!({})),
            second.echo_call()
        )
    };
    assert_eq!(both.await.0.0, 200);
}

#[tokio::test]
async fn a_response_on_a_newer_connection_completes_the_call() {
    let bridge = start_bridge().await;
    let mut first = CompatPage::connect(&bridge, "s").await;
    first.register_tool(tool("slow")).await;
    wait_for_tools(&bridge, 1).await;
    let reply = async {
        let call = first.recv_call().await;
        let mut second = CompatPage::connect(&bridge, "s").await;
        second.respond(&call, json!("late")).await;
        second
    };
    let ((status, result), _second) =
        tokio::join!(post_tool_call(&bridge, "slow", json!({})), reply);
    assert_eq!((status, result_text(&result)), (200, "late"));
}

#[tokio::test]
async fn a_session_id_in_use_is_rejected_for_another_token() {
    let bridge = start_bridge().await;
    let mut page = CompatPage::connect(&bridge, "s").await;
    page.register_tool(tool("mine")).await;
    wait_for_tools(&bridge, 1).await;
    let mut thief = CompatPage::open(&bridge, "s").await;
    let token = json!({ "authToken": "another-token-0123456789" });
    thief.authenticate("s", token.clone()).await;
    let refused = thief.recv().await;
    assert_eq!(refused["type"], "authentication-failed");
    assert_eq!(refused["code"], "InvalidSession");
    assert_eq!(thief.recv_close().await.0, 1008);
    let both = async { tokio::join!(post_tool_call(&bridge, "mine", json!({})), page.echo_call()) };
    assert_eq!(both.await.0.0, 200);
    // Nobody has it any more.
    page.close().await;
    wait_for_sessions(&bridge, 0).await;
    CompatPage::connect_with(&bridge, "s", token).await;
}

#[tokio::test]
async fn reauthenticating_clears_tools_and_keeps_calls_in_flight() {
    let bridge = start_bridge().await;
    let mut page = CompatPage::connect(&bridge, "s").await;
    page.register_tool(tool("old")).await;
    wait_for_tools(&bridge, 1).await;
    let reply = async {
        let call = page.recv_call().await;
        page.authenticate("s", json!({ "sessionName": "again" }))
            .await;
        assert_eq!(page.recv().await["type"], "authenticated");
        assert_eq!(wait_for_tools(&bridge, 0).await, [""; 0]);
        page.register_tool(tool("new")).await;
        assert_eq!(wait_for_tools(&bridge, 1).await, ["new"]);
        page.respond(&call, json!("answered")).await;
    };
    let ((_, result), ()) = tokio::join!(post_tool_call(&bridge, "old", json!({})), reply);
    assert_eq!(result_text(&result), "answered");
    let names = wait_for_sessions(&bridge, 1).await;
    assert_eq!(names[0]["session_name"], "again");
    let both = async { tokio::join!(post_tool_call(&bridge, "new", json!({})), page.echo_call()) };
    assert_eq!(both.await.0.0, 200);

    // As somebody else it is not the same session.
    let token = json!({ "authToken": "another-token-0123456789" });
    page.authenticate("s", token).await;
    assert_eq!(page.recv().await["code"], "InvalidSession");
    assert_eq!(page.recv_close().await.0, 1008);
    wait_for_sessions(&bridge, 0).await;
}

#[tokio::test]
async fn compat_pages_have_no_page_grace_and_no_heartbeat_timeout() {
    let bridge = start_bridge_with(Config {
        heartbeat: Duration::from_millis(20),
        page_grace: Duration::from_millis(1),
        ..test_config()
    })
    .await;
    // Neither reads, so neither answers a ping. Ours is taken for gone.
    let mut page = CompatPage::connect(&bridge, "silent").await;
    page.register_tool(tool("t")).await;
    wait_for_tools(&bridge, 1).await;
    let ours = Page::connect(&bridge, "ours", TOKEN).await;
    wait_for_sessions(&bridge, 2).await;
    assert_eq!(
        wait_for_sessions(&bridge, 1).await[0]["session_id"],
        "silent"
    );
    let both = async { tokio::join!(post_tool_call(&bridge, "t", json!({})), page.echo_call()) };
    assert_eq!(both.await.0.0, 200);
    drop(ours);

    // A line that breaks takes its session with it, whatever the grace.
    let bridge = crate::kit::start_bridge().await;
    let mut page = CompatPage::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    wait_for_tools(&bridge, 1).await;
    let started = std::time::Instant::now();
    let broken = async {
        page.recv_call().await;
        drop(page);
    };
    let ((_, result), ()) = tokio::join!(post_tool_call(&bridge, "t", json!({})), broken);
    assert_eq!(error_code(&result), Some("PageGone"), "{result}");
    wait_for_sessions(&bridge, 0).await;
    assert!(started.elapsed() < Config::default().page_grace);
}

#[tokio::test]
async fn many_activity_frames_do_not_delay_calls() {
    let bridge = start_bridge().await;
    let mut page = CompatPage::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    for at in 0..100_000_u64 {
        page.feed(json!({ "type": "activity", "timestamp": at }))
            .await;
    }
    let both = async { tokio::join!(post_tool_call(&bridge, "t", json!({})), page.echo_call()) };
    assert_eq!(both.await.0.0, 200);
}
