//! The responses of a page of mcp-web 0.1, which reports failures as results.

use bridge_protocol::{CallError, CallId, CallResponse, ErrorCode, PageToBridge, present};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::frame::{Frame, StrictMode, string_field};

/// The response to a tool call. A failure has the whole result as its data.
pub(super) fn tool_response(
    request_id: CallId,
    result: Option<&RawValue>,
    strict: StrictMode,
) -> PageToBridge {
    match result.and_then(|result| error_message(result, strict)) {
        Some(message) => PageToBridge::CallError(CallError {
            request_id,
            code: ErrorCode::HandlerFailed,
            message,
            data: result.map(ToOwned::to_owned),
            content: None,
            meta: None,
        }),
        None => PageToBridge::CallResponse(CallResponse {
            request_id,
            result: result.map(ToOwned::to_owned),
            content: None,
            structured_content: None,
            meta: None,
        }),
    }
}

/// The message under the `error` key of a result, if it makes the result a failure.
fn error_message(result: &RawValue, strict: StrictMode) -> Option<String> {
    #[derive(Deserialize)]
    struct Failure {
        #[serde(default, deserialize_with = "present")]
        error: Option<Value>,
    }
    // Most results have no such key, and large ones should not be parsed twice. The key may be
    // escaped.
    let text = result.get();
    let may_have = text.contains("\"error\"") || text.contains("\\u");
    if !text.starts_with('{') || !may_have {
        return None;
    }
    let object: Failure = serde_json::from_str(result.get()).ok()?;
    match object.error? {
        Value::Null if !strict.0 => None,
        Value::String(text) => Some(text),
        error => Some(match error.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => error.to_string(),
        }),
    }
}

/// The content of a resource, as JSON text.
#[derive(Debug)]
pub struct ResourceText {
    /// A string.
    text: Option<Box<RawValue>>,
    /// Base64.
    blob: Option<Box<RawValue>>,
    mime_type: Option<Box<RawValue>>,
}

/// The response to a resource read.
pub(super) fn resource_response(frame: &Frame<'_>) -> Result<ResourceText, String> {
    if let Some(error) = frame.error {
        return Err(string_field(Some(error)).map_or_else(|| error.get().to_owned(), Into::into));
    }
    Ok(ResourceText {
        text: frame.content.map(to_json_string),
        blob: frame.blob.map(to_json_string),
        mime_type: frame.mime_type.map(to_json_string),
    })
}

/// A value as a JSON string. Other values than strings become their JSON text.
fn to_json_string(raw: &RawValue) -> Box<RawValue> {
    if raw.get().starts_with('"') {
        return raw.to_owned();
    }
    to_raw_value(raw.get()).unwrap_or_else(|_| raw.to_owned())
}

/// The content as an MCP `ReadResourceResult`, under the requested URI.
pub fn encode_contents(uri: &str, content: ResourceText) -> Option<Box<RawValue>> {
    #[derive(Serialize)]
    struct Contents<'a> {
        contents: [Entry<'a>; 1],
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Entry<'a> {
        uri: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<Box<RawValue>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<Box<RawValue>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        blob: Option<Box<RawValue>>,
    }
    let ResourceText {
        text,
        blob,
        mime_type,
    } = content;
    let entry = Entry {
        uri,
        mime_type,
        // A resource without content is an empty text.
        text: match (&text, &blob) {
            (None, None) => to_raw_value("").ok(),
            (_, Some(_)) => None,
            (Some(_), None) => text,
        },
        blob,
    };
    to_raw_value(&Contents { contents: [entry] }).ok()
}
