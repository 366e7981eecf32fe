//! Decoding of frames with `JSON.parse`, and encoding of messages as strings of the browser.

use bridge_protocol::message_types::bridge_to_page as kind;
use bridge_protocol::{BridgeId, CallId, RegistrationId};
use js_sys::{Array, JsString, Reflect};
use wasm_bindgen::prelude::*;

use super::js_imports::{self, Encoder};
use web_sdk_core::frame::{self, FramePart};
use web_sdk_core::{
    BridgeToPage, ClientResponse, HandlerRequest, Item, Kind, Limits, PageToBridge, RegisteredItem,
    RegistrationFailure, SizedJson,
};

/// The prefix of the `type` of all messages about queries, which the JavaScript module handles.
const QUERY_PREFIX: &str = "query_";

/// The error of decoding a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The frame is not a JSON object with a string `type`.
    NotAMessage,
    /// The `type` is not known to this version.
    UnknownType(String),
    /// The `type` is known, and a field is missing.
    MissingField(String),
}

/// Decodes one text frame.
///
/// # Errors
/// Returns [`DecodeError`] when the frame is not a message of this version.
pub fn decode(text: &JsString) -> Result<BridgeToPage<JsValue>, DecodeError> {
    let message = js_imports::parse(text).map_err(|_| DecodeError::NotAMessage)?;
    let kind = string(&message, "type").ok_or(DecodeError::NotAMessage)?;
    let fields = match kind.as_str() {
        kind::AUTHENTICATED => authenticated(&message),
        kind::AUTHENTICATION_FAILED => authentication_failed(&message),
        kind::REGISTERED | kind::UNREGISTERED => registered(&message),
        kind::TOOL_CALL => tool_call(&message),
        kind::PROMPT_GET => prompt_get(&message),
        kind::RESOURCE_READ => resource_read(&message),
        kind::COMPLETION => completion(&message),
        kind::CALL_CANCEL => call_cancel(&message),
        kind::CLIENT_RESPONSES => client_responses(&message),
        kind::SUBSCRIPTIONS => field(&message, "uris").map(BridgeToPage::Subscriptions),
        kind::HEARTBEAT => heartbeat(&message),
        kind::CALLS_ALIVE => integer(&message, "check").map(|check| BridgeToPage::CallsAlive {
            check,
            alive: call_ids(&message, "requestIds"),
            ended: call_ids(&message, "ended"),
        }),
        kind::RENEWED => Some(BridgeToPage::Renewed {
            token_expires_in_ms: integer(&message, "tokenExpiresInMs"),
        }),
        kind::RENEWAL_FAILED => renewal_failed(&message),
        kind::CLIENTS => field(&message, "clients").map(BridgeToPage::Clients),
        kind::SESSION_CLOSED => session_closed(&message),
        _ if kind.starts_with(QUERY_PREFIX) => Some(BridgeToPage::Query(message)),
        _ => return Err(DecodeError::UnknownType(kind)),
    };
    fields.ok_or(DecodeError::MissingField(kind))
}

/// Encodes a message as one text frame.
pub fn encode(message: PageToBridge<JsValue>) -> JsString {
    let texts = Array::new();
    for part in frame::encode(message) {
        texts.push(&match part {
            FramePart::Text(text) => JsValue::from(text),
            FramePart::Json(json) => json,
        });
    }
    texts.join("")
}

/// Measures a JSON text in UTF-8 bytes, as the bridge does.
pub fn sized_json(text: JsString) -> SizedJson<JsValue> {
    SizedJson {
        bytes: Encoder::new().encode(&text).length() as usize,
        json: text.into(),
    }
}

fn authenticated(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    let protocol = number(message, "protocol").unwrap_or(1.0) as u32;
    // A bridge of version 1 sends no further fields; the page rejects it because of the version.
    let limits = field(message, "limits").unwrap_or_default();
    let limit = |name| number(&limits, name).unwrap_or_default();
    Some(BridgeToPage::Authenticated {
        protocol,
        bridge_id: BridgeId(string(message, "bridgeId").unwrap_or_default()),
        session_name: string(message, "sessionName"),
        awaited: call_ids(message, "awaited"),
        now_ms: integer(message, "nowMs").unwrap_or_default(),
        token_expires_in_ms: integer(message, "tokenExpiresInMs"),
        limits: Limits {
            max_result_bytes: limit("maxResultBytes") as usize,
            max_frame_bytes: limit("maxFrameBytes") as usize,
            max_message_bytes: limit("maxMessageBytes") as usize,
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

/// Decodes `registered` and `unregistered`, which has no errors.
fn registered(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::Registered {
        registration_id: string(message, "registrationId").map(RegistrationId)?,
        items: items(message, "items", registered_item),
        errors: items(message, "errors", registration_failure),
    })
}

fn registered_item(registered: &JsValue) -> Option<RegisteredItem> {
    Some(RegisteredItem {
        item: item(registered)?,
        published_name: string(registered, "publishedName")?,
    })
}

fn registration_failure(error: &JsValue) -> Option<RegistrationFailure> {
    Some(RegistrationFailure {
        index: number(error, "index")? as usize,
        code: string(error, "code")?,
        message: string(error, "message")?,
    })
}

fn item(object: &JsValue) -> Option<Item> {
    Some(Item {
        kind: Kind::parse(&string(object, "kind")?)?,
        name: string(object, "name")?,
    })
}

fn tool_call(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    field(message, "toolInput")?;
    call_request_by_name(message, Kind::Tool, "toolName")
}

fn prompt_get(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    field(message, "arguments")?;
    call_request_by_name(message, Kind::Prompt, "name")
}

/// Decodes `resource-read`. It has a `uriTemplate` if the resource belongs to a template.
fn resource_read(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    field(message, "uri")?;
    call_request_by_name(message, Kind::ResourceTemplate, "uriTemplate")
        .or_else(|| call_request_by_name(message, Kind::Resource, "uri"))
}

fn completion(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    field(message, "argument")?;
    call_request(message, item(&field(message, "ref")?)?)
}

fn call_request_by_name(
    message: &JsValue,
    kind: Kind,
    name: &str,
) -> Option<BridgeToPage<JsValue>> {
    let name = string(message, name)?;
    call_request(message, Item { kind, name })
}

fn call_request(message: &JsValue, item: Item) -> Option<BridgeToPage<JsValue>> {
    let context = field(message, "context").unwrap_or_default();
    Some(BridgeToPage::CallRequested(HandlerRequest {
        call: call_id(message)?,
        item,
        sent_ms: integer(&context, "sentMs"),
        hand_overs: integer(&context, "handOvers").unwrap_or_default(),
        message: message.clone(),
    }))
}

fn call_cancel(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::CallCancel {
        call: call_id(message)?,
        code: string(message, "code")?,
        reason: string(message, "reason")?,
    })
}

fn client_responses(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::ClientResponses {
        call: call_id(message)?,
        responses: items(message, "responses", client_response),
    })
}

fn client_response(response: &JsValue) -> Option<ClientResponse<JsValue>> {
    Some(ClientResponse {
        key: string(response, "key")?,
        response: response.clone(),
    })
}

fn heartbeat(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::Heartbeat {
        sequence: integer(message, "sequence")?,
        answers: integer(message, "answers").unwrap_or_default(),
    })
}

fn renewal_failed(message: &JsValue) -> Option<BridgeToPage<JsValue>> {
    Some(BridgeToPage::RenewalFailed {
        code: string(message, "code")?,
        error: string(message, "error")?,
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

/// Returns a field that is neither absent nor `null`.
pub(super) fn field(object: &JsValue, name: &str) -> Option<JsValue> {
    let value = Reflect::get(object, &name.into()).ok()?;
    (!value.is_undefined() && !value.is_null()).then_some(value)
}

pub(super) fn string(object: &JsValue, name: &str) -> Option<String> {
    field(object, name)?.as_string()
}

pub(super) fn number(object: &JsValue, name: &str) -> Option<f64> {
    field(object, name)?.as_f64()
}

fn integer(object: &JsValue, name: &str) -> Option<u64> {
    number(object, name).map(|number| number as u64)
}

fn call_ids(object: &JsValue, name: &str) -> Vec<CallId> {
    items(object, name, |id| id.as_string().map(CallId))
}

fn items<T>(object: &JsValue, name: &str, parse: fn(&JsValue) -> Option<T>) -> Vec<T> {
    let mut items = Vec::new();
    if let Some(array) = field(object, name) {
        let array: Array = array.unchecked_into();
        for index in 0..array.length() {
            items.extend(parse(&array.get(index)));
        }
    }
    items
}
