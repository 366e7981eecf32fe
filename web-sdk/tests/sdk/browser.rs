//! The codec against the golden files, and a connection's manners, in a real browser.

use bridge_protocol::{BridgeId, CallId, ErrorCode, RegistrationId};
use js_sys::{Function, JSON, JsString, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::*;
use web_sdk::core::{
    Authenticate, BridgeToPage, Limits, PageToBridge, RefusedTool, RegisteredTool, Token, ToolCall,
};
use web_sdk::js::Connection;
use web_sdk::js::codec::{self, DecodeError};

wasm_bindgen_test_configure!(run_in_browser);

macro_rules! golden {
    ($path:literal) => {
        include_str!(concat!("../../../bridge/protocol/golden/", $path, ".json")).trim_end()
    };
}

fn decoded(text: &str) -> BridgeToPage<JsValue> {
    codec::decode(&text.into()).unwrap()
}

fn json(value: &JsValue) -> String {
    String::from(JSON::stringify(value).unwrap())
}

fn text(message: PageToBridge<JsValue>) -> String {
    codec::encode(message).into()
}

#[wasm_bindgen_test]
fn reads_authenticated() {
    assert_eq!(
        decoded(golden!("bridge-to-page/authenticated")),
        BridgeToPage::Authenticated {
            protocol: 2,
            bridge_id: BridgeId::from("b-7"),
            limits: Limits {
                max_result_bytes: 10_485_760,
                max_frame_bytes: 16_777_216,
                heartbeat_seconds: 20,
            },
        }
    );
}

#[wasm_bindgen_test]
fn reads_refusals() {
    assert_eq!(
        decoded(golden!("bridge-to-page/authentication-failed")),
        BridgeToPage::AuthenticationFailed {
            code: "InvalidAuthentication".into(),
            error: "the token is too short".into(),
        }
    );
    assert_eq!(
        decoded(golden!("bridge-to-page/session-closed")),
        BridgeToPage::SessionClosed {
            code: "SessionSuperseded".into(),
            reason: "another connection took over".into(),
        }
    );
}

#[wasm_bindgen_test]
fn reads_registrations() {
    let refused = |index, code: &str, message: &str| RefusedTool {
        index,
        code: code.into(),
        message: message.into(),
    };
    assert_eq!(
        decoded(golden!("bridge-to-page/registered")),
        BridgeToPage::Registered {
            registration_id: RegistrationId::from("r1"),
            tools: vec![RegisteredTool {
                name: "echo".into(),
                published_name: "echo".into(),
            }],
            errors: vec![
                refused(1, "ToolNameReserved", "the name belongs to the bridge"),
                refused(2, "ToolNameRequired", "a tool needs a name"),
            ],
        }
    );
    assert_eq!(
        decoded(golden!("bridge-to-page/unregistered")),
        BridgeToPage::Registered {
            registration_id: RegistrationId::from("r2"),
            tools: vec![],
            errors: vec![],
        }
    );
}

#[wasm_bindgen_test]
fn reads_calls() {
    let BridgeToPage::ToolCall(call) = decoded(golden!("bridge-to-page/tool-call")) else {
        panic!();
    };
    assert_eq!(call.call, CallId::from("c1"));
    assert_eq!(call.tool_name, "echo");
    assert_eq!(json(&call.tool_input), r#"{"text":"hi","n":1}"#);
    assert_eq!(
        json(&call.client.unwrap()),
        r#"{"name":"claude-code","version":"2.0.1","title":"Claude Code"}"#
    );
    let minimal = decoded(golden!("bridge-to-page/tool-call-minimal"));
    assert!(matches!(
        minimal,
        BridgeToPage::ToolCall(ToolCall { client: None, .. })
    ));
    assert_eq!(
        decoded(golden!("bridge-to-page/tool-cancel")),
        BridgeToPage::ToolCancel {
            call: CallId::from("c1"),
            code: "CallCancelled".into(),
            reason: "the client cancelled".into(),
        }
    );
}

#[wasm_bindgen_test]
fn reads_heartbeats_and_clients() {
    assert_eq!(
        decoded(golden!("bridge-to-page/heartbeat")),
        BridgeToPage::Heartbeat { sequence: 3 }
    );
    let BridgeToPage::Clients(clients) = decoded(golden!("bridge-to-page/clients")) else {
        panic!();
    };
    assert_eq!(
        json(&clients),
        r#"[{"id":1,"name":"claude-code","version":"2.0.1","protocolVersion":"2025-06-18"}]"#
    );
}

#[wasm_bindgen_test]
fn names_what_it_cannot_read() {
    let error = |text: &str| codec::decode(&text.into()).unwrap_err();
    for text in ["", "{", "null", "1", "[]", "{}", r#"{"type":1}"#] {
        assert_eq!(error(text), DecodeError::NotAMessage, "{text}");
    }
    assert_eq!(
        error(r#"{"type":"new"}"#),
        DecodeError::UnknownType("new".into())
    );
    assert_eq!(
        error(r#"{"type":"tool-call","requestId":"c1"}"#),
        DecodeError::BadFields("tool-call".into())
    );
}

#[wasm_bindgen_test]
fn writes_values_of_the_browser_to_the_letter() {
    let stringified = |text: &str| {
        let value = JSON::parse(text).unwrap();
        codec::stringify(&value).unwrap().unwrap()
    };
    let result = stringified(r#"{"z":1,"a":[true,null,"ü"]}"#);
    assert_eq!(result.bytes, r#"{"z":1,"a":[true,null,"ü"]}"#.len());
    let response = PageToBridge::ToolResponse {
        call: CallId::from("c1"),
        result: Some(result.json),
    };
    // 1.0 is 1 in JavaScript; all else is the golden file.
    let golden = golden!("page-to-bridge/tool-response").replace("1.0", "1");
    assert_eq!(text(response), golden);
    let error = PageToBridge::ToolError {
        call: CallId::from("c1"),
        code: ErrorCode::ToolFailed,
        message: "no such card: 7".into(),
        data: Some(stringified(r#"{"card":7}"#).json),
    };
    assert_eq!(text(error), golden!("page-to-bridge/tool-error"));
    let tool = r#"{"name":"echo","title":"Echo","description":"Says it again","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"z":1,"a":2.50}}"#;
    let register = PageToBridge::RegisterTools {
        registration_id: RegistrationId::from("r1"),
        tools: vec![codec::measured(tool.into()).json],
    };
    assert_eq!(text(register), golden!("page-to-bridge/register-tools"));
    let introduction = PageToBridge::Authenticate(Authenticate {
        auth_token: Token("0123456789abcdef".into()),
        session_id: Some("tab-1".into()),
        ..Authenticate::default()
    });
    assert_eq!(
        text(introduction),
        golden!("page-to-bridge/authenticate-minimal")
    );
}

#[wasm_bindgen_test]
fn what_is_not_json_is_said_to_be_so() {
    assert_eq!(codec::stringify(&JsValue::UNDEFINED), Ok(None));
    assert_eq!(
        codec::stringify(&Function::new_no_args("").into()),
        Ok(None)
    );
    let cycle = js_sys::Array::new();
    cycle.push(&cycle);
    assert!(codec::stringify(&cycle).is_err());
}

#[wasm_bindgen_test]
async fn an_address_the_browser_forbids_fails_for_good() {
    let status = first_status("failed", "ftp://bridge.example/").await;
    assert_eq!(string(&status, "code"), "BridgeUrlRefused");
    assert!(string(&status, "message").contains("http://bridge.example"));
}

#[wasm_bindgen_test]
async fn a_missing_bridge_is_tried_again() {
    // The discard port: Chromium refuses it without asking the network.
    let status = first_status("reconnecting", "ws://127.0.0.1:9/").await;
    assert_eq!(string(&status, "code"), "BridgeUnreachable");
}

fn string(object: &JsValue, name: &str) -> String {
    let value = Reflect::get(object, &name.into()).unwrap();
    value.as_string().unwrap()
}

/// Connects to `socket_url` and waits for the first status of this kind: `{code, message}`.
async fn first_status(state: &str, socket_url: &str) -> JsValue {
    let watch = Function::new_with_args(
        "state, socketUrl, start",
        r#"
        return new Promise((resolve) => {
            let connection;
            const host = new Proxy({
                token: () => Promise.resolve("0123456789abcdef"),
                status: (now, code, message) => {
                    if (now === state) {
                        resolve({ code, message });
                        queueMicrotask(() => connection.disconnect());
                    }
                },
            }, { get: (host, name) => host[name] ?? (() => {}) });
            const options = { bridgeUrl: "http://bridge.example", socketUrl, sessionId: "s", app: "{}" };
            start(host, options, (made) => { connection = made; });
        });
        "#,
    );
    let start = Closure::once_into_js(|host: JsValue, options: JsValue, made: Function| {
        let connection = Connection::new(host.unchecked_into(), options.unchecked_into());
        connection.connect();
        made.call1(&JsValue::UNDEFINED, &connection.into()).unwrap();
    });
    let promise: Promise = watch
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
