//! Encoded JSON-RPC responses.

use bridge_mcp_results::request_error::RequestError;
use bridge_mcp_results::tool_result::{CallToolResult, EncodedBody};
use bridge_protocol::ErrorCode;
use bytes::Bytes;
use http::StatusCode;
use rmcp::model::{ErrorCode as JsonRpcCode, ErrorData};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::rmcp_conversions;
use crate::budget::AnswerLease;
use crate::calls::CallRecord;
use crate::counters::CountedEnd;
use crate::web::current_request_id;

/// The longest error of rmcp, in bytes. It quotes nothing longer than what a client sends as a name.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The member with the id of the request: of the data of an error, or of the error of a failed call.
const REQUEST_ID_MEMBER: &str = "requestId";

/// A JSON-RPC response, or the result of a call of plain HTTP. Its HTTP status applies if it is not an
/// event of a stream.
#[derive(Debug)]
pub(crate) struct EncodedResponse {
    pub(crate) status: StatusCode,
    pub(crate) json: EncodedBody,
    /// The lease on the bytes of a large response.
    pub(crate) lease: Option<AnswerLease>,
    /// How a call ends for the client with this response.
    pub(crate) end: CountedEnd,
    /// The record of the call, which ends when the response was delivered.
    pub(crate) record: Option<CallRecord>,
}

impl EncodedResponse {
    pub(crate) fn new(status: StatusCode, json: impl Into<EncodedBody>) -> Self {
        Self {
            status,
            json: json.into(),
            lease: None,
            end: CountedEnd::Completed,
            record: None,
        }
    }

    /// Encodes the members of the result of a tool between `head` and `tail`, with the id of the request
    /// in the error of a failure.
    pub(crate) fn from_tool_result(
        mut result: CallToolResult,
        head: Vec<u8>,
        tail: &'static [u8],
    ) -> Self {
        let end = CountedEnd::from_result(&result);
        if result.is_error()
            && let Some(request) = current_request_id()
        {
            result.add_to_error(REQUEST_ID_MEMBER, request.into());
        }
        Self::new(StatusCode::OK, result.encode_body(head, tail)).ending(end)
    }

    /// Sets how a call ends with this response, which is a result otherwise.
    pub(crate) fn ending(self, end: CountedEnd) -> Self {
        Self { end, ..self }
    }

    /// Adds the record of the call, whose answer this response is.
    pub(crate) fn recorded(self, mut record: CallRecord) -> Self {
        record.set_answer(self.end);
        Self {
            record: Some(record),
            ..self
        }
    }
}

/// Starts a JSON-RPC response, up to its member `result` or `error`.
pub(super) fn begin_response(id: &RawValue, capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(capacity + 128);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.get().as_bytes());
    out
}

/// Encodes the result of a tool.
pub(super) fn encode_tool_result(
    id: &RawValue,
    result: CallToolResult,
    is_modern: bool,
) -> EncodedResponse {
    let mut out = begin_response(id, 1024);
    out.extend_from_slice(b",\"result\":{");
    if is_modern {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
    let tail: &'static [u8] = if result.is_error() {
        b"}}"
    } else {
        b",\"isError\":false}}"
    };
    EncodedResponse::from_tool_result(result, out, tail)
}

/// Encodes the response whose result has the members of an object, after these.
pub(super) fn encode_members(
    id: &RawValue,
    first_members: &str,
    result: &Map<String, Value>,
) -> Vec<u8> {
    let mut out = begin_response(id, 1024);
    out.extend_from_slice(b",\"result\":{");
    out.extend_from_slice(first_members.as_bytes());
    if !first_members.is_empty() && !result.is_empty() {
        out.push(b',');
    }
    for (index, (key, value)) in result.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        // Writing into memory cannot fail.
        let _ = serde_json::to_writer(&mut out, key);
        out.push(b':');
        let _ = serde_json::to_writer(&mut out, value);
    }
    out.extend_from_slice(b"}}");
    out
}

/// Encodes a small result.
pub(super) fn encode_result(id: &RawValue, result: &impl Serialize) -> EncodedResponse {
    EncodedResponse::new(StatusCode::OK, encode_member(id, "result", result))
}

pub(super) fn encode_call_error(
    id: &RawValue,
    error: RequestError,
    is_modern: bool,
) -> EncodedResponse {
    let code = error.code();
    let error = rmcp_conversions::to_error_data(error, is_modern);
    encode_error(id, &error, is_modern).ending(CountedEnd::Failed(Some(code)))
}

/// Encodes an error, with the id of the request in its data. `is_modern` means MCP 2026-07-28 or later,
/// where some errors have a separate status ("Streamable HTTP").
pub(super) fn encode_error(id: &RawValue, error: &ErrorData, is_modern: bool) -> EncodedResponse {
    let is_bad_request = matches!(
        error.code,
        JsonRpcCode::MISSING_REQUIRED_CLIENT_CAPABILITY | JsonRpcCode::HEADER_MISMATCH
    );
    let status = if is_modern && is_bad_request {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::OK
    };
    let mut error = error.clone();
    add_request_id(&mut error.data);
    let code = error.data.as_ref().and_then(|data| data["code"].as_str());
    let code = code.and_then(|code| code.parse().ok());
    let end = CountedEnd::Failed(Some(code.unwrap_or(ErrorCode::ProtocolViolation)));
    EncodedResponse::new(status, encode_member(id, "error", &error)).ending(end)
}

/// Returns the error of a message without an id.
pub(super) fn error_without_id(code: i32, message: &str) -> Value {
    let mut data = None;
    add_request_id(&mut data);
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({ "jsonrpc": "2.0", "id": null, "error": error })
}

/// Adds the id of the request to the data of an error, unless they are something else than an object.
fn add_request_id(data: &mut Option<Value>) {
    let Some(request) = current_request_id() else {
        return;
    };
    if let Value::Object(data) = data.get_or_insert_with(|| json!({})) {
        data.entry(REQUEST_ID_MEMBER).or_insert(request.into());
    }
}

/// Adds the id of the request to a response that rmcp has encoded, if it is an error.
pub(super) fn with_request_id(json: Bytes) -> Vec<u8> {
    let member = b"\"error\":";
    let may_be_error =
        json.len() <= MAX_ERROR_BYTES && json.windows(member.len()).any(|window| window == member);
    if may_be_error
        && let Ok(Value::Object(mut response)) = serde_json::from_slice(&json)
        && let Some(Value::Object(error)) = response.get_mut("error")
    {
        let mut data = error.remove("data");
        add_request_id(&mut data);
        error.extend(data.map(|data| ("data".to_owned(), data)));
        return Value::Object(response).to_string().into_bytes();
    }
    json.into()
}

fn encode_member(id: &RawValue, member: &str, value: &impl Serialize) -> Vec<u8> {
    let mut out = begin_response(id, 256);
    out.extend_from_slice(format!(",\"{member}\":").as_bytes());
    // Writing into memory cannot fail.
    let _ = serde_json::to_writer(&mut out, value);
    out.push(b'}');
    out
}
