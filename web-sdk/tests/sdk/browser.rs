//! Tests of the codec with the golden files, and of the connection, in a real browser.

use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::message_parts::{Assembler, AssemblyStatus};
use bridge_protocol::{BridgeId, CallId, ErrorCode, RegistrationId};
use js_sys::{Function, JSON, JsString, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::*;
use web_sdk_core::{
    Answer, Authenticate, BridgeToPage, Definition, HandlerRequest, Item, Kind, Limits,
    PageToBridge, RegisteredItem, RegistrationFailure, Token,
};
use web_sdk_wasm::Connection;
use web_sdk_wasm::codec::{self, DecodeError};
use web_sdk_wasm::message_parts;

wasm_bindgen_test_configure!(run_in_browser);

macro_rules! golden {
    ($path:literal) => {
        include_str!(concat!("../../../bridge/protocol/golden/", $path, ".json")).trim_end()
    };
}

fn decode(text: &str) -> BridgeToPage<JsValue> {
    codec::decode(&text.into()).unwrap()
}

fn json(value: &JsValue) -> String {
    String::from(JSON::stringify(value).unwrap())
}

fn encode_text(message: PageToBridge<JsValue>) -> String {
    codec::encode(message).into()
}

#[wasm_bindgen_test]
fn authenticated_is_decoded() {
    assert_eq!(
        decode(golden!("bridge-to-page/authenticated")),
        BridgeToPage::Authenticated {
            protocol: 2,
            bridge_id: BridgeId::from("b-7"),
            session_name: None,
            awaited: vec![],
            now_ms: 1_790_000_000_000,
            token_expires_in_ms: None,
            limits: LIMITS,
        }
    );
    assert_eq!(
        decode(golden!("bridge-to-page/authenticated-again")),
        BridgeToPage::Authenticated {
            protocol: 2,
            bridge_id: BridgeId::from("b-7"),
            session_name: Some("left tab (2)".into()),
            awaited: vec![CallId::from("c1"), CallId::from("c3")],
            now_ms: 1_790_000_000_000,
            token_expires_in_ms: Some(300_000),
            limits: LIMITS,
        }
    );
}

const LIMITS: Limits = Limits {
    max_result_bytes: 10_485_760,
    max_frame_bytes: 16_777_216,
    max_message_bytes: 16_777_216,
    heartbeat_seconds: 20,
};

#[wasm_bindgen_test]
fn calls_alive_and_token_renewals_are_decoded() {
    assert_eq!(
        decode(golden!("bridge-to-page/calls-alive")),
        BridgeToPage::CallsAlive {
            check: 7,
            alive: vec![CallId::from("c1")],
            ended: vec![CallId::from("c2")],
        }
    );
    assert_eq!(
        decode(golden!("bridge-to-page/renewed")),
        BridgeToPage::Renewed {
            token_expires_in_ms: Some(300_000),
        }
    );
    assert_eq!(
        decode(golden!("bridge-to-page/renewal-failed")),
        BridgeToPage::RenewalFailed {
            code: "TokenExpired".into(),
            error: "the token has expired: fetch a fresh one".into(),
        }
    );
}

#[wasm_bindgen_test]
fn rejections_are_decoded() {
    assert_eq!(
        decode(golden!("bridge-to-page/authentication-failed")),
        BridgeToPage::AuthenticationFailed {
            code: "InvalidAuthentication".into(),
            error: "the token is too short".into(),
        }
    );
    assert_eq!(
        decode(golden!("bridge-to-page/session-closed")),
        BridgeToPage::SessionClosed {
            code: "SessionSuperseded".into(),
            reason: "another connection took over".into(),
        }
    );
}

#[wasm_bindgen_test]
fn registrations_are_decoded() {
    let registered = |kind, name: &str, published_name: &str| RegisteredItem {
        item: item(kind, name),
        published_name: published_name.into(),
    };
    let failure = |index, code: &str, message: &str| RegistrationFailure {
        index,
        code: code.into(),
        message: message.into(),
    };
    assert_eq!(
        decode(golden!("bridge-to-page/registered")),
        BridgeToPage::Registered {
            registration_id: RegistrationId::from("r1"),
            items: vec![
                registered(Kind::Tool, "écho", "_cho_1a2b3c4d"),
                registered(Kind::Resource, "board://cards", "board://cards"),
            ],
            errors: vec![
                failure(1, "ToolNameReserved", "the name belongs to the bridge"),
                failure(2, "ToolNameRequired", "a tool needs a name"),
            ],
        }
    );
    assert_eq!(
        decode(golden!("bridge-to-page/unregistered")),
        BridgeToPage::Registered {
            registration_id: RegistrationId::from("r2"),
            items: vec![],
            errors: vec![],
        }
    );
}

fn item(kind: Kind, name: &str) -> Item {
    Item {
        kind,
        name: name.into(),
    }
}

#[wasm_bindgen_test]
fn calls_of_every_kind_are_decoded() {
    let board = || item(Kind::Resource, "board://cards");
    let card = || item(Kind::ResourceTemplate, "board://cards/{id}");
    let review = || item(Kind::Prompt, "review");
    let echo = || item(Kind::Tool, "echo");
    for (golden, expected) in [
        (golden!("bridge-to-page/tool-call"), echo()),
        (golden!("bridge-to-page/tool-call-minimal"), echo()),
        (golden!("bridge-to-page/prompt-get"), review()),
        (golden!("bridge-to-page/resource-read"), board()),
        (golden!("bridge-to-page/resource-read-template"), card()),
        (golden!("bridge-to-page/completion"), review()),
        (golden!("bridge-to-page/completion-minimal"), card()),
    ] {
        let BridgeToPage::CallRequested(HandlerRequest {
            call,
            item,
            sent_ms,
            message,
            hand_overs: _,
        }) = decode(golden)
        else {
            panic!("{golden}");
        };
        assert_eq!(call, CallId::from("c1"));
        assert_eq!(item, expected);
        let has_sent_ms = golden.contains("sentMs");
        assert_eq!(sent_ms, has_sent_ms.then_some(1_790_000_000_123));
        // JavaScript writes 1.0 as 1.
        assert_eq!(json(&message), golden.replace("1.0", "1"));
    }
}

#[wasm_bindgen_test]
fn cancellations_are_decoded() {
    assert_eq!(
        decode(golden!("bridge-to-page/call-cancel")),
        BridgeToPage::CallCancel {
            call: CallId::from("c1"),
            code: "CallCancelled".into(),
            reason: "the client cancelled".into(),
        }
    );
}

#[wasm_bindgen_test]
fn client_responses_are_decoded() {
    let golden = golden!("bridge-to-page/client-responses");
    let BridgeToPage::ClientResponses { call, responses } = decode(golden) else {
        panic!();
    };
    assert_eq!(call, CallId::from("c1"));
    let [elicitation, roots] = &responses[..] else {
        panic!("{responses:?}");
    };
    assert_eq!(
        (&elicitation.key[..], &json(&elicitation.response)[..]),
        (
            "elicit-1",
            r#"{"key":"elicit-1","result":{"action":"accept","content":{"column":"todo"}}}"#
        )
    );
    assert_eq!(roots.key, "roots");
    assert!(json(&roots.response).contains(r#""requiredCapabilities":{"roots":{}}"#));
}

#[wasm_bindgen_test]
fn subscriptions_are_decoded() {
    let golden = golden!("bridge-to-page/subscriptions");
    let BridgeToPage::Subscriptions(uris) = decode(golden) else {
        panic!();
    };
    assert_eq!(json(&uris), r#"["board://cards"]"#);
}

#[wasm_bindgen_test]
fn heartbeats_and_clients_are_decoded() {
    assert_eq!(
        decode(golden!("bridge-to-page/heartbeat")),
        BridgeToPage::Heartbeat {
            sequence: 3,
            answers: 0
        }
    );
    assert_eq!(
        decode(golden!("bridge-to-page/heartbeat-answers")),
        BridgeToPage::Heartbeat {
            sequence: 3,
            answers: 12
        }
    );
    let BridgeToPage::Clients(clients) = decode(golden!("bridge-to-page/clients")) else {
        panic!();
    };
    assert_eq!(
        json(&clients),
        r#"[{"id":1,"name":"claude-code","version":"2.0.1","protocolVersion":"2025-06-18"}]"#
    );
}

#[wasm_bindgen_test]
fn query_messages_are_passed_on_unchanged() {
    for golden in [
        golden!("bridge-to-page/query-accepted"),
        golden!("bridge-to-page/query-progress"),
        golden!("bridge-to-page/query-complete-minimal"),
        golden!("bridge-to-page/query-failure"),
        golden!("bridge-to-page/query-cancel"),
    ] {
        let BridgeToPage::Query(message) = decode(golden) else {
            panic!("{golden}");
        };
        assert_eq!(json(&message), golden);
    }
}

#[wasm_bindgen_test]
fn invalid_frames_have_a_specific_decode_error() {
    let error = |text: &str| codec::decode(&text.into()).unwrap_err();
    for text in ["", "{", "null", "1", "[]", "{}", r#"{"type":1}"#] {
        assert_eq!(error(text), DecodeError::NotAMessage, "{text}");
    }
    assert_eq!(
        error(r#"{"type":"new"}"#),
        DecodeError::UnknownType("new".into())
    );
    for kind in ["tool-call", "prompt-get", "resource-read", "completion"] {
        let frame = format!(r#"{{"type":"{kind}","requestId":"c1","toolName":"x","name":"x"}}"#);
        assert_eq!(error(&frame), DecodeError::MissingField(kind.into()));
    }
}

#[wasm_bindgen_test]
fn texts_of_the_browser_are_encoded_unchanged() {
    let sized_json = |text: &str| codec::sized_json(text.into());
    let result = sized_json(r#"{"z":1.0,"a":[true,null,"ü"]}"#);
    assert_eq!(result.bytes, r#"{"z":1.0,"a":[true,null,"ü"]}"#.len());
    let response = PageToBridge::CallResponse {
        call: CallId::from("c1"),
        answer: Answer {
            result: Some(result.json),
            content: None,
            structured_content: None,
            meta: None,
        },
    };
    assert_eq!(
        encode_text(response),
        golden!("page-to-bridge/call-response")
    );
    let error = PageToBridge::CallError {
        call: CallId::from("c1"),
        code: ErrorCode::HandlerFailed.as_str(),
        message: "no such card: 7".into(),
        details: Answer {
            result: Some(sized_json(r#"{"card":7}"#).json),
            ..Answer::default()
        },
    };
    assert_eq!(encode_text(error), golden!("page-to-bridge/call-error"));
    let definition = |kind, json: &str| Definition {
        kind,
        json: sized_json(json).json,
    };
    let register = PageToBridge::Register {
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
    assert_eq!(encode_text(register), golden!("page-to-bridge/register"));
    let authenticate = PageToBridge::Authenticate(Authenticate {
        auth_token: Token("0123456789abcdef".into()),
        session_id: Some("tab-1".into()),
        ..Authenticate::default()
    });
    assert_eq!(
        encode_text(authenticate),
        golden!("page-to-bridge/authenticate-minimal")
    );
}

/// Splits a string of the browser into the frames of its message.
fn frames(message: &str) -> Vec<String> {
    let mut frames = Vec::new();
    message_parts::split(&message.into(), |frame| frames.push(frame.into()));
    frames
}

#[wasm_bindgen_test]
fn long_messages_of_the_browser_are_sent_in_parts() {
    assert_eq!(frames("{}"), ["{}"]);
    for prefix in ["", "x", "xy"] {
        let message = prefix.to_owned() + &"🦀é".repeat(200_000);
        let mut assembler = Assembler::new(message.len());
        let mut received = None;
        for frame in frames(&message) {
            assert!(frame.len() <= PART_BYTES);
            if let AssemblyStatus::Complete(text) = assembler.push(&frame).unwrap() {
                assert_eq!(received.replace(text.into_owned()), None);
            }
        }
        assert!(received.is_some_and(|received| received == message));
    }
}

#[wasm_bindgen_test]
fn parts_are_distinguished_from_messages() {
    let parse = |frame: &str| message_parts::parse(&frame.into());
    assert_eq!(parse("{}"), None);
    assert_eq!(parse(""), None);
    for (frame, head, text) in [
        ("#+12 {🦀 }", "#+12", "{🦀 }"),
        ("#.12 ", "#.12", ""),
        ("#+", "#+", ""),
    ] {
        let part = parse(frame).unwrap();
        assert_eq!(part.head, head);
        assert_eq!(part.text.as_string().unwrap(), text);
        assert_eq!(part.length, text.encode_utf16().count());
    }
    let too_long = parse("#+1234567890123456789012345 x").unwrap();
    assert_eq!(too_long.head.len(), 23, "the rest of the head is not read");
    let texts = ["{\"a\":", "🦀", "}"].map(JsValue::from);
    assert_eq!(
        String::from(message_parts::join(texts.into())),
        "{\"a\":🦀}"
    );
}

#[wasm_bindgen_test]
async fn a_forbidden_address_is_not_retried() {
    let status = first_status("failed", "ftp://bridge.example/").await;
    assert_eq!(string(&status, "code"), "BridgeUrlRefused");
    assert!(string(&status, "message").contains("http://bridge.example"));
}

#[wasm_bindgen_test]
async fn an_unreachable_bridge_is_retried() {
    // Chromium blocks the discard port without using the network.
    let status = first_status("reconnecting", "ws://127.0.0.1:9/").await;
    assert_eq!(string(&status, "code"), "BridgeUnreachable");
}

fn string(object: &JsValue, name: &str) -> String {
    let value = Reflect::get(object, &name.into()).unwrap();
    value.as_string().unwrap()
}

/// Connects to `socket_url` and returns `{code, message}` of the first status with this state.
async fn first_status(state: &str, socket_url: &str) -> JsValue {
    let connect = Function::new_with_args(
        "state, socketUrl, start",
        r#"
        return new Promise((resolve) => {
            let connection;
            const host = new Proxy({
                token: () => Promise.resolve("0123456789abcdef"),
                status: (newState, code, message) => {
                    if (newState === state) {
                        resolve({ code, message });
                        queueMicrotask(() => connection.disconnect());
                    }
                },
                openSocket: (url) => new WebSocket(url),
            }, { get: (host, name) => host[name] ?? (() => {}) });
            const options = { bridgeUrl: "http://bridge.example", socketUrl, sessionId: "s", app: "{}", renewable: false, visibility: () => undefined };
            start(host, options, (created) => { connection = created; });
        });
        "#,
    );
    let start = Closure::once_into_js(|host: JsValue, options: JsValue, on_created: Function| {
        let connection = Connection::new(host.unchecked_into(), options.unchecked_into());
        connection.connect();
        on_created
            .call1(&JsValue::UNDEFINED, &connection.into())
            .unwrap();
    });
    let promise: Promise = connect
        .call3(
            &JsValue::UNDEFINED,
            &JsString::from(state),
            &JsString::from(socket_url),
            &start,
        )
        .unwrap()
        .unchecked_into();
    JsFuture::from(promise).await.unwrap()
}
