//! The versions of MCP, and the header with the version of a request.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderValue};
use rmcp::model::ProtocolVersion;

use super::headers::{METHOD, NAME, PROTOCOL_VERSION, session_id_header};
use super::json_rpc_message::{Message, json_string};

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

/// Whether the headers allow a request to open a session. The version in its parameters counts,
/// because the header is for the requests that follow (MCP 2025-11-25, "Protocol Version Header").
pub(super) fn allow_initialize(headers: &HeaderMap) -> bool {
    let Some(version) = protocol_version(headers) else {
        return true;
    };
    known_version(version).is_some_and(|version| {
        // Intermediaries trust the headers of a version that requires them to match the body.
        let mut methods = headers.get_all(METHOD).iter();
        version.has_initialize() || methods.all(|method| method == "initialize")
    })
}

/// Whether a version has sessions, which `initialize` opens.
pub(super) fn has_sessions(version: &str) -> bool {
    known_version(version).is_some_and(ProtocolVersion::has_initialize)
}

/// Makes `MCP-Protocol-Version` agree with the message of a request, where clients and proxies send
/// another version and nothing depends on it. Everything else is refused later, as MCP demands.
///
/// - The version twice is the version once: some clients add the header to one that is there.
/// - A message that names a session and not its version belongs to the session, even if the header
///   has a newer version: some clients send the newest that they know, not the negotiated one.
/// - A message of 2026-07-28 with the header of an older version is of 2026-07-28: the proxies of
///   some clients set the header. MCP refuses other versions than that of the message, so that
///   intermediaries can trust the headers. They must not trust those of older versions, and the
///   client could also send the message in an older version.
/// - No header is that of an older version, because some proxies remove the headers that they do not
///   know. If the request names a session, it is refused instead: without the header it has the version
///   of its session (MCP 2025-11-25, "Protocol Version Header"), which the message contradicts.
///
/// Returns whether the headers are of an older version than the message, so that they may lack those
/// that 2026-07-28 requires.
pub(super) fn reconcile(headers: &mut HeaderMap, message: Option<&Message<'_>>) -> bool {
    merge_repeated(headers);
    let has_session = session_id_header(headers).is_some();
    let is_older = match protocol_version(headers) {
        Some(name) => known_version(name).map(ProtocolVersion::has_initialize),
        None => (!has_session).then_some(true),
    };
    let Some(is_older) = is_older else {
        return false;
    };
    let declared = message.and_then(|it| it.params.meta.protocol_version);
    match (declared.and_then(json_string), message) {
        (None, _) if !is_older && has_session => {
            headers.remove(PROTOCOL_VERSION);
            false
        }
        (Some(declared), Some(message)) if is_older && declared == MODERN_VERSION.as_str() => {
            declare_modern(headers, message)
        }
        _ => false,
    }
}

fn merge_repeated(headers: &mut HeaderMap) {
    let values = headers.get_all(PROTOCOL_VERSION);
    let versions = || {
        let values = values.iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',').map(str::trim))
    };
    let is_repeated = versions().nth(1).is_some();
    if is_repeated
        && let Some(first) = versions().next()
        && versions().all(|version| version == first)
        && let Ok(version) = HeaderValue::from_str(first)
    {
        headers.insert(PROTOCOL_VERSION, version);
    }
}

/// Sets the headers that a request of 2026-07-28 has, except those that are there: they must match.
/// Returns false, without setting any, if the message is not such a request.
fn declare_modern(headers: &mut HeaderMap, message: &Message<'_>) -> bool {
    let (Some(method), Some(_)) = (message.method.as_deref(), message.id) else {
        return false;
    };
    if method == "initialize" {
        return false;
    }
    if let Ok(method) = HeaderValue::from_str(method) {
        headers.entry(METHOD).or_insert(method);
    }
    if let Some(name) = message.params.target(method).and_then(json_string) {
        let encoded = format!("=?base64?{}?=", BASE64_STANDARD.encode(&*name));
        if let Ok(name) = HeaderValue::try_from(encoded) {
            headers.entry(NAME).or_insert(name);
        }
    }
    let version = HeaderValue::from_static("2026-07-28");
    headers.insert(PROTOCOL_VERSION, version);
    true
}
