use bridge_protocol::{
    CallContext, CallsAlive, CloseCode, Heartbeat, RegistrationFailure, ResourceRead,
    SessionClosed, ToolCall,
};
use serde_json::{Value, json};

use super::*;
use bridge_realm::page_messages::CloseFrame;

const LENIENT: StrictMode = StrictMode(false);

fn decode_lenient(frame: &Value) -> Inbound {
    decode(&frame.to_string(), LENIENT).unwrap()
}

/// Decodes a frame and returns the resulting message of this bridge as JSON.
fn decode_to_json(frame: &Value, strict: StrictMode) -> Value {
    match decode(&frame.to_string(), strict) {
        Ok(Inbound::Message(message)) => serde_json::from_str(&message.encode()).unwrap(),
        other => panic!("{frame}: {other:?}"),
    }
}

#[test]
fn half_of_a_surrogate_pair_becomes_the_replacement_character() {
    let frame = r#"{"type":"tool-response","requestId":"c","result":"\ud83d"}"#;
    let Ok(Inbound::Message(PageToBridge::CallResponse(response))) = decode(frame, LENIENT) else {
        panic!("not a response")
    };
    assert_eq!(response.result.unwrap().get(), r#""\ufffd""#);
}

#[test]
fn activity_carries_the_page_time_if_valid() {
    for (timestamp, at) in [
        (json!(1_700_000_000_000_u64), Some(1_700_000_000_000)),
        (json!(12.75), Some(12)),
        (json!(-1), None),
        (json!(1e300), None),
        (json!("now"), None),
        (json!(null), None),
    ] {
        let decoded = decode_lenient(&json!({ "type": "activity", "timestamp": timestamp }));
        assert!(
            matches!(decoded, Inbound::Activity(time) if time == at),
            "{decoded:?}"
        );
    }
    assert!(matches!(
        decode_lenient(&json!({ "type": "activity" })),
        Inbound::Activity(None)
    ));
}

#[test]
fn registrations_keep_their_definition_verbatim() {
    let tool = r#"{"z":1,"name":"t","inputSchema":{"b":1.0,"a":{}}}"#;
    let frame = format!(r#"{{"type":"register-tool","tool":{tool}}}"#);
    let Ok(Inbound::Message(PageToBridge::Register(registration))) = decode(&frame, LENIENT) else {
        panic!()
    };
    assert_eq!(registration.items[0].kind, Kind::Tool);
    assert_eq!(registration.items[0].definition.get(), tool);
    let resource = json!({ "uri": "a://b", "name": "n" });
    let frame = json!({ "type": "register-resource", "resource": resource });
    let item = json!({ "kind": "resource", "definition": resource });
    assert_eq!(decode_to_json(&frame, LENIENT)["items"], json!([item]));
}

#[test]
fn a_tool_is_registered_without_its_output_schema() {
    for schema in [
        json!({ "type": "object" }),
        json!({ "type": "array" }),
        json!(true),
    ] {
        let tool = json!({ "name": "t", "outputSchema": schema, "last": 1 });
        let frame = json!({ "type": "register-tool", "tool": tool });
        for strict in [LENIENT, StrictMode(true)] {
            let definition = &decode_to_json(&frame, strict)["items"][0]["definition"];
            assert_eq!(*definition, json!({ "name": "t", "last": 1 }));
        }
    }
}

#[test]
fn a_frame_without_its_object_is_rejected() {
    for bad in [
        "",
        "[]",
        "null",
        "7",
        "{",
        r#"{"type":"register-tool"}"#,
        r#"{"type":"register-tool","tool":[]}"#,
        r#"{"type":"register-resource","resource":"r"}"#,
    ] {
        assert_eq!(decode(bad, LENIENT).unwrap_err(), BadFrame, "{bad}");
    }
}

#[test]
fn a_failure_keeps_the_whole_result_as_its_data() {
    let result = r#"{"b":1,"error":"no","a":2.0}"#;
    let frame = format!(r#"{{"type":"tool-response","requestId":"c","result":{result}}}"#);
    let Ok(Inbound::Message(PageToBridge::CallError(error))) = decode(&frame, LENIENT) else {
        panic!()
    };
    assert_eq!(error.code, ErrorCode::HandlerFailed);
    assert_eq!(error.message, "no");
    assert_eq!(error.data.unwrap().get(), result);
    // The key may be written in any way that JSON allows.
    let frame = r#"{"type":"tool-response","requestId":"c","result":{"\u0065rror":"no"}}"#;
    let Ok(Inbound::Message(PageToBridge::CallError(_))) = decode(frame, LENIENT) else {
        panic!()
    };
}

#[test]
fn messages_unknown_to_compat_pages_are_not_sent() {
    let unknown = [
        BridgeToPage::Heartbeat(Heartbeat {
            sequence: 1,
            answers: 0,
        }),
        BridgeToPage::CallsAlive(CallsAlive {
            check: 1,
            request_ids: Vec::new(),
            ended: Vec::new(),
        }),
    ];
    for message in unknown {
        assert_eq!(encode(&message), None, "{message:?}");
    }
}

#[test]
fn encoded_frames_have_exactly_the_expected_keys() {
    let call = |query_id| {
        BridgeToPage::ToolCall(ToolCall {
            request_id: "c".into(),
            tool_name: "t".to_owned(),
            tool_input: RawValue::from_string("{\"n\":1.0}".to_owned()).unwrap(),
            context: Box::new(CallContext {
                timeout_ms: Some(1),
                query_id,
                ..CallContext::default()
            }),
        })
    };
    let read = BridgeToPage::ResourceRead(ResourceRead {
        request_id: "c".into(),
        uri: "a://b".to_owned(),
        uri_template: None,
        variables: None,
        context: Box::default(),
    });
    let ended = |code| {
        BridgeToPage::SessionClosed(SessionClosed {
            reason: "r".to_owned(),
            code,
        })
    };
    let refused = |id: &str| {
        BridgeToPage::Registered(Registered {
            registration_id: RegistrationId::from(id),
            items: Vec::new(),
            errors: vec![RegistrationFailure {
                index: 0,
                name: Some("t".to_owned()),
                code: ErrorCode::DefinitionInvalid,
                message: "m".to_owned(),
            }],
        })
    };
    for (message, frame) in [
        (
            call(None),
            r#"{"type":"tool-call","requestId":"c","toolName":"t","toolInput":{"n":1.0}}"#,
        ),
        (
            call(Some("q".into())),
            r#"{"type":"tool-call","requestId":"c","toolName":"t","toolInput":{"n":1.0},"queryId":"q"}"#,
        ),
        (
            read,
            r#"{"type":"resource-read","requestId":"c","uri":"a://b"}"#,
        ),
        (
            ended(ErrorCode::SessionExpired),
            r#"{"type":"session-expired","code":"SessionExpired"}"#,
        ),
        (
            ended(ErrorCode::SessionSuperseded),
            r#"{"type":"session-closed","reason":"r","code":"InvalidSession"}"#,
        ),
        (
            refused(TOOL_REGISTRATION),
            r#"{"type":"tool-registration-error","toolName":"t","error":"ToolNotAllowed","message":"m"}"#,
        ),
    ] {
        assert_eq!(encode(&message).as_deref(), Some(frame));
    }
    assert_eq!(encode(&refused(RESOURCE_REGISTRATION)), None);
}

/// All error codes of mcp-web 0.1.
const COMPAT_CODES: &str = "MissingAuthentication InvalidAuthentication InvalidSession NoSessionsFound \
    SessionNotFound SessionNotSpecified SessionLimitExceeded SessionExpired SessionNameAlreadyInUse \
    ToolNotFound ToolNameRequired ToolNotAllowed ToolSchemaConflict QueryNotFound QueryNotActive \
    QueryCompleted QueryLimitExceeded UnknownMethod InternalError";

#[test]
fn every_error_code_maps_to_the_closed_list() {
    let list: Vec<_> = COMPAT_CODES.split_whitespace().collect();
    for ours in ErrorCode::ALL {
        let similar = similar_code(*ours);
        assert!(
            list.contains(&similar.as_str()),
            "{ours} is mapped to {similar}"
        );
        if list.contains(&ours.as_str()) {
            assert_eq!(*ours, similar);
        }
    }
}

#[test]
fn close_frames_use_the_similar_codes() {
    for (ours, error, code, reason) in [
        (
            CloseCode::ServiceRestart,
            None,
            1000,
            "Server shutting down",
        ),
        (
            CloseCode::Superseded,
            Some(ErrorCode::SessionSuperseded),
            1008,
            "why",
        ),
        (
            CloseCode::TokenExpired,
            Some(ErrorCode::TokenExpired),
            1008,
            "why",
        ),
        (
            CloseCode::PolicyViolation,
            Some(ErrorCode::SessionLimitExceeded),
            1008,
            "Session limit exceeded",
        ),
        (
            CloseCode::PolicyViolation,
            Some(ErrorCode::SessionExpired),
            1008,
            "Session expired",
        ),
        (CloseCode::MessageTooBig, None, 1009, "why"),
    ] {
        let closed = close_frame(CloseFrame::new(ours, "why"), error);
        assert_eq!((closed.code.code(), closed.reason.as_ref()), (code, reason));
    }
}
