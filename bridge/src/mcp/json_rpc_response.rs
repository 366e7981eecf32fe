//! Encoded JSON-RPC responses.

use bridge_mcp_results::request_error::RequestError;
use bridge_mcp_results::tool_result::{CallToolResult, EncodedBody};
use http::StatusCode;
use rmcp::model::{ErrorCode, ErrorData};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::rmcp_conversions;
use crate::budget::AnswerLease;

/// A JSON-RPC response, or the result of a call of plain HTTP. Its HTTP status applies if it is not an
/// event of a stream.
#[derive(Debug)]
pub(crate) struct EncodedResponse {
    pub(crate) status: StatusCode,
    pub(crate) json: EncodedBody,
    /// The lease on the bytes of a large response.
    pub(crate) lease: Option<AnswerLease>,
}

impl EncodedResponse {
    pub(crate) fn new(status: StatusCode, json: impl Into<EncodedBody>) -> Self {
        Self {
            status,
            json: json.into(),
            lease: None,
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
    result: &CallToolResult,
    is_modern: bool,
) -> EncodedResponse {
    let mut out = begin_response(id, 1024);
    out.extend_from_slice(b",\"result\":{");
    if is_modern {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
    let tail: &[u8] = if result.is_error() {
        b"}}"
    } else {
        b",\"isError\":false}}"
    };
    EncodedResponse::new(StatusCode::OK, result.encode_body(out, tail))
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
    encode_error(
        id,
        &rmcp_conversions::to_error_data(error, is_modern),
        is_modern,
    )
}

/// Encodes an error. `is_modern` means MCP 2026-07-28 or later, where some errors have a separate
/// status ("Streamable HTTP").
pub(super) fn encode_error(id: &RawValue, error: &ErrorData, is_modern: bool) -> EncodedResponse {
    let is_bad_request = matches!(
        error.code,
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY | ErrorCode::HEADER_MISMATCH
    );
    let status = if is_modern && is_bad_request {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::OK
    };
    EncodedResponse::new(status, encode_member(id, "error", error))
}

fn encode_member(id: &RawValue, member: &str, value: &impl Serialize) -> Vec<u8> {
    let mut out = begin_response(id, 256);
    out.extend_from_slice(format!(",\"{member}\":").as_bytes());
    // Writing into memory cannot fail.
    let _ = serde_json::to_writer(&mut out, value);
    out.push(b'}');
    out
}
