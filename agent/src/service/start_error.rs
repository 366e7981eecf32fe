//! Why an agent cannot start.

use std::io;
use std::net::SocketAddr;

use bridge_edge::connections::TlsError;

use crate::credential::CredentialError;

/// Why an agent cannot start. The message describes what to change.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No model is configured, or the configured model cannot be used.
    #[error("{0}")]
    Model(String),
    /// There is a budget, and the price of this model is not known.
    #[error(
        "a daily budget is set, but the price of the model `{0}` is not known: write `\"{0}\" = [2.0, \
         0.2, 10.0]` below `[prices]` into the file of `model_rules` (US dollars for a million tokens \
         of input, of input from the provider's cache, and of output; zeros if it costs nothing), or \
         remove the budgets"
    )]
    Price(String),
    /// The address is not a loopback address, and the operator has not set a credential.
    #[error(
        "{0} can be reached from other machines, but no credential is set: set `token` \
         (MCP_WEB_AGENT_TOKEN) or `token_file`, and the same as `agent_token` of the bridge, or bind \
         to 127.0.0.1"
    )]
    Unauthenticated(SocketAddr),
    /// The credential cannot be used.
    #[error("{0}")]
    Credential(#[from] CredentialError),
    /// `allowed_hosts` is empty, or an entry of `allowed_hosts` or `allowed_origins` is malformed.
    #[error("{0}")]
    Policy(String),
    /// `system_file` cannot be read, `system` is also set, or the text is too long.
    #[error("{0}")]
    System(String),
    /// `conversations_file` cannot be used.
    #[error("{0}")]
    Conversations(String),
    /// `tools_file`, `audit_file` or `secrets_file` cannot be used.
    #[error("{0}")]
    Tools(String),
    /// Traces cannot be sent to their endpoint.
    #[error("{0}")]
    Traces(String),
    /// The address of the bridge cannot be used.
    #[error("`bridge_url` cannot be used: {0}")]
    Bridge(String),
    /// `[[bridges]]` cannot be used.
    #[error("{0}")]
    Bridges(String),
    /// The sockets of the service manager cannot be used.
    #[error("the sockets that the service manager has passed cannot be used: {0}")]
    PassedSockets(io::Error),
    /// The certificate and its key cannot be used.
    #[error("`tls_cert` and `tls_key` cannot be used: {0}")]
    Tls(#[from] TlsError),
    /// The address is in use, or does not belong to this machine.
    #[error("cannot listen on {address}: {error}. Is another agent running? Choose another `bind`")]
    Bind {
        /// The configured address.
        address: SocketAddr,
        /// The error of the operating system.
        error: io::Error,
    },
}

impl StartError {
    /// Whether a later start with the same settings can succeed, because the port may be free then.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Bind { error, .. } if error.kind() != io::ErrorKind::PermissionDenied)
    }
}
