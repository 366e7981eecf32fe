//! Errors of client requests.

use bridge_protocol::{ErrorCode, Kind, SessionId};
use bridge_realm::realm::{CallFailure, OfflineApp, RouteError};
use serde_json::json;
use serde_json::value::to_raw_value;

/// Why a request of a client has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
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
    pub(super) fn code(&self) -> ErrorCode {
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
    pub(super) fn failed(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Failed(CallFailure::new(code, message.into()))
    }
}

/// Returns the name of a kind for messages.
pub(super) fn kind_name(kind: Kind) -> &'static str {
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
pub(super) fn hint(kind: Kind, available: &[String]) -> String {
    match available {
        [] => format!("no page has registered a {} yet", kind_name(kind)),
        names if names.len() <= MAX_HINTED_NAMES => format!("there are {}", names.join(", ")),
        names => {
            let (some, more) = names.split_at(MAX_HINTED_NAMES);
            format!("there are {} and {} more", some.join(", "), more.len())
        }
    }
}

/// Returns the error for a prompt, resource or completion that cannot be routed.
pub(super) fn route_error(kind: Kind, error: RouteError) -> CallError {
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
pub(super) fn session_not_found(session: &SessionId) -> String {
    format!("no session `{session}`: choose one of available_sessions")
}

/// Returns the message for an item that is still listed although no page of its app is connected.
pub(super) fn app_not_open(name: &str, app: &OfflineApp) -> String {
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
