//! The page socket of native pages: registration, reconnects, heartbeats and page state.

use std::time::{Duration, Instant};

use bridge::PageTimings;
use bridge_protocol::{
    BridgeToPage, ErrorCode, Heartbeat, Item, Kind, Leaving, PageState, PageToBridge,
    RegistrationId, Unregister, Visibility,
};
use serde_json::json;

use crate::kit::*;

#[tokio::test]
async fn each_tool_registration_is_acknowledged_separately() {
    let bridge = start_bridge().await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let registered = page
        .register(&[
            json!({ "name": "good" }),
            json!({ "name": "list_active_sessions" }),
            json!({ "name": "bad", "inputSchema": { "type": "string" } }),
            json!({ "name": "wide", "annotations": 7 }),
            json!({ "name": "with space" }),
        ])
        .await;
    let names: Vec<_> = registered
        .items
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["good", "with space"]);
    assert!(
        registered.items[1]
            .published_name
            .starts_with("with_space_")
    );
    let errors: Vec<_> = registered
        .errors
        .iter()
        .map(|error| (error.index, error.code))
        .collect();
    assert_eq!(
        errors,
        [
            (1, ErrorCode::ToolNameReserved),
            (2, ErrorCode::DefinitionInvalid),
            (3, ErrorCode::DefinitionInvalid),
        ]
    );
}

#[tokio::test]
async fn an_unregistered_tool_is_no_longer_listed() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), json!({ "name": "other" })]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    assert!(client.tool_names().await.contains(&"echo".to_owned()));
    let mut events = client.listen().await;
    let tool = |name: &str| Item {
        kind: Kind::Tool,
        name: name.to_owned(),
    };
    let unregister = Unregister {
        registration_id: RegistrationId::from("u"),
        items: vec![tool("echo"), tool("never there")],
    };
    page.send(PageToBridge::Unregister(unregister)).await;
    let unregistered = page
        .recv_matching(|message| match message {
            BridgeToPage::Unregistered(unregistered) => Some(unregistered),
            _ => None,
        })
        .await;
    assert_eq!(unregistered.items, [tool("echo")]);
    events.find_method("notifications/tools/list_changed").await;
    let names = client.tool_names().await;
    assert!(
        !names.contains(&"echo".to_owned()) && names.contains(&"other".to_owned()),
        "{names:?}"
    );
}

#[tokio::test]
async fn calls_fail_at_once_when_their_page_closes() {
    let bridge = start_bridge().await;
    let close = |mut page: Page, by_message: bool| async move {
        page.recv_call().await;
        let closed_at = Instant::now();
        if by_message {
            page.send(PageToBridge::Leaving(Leaving::default())).await;
        } else {
            page.close().await;
        }
        closed_at
    };
    for by_message in [false, true] {
        let page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
        let (answer, closed_at) = tokio::join!(
            post_tool_call(&bridge, "echo", json!({})),
            close(page, by_message)
        );
        let waited = closed_at.elapsed();
        assert_eq!(error_code(&answer.1), Some("PageGone"), "{}", answer.1);
        assert!(
            waited < Duration::from_secs(2),
            "the caller waited {waited:?}"
        );
    }
}

#[tokio::test]
async fn a_reconnected_page_can_answer_a_pending_call() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let reconnect = async {
        let call = page.recv_call().await;
        drop(page);
        let mut reconnected = Page::connect(&bridge, "s", TOKEN).await;
        reconnected.respond(&call, json!({ "n": 5 })).await;
        reconnected
    };
    let (answer, _page) = tokio::join!(
        post_tool_call(&bridge, "echo", json!({ "n": 5 })),
        reconnect
    );
    assert_eq!(
        answer.1["structuredContent"],
        json!({ "n": 5 }),
        "{}",
        answer.1
    );
}

#[tokio::test]
async fn calls_fail_when_the_page_does_not_reconnect_within_page_grace() {
    let config = config_with_page_timings(PageTimings {
        page_grace: Duration::from_millis(50),
        ..PageTimings::default()
    });
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let disconnect = async {
        page.recv_call().await;
        drop(page);
    };
    let (answer, ()) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), disconnect);
    assert_eq!(error_code(&answer.1), Some("PageGone"), "{}", answer.1);
}

#[tokio::test]
async fn an_unacknowledged_call_that_may_have_run_fails_and_is_cancelled() {
    let config = config_with_page_timings(PageTimings {
        call_receipt: Duration::from_millis(50),
        ..PageTimings::default()
    });
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (_, answer) = post_tool_call(&bridge, "echo", json!({})).await;
    assert_eq!(error_code(&answer), Some("CallMayHaveRun"), "{answer}");
    assert!(
        result_text(&answer).contains("check its effect before calling it again"),
        "{answer}"
    );
    let mut received = Vec::new();
    while received.len() < 2 {
        match page.recv().await {
            BridgeToPage::ToolCall(call) => received.push(("call", call.request_id)),
            BridgeToPage::CallCancel(cancel) => received.push(("cancel", cancel.request_id)),
            _ => {}
        }
    }
    assert_eq!((received[0].0, received[1].0), ("call", "cancel"));
    assert_eq!(received[0].1, received[1].1);
}

#[tokio::test]
async fn a_call_that_a_page_of_the_sdk_does_not_take_has_not_run() {
    let config = config_with_page_timings(PageTimings {
        call_receipt: Duration::from_millis(50),
        ..PageTimings::default()
    });
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect_checking_late_calls(&bridge, "s", &[echo_tool()]).await;
    let call = post_tool_call(&bridge, "echo", json!({}));
    let (_, answer) = tokio::select! {
        answer = call => answer,
        // The page's browser answers pings; its thread takes no call.
        () = page.read_forever() => panic!("the page was disconnected"),
    };
    assert_eq!(error_code(&answer), Some("PageSuspended"), "{answer}");
    assert!(
        result_text(&answer).contains("Bring it to the front"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_call_may_have_run_when_the_browser_does_not_answer_pings() {
    let config = config_with_page_timings(PageTimings {
        call_receipt: Duration::from_millis(50),
        ..PageTimings::default()
    });
    let bridge = start_bridge_with(config).await;
    let _unread = Page::connect_checking_late_calls(&bridge, "s", &[echo_tool()]).await;
    let (_, answer) = post_tool_call(&bridge, "echo", json!({})).await;
    assert_eq!(error_code(&answer), Some("CallMayHaveRun"), "{answer}");
}

#[tokio::test]
async fn a_second_connection_supersedes_the_first_only_with_the_same_token() {
    let bridge = start_bridge().await;
    let mut old = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let mut stranger = Page::connect(&bridge, "s", OTHER_TOKEN).await;
    stranger.register(&[echo_tool()]).await;
    assert_echo(&bridge, &mut old).await;

    let mut new = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (code, _) = old.recv_close().await;
    assert_eq!(code, 4001);
    assert_echo(&bridge, &mut new).await;
}

#[tokio::test]
async fn pages_receive_numbered_heartbeats() {
    let config = config_with_page_timings(PageTimings {
        heartbeat: Duration::from_millis(30),
        ..PageTimings::default()
    });
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    for expected in 1..4 {
        let sequence = page
            .recv_matching(|message| match message {
                BridgeToPage::Heartbeat(heartbeat) => Some(heartbeat.sequence),
                _ => None,
            })
            .await;
        assert_eq!(sequence, expected);
        page.send(PageToBridge::HeartbeatAck(Heartbeat {
            sequence,
            answers: 0,
        }))
        .await;
    }
}

#[tokio::test]
async fn sessions_list_title_focus_and_the_origin_header_but_not_a_claimed_origin() {
    let bridge = start_bridge().await;
    let mut page = Page::open(&bridge, "s", Some("http://localhost:5173")).await;
    let message = json!({ "type": "authenticate", "protocol": 2, "authToken": TOKEN,
        "sessionId": "s", "sessionName": "left", "origin": "https://bank.example", "pageTitle": "Board" });
    page.send_json(message).await;
    page.recv_authenticated().await;
    let state = PageState {
        frozen: false,
        visibility: Visibility::Hidden,
        focused: true,
        page_title: Some("Board (2)".to_owned()),
    };
    page.send(PageToBridge::PageState(state)).await;
    // When a registration is acknowledged, all earlier messages have been processed.
    page.register(&[echo_tool()]).await;
    let sessions = get_json(&bridge, "/sessions").await;
    let session = &sessions["sessions"][0];
    assert_eq!(session["origin"], "http://localhost:5173");
    assert_eq!(session["page_title"], "Board (2)");
    assert_eq!(session["session_name"], "left");
    assert_eq!(session["visibility"], "hidden");
    assert_eq!(session["focused"], true);
    assert_eq!(session["available_tools"], json!(["echo"]));
}

#[tokio::test]
async fn unknown_message_types_are_ignored_and_missing_fields_close_the_page() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    page.send_text(r#"{"type":"from-the-future","x":1}"#).await;
    assert_echo(&bridge, &mut page).await;
    page.send_text(r#"{"type":"call-response"}"#).await;
    let (code, reason) = page.recv_close().await;
    assert_eq!(code, 1008);
    assert!(
        reason.contains("call-response") && reason.contains("requestId"),
        "{reason}"
    );
}

#[tokio::test]
async fn shutdown_fails_calls_and_closes_pages_with_1012() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let url = bridge.url();
    let call = post_tool_call_to(&url, TOKEN, "echo", json!({}));
    let stop = async {
        page.recv_call().await;
        with_deadline("shutdown", bridge.shutdown()).await;
        page.recv_close().await
    };
    let ((_, answer), close) = tokio::join!(call, stop);
    assert_eq!(error_code(&answer), Some("BridgeStopping"), "{answer}");
    assert_eq!(close.0, 1012);
}
