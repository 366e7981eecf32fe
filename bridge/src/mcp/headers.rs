//! Headers of MCP's Streamable HTTP transport.

use bridge_protocol::RECONNECTED_HEADER;
use http::HeaderMap;
use http::header::{AsHeaderName, HeaderName};

/// The header with the last event that a client received of the stream that it resumes.
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The header with the id of an MCP session.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The header with the version of MCP.
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The header with the method of a request (SEP-2243).
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// The header with the name of what a request calls (SEP-2243).
pub(super) const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The header of a request that waits for its page after a restart.
pub(super) const RECONNECTED: HeaderName = HeaderName::from_static(RECONNECTED_HEADER);

/// Returns the MCP session that the headers name. As in rmcp, a value that is not text is ignored.
pub(super) fn session_id_header(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}

/// Returns the value of a header that occurs once.
pub(super) fn single_header(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let only = values.next()?;
    values.next().is_none().then(|| only.to_str().ok())?
}
