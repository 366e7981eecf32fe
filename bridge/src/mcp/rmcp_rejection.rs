//! The errors with which rmcp rejects a request before it is a message.

use axum::Json;
use axum::response::{IntoResponse, Response};
use bridge_mcp_results::request_error::INVALID_REQUEST;
use http::StatusCode;
use http::header::CONTENT_TYPE;

use super::json_rpc_response::error_without_id;

/// The longest text of an error, in bytes. rmcp quotes nothing longer than the name of a header.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Gives an error the body of a JSON-RPC error without an id. rmcp explains it in plain text, and
/// without a content type.
///
/// The status stays, except that of a JSON body that is not a message: rmcp responds with 415, but
/// clients cannot send another media type.
pub(super) async fn with_json_body(response: Response) -> Response {
    if !response.status().is_client_error() || response.headers().contains_key(CONTENT_TYPE) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    if parts.status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        parts.status = StatusCode::BAD_REQUEST;
    }
    let text = axum::body::to_bytes(body, MAX_TEXT_BYTES).await;
    let text = text.unwrap_or_default();
    let message = match String::from_utf8_lossy(&text) {
        text if text.is_empty() => parts.status.to_string().into(),
        text => text,
    };
    let json = Json(error_without_id(INVALID_REQUEST, &message));
    parts.headers.remove(http::header::CONTENT_LENGTH);
    (parts.status, parts.headers, json).into_response()
}
