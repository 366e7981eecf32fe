//! Every frame that a page sends equals its golden file byte for byte.

use std::path::Path;

use bridge_protocol::{CallId, ErrorCode, RegistrationId, SessionId};

use crate::frame::{FramePart, encode};
use crate::{Answer, Authenticate, ClientRequest, Definition, Item, Kind, PageToBridge, Token};

type Message = PageToBridge<String>;

fn golden(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../bridge/protocol/golden/page-to-bridge")
        .join(name)
        .with_extension("json");
    std::fs::read_to_string(file).unwrap().trim_end().to_owned()
}

fn encode_text(message: Message) -> String {
    let parts = encode(message).into_iter();
    parts
        .map(|part| match part {
            FramePart::Text(text) | FramePart::Json(text) => text,
        })
        .collect()
}

#[test]
fn authenticate_frames() {
    let minimal = Authenticate {
        auth_token: Token("0123456789abcdef".into()),
        session_id: Some(SessionId::from("tab-1")),
        ..Authenticate::default()
    };
    let full = Authenticate {
        auth_token: Token("0123456789abcdef0123456789abcdef".into()),
        session_id: Some(SessionId::from("tab-1")),
        session_name: Some("left tab".into()),
        origin: Some("http://localhost:3001".into()),
        page_title: Some("Board".into()),
        document_id: Some("d-1".into()),
        user_agent: Some("Mozilla/5.0".into()),
        app: Some(
            r#"{"name":"board","description":"A kanban board","version":"1.2.0","icon":"https://example.com/icon.png"}"#
                .into(),
        ),
        timestamp: Some(1_790_000_000_000),
        checks_late_calls: true,
        sdk_version: Some("0.2.0"),
    };
    assert_eq!(
        encode_text(Message::Authenticate(minimal)),
        golden("authenticate-minimal")
    );
    assert_eq!(
        encode_text(Message::Authenticate(full)),
        golden("authenticate")
    );
}

#[test]
fn registration_frames() {
    let definition = |kind, json: &str| Definition {
        kind,
        json: json.to_owned(),
    };
    let item = |kind, name: &str| Item {
        kind,
        name: name.into(),
    };
    let register = Message::Register {
        registration_id: RegistrationId::from("r1"),
        items: vec![
            definition(
                Kind::Tool,
                r#"{"name":"echo","title":"Echo","description":"Says it again","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"z":1,"a":2.50}}"#,
            ),
            definition(
                Kind::Prompt,
                r#"{"name":"review","arguments":[{"name":"card","required":true}]}"#,
            ),
            definition(
                Kind::Resource,
                r#"{"uri":"board://cards","name":"cards","mimeType":"application/json"}"#,
            ),
            definition(
                Kind::ResourceTemplate,
                r#"{"uriTemplate":"board://cards/{id}","name":"card"}"#,
            ),
        ],
    };
    let unregister = Message::Unregister {
        registration_id: RegistrationId::from("r2"),
        items: vec![
            item(Kind::Tool, "echo"),
            item(Kind::ResourceTemplate, "board://cards/{id}"),
        ],
    };
    assert_eq!(encode_text(register), golden("register"));
    assert_eq!(encode_text(unregister), golden("unregister"));
}

fn call() -> CallId {
    CallId::from("c1")
}

#[test]
fn call_response_frames() {
    let value = |result: Option<&str>| Message::CallResponse {
        call: call(),
        answer: Answer {
            result: result.map(str::to_owned),
            content: None,
            structured_content: None,
            meta: None,
        },
    };
    let content = Message::CallResponse {
        call: call(),
        answer: Answer {
            result: None,
            content: Some(
                r#"[{"type":"text","text":"hi"},{"type":"image","data":"AAAA","mimeType":"image/png"}]"#
                    .into(),
            ),
            structured_content: Some(r#"{"n":1.0}"#.into()),
            meta: Some(r#"{"k":null}"#.into()),
        },
    };
    assert_eq!(
        encode_text(Message::CallReceived(call())),
        golden("call-received")
    );
    assert_eq!(
        encode_text(value(Some(r#"{"z":1.0,"a":[true,null,"ü"]}"#))),
        golden("call-response")
    );
    assert_eq!(
        encode_text(value(Some("null"))),
        golden("call-response-null")
    );
    assert_eq!(encode_text(value(None)), golden("call-response-nothing"));
    assert_eq!(encode_text(content), golden("call-response-content"));
}

#[test]
fn call_error_frames() {
    let error = |code: ErrorCode, message: &str, data: Option<&str>, content: Option<&str>| {
        Message::CallError {
            call: call(),
            code: code.as_str(),
            message: message.into(),
            details: Answer {
                result: data.map(str::to_owned),
                content: content.map(str::to_owned),
                meta: content.map(|_| r#"{"a.b/c":1}"#.to_owned()),
                ..Answer::default()
            },
        }
    };
    let code = ErrorCode::HandlerFailed;
    let with_data = error(code, "no such card: 7", Some(r#"{"card":7}"#), None);
    let content = r#"[{"type":"text","text":"no such card"}]"#;
    let with_content = error(code, "no such card", None, Some(content));
    let message = "the result has 11 MiB; at most 10 MiB are allowed";
    let minimal = error(ErrorCode::ResultTooLarge, message, None, None);
    assert_eq!(encode_text(with_data), golden("call-error"));
    assert_eq!(encode_text(with_content), golden("call-error-content"));
    assert_eq!(encode_text(minimal), golden("call-error-minimal"));
}

#[test]
fn progress_and_log_frames() {
    let minimal = Message::CallProgress {
        call: call(),
        progress: "1".into(),
        total: None,
        message: None,
    };
    let full = Message::CallProgress {
        call: call(),
        progress: "1.5".into(),
        total: Some("3".into()),
        message: Some("half of it".into()),
    };
    assert_eq!(encode_text(minimal), golden("call-progress-minimal"));
    assert_eq!(encode_text(full), golden("call-progress"));
    let log = |level: &str, logger: Option<&str>, data: &str| Message::CallLog {
        call: call(),
        level: level.into(),
        logger: logger.map(str::to_owned),
        data: data.into(),
    };
    assert_eq!(
        encode_text(log("debug", None, "null")),
        golden("call-log-minimal")
    );
    assert_eq!(
        encode_text(log("warning", Some("board"), r#"{"card":7}"#)),
        golden("call-log")
    );
}

#[test]
fn client_request_frames() {
    let request = |key: &str, method: &str, params: &str| ClientRequest {
        key: key.into(),
        method: method.into(),
        params: params.into(),
    };
    let elicit = r#"{"message":"Which column?","requestedSchema":{"type":"object","properties":{"column":{"type":"string"}}}}"#;
    let requests = Message::ClientRequests {
        call: call(),
        requests: vec![
            request("elicit-1", "elicitation/create", elicit),
            request("roots", "roots/list", "{}"),
        ],
    };
    let updated = Message::ResourceUpdated {
        uri: "board://cards".into(),
    };
    assert_eq!(encode_text(requests), golden("client-requests"));
    assert_eq!(encode_text(updated), golden("resource-updated"));
}

#[test]
fn heartbeat_activity_and_page_state_frames() {
    let state = |visible, focused, page_title: Option<&str>| Message::PageState {
        visible,
        focused,
        frozen: false,
        page_title: page_title.map(str::to_owned),
    };
    assert_eq!(
        encode_text(Message::HeartbeatAck { sequence: 3 }),
        golden("heartbeat-ack")
    );
    assert_eq!(
        encode_text(state(true, true, None)),
        golden("page-state-minimal")
    );
    assert_eq!(
        encode_text(state(false, false, Some("Board (2)"))),
        golden("page-state")
    );
    let frozen = Message::PageState {
        visible: false,
        focused: false,
        frozen: true,
        page_title: None,
    };
    assert_eq!(encode_text(frozen), golden("page-state-frozen"));
    assert_eq!(encode_text(Message::Activity), golden("activity"));
}

#[test]
fn hand_over_frames() {
    let hand_over = |state: &str| Message::CallHandOver {
        call: call(),
        state: state.to_owned(),
    };
    assert_eq!(
        encode_text(hand_over(r#"{"log":["clicked"],"n":1.0}"#)),
        golden("call-hand-over")
    );
    assert_eq!(
        encode_text(hand_over("null")),
        golden("call-hand-over-disarmed")
    );
    let leaving = |calls: &[&str]| Message::Leaving {
        hands_over: calls.iter().map(|id| CallId::from(*id)).collect(),
    };
    assert_eq!(encode_text(leaving(&[])), golden("leaving"));
    assert_eq!(
        encode_text(leaving(&["c1", "c2"])),
        golden("leaving-hands-over")
    );
}

#[test]
fn query_messages_are_sent_unchanged() {
    let query = golden("query");
    assert_eq!(encode_text(Message::Query(query.clone())), query);
}

#[test]
fn calls_check_and_renew_frames() {
    let check = Message::CallsCheck {
        check: 7,
        calls: vec![call(), CallId::from("c2")],
    };
    let renew = Message::Renew(Token("0123456789abcdef0123456789abcdef".into()));
    assert_eq!(encode_text(check), golden("calls-check"));
    assert_eq!(encode_text(renew), golden("renew"));
}

#[test]
fn strings_are_escaped_as_json() {
    let name = (0..=0x7f_u8).map(char::from).collect::<String>() + "\u{2028}ü🦀";
    let unregister = Message::Unregister {
        registration_id: RegistrationId::from("r1"),
        items: vec![Item {
            kind: Kind::Tool,
            name,
        }],
    };
    let escaped = concat!(
        r#"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\t\n\u000b\u000c\r\u000e\u000f"#,
        r#"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"#,
        r##" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"##,
        "\u{7f}\u{2028}ü🦀",
    );
    assert!(encode_text(unregister).contains(&format!("\"name\":\"{escaped}\"}}")));
}

#[test]
fn tokens_are_not_in_debug_output() {
    let page = Message::Authenticate(Authenticate {
        auth_token: Token("0123456789abcdef".into()),
        ..Authenticate::default()
    });
    assert!(!format!("{page:?}").contains("0123456789"));
}
