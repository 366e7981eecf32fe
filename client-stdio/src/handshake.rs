//! How the client began, and so which era of the protocol it speaks.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::message::Request;

/// Our own id for the handshake. Its answer is not the client's.
const HANDSHAKE_ID: &str = "mcp-web-stdio/handshake";

/// The versions that begin with `initialize`. All others are stateless.
pub(crate) const SESSION_VERSIONS: [&str; 4] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// How the client began, which decides how each new bridge is greeted.
#[derive(Debug, Clone)]
pub(crate) enum ClientHandshake {
    /// With `initialize`: a bridge gets the client's own.
    Session(Request),
    /// With a request that names its version: a bridge gets `server/discover` with its `_meta`.
    Stateless {
        version: String,
        meta: Box<RawValue>,
    },
}

impl ClientHandshake {
    /// What the first request of a client opens; `None` if it should have initialized.
    pub(crate) fn from_request(request: &Request) -> Option<Self> {
        if is_session_initialize(request) {
            return Some(Self::Session(request.clone()));
        }
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "_meta")]
            meta: Box<RawValue>,
        }
        let version = stateless_version(request)?;
        let Params { meta } = request.params()?;
        Some(Self::Stateless { version, meta })
    }

    /// What each new bridge hears first. Its answer is not the client's.
    pub(crate) fn to_request(&self) -> Request {
        match self {
            Self::Session(initialize) => initialize
                .with_id(HANDSHAKE_ID)
                .unwrap_or_else(|| Request::new(HANDSHAKE_ID, "initialize", "{}")),
            Self::Stateless { meta, .. } => {
                // A token of the client's belongs to its own request.
                let mut meta: Value = serde_json::from_str(meta.get()).unwrap_or_default();
                if let Some(meta) = meta.as_object_mut() {
                    meta.remove("progressToken");
                }
                let params = json!({ "_meta": meta }).to_string();
                Request::new(HANDSHAKE_ID, "server/discover", &params)
            }
        }
    }
}

/// Whether a request is an `initialize` of the versions that have one. One that names a later version
/// is a request like any other, which nobody knows there.
pub(crate) fn is_session_initialize(request: &Request) -> bool {
    &*request.method == "initialize" && stateless_version(request).is_none()
}

/// The protocol version that a request of the stateless era names.
pub(crate) fn stateless_version(request: &Request) -> Option<String> {
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
