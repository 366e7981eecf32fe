//! Property tests: every message decodes to what was encoded, for any strings and JSON values.
#![allow(clippy::unwrap_used)]

use bridge_protocol::{
    BridgeToPage, CallContext, CallError, CallId, CallResponse, PageToBridge, ToolCall,
};
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has only finite numbers", |n| n.is_finite())
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

proptest! {
    #[test]
    fn a_call_response_round_trips_unchanged(id in any::<String>(), result in any_json()) {
        let sent = PageToBridge::CallResponse(CallResponse {
            request_id: CallId(id.clone()),
            result: Some(raw(&result)),
            content: None,
            structured_content: None,
            meta: None,
        });
        let PageToBridge::CallResponse(received) = PageToBridge::decode(&sent.encode()).unwrap() else {
            panic!("another message type")
        };
        prop_assert_eq!(received.request_id.0, id);
        prop_assert_eq!(received.result.as_deref().unwrap().get(), result.to_string());
    }

    #[test]
    fn a_call_error_round_trips(message in any::<String>(), data in any_json()) {
        let sent = PageToBridge::CallError(CallError {
            request_id: CallId::from("c"),
            code: bridge_protocol::ErrorCode::HandlerFailed,
            message: message.clone(),
            data: Some(raw(&data)),
            content: None,
            meta: None,
        });
        let PageToBridge::CallError(received) = PageToBridge::decode(&sent.encode()).unwrap() else {
            panic!("another message type")
        };
        prop_assert_eq!(received.message, message);
        prop_assert_eq!(received.data.as_deref().unwrap().get(), data.to_string());
    }

    #[test]
    fn a_tool_call_round_trips(name in any::<String>(), input in any_json()) {
        let input = json!({ "input": input });
        let sent = BridgeToPage::ToolCall(ToolCall {
            request_id: CallId::from("c"),
            tool_name: name.clone(),
            tool_input: raw(&input),
            context: Box::new(CallContext {
                timeout_ms: Some(1),
                ..CallContext::default()
            }),
        });
        let BridgeToPage::ToolCall(received) = BridgeToPage::decode(&sent.encode()).unwrap() else {
            panic!("another message type")
        };
        prop_assert_eq!(received.tool_name, name);
        prop_assert_eq!(received.tool_input.get(), input.to_string());
    }

    #[test]
    fn decoding_never_panics(text in any::<String>()) {
        let _ = PageToBridge::decode(&text);
        let _ = BridgeToPage::decode(&text);
    }
}
