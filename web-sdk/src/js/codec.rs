//! Frames as the browser's JSON: `JSON.parse` reads them, and pieces are put together as its
//! strings.

use bridge_protocol::names::bridge_to_page as kind;
use bridge_protocol::{BridgeId, CallId, RegistrationId};
use js_sys::{Array, JSON, JsString, Reflect};
use wasm_bindgen::prelude::*;

use super::bindings::{self, Encoder};
use crate::core::frame::{self, Piece};
use crate::core::{
    BridgeToPage, Encoded, Limits, PageToBridge, RefusedTool, RegisteredTool, ToolCall,
};

/// Why a frame is not a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Not a JSON object with a string `type`.
    NotAMessage,
    /// A `type` that this version does not know.
    UnknownType(String),
    /// A known `type` without one of its fields.
    BadFields(String),
}

/// Reads one text frame.
pub fn decode(text: &JsString) -> Result<BridgeToPage<JsValue>, DecodeError> {
    let message = bindings::parse(text).map_err(|_| DecodeError::NotAMessage)?;
    let kind = string(&message, "type").ok_or(DecodeError::NotAMessage)?;
    let fields = match kind.as_str() {
        kind::AUTHENTICATED => authenticated(&message),
        kind::AUTHENTICATION_FAILED => authentication_failed(&message),
        kind::REGISTERED | kind::UNREGISTERED => registered(&message),
        kind::TOOL_CALL => tool_call(&message),
        kind::TOOL_CANCEL => tool_cancel(&message),
        kind::HEARTBEAT => heartbeat(&message),
        kind::CLIENTS => field(&message, "clients").map(BridgeToPage::Clients),
        kind::SESSION_CLOSED => session_closed(&message),
        _ => return Err(DecodeError::UnknownType(kind)),
    };
    fields.ok_or(DecodeError::BadFields(kind))
}

/// Writes one text frame.
pub fn encode(message: PageToBridge<JsValue>) -> JsString {
    let texts = Array::new();
    for piece in frame::encode(message) {
        texts.push(&match piece {
            Piece::Text(text) => JsValue::from(text),
            Piece::Json(json) => json,
        });
    }
    texts.join("")
}

/// A value as JSON text; nothing when it is no JSON value, like `undefined`.
///
/// # Errors
/// What `JSON.stringify` throws: a cycle, a `BigInt`, a `toJSON` that fails.
pub fn stringify(value: &JsValue) -> Result<Option<Encoded<JsValue>>, JsValue> {
    let text: JsValue = JSON::stringify(value)?.into();
    Ok(text.dyn_into().ok().map(measured))
}

/// A JSON text with its length as the bridge counts it.
pub fn measured(text: JsString) -> Encoded<JsValue> {
    Encoded {
        bytes: Encoder::new().encode(&text).length() as usize,
        json: text.into(),
    }
}

fn authenticated(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    let protocol = number(message, "protocol").unwrap_or(1.0) as u32;
    // A bridge of the former dialect says nothing more; the page refuses it by its number.
    let limits = field(message, "limits").unwrap_or_default();
    let limit = |name| number(&limits, name).unwrap_or_default();
    Some(BridgeToPage::Authenticated {
        protocol,
        bridge_id: BridgeId(string(message, "bridgeId").unwrap_or_default()),
        limits: Limits {
            max_result_bytes: limit("maxResultBytes") as usize,
            max_frame_bytes: limit("maxFrameBytes") as usize,
            heartbeat_seconds: limit("heartbeatSeconds") as u32,
        },
    })
}

fn authentication_failed(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::AuthenticationFailed {
        code: string(message, "code")?,
        error: string(message, "error")?,
    })
}

/// `unregistered` has neither tools nor errors.
fn registered(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::Registered {
        registration_id: string(message, "registrationId").map(RegistrationId)?,
        tools: items(message, "tools", registered_tool),
        errors: items(message, "errors", refused_tool),
    })
}

fn registered_tool(tool: &JsValue) -> Option<RegisteredTool> {
    Some(RegisteredTool {
        name: string(tool, "name")?,
        published_name: string(tool, "publishedName")?,
    })
}

fn refused_tool(error: &JsValue) -> Option<RefusedTool> {
    Some(RefusedTool {
        index: number(error, "index")? as usize,
        code: string(error, "code")?,
        message: string(error, "message")?,
    })
}

fn tool_call(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::ToolCall(ToolCall {
        call: call_id(message)?,
        tool_name: string(message, "toolName")?,
        tool_input: field(message, "toolInput")?,
        client: field(message, "client"),
    }))
}

fn tool_cancel(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::ToolCancel {
        call: call_id(message)?,
        code: string(message, "code")?,
        reason: string(message, "reason")?,
    })
}

fn heartbeat(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::Heartbeat {
        sequence: number(message, "sequence")? as u64,
    })
}

fn session_closed(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::SessionClosed {
        code: string(message, "code")?,
        reason: string(message, "reason")?,
    })
}

fn call_id(message: &JsValue) -> Option<CallId> {
    string(message, "requestId").map(CallId)
}

/// A field that is there and not `null`.
pub(super) fn field(object: &JsValue, name: &str) -> Option<JsValue> {
    let value = Reflect::get(object, &name.into()).ok()?;
    (!value.is_undefined() && !value.is_null()).then_some(value)
}

pub(super) fn string(object: &JsValue, name: &str) -> Option<String> {
    field(object, name)?.as_string()
}

fn number(object: &JsValue, name: &str) -> Option<f64> {
    field(object, name)?.as_f64()
}

fn items<T>(object: &JsValue, name: &str, read: fn(&JsValue) -> Option<T>) -> Vec<T> {
    let mut items = Vec::new();
    if let Some(array) = field(object, name) {
        let array: Array = array.unchecked_into();
        for index in 0..array.length() {
            items.extend(read(&array.get(index)));
        }
    }
    items
}
