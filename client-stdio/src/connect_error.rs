//! Why a request to a bridge failed, and what the user can do about it.

use crate::certificate_rejection::CertificateRejection;
use crate::local_bridge::LocalBridgeError;

/// The reason why a bridge did not answer a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BridgeError {
    /// The user has not configured a token.
    NoToken,
    /// The command that prints the token has not printed one, for this reason.
    TokenCommand(String),
    /// The bridge does not accept the token that the command prints (HTTP 401).
    TokenOfCommandRefused,
    /// The connection was refused, the host name does not resolve, or the connection timed out.
    Unreachable,
    /// No bridge of this machine could be started, or another program has its address. No token was sent.
    LocalBridge(String),
    /// The certificate of the server was not accepted. No request was sent to it.
    UntrustedCertificate(CertificateRejection),
    /// The bridge does not accept the token (HTTP 401).
    TokenRefused,
    /// The token was valid and has expired (HTTP 401 with that error code).
    TokenExpired,
    /// The token is valid but lacks a scope (HTTP 403), which is named here if the bridge names it.
    ScopeMissing(Option<String>),
    /// The bridge does not know the MCP session (HTTP 404): the bridge was restarted, or the
    /// session expired.
    SessionExpired,
    /// The bridge answered with any other HTTP status that is not a success.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The message in the body, if there is one.
        message: Option<String>,
    },
    /// The connection broke before the answer was complete.
    ConnectionLost,
    /// The answer exceeds the limit. It was read to its end but not stored.
    TooLarge {
        /// The size of the answer.
        bytes: u64,
        /// The size that is allowed.
        limit: usize,
    },
    /// The server is not a bridge, or its answer cannot be understood.
    InvalidResponse(String),
}

impl From<LocalBridgeError> for BridgeError {
    fn from(error: LocalBridgeError) -> Self {
        match error {
            LocalBridgeError::Absent => Self::Unreachable,
            LocalBridgeError::Failed(reason) => Self::LocalBridge(reason),
        }
    }
}

impl BridgeError {
    /// Creates the error for an answer that is not a message of MCP.
    pub(crate) fn not_mcp() -> Self {
        Self::InvalidResponse("its answer is not MCP".to_owned())
    }

    /// Returns whether the request was certainly not executed, so that it may be sent again to
    /// another bridge.
    pub(crate) fn is_safe_to_retry(&self) -> bool {
        matches!(
            self,
            Self::NoToken
                | Self::TokenCommand(_)
                | Self::TokenOfCommandRefused
                | Self::Unreachable
                | Self::LocalBridge(_)
                | Self::UntrustedCertificate(_)
                | Self::TokenRefused
                | Self::TokenExpired
                | Self::SessionExpired
        )
    }

    /// Returns whether an attempt to connect may fail like this while the bridge restarts.
    pub(crate) fn may_be_restart(&self) -> bool {
        match self {
            Self::Unreachable | Self::ConnectionLost | Self::SessionExpired => true,
            // A proxy in front of the bridge answers.
            Self::Refused { status, .. } => (502..=504).contains(status),
            _ => false,
        }
    }

    /// Returns whether the bridge rejected the token. Requests that it accepted earlier with the
    /// same token are still answered.
    pub(crate) fn is_auth_error(&self) -> bool {
        matches!(
            self,
            Self::TokenRefused | Self::TokenExpired | Self::TokenOfCommandRefused
        )
    }

    /// Describes the failure and what to do next, for the person who runs a command.
    ///
    /// `url` is part of the text and must not contain credentials.
    pub(crate) fn command_message(&self, url: &str) -> String {
        const PANEL: &str = "the one in the page's configuration panel";
        match self {
            Self::NoToken => format!("no token is set: set AUTH_TOKEN to {PANEL}"),
            Self::Unreachable => format!(
                "no bridge at {url}: start one with `mcp-web demo` or `mcp-web bridge`, or name \
                 another with --url"
            ),
            Self::TokenRefused => {
                format!("the bridge at {url} refused the token: set AUTH_TOKEN to {PANEL}")
            }
            Self::TokenExpired => format!(
                "the bridge at {url} refused the token, which has expired: set AUTH_TOKEN to a \
                 fresh one"
            ),
            Self::ScopeMissing(scope) => {
                let scope = scope.as_deref().unwrap_or("that this needs");
                format!(
                    "the bridge at {url} refused: the token lacks the scope {scope}: set AUTH_TOKEN \
                     to one that has it"
                )
            }
            Self::Refused {
                message: Some(message),
                ..
            } => message.clone(),
            _ => self.user_message(url),
        }
    }

    /// Describes the failure and what to do next, for people and for models.
    ///
    /// `url` is part of the text and must not contain credentials.
    pub(crate) fn user_message(&self, url: &str) -> String {
        match self {
            Self::NoToken => {
                "no token is set: copy AUTH_TOKEN from the page's configuration panel \
                 into the configuration of this MCP server and start it again"
                    .to_owned()
            }
            Self::TokenCommand(reason) => format!(
                "there is no token, because the command in MCP_WEB_TOKEN_COMMAND failed: {reason}: \
                 run it by hand, and look into the log of this MCP server"
            ),
            Self::TokenOfCommandRefused => format!(
                "the bridge at {url} refused the token that the command in MCP_WEB_TOKEN_COMMAND \
                 prints: run it by hand, and check that its token is for this bridge and has not \
                 expired"
            ),
            Self::Unreachable => {
                format!("no bridge at {url}: start it with `mcp-web bridge` and retry")
            }
            Self::LocalBridge(reason) => reason.clone(),
            Self::UntrustedCertificate(rejection) => {
                format!("the certificate of the bridge at {url} was not accepted: {rejection}")
            }
            Self::TokenRefused => format!(
                "the bridge at {url} refused the token: set AUTH_TOKEN to the one in the page's \
                 configuration panel, in the configuration of this MCP server"
            ),
            Self::TokenExpired => format!(
                "the bridge at {url} refused the token: the token has expired: set AUTH_TOKEN to a \
                 fresh one, in the configuration of this MCP server, and start it again"
            ),
            Self::ScopeMissing(scope) => {
                let scope = scope.as_deref().unwrap_or("that this needs");
                format!(
                    "the bridge at {url} refused: the token lacks the scope {scope}: set AUTH_TOKEN \
                     to one that has it, in the configuration of this MCP server"
                )
            }
            Self::TooLarge { bytes, limit } => format!(
                "the answer of the bridge at {url} has {bytes} bytes, and {limit} is the limit of \
                 this MCP server: ask for less, or raise MCP_WEB_MAX_MESSAGE_BYTES in its \
                 configuration"
            ),
            Self::SessionExpired => {
                format!("the bridge at {url} was restarted before the answer came: retry")
            }
            Self::Refused {
                message: Some(message),
                ..
            } => format!("the bridge at {url} refused: {message}"),
            Self::Refused {
                status,
                message: None,
            } => format!(
                "the bridge at {url} answered HTTP {status}: retry, and look into its log if that \
                 does not help"
            ),
            Self::ConnectionLost => format!(
                "the connection to the bridge at {url} was lost before the answer came: the call \
                 may have been executed, check before you retry"
            ),
            Self::InvalidResponse(reason) => format!(
                "the answer from {url} cannot be used ({reason}): check that MCP_SERVER_URL is \
                 the address of a bridge"
            ),
        }
    }
}
