//! The closed list of error codes, spelled the same in every protocol.

use std::fmt;
use std::str::FromStr;

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// A machine-readable error code.
        ///
        /// Codes that mcp-web 0.1 had keep its spelling. The list is closed: each edge has one
        /// table that maps these codes to its own (HTTP status, MCP error, close code).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)+
        }

        impl ErrorCode {
            /// Every error code.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name,)+];

            /// The code in its spelling on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$name => stringify!($name),)+
                }
            }
        }

        impl FromStr for ErrorCode {
            type Err = UnknownErrorCode;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $(stringify!($name) => Ok(ErrorCode::$name),)+
                    _ => Err(UnknownErrorCode),
                }
            }
        }
    };
}

error_codes! {
    /// No token was sent.
    MissingAuthentication,
    /// The token is too short, not on the configured list, or wrong.
    InvalidAuthentication,
    /// The token has expired, or another user has taken the page over: connect again with a fresh one.
    TokenExpired,
    /// The token cannot be checked now, because the keys of its issuer are missing: retry with it.
    AuthenticationUnavailable,
    /// The token does not grant what the request needs.
    InsufficientScope,
    /// The operator has denied access to the user or token, or has ended the session.
    AccessDenied,
    /// The request comes from a browser page whose origin the operator has not allowed.
    OriginNotAllowed,
    /// The `Host` of the request is not a name of this server.
    HostNotAllowed,
    /// The session is not usable: its page is gone, or the session id is malformed.
    InvalidSession,
    /// No page is connected for this token.
    NoSessionsFound,
    /// No session has the given id or name.
    SessionNotFound,
    /// Several sessions have the tool, and the caller did not choose one.
    SessionNotSpecified,
    /// The token already has the maximum number of sessions.
    SessionLimitExceeded,
    /// The session reached its maximum duration.
    SessionExpired,
    /// Another session of the token has this name.
    SessionNameAlreadyInUse,
    /// A newer connection of the same session took over.
    SessionSuperseded,
    /// The bridge already serves the maximum number of tokens.
    RealmLimitExceeded,
    /// No connected page has this tool.
    ToolNotFound,
    /// A call or a definition has no tool name.
    ToolNameRequired,
    /// The name belongs to one of the bridge's own tools.
    ToolNameReserved,
    /// The tool is not among those allowed here.
    ToolNotAllowed,
    /// Another session of the token registered the name with a different schema (v1 only).
    ToolSchemaConflict,
    /// The definition cannot be published.
    DefinitionInvalid,
    /// The session already has the maximum number of definitions, or of bytes of definitions.
    DefinitionLimitExceeded,
    /// No connected page has this prompt.
    PromptNotFound,
    /// No connected page has this resource.
    ResourceNotFound,
    /// The arguments do not match the tool's input schema.
    InvalidArguments,
    /// The tool's result does not match its output schema.
    InvalidResult,
    /// The handler threw an exception.
    HandlerFailed,
    /// The client that made the call lacks a capability that the handler needs.
    ClientCapabilityMissing,
    /// The client that made the call answered a request with an error, or not in time.
    ClientRequestFailed,
    /// The `requestState` of a retried request is not one that this bridge can continue.
    RequestStateInvalid,
    /// The page disconnected during the call.
    PageGone,
    /// The page has not started the call and never will: its tab is suspended.
    PageSuspended,
    /// The page has not started the call and never will: it is busy with another call, or its tab is
    /// suspended.
    PageBusy,
    /// The page was sent the call and has not acknowledged it: it may have run.
    CallMayHaveRun,
    /// The page does not read fast enough what the bridge sends.
    PageTooSlow,
    /// The call was not answered before its deadline.
    CallTimeout,
    /// The caller cancelled the call.
    CallCancelled,
    /// No call and no stored result has this handle.
    HandleNotFound,
    /// The token already has the maximum number of calls in flight.
    CallLimitExceeded,
    /// The result is larger than the limit.
    ResultTooLarge,
    /// The request or frame is larger than the limit.
    RequestTooLarge,
    /// The body of the request came too slowly.
    RequestTimeout,
    /// The token or its address uses as much of the bridge's memory as it may, or all of it is used.
    MemoryLimitExceeded,
    /// The protocol does not allow this message at this point.
    ProtocolViolation,
    /// No query has this id.
    QueryNotFound,
    /// The query is being cancelled.
    QueryNotActive,
    /// The query has already ended.
    QueryCompleted,
    /// No conversation of this user and app has this id.
    ConversationNotFound,
    /// The token already has the maximum number of queries.
    QueryLimitExceeded,
    /// The query did not end before its timeout.
    QueryTimeout,
    /// This bridge is configured without an agent.
    AgentNotConfigured,
    /// The agent cannot be reached, or did not accept the query.
    AgentUnavailable,
    /// The agent failed.
    AgentFailed,
    /// The bridge that the agent calls tools through cannot be reached, or rejects the agent.
    BridgeUnavailable,
    /// The model's provider rejects the API key (HTTP 401, 403).
    ModelUnauthorized,
    /// The model's provider limits the rate of requests (HTTP 429), also after retries.
    ModelRateLimited,
    /// The model's provider cannot be reached, fails (HTTP 5xx), or does not respond.
    ModelUnavailable,
    /// The model's provider rejects the request (other HTTP 4xx), for example because of an unknown
    /// model.
    ModelRequestRefused,
    /// The input is longer than the model can read, also without what could be left out.
    ModelInputTooLong,
    /// The model's answer was interrupted: the connection was lost, or the provider reported an
    /// error in the stream.
    ModelStreamBroken,
    /// The model's stream ended without an end marker.
    ModelStreamUnfinished,
    /// The model's arguments for a tool are not a complete JSON object.
    ModelArgumentsCutOff,
    /// The model tried twice to call a tool, and the calls cannot be read.
    ModelCallInvalid,
    /// The model declined to answer.
    ModelRefused,
    /// The model's answer reached its maximum length.
    ModelLengthReached,
    /// The model answered with neither text nor a call.
    ModelAnswerEmpty,
    /// The model's answer does not fit the schema that the query requires.
    ModelAnswerInvalid,
    /// The query has used up its rounds, calls or tokens.
    QueryBudgetExceeded,
    /// The model answered without calling the tool that the query requires.
    ResponseToolNotCalled,
    /// No method has this name.
    UnknownMethod,
    /// The bridge is shutting down.
    BridgeStopping,
    /// The bridge that serves the token cannot be found or reached, and the request has not run: retry.
    ClusterUnavailable,
    /// The connection to the bridge that serves the token was lost, and the request may have run.
    NodeLost,
    /// An internal error of the bridge.
    InternalError,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error of parsing text that is not an [`ErrorCode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownErrorCode;

impl fmt::Display for UnknownErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a known error code")
    }
}

impl std::error::Error for UnknownErrorCode {}

#[cfg(feature = "serde")]
impl serde::Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for ErrorCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse()
            .map_err(|_| serde::de::Error::custom(format!("unknown error code {text:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_parses_from_its_spelling() {
        for code in ErrorCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
        assert_eq!("NoSuchCode".parse::<ErrorCode>(), Err(UnknownErrorCode));
    }
}
