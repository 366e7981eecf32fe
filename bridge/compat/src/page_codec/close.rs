//! The codes and texts with which a page of mcp-web 0.1 is rejected and its connection closed.

use std::borrow::Cow;

use bridge_protocol::{AuthenticationFailed, CloseCode, ErrorCode};
use bridge_realm::page_messages::CloseFrame;

const SESSION_LIMIT_REASON: &str = "Session limit exceeded";

/// The most similar error code that mcp-web 0.1 has.
pub(super) fn similar_code(code: ErrorCode) -> ErrorCode {
    use ErrorCode as Code;
    match code {
        Code::TokenExpired | Code::InsufficientScope | Code::AccessDenied => {
            Code::InvalidAuthentication
        }
        Code::RealmLimitExceeded | Code::MemoryLimitExceeded => Code::SessionLimitExceeded,
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

/// The message for a page that is rejected, and the close frame.
pub fn rejection(
    code: ErrorCode,
    message: String,
    name: Option<&str>,
) -> (AuthenticationFailed, CloseFrame) {
    let (error, reason): (_, Cow<'static, str>) = match code {
        ErrorCode::SessionLimitExceeded => {
            (SESSION_LIMIT_REASON.to_owned(), SESSION_LIMIT_REASON.into())
        }
        ErrorCode::SessionNameAlreadyInUse => {
            let name = name.unwrap_or_default();
            let error = format!("Session name \"{name}\" is already in use");
            (error, "Session name already in use".into())
        }
        _ => (message, similar_code(code).as_str().into()),
    };
    let message = AuthenticationFailed {
        error,
        code: similar_code(code),
    };
    (message, CloseFrame::new(CloseCode::PolicyViolation, reason))
}

/// The close frame of mcp-web 0.1 for one of this bridge. `sent_code` is the code of the message that ended
/// the session, if one was sent.
pub fn close_frame(frame: CloseFrame, sent_code: Option<ErrorCode>) -> CloseFrame {
    let policy_violation =
        |reason: &'static str| CloseFrame::new(CloseCode::PolicyViolation, reason);
    match (frame.code, sent_code) {
        (CloseCode::ServiceRestart, _) => {
            CloseFrame::new(CloseCode::Normal, "Server shutting down")
        }
        (CloseCode::PolicyViolation, Some(ErrorCode::SessionLimitExceeded)) => {
            policy_violation(SESSION_LIMIT_REASON)
        }
        (CloseCode::PolicyViolation, Some(ErrorCode::SessionExpired)) => {
            policy_violation("Session expired")
        }
        (CloseCode::Superseded | CloseCode::TokenExpired, _) => {
            CloseFrame::new(CloseCode::PolicyViolation, frame.reason)
        }
        _ => frame,
    }
}
