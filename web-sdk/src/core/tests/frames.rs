//! Every frame a page sends is its golden file to the letter.

use std::path::Path;

use bridge_protocol::{CallId, ErrorCode, RegistrationId, SessionId};

use crate::core::frame::{Piece, encode};
use crate::core::{Authenticate, PageToBridge, Token};

type Message = PageToBridge<String>;

fn golden(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../bridge/protocol/golden/page-to-bridge")
        .join(name)
        .with_extension("json");
    std::fs::read_to_string(file).unwrap().trim_end().to_owned()
}

fn text(message: Message) -> String {
    let pieces = encode(message).into_iter();
    pieces
        .map(|piece| match piece {
            Piece::Text(text) | Piece::Json(text) => text,
        })
        .collect()
}

#[test]
fn introductions() {
    let minimal = Authenticate {
        auth_token: Token("0123456789abcdef".into()),
        session_id: Some(SessionId::from("tab-1")),
        ..Authenticate::default()
    };
    let whole = Authenticate {
        auth_token: Token("0123456789abcdef0123456789abcdef".into()),
        session_id: Some(SessionId::from("tab-1")),
        session_name: Some("left tab".into()),
        origin: Some("http://localhost:3001".into()),
        page_title: Some("Board".into()),
        user_agent: Some("Mozilla/5.0".into()),
        app: Some(
            r#"{"name":"board","description":"A kanban board","version":"1.2.0","icon":"https://example.com/icon.png"}"#
                .into(),
        ),
        timestamp: Some(1_790_000_000_000),
    };
    assert_eq!(
        text(Message::Authenticate(minimal)),
        golden("authenticate-minimal")
    );
    assert_eq!(text(Message::Authenticate(whole)), golden("authenticate"));
}

#[test]
fn registrations() {
    let register = Message::RegisterTools {
        registration_id: RegistrationId::from("r1"),
        tools: vec![
            r#"{"name":"echo","title":"Echo","description":"Says it again","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"z":1,"a":2.50}}"#
                .into(),
        ],
    };
    let unregister = Message::UnregisterTools {
        registration_id: RegistrationId::from("r2"),
        names: vec!["echo".into()],
    };
    assert_eq!(text(register), golden("register-tools"));
    assert_eq!(text(unregister), golden("unregister-tools"));
}

#[test]
fn answers() {
    let call = || CallId::from("c1");
    let response = |result: Option<&str>| Message::ToolResponse {
        call: call(),
        result: result.map(str::to_owned),
    };
    assert_eq!(text(Message::ToolReceived(call())), golden("tool-received"));
    assert_eq!(
        text(response(Some(r#"{"z":1.0,"a":[true,null,"ü"]}"#))),
        golden("tool-response")
    );
    assert_eq!(text(response(Some("null"))), golden("tool-response-null"));
    assert_eq!(text(response(None)), golden("tool-response-nothing"));
}

#[test]
fn failures() {
    let thrown = Message::ToolError {
        call: CallId::from("c1"),
        code: ErrorCode::ToolFailed,
        message: "no such card: 7".into(),
        data: Some(r#"{"card":7}"#.into()),
    };
    let large = Message::ToolError {
        call: CallId::from("c1"),
        code: ErrorCode::ResultTooLarge,
        message: "the result has 11 MiB; at most 10 MiB are allowed".into(),
        data: None,
    };
    assert_eq!(text(thrown), golden("tool-error"));
    assert_eq!(text(large), golden("tool-error-minimal"));
}

#[test]
fn signs_of_life() {
    let state = |visible, focused, page_title: Option<&str>| Message::PageState {
        visible,
        focused,
        page_title: page_title.map(str::to_owned),
    };
    assert_eq!(
        text(Message::HeartbeatAck { sequence: 3 }),
        golden("heartbeat-ack")
    );
    assert_eq!(text(state(true, true, None)), golden("page-state-minimal"));
    assert_eq!(
        text(state(false, false, Some("Board (2)"))),
        golden("page-state")
    );
    assert_eq!(text(Message::Leaving), golden("leaving"));
}

#[test]
fn every_string_is_valid_json() {
    let name = (0..=0x7f_u8).map(char::from).collect::<String>() + "\u{2028}ü🦀";
    let unregister = Message::UnregisterTools {
        registration_id: RegistrationId::from("r1"),
        names: vec![name],
    };
    let escaped = concat!(
        r#"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\t\n\u000b\u000c\r\u000e\u000f"#,
        r#"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"#,
        r##" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"##,
        "\u{7f}\u{2028}ü🦀",
    );
    assert!(text(unregister).contains(&format!("[\"{escaped}\"]")));
}

#[test]
fn tokens_are_not_in_debug_output() {
    let page = Message::Authenticate(Authenticate {
        auth_token: Token("0123456789abcdef".into()),
        ..Authenticate::default()
    });
    assert!(!format!("{page:?}").contains("0123456789"));
}
