//! How a v1 page is refused and how its connection ends: its codes, its texts.

use std::borrow::Cow;

use bridge_protocol::{AuthenticationFailed, CloseCode, ErrorCode};

use crate::page_wire::Closing;

const LIMIT: &str = "Session limit exceeded";

/// The code of v1's closed list that says the same, or comes nearest.
pub(crate) fn code(code: ErrorCode) -> ErrorCode {
    use ErrorCode as Code;
    match code {
        Code::TokenExpired | Code::InsufficientScope => Code::InvalidAuthentication,
        Code::RealmLimitExceeded => Code::SessionLimitExceeded,
        Code::SessionSuperseded | Code::ProtocolViolation => Code::InvalidSession,
        Code::DefinitionInvalid | Code::DefinitionLimitExceeded | Code::ToolNameReserved => {
            Code::ToolNotAllowed
        }
        Code::MissingAuthentication
        | Code::InvalidAuthentication
        | Code::InvalidSession
        | Code::NoSessionsFound
        | Code::SessionNotFound
        | Code::SessionNotSpecified
        | Code::SessionLimitExceeded
        | Code::SessionExpired
        | Code::SessionNameAlreadyInUse
        | Code::ToolNotFound
        | Code::ToolNameRequired
        | Code::ToolNotAllowed
        | Code::ToolSchemaConflict
        | Code::QueryNotFound
        | Code::QueryNotActive
        | Code::QueryCompleted
        | Code::QueryLimitExceeded
        | Code::UnknownMethod => code,
        _ => Code::InternalError,
    }
}

/// What a page hears that is not let in, and the reason in the close frame.
pub(crate) fn refusal(
    refused: ErrorCode,
    message: String,
    name: Option<&str>,
) -> (AuthenticationFailed, Closing) {
    let (error, reason): (_, Cow<'static, str>) = match refused {
        ErrorCode::SessionLimitExceeded => (LIMIT.to_owned(), LIMIT.into()),
        ErrorCode::SessionNameAlreadyInUse => {
            let name = name.unwrap_or_default();
            let error = format!("Session name \"{name}\" is already in use");
            (error, "Session name already in use".into())
        }
        _ => (message, code(refused).as_str().into()),
    };
    let failed = AuthenticationFailed {
        error,
        code: code(refused),
    };
    (failed, Closing::new(CloseCode::PolicyViolation, reason))
}

/// The close frame that v1 has for ours. `told`: why the session ended, if the page has heard it.
pub(crate) fn closing(closing: Closing, told: Option<ErrorCode>) -> Closing {
    let with = |reason: &'static str| Closing::new(CloseCode::PolicyViolation, reason);
    match (closing.code, told) {
        (CloseCode::ServiceRestart, _) => Closing::new(CloseCode::Normal, "Server shutting down"),
        (CloseCode::PolicyViolation, Some(ErrorCode::SessionLimitExceeded)) => with(LIMIT),
        (CloseCode::PolicyViolation, Some(ErrorCode::SessionExpired)) => with("Session expired"),
        (CloseCode::Superseded | CloseCode::TokenExpired, _) => {
            Closing::new(CloseCode::PolicyViolation, closing.reason)
        }
        _ => closing,
    }
}
