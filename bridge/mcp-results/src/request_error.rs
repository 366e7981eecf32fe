//! Errors of client requests.

use bridge_protocol::{ErrorCode, Kind};
use bridge_realm::realm::{CallFailure, RoutingError, resource_not_found};
use serde_json::{Value, json};

/// Why a request of a client has no result.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// No page can be chosen for a request for an item of this kind.
    #[error("{}", .error.message(*.kind))]
    NotRouted { kind: Kind, error: RoutingError },
    #[error("{}", resource_not_found(.uri, .why))]
    ResourceNotFound { uri: String, why: String },
    #[error("{0}")]
    InvalidArguments(String),
    /// The `requestState` is valid, but no call waits for it.
    #[error(
        "the call that this `requestState` belongs to has ended, or went on with another answer: \
         send the request again without `requestState`"
    )]
    NothingToResume,
    #[error("{}", .0.message)]
    Failed(CallFailure),
}

impl RequestError {
    /// The code of the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotRouted { kind, error } => error.code(*kind),
            Self::ResourceNotFound { .. } => ErrorCode::ResourceNotFound,
            Self::InvalidArguments(_) => ErrorCode::InvalidArguments,
            Self::NothingToResume => ErrorCode::RequestStateInvalid,
            Self::Failed(failure) => failure.code,
        }
    }

    /// Converts the routing errors of requests for items of this kind.
    pub fn not_routed(kind: Kind) -> impl FnOnce(RoutingError) -> Self {
        move |error| Self::NotRouted { kind, error }
    }

    /// Creates the error for a failed call.
    pub fn failed(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Failed(CallFailure::new(code, message.into()))
    }
}

/// The error of a JSON-RPC response.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonRpcError {
    pub code: i32,
    pub message: String,
    pub data: Option<Value>,
}

/// The body is not JSON (JSON-RPC 2.0, section 5.1).
pub const PARSE_ERROR: i32 = -32700;
/// The body is JSON, but not a message (JSON-RPC 2.0, section 5.1).
pub const INVALID_REQUEST: i32 = -32600;
/// JSON-RPC 2.0, section 5.1.
const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC 2.0, section 5.1.
const INTERNAL_ERROR: i32 = -32603;
/// MCP before 2026-07-28, "Resources".
const RESOURCE_NOT_FOUND: i32 = -32002;
/// MCP 2026-07-28: the server needs a capability that the client has not declared.
const MISSING_REQUIRED_CLIENT_CAPABILITY: i32 = -32021;

impl RequestError {
    /// Converts the error to a JSON-RPC error; this is the one table for it. `is_modern` means MCP
    /// 2026-07-28 or later.
    pub fn into_json_rpc(self, is_modern: bool) -> JsonRpcError {
        let message = self.to_string();
        let (code, data) = match self {
            Self::InvalidArguments(_) => (INVALID_PARAMS, None),
            Self::NothingToResume => {
                let data = json!({ "code": ErrorCode::RequestStateInvalid.as_str() });
                (INVALID_PARAMS, Some(data))
            }
            Self::ResourceNotFound { uri, .. } => resource_not_found_code_and_data(&uri, is_modern),
            Self::NotRouted { kind, error } => routing_code_and_data(kind, &error, is_modern),
            Self::Failed(failure) => failure_code_and_data(&failure, is_modern),
        };
        JsonRpcError {
            code,
            message,
            data,
        }
    }
}

fn resource_not_found_code_and_data(uri: &str, is_modern: bool) -> (i32, Option<Value>) {
    let code = if is_modern {
        INVALID_PARAMS
    } else {
        RESOURCE_NOT_FOUND
    };
    (code, Some(json!({ "uri": uri })))
}

fn routing_code_and_data(
    kind: Kind,
    error: &RoutingError,
    is_modern: bool,
) -> (i32, Option<Value>) {
    match error {
        RoutingError::NotFound { name, .. } if kind == Kind::Resource => {
            resource_not_found_code_and_data(name, is_modern)
        }
        RoutingError::NotFound { .. } => (INVALID_PARAMS, None),
        error => {
            let sessions = error.available_sessions();
            let details = sessions.map(|sessions| json!({ "available_sessions": sessions }));
            code_and_data(error.code(kind), details)
        }
    }
}

fn failure_code_and_data(failure: &CallFailure, is_modern: bool) -> (i32, Option<Value>) {
    let details: Option<Value> = failure
        .data
        .as_deref()
        .and_then(|data| serde_json::from_str(data.get()).ok());
    if is_modern && failure.code == ErrorCode::ClientCapabilityMissing {
        return (MISSING_REQUIRED_CLIENT_CAPABILITY, details);
    }
    code_and_data(failure.code, details)
}

fn code_and_data(error: ErrorCode, details: Option<Value>) -> (i32, Option<Value>) {
    let mut data = json!({ "code": error.as_str() });
    if let Some(details) = details {
        data["data"] = details;
    }
    let code = match error {
        ErrorCode::InvalidArguments
        | ErrorCode::PromptNotFound
        | ErrorCode::SessionNotFound
        | ErrorCode::SessionNotSpecified => INVALID_PARAMS,
        _ => INTERNAL_ERROR,
    };
    (code, Some(data))
}
