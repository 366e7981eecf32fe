//! The closed list of error codes, one spelling on every wire.

use std::fmt;
use std::str::FromStr;

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// What went wrong, as a word that programs can match on.
        ///
        /// The spelling is that of mcp-web 0.1 where it had one. The list is closed: each edge has
        /// one table from these codes to its own (HTTP status, MCP error, close code).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)+
        }

        impl ErrorCode {
            /// Every code there is.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name,)+];

            /// The code as it stands on the wire.
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
    /// The token has expired: come back with a fresh one.
    TokenExpired,
    /// The token does not grant what the request needs.
    InsufficientScope,
    /// A browser page from an origin that the operator has not allowed.
    OriginNotAllowed,
    /// The session is not usable: its page is gone, or the session id is malformed.
    InvalidSession,
    /// No page is connected for this token.
    NoSessionsFound,
    /// The named session is not there.
    SessionNotFound,
    /// Several sessions have the tool and the caller chose none.
    SessionNotSpecified,
    /// The token has as many sessions as it may have.
    SessionLimitExceeded,
    /// The session reached its maximum duration.
    SessionExpired,
    /// Another session of the token has this name.
    SessionNameAlreadyInUse,
    /// A newer connection of the same session took over.
    SessionSuperseded,
    /// The bridge holds as many tokens as it may hold.
    RealmLimitExceeded,
    /// No connected page has this tool.
    ToolNotFound,
    /// A call or definition without a tool name.
    ToolNameRequired,
    /// The name belongs to one of the bridge's own tools.
    ToolNameReserved,
    /// The tool is not among those allowed here.
    ToolNotAllowed,
    /// Another session of the token registered the name with a different schema (v1 only).
    ToolSchemaConflict,
    /// The definition cannot be published.
    DefinitionInvalid,
    /// The session has as many definitions, or bytes of definitions, as it may have.
    DefinitionLimitExceeded,
    /// No connected page has this prompt.
    PromptNotFound,
    /// No connected page has this resource.
    ResourceNotFound,
    /// The arguments do not fit the tool's input schema.
    InvalidArguments,
    /// The tool's result does not fit its output schema.
    InvalidResult,
    /// The handler threw.
    HandlerFailed,
    /// The client behind the call cannot do what the handler asked it for.
    ClientCapabilityMissing,
    /// The client behind the call answered with an error, or not in time.
    ClientRequestFailed,
    /// The `requestState` of a retried request is not one that this bridge can continue.
    RequestStateInvalid,
    /// The page went away during the call.
    PageGone,
    /// The page did not acknowledge the call: its tab is suspended.
    PageSuspended,
    /// The page did not acknowledge the call while another handler was running: it is busy, or its
    /// tab is suspended.
    PageBusy,
    /// The page does not read what the bridge sends.
    PageTooSlow,
    /// The call took longer than its deadline.
    CallTimeout,
    /// The caller cancelled.
    CallCancelled,
    /// No call or result is kept under this handle.
    HandleNotFound,
    /// The token has as many calls in flight as it may have.
    CallLimitExceeded,
    /// The result is larger than the limit.
    ResultTooLarge,
    /// The request or frame is larger than the limit.
    RequestTooLarge,
    /// A message that the protocol does not allow here.
    ProtocolViolation,
    /// No such query.
    QueryNotFound,
    /// The query is being cancelled.
    QueryNotActive,
    /// The query has ended.
    QueryCompleted,
    /// The token has as many queries as it may have.
    QueryLimitExceeded,
    /// The query took longer than it may.
    QueryTimeout,
    /// This bridge knows no agent.
    AgentNotConfigured,
    /// The agent cannot be reached, or did not take the query.
    AgentUnavailable,
    /// The agent has failed.
    AgentFailed,
    /// The agent has no bridge to call tools through: it cannot be reached, or refuses.
    BridgeUnavailable,
    /// The model's provider refuses the key (HTTP 401, 403).
    ModelUnauthorized,
    /// The model's provider takes no more requests for now (HTTP 429), also after trying again.
    ModelRateLimited,
    /// The model's provider cannot be reached, is overloaded or broken (HTTP 5xx), or is silent.
    ModelUnavailable,
    /// The model's provider does not accept the request (other HTTP 4xx): an unknown model, a prompt
    /// that is too long.
    ModelRequestRefused,
    /// The model's answer broke off: the connection was lost, or the provider said so in the stream.
    ModelStreamBroken,
    /// The model's stream came to an end without saying that it was the end.
    ModelStreamUnfinished,
    /// The model's arguments for a tool are no whole JSON object.
    ModelArgumentsCutOff,
    /// The model declined to answer.
    ModelRefused,
    /// The model's answer reached the length that it may have.
    ModelLengthReached,
    /// The query has used the rounds, calls or tokens that it may use.
    QueryBudgetExceeded,
    /// The model has answered without the tool that the query demands.
    ResponseToolNotCalled,
    /// No such method.
    UnknownMethod,
    /// The bridge is shutting down.
    BridgeStopping,
    /// A fault of the bridge itself.
    InternalError,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is no [`ErrorCode`].
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
