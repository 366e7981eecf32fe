//! What a page sees and does on its socket.

use std::time::{Duration, Instant};

use bridge::Config;
use bridge_protocol::{
    BridgeToPage, ErrorCode, Heartbeat, Item, Kind, PageState, PageToBridge, RegistrationId,
    Unregister, Visibility,
};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::kit::*;

#[tokio::test]
async fn each_tool_registration_is_acknowledged_separately() {
    let bridge = start_bridge().await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let answer = page
        .register(&[
            json!({ "name": "good" }),
            json!({ "name": "list_active_sessions" }),
            json!({ "name": "bad", "inputSchema": { "type": "string" } }),
            json!({ "name": "wide", "annotations": 7 }),
            json!({ "name": "with space" }),
        ])
        .await;
    let names: Vec<_> = answer.items.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["good", "with space"]);
    assert!(answer.items[1].published_name.starts_with("with_space_"));
    let errors: Vec<_> = answer
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
    let gone = Unregister {
        registration_id: RegistrationId::from("u"),
        items: vec![tool("echo"), tool("never there")],
    };
    page.send(PageToBridge::Unregister(gone)).await;
    let answer = loop {
        if let BridgeToPage::Unregistered(answer) = page.recv().await {
            break answer;
        }
    };
    assert_eq!(answer.items, [tool("echo")]);
    find_event(&mut events, |event| {
        event["method"] == "notifications/tools/list_changed"
    })
    .await;
    let names = client.tool_names().await;
    assert!(
        !names.contains(&"echo".to_owned()) && names.contains(&"other".to_owned()),
        "{names:?}"
    );
}

#[tokio::test]
async fn calls_fail_at_once_when_their_page_closes() {
    let bridge = start_bridge().await;
    let leave = |page: Page, by_message: bool| async move {
        let mut page = page;
        page.recv_call().await;
        let left_at = Instant::now();
        if by_message {
            page.send(PageToBridge::Leaving {}).await;
        } else {
            page.close().await;
        }
        left_at
    };
    for by_message in [false, true] {
        let page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
        let (answer, left_at) = tokio::join!(
            post_tool_call(&bridge, "echo", json!({})),
            leave(page, by_message)
        );
        let after = left_at.elapsed();
        assert_eq!(
            answer.1["_meta"]["mcp-web/error"]["code"], "PageGone",
            "{}",
            answer.1
        );
        assert!(
            after < Duration::from_secs(2),
            "the caller waited {after:?}"
        );
    }
}

#[tokio::test]
async fn a_reconnected_page_can_answer_a_pending_call() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let answer_later = async {
        let call = page.recv_call().await;
        drop(page);
        let mut back = Page::connect(&bridge, "s", TOKEN).await;
        back.respond(&call, json!({ "n": 5 })).await;
        back
    };
    let (answer, _back) = tokio::join!(
        post_tool_call(&bridge, "echo", json!({ "n": 5 })),
        answer_later
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
    let config = Config {
        page_grace: Duration::from_millis(50),
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let cut = async {
        page.recv_call().await;
        drop(page);
    };
    let (answer, ()) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), cut);
    assert_eq!(
        answer.1["_meta"]["mcp-web/error"]["code"], "PageGone",
        "{}",
        answer.1
    );
}

#[tokio::test]
async fn an_unacknowledged_call_fails_and_is_cancelled() {
    let config = Config {
        call_receipt: Duration::from_millis(50),
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (_, answer) = post_tool_call(&bridge, "echo", json!({})).await;
    assert_eq!(
        answer["_meta"]["mcp-web/error"]["code"], "PageSuspended",
        "{answer}"
    );
    assert!(
        result_text(&answer).contains("Bring it to the front"),
        "{answer}"
    );
    let mut heard = Vec::new();
    while heard.len() < 2 {
        match page.recv().await {
            BridgeToPage::ToolCall(call) => heard.push(("call", call.request_id)),
            BridgeToPage::CallCancel(cancel) => heard.push(("cancel", cancel.request_id)),
            _ => {}
        }
    }
    assert_eq!((heard[0].0, heard[1].0), ("call", "cancel"));
    assert_eq!(heard[0].1, heard[1].1);
}

#[tokio::test]
async fn a_second_connection_supersedes_the_first_only_with_the_same_token() {
    let bridge = start_bridge().await;
    let mut old = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let mut stranger = Page::connect(&bridge, "s", "token-of-somebody-else-0123456789").await;
    stranger.register(&[echo_tool()]).await;
    let (answer, ()) = tokio::join!(
        post_tool_call(&bridge, "echo", json!({ "n": 1 })),
        old.echo_call()
    );
    assert_eq!(answer.1["structuredContent"]["n"], 1);

    let mut new = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (code, _) = old.recv_close().await;
    assert_eq!(code, 4001);
    let (answer, ()) = tokio::join!(
        post_tool_call(&bridge, "echo", json!({ "n": 2 })),
        new.echo_call()
    );
    assert_eq!(answer.1["structuredContent"]["n"], 2);
}

#[tokio::test]
async fn pages_receive_numbered_heartbeats() {
    let config = Config {
        heartbeat: Duration::from_millis(30),
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    for expected in 1..4 {
        let sequence = loop {
            if let BridgeToPage::Heartbeat(heartbeat) = page.recv().await {
                break heartbeat.sequence;
            }
        };
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
    let hello = json!({ "type": "authenticate", "protocol": 2, "authToken": TOKEN,
        "sessionId": "s", "sessionName": "left", "origin": "https://bank.example", "pageTitle": "Board" });
    page.send_frame(Message::Text(hello.to_string().into()))
        .await
        .unwrap();
    assert!(matches!(page.recv().await, BridgeToPage::Authenticated(_)));
    let state = PageState {
        frozen: false,
        visibility: Visibility::Hidden,
        focused: true,
        page_title: Some("Board (2)".to_owned()),
    };
    page.send(PageToBridge::PageState(state)).await;
    // An answered registration shows that the message before it was heard.
    page.register(&[echo_tool()]).await;
    let request = http_client()
        .get(format!("{}/sessions", bridge.url()))
        .bearer_auth(TOKEN)
        .send();
    let sessions: Value = request.await.unwrap().json().await.unwrap();
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
    page.send_frame(Message::Text(r#"{"type":"from-the-future","x":1}"#.into()))
        .await
        .unwrap();
    let (answer, ()) = tokio::join!(
        post_tool_call(&bridge, "echo", json!({ "n": 1 })),
        page.echo_call()
    );
    assert_eq!(answer.0, 200);
    page.send_frame(Message::Text(r#"{"type":"call-response"}"#.into()))
        .await
        .unwrap();
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
    let call = async {
        let body = json!({ "toolName": "echo" });
        let request = http_client()
            .post(format!("{url}/tool-call"))
            .bearer_auth(TOKEN)
            .json(&body);
        request.send().await.unwrap().json::<Value>().await.unwrap()
    };
    let stop = async {
        page.recv_call().await;
        with_deadline("shutdown", bridge.shutdown()).await;
        page.recv_close().await
    };
    let (answer, closed) = tokio::join!(call, stop);
    assert_eq!(
        answer["_meta"]["mcp-web/error"]["code"], "BridgeStopping",
        "{answer}"
    );
    assert_eq!(closed.0, 1012);
}
