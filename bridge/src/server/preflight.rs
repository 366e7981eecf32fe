//! The checks of the configuration before a bridge listens. They do not bind a port.

use std::io;
use std::net::SocketAddr;

use bridge_auth::Authenticator;
use bridge_edge::{HostOriginPolicy, StateFolder, StateFolderError};
use bridge_protocol::limits;
use bridge_settings::{Secret, warning_if_open_to_all};

use crate::agent_queries::agent_program;
use crate::config::Config;
use crate::mcp::ENDED_IDS_FILE;
use crate::web::ProtectedResource;

/// The reason why a bridge does not start. The message contains what to change.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is not a loopback address and no tokens are configured, so anybody could open a
    /// realm.
    #[error(
        "{0} can be reached from other machines, but no tokens are configured: set `tokens` \
         (MCP_WEB_TOKENS), `token_file` (MCP_WEB_TOKEN_FILE) or the keys of signed tokens \
         (`jwt_secret`, `jwt_keys`, `jwks_url`), or bind to 127.0.0.1"
    )]
    Unauthenticated(SocketAddr),
    /// The token file cannot be read, or a line of it is not a token.
    #[error("`token_file` cannot be used: {0}")]
    TokenFile(io::Error),
    /// The token file contains no tokens, which could mean that no client or that every client may
    /// connect.
    #[error("`token_file` has no tokens: write one a line, or do not set it")]
    EmptyTokenFile,
    /// A configured token is too short.
    #[error("a configured token has fewer than {0} characters: make it longer")]
    ShortToken(usize),
    /// The token for metrics is also one of pages and clients.
    #[error("`metrics_token` is also in `tokens` or `token_file`: choose another one for metrics")]
    MetricsTokenListed,
    /// The settings of signed tokens or of authorization servers are wrong or incomplete.
    #[error("{0}")]
    Identity(String),
    /// An entry of `allowed_hosts` or `allowed_origins` is malformed.
    #[error("{0}")]
    Policy(String),
    /// The configuration both starts an agent and has the URL of another one.
    #[error("`run_agent` runs an agent of the bridge's own: do not set `agent_url` beside it")]
    TwoAgents,
    /// The configuration starts an agent, and its program was not found.
    #[error(
        "`run_agent` runs `mcp-web-agent`, which is neither in the folder of this program nor in \
         the search path: install it, or set `agent_url`"
    )]
    NoAgent,
    /// The folder for what survives a restart cannot be used.
    #[error("`state_dir` cannot be used: {0}")]
    StateFolder(StateFolderError),
    /// The address is in use, or is not an address of this machine.
    #[error(
        "cannot listen on {address}: {error}. Is another bridge running? Choose another `bind`"
    )]
    Bind {
        /// The configured address.
        address: SocketAddr,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// The validated parts of a configuration that a bridge needs in order to start.
#[derive(Debug)]
pub(crate) struct CheckedConfig {
    pub(crate) policy: HostOriginPolicy,
    pub(crate) authenticator: Authenticator,
    pub(crate) protected_resource: ProtectedResource,
}

impl CheckedConfig {
    /// Runs all checks and loads the configured tokens and keys.
    pub(crate) fn new(config: &Config) -> Result<Self, StartError> {
        let listed = config.tokens.load().map_err(StartError::TokenFile)?;
        let token_file = config.tokens.token_file.as_deref();
        if let Some(warning) = token_file.and_then(warning_if_open_to_all) {
            tracing::warn!("{warning}");
        }
        let shortest = limits::MIN_TOKEN_CHARS;
        if listed.iter().any(|token| token.chars().count() < shortest) {
            return Err(StartError::ShortToken(shortest));
        }
        if listed.is_empty() && config.tokens.token_file.is_some() {
            return Err(StartError::EmptyTokenFile);
        }
        let tokens = Authenticator::new(&listed, &config.identity.jwt_settings())
            .map_err(StartError::Identity)?;
        let metrics_token = config.monitoring.metrics_token.as_ref();
        let tokens = match metrics_token.map(Secret::expose) {
            Some(token) if listed.iter().any(|listed| listed == token) => {
                return Err(StartError::MetricsTokenListed);
            }
            Some(token) => tokens.reserve_metrics_token(token),
            None => tokens,
        };
        let tokens = if config.allows_compat_anonymous_access() {
            tokens.allow_short_tokens()
        } else {
            tokens
        };
        if !tokens.has_configured_tokens() && !config.network.bind.ip().is_loopback() {
            return Err(StartError::Unauthenticated(config.network.bind));
        }
        if config.agent.run_agent && config.agent.agent_url.is_some() {
            return Err(StartError::TwoAgents);
        }
        if config.agent.run_agent && agent_program().is_none() {
            return Err(StartError::NoAgent);
        }
        if let Some(folder) = &config.state.state_dir {
            StateFolder::check(folder, &[ENDED_IDS_FILE]).map_err(StartError::StateFolder)?;
        }
        let resource = ProtectedResource::new(&config.identity).map_err(StartError::Identity)?;
        let policy = HostOriginPolicy::new(
            "bridge",
            &config.network.allowed_hosts,
            &config.effective_origins(),
        );
        let policy = policy.map_err(StartError::Policy)?;
        Ok(Self {
            policy,
            authenticator: tokens,
            protected_resource: resource,
        })
    }
}
