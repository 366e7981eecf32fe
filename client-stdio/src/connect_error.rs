//! Why a bridge does not answer, and what the user can do about it.

use crate::tls::CertificateRejection;

/// Why there is no answer of a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BridgeError {
    /// The user has not set one.
    NoToken,
    /// Nobody listens there, the name does not resolve, or nothing comes back.
    Unreachable,
    /// Something listens there with a certificate that is not accepted. Nothing was sent to it.
    UntrustedCertificate(CertificateRejection),
    /// 401.
    TokenRefused,
    /// 401, and the bridge says that the token was valid once.
    TokenExpired,
    /// 403: the token is valid, and not for this. Names the scope if the bridge does.
    ScopeMissing(Option<String>),
    /// The bridge does not know the MCP session (404): it was started anew, or the session expired.
    SessionExpired,
    /// Another HTTP status that is not a success, with the bridge's own words if it said any.
    Refused {
        status: u16,
        message: Option<String>,
    },
    /// The connection broke while an answer was due.
    ConnectionLost,
    /// The answer was read to its end, and is too large to pass.
    TooLarge { bytes: u64, limit: usize },
    /// Something answers that is no bridge, or that cannot be understood.
    InvalidResponse(String),
}

impl BridgeError {
    /// Whether a request that ended like this was certainly not executed, so that it may be
    /// repeated at another bridge.
    pub(crate) fn is_safe_to_retry(&self) -> bool {
        matches!(
            self,
            Self::NoToken
                | Self::Unreachable
                | Self::UntrustedCertificate(_)
                | Self::TokenRefused
                | Self::TokenExpired
                | Self::SessionExpired
        )
    }

    /// Whether it is the token: what was asked before it ended runs on.
    pub(crate) fn is_auth_error(&self) -> bool {
        matches!(self, Self::TokenRefused | Self::TokenExpired)
    }

    /// What happened and what to do, for people and for models. `url` has no credentials in it.
    pub(crate) fn user_message(&self, url: &str) -> String {
        match self {
            Self::NoToken => {
                "no token is set: copy AUTH_TOKEN from the page's configuration panel \
                 into the configuration of this MCP server and start it again"
                    .to_owned()
            }
            Self::Unreachable => {
                format!("no bridge at {url}: start it with `mcp-web-bridge` and retry")
            }
            Self::UntrustedCertificate(distrust) => {
                format!("the certificate of the bridge at {url} was not accepted: {distrust}")
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
                format!("the bridge at {url} was started anew before the answer came: retry")
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
                 that of a bridge"
            ),
        }
    }
}
