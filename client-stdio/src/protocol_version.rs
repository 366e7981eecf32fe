//! The versions of MCP: those with a session and the stateless one.

use serde::Deserialize;

use crate::message::JsonRpcRequest;

/// The protocol versions that begin with `initialize`. All others are stateless.
pub(crate) const SESSION_VERSIONS: [&str; 4] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The stateless protocol version that is answered while no bridge is online.
pub(crate) const STATELESS_VERSION: &str = "2026-07-28";

/// Returns the versions in which a request is answered while no bridge is online.
pub(crate) fn supported_versions() -> Vec<&'static str> {
    SESSION_VERSIONS
        .into_iter()
        .chain([STATELESS_VERSION])
        .collect()
}

/// Returns whether a request is an `initialize` that begins an MCP session. One that names a
/// stateless version is forwarded like any other request, though that version has no such method.
pub(crate) fn is_session_initialize(request: &JsonRpcRequest) -> bool {
    &*request.method == "initialize" && stateless_version(request).is_none()
}

/// Returns the stateless protocol version that a request names, or `None` if it names none.
pub(crate) fn stateless_version(request: &JsonRpcRequest) -> Option<String> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "_meta")]
        meta: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
        version: String,
    }
    let Params { meta } = request.params()?;
    Some(meta.version).filter(|version| !SESSION_VERSIONS.contains(&version.as_str()))
}
