//! Errors of client requests.

use bridge_protocol::{ErrorCode, Kind, SessionId};
use bridge_realm::realm::{CallFailure, OfflineApp, RouteError};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

/// Why a request of a client has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no such tool or prompt, or no such template to complete.
    #[error("unknown {} `{name}`: {}", kind_name(*.kind), hint(*.kind, .available))]
    ItemNotFound {
        kind: Kind,
        name: String,
        available: Vec<String>,
    },
    #[error("no resource `{uri}`: {why}")]
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

impl CallError {
    /// The code of the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::ItemNotFound { kind, .. } => match kind {
                Kind::Tool => ErrorCode::ToolNotFound,
                Kind::Prompt => ErrorCode::PromptNotFound,
                Kind::Resource | Kind::ResourceTemplate => ErrorCode::ResourceNotFound,
            },
            Self::ResourceNotFound { .. } => ErrorCode::ResourceNotFound,
            Self::InvalidArguments(_) => ErrorCode::InvalidArguments,
            Self::NothingToResume => ErrorCode::RequestStateInvalid,
            Self::Failed(failure) => failure.code,
        }
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

/// JSON-RPC 2.0, section 5.1.
const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC 2.0, section 5.1.
const INTERNAL_ERROR: i32 = -32603;
/// MCP before 2026-07-28, "Resources".
const RESOURCE_NOT_FOUND: i32 = -32002;
/// MCP 2026-07-28: the server needs a capability that the client has not declared.
const MISSING_REQUIRED_CLIENT_CAPABILITY: i32 = -32021;

impl CallError {
    /// Converts the error to a JSON-RPC error; this is the one table for it. `is_modern` means MCP
    /// 2026-07-28 or later.
    pub fn into_json_rpc(self, is_modern: bool) -> JsonRpcError {
        let message = self.to_string();
        let error = |code, data| JsonRpcError {
            code,
            message,
            data,
        };
        match self {
            Self::ItemNotFound { .. } | Self::InvalidArguments(_) => error(INVALID_PARAMS, None),
            Self::NothingToResume => {
                let data = json!({ "code": ErrorCode::RequestStateInvalid.as_str() });
                error(INVALID_PARAMS, Some(data))
            }
            Self::ResourceNotFound { uri, .. } => {
                let code = if is_modern {
                    INVALID_PARAMS
                } else {
                    RESOURCE_NOT_FOUND
                };
                error(code, Some(json!({ "uri": uri })))
            }
            Self::Failed(failure) => {
                let (code, data) = failure_code_and_data(&failure, is_modern);
                error(code, data)
            }
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
    let mut data = json!({ "code": failure.code.as_str() });
    if let Some(details) = details {
        data["data"] = details;
    }
    let code = match failure.code {
        ErrorCode::InvalidArguments
        | ErrorCode::PromptNotFound
        | ErrorCode::SessionNotFound
        | ErrorCode::SessionNotSpecified => INVALID_PARAMS,
        _ => INTERNAL_ERROR,
    };
    (code, Some(data))
}

/// Returns the name of a kind for messages.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Tool => "tool",
        Kind::Prompt => "prompt",
        Kind::Resource => "resource",
        Kind::ResourceTemplate => "resource template",
    }
}

/// The maximum number of available names that an error lists.
const MAX_HINTED_NAMES: usize = 32;

/// Returns a hint for messages: the names that are available, or that there are none yet.
pub fn hint(kind: Kind, available: &[String]) -> String {
    match available {
        [] => format!("no open page has a {} now", kind_name(kind)),
        names if names.len() <= MAX_HINTED_NAMES => format!("there are {}", names.join(", ")),
        names => {
            let (some, more) = names.split_at(MAX_HINTED_NAMES);
            format!("there are {} and {} more", some.join(", "), more.len())
        }
    }
}

/// Returns the error for a prompt, resource or completion that cannot be routed.
pub fn route_error(kind: Kind, error: RouteError) -> CallError {
    let with_sessions = |code, message: String, available: Vec<_>| {
        let data = to_raw_value(&json!({ "available_sessions": available })).ok();
        CallError::Failed(CallFailure {
            data,
            ..CallFailure::new(code, message)
        })
    };
    match error {
        RouteError::NotFound { name, available } if kind == Kind::Resource => {
            CallError::ResourceNotFound {
                uri: name,
                why: hint(kind, &available),
            }
        }
        RouteError::NotFound { name, available } => CallError::ItemNotFound {
            kind,
            name,
            available,
        },
        RouteError::NoSessions => CallError::failed(
            ErrorCode::NoSessionsFound,
            "no page is connected for this token: open the app in a browser and retry",
        ),
        RouteError::AppNotOpen { name, app } => {
            CallError::failed(ErrorCode::NoSessionsFound, app_not_open(&name, &app))
        }
        RouteError::SessionNotFound { session, available } => with_sessions(
            ErrorCode::SessionNotFound,
            session_not_found(&session),
            available,
        ),
        RouteError::Ambiguous { name, available } => with_sessions(
            ErrorCode::SessionNotSpecified,
            format!(
                "several pages have `{name}`: name one of available_sessions in \
                 `_meta[\"mcp-web/sessionId\"]`"
            ),
            available,
        ),
    }
}

/// Returns the message for a session that does not exist.
pub fn session_not_found(session: &SessionId) -> String {
    format!("no session `{session}`: choose one of available_sessions")
}

/// Returns the message for an item that is still listed although no page of its app is connected.
pub fn app_not_open(name: &str, app: &OfflineApp) -> String {
    let origin = match &app.origin {
        Some(origin) => format!(" ({origin})"),
        None => String::new(),
    };
    format!(
        "`{name}` belongs to \"{}\", and no page of it is open now: open the app{origin} in a browser \
         and retry",
        app.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_lists_a_limited_number_of_names() {
        let names: Vec<_> = (0..MAX_HINTED_NAMES + 2).map(|n| format!("t{n}")).collect();
        let some = hint(Kind::Tool, &names[..MAX_HINTED_NAMES]);
        assert!(some.ends_with(", t31"), "{some}");
        let more = hint(Kind::Tool, &names);
        assert!(more.ends_with(", t31 and 2 more"), "{more}");
    }
}
