//! Headers of MCP's Streamable HTTP transport.

use http::HeaderMap;
use http::header::HeaderName;

/// The header with the last event that a client received of the stream that it resumes.
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The header with the id of an MCP session.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Returns the MCP session that the headers name. As in rmcp, a value that is not text is ignored.
pub(super) fn session_id_header(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}
