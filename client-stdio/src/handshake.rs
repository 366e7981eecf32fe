//! The handshake of the client, which selects one of the two variants of the protocol: MCP
//! sessions, which begin with `initialize`, or the stateless protocol, in which each request names
//! its version.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::message::JsonRpcRequest;
use crate::protocol_version::{is_session_initialize, stateless_version};

/// The id of our own request for the handshake. Its answer is not forwarded to the client.
const HANDSHAKE_ID: &str = "mcp-web-stdio/handshake";

/// The handshake of the client, which is repeated with each new bridge.
#[derive(Debug, Clone)]
pub(crate) enum ClientHandshake {
    /// The client sent this `initialize`. Each bridge also receives it.
    Session(JsonRpcRequest),
    /// The client sent a request that names its version. Each bridge receives a `server/discover`
    /// with the `_meta` of that request.
    Stateless {
        version: String,
        meta: Box<RawValue>,
    },
}

impl ClientHandshake {
    /// Creates the handshake from the first request of a client. Returns `None` if the request must
    /// not precede `initialize`.
    pub(crate) fn from_request(request: &JsonRpcRequest) -> Option<Self> {
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

    /// Returns the first request to each new bridge.
    pub(crate) fn to_request(&self) -> JsonRpcRequest {
        match self {
            Self::Session(initialize) => initialize
                .with_id(HANDSHAKE_ID)
                .unwrap_or_else(|| JsonRpcRequest::new(HANDSHAKE_ID, "initialize", "{}")),
            Self::Stateless { meta, .. } => {
                // A progress token is valid only for the client's own request.
                let mut meta: Value = serde_json::from_str(meta.get()).unwrap_or_default();
                if let Some(meta) = meta.as_object_mut() {
                    meta.remove("progressToken");
                }
                let params = json!({ "_meta": meta }).to_string();
                JsonRpcRequest::new(HANDSHAKE_ID, "server/discover", &params)
            }
        }
    }
}
