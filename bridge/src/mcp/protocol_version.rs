//! The versions of MCP, and the header with the version of a request.

use http::HeaderMap;
use rmcp::model::ProtocolVersion;

use super::headers::{METHOD, PROTOCOL_VERSION, single_header};

/// The first version whose requests describe their client, so that they need no session.
pub(super) const MODERN_VERSION: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// Returns the version of MCP with this name.
pub(super) fn known_version(name: &str) -> Option<&'static ProtocolVersion> {
    let mut known = ProtocolVersion::KNOWN_VERSIONS.iter();
    known.find(|known| known.as_str() == name)
}

/// Returns the value of `MCP-Protocol-Version`, which is empty if it is not text.
pub(super) fn protocol_version(headers: &HeaderMap) -> Option<&str> {
    let version = headers.get(PROTOCOL_VERSION)?;
    Some(version.to_str().unwrap_or_default())
}

/// Returns the value of `MCP-Protocol-Version`, if it is not a version of MCP.
pub(super) fn unknown_version(headers: &HeaderMap) -> Option<&str> {
    let version = headers.get(PROTOCOL_VERSION)?.to_str().ok()?;
    known_version(version).is_none().then_some(version)
}

/// Whether the headers agree with a request to open a session of this version.
pub(super) fn allow_initialize(headers: &HeaderMap, requested: &ProtocolVersion) -> bool {
    match protocol_version(headers) {
        None => true,
        Some(version) => {
            let is_known = ProtocolVersion::KNOWN_VERSIONS.contains(requested);
            let is_named =
                requested.has_initialize() || single_header(headers, METHOD) == Some("initialize");
            version == requested.as_str() && is_known && is_named
        }
    }
}

/// Whether a version has sessions, which `initialize` opens.
pub(super) fn has_sessions(version: &str) -> bool {
    known_version(version).is_some_and(ProtocolVersion::has_initialize)
}
