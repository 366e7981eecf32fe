//! The checks of the configuration before a bridge listens. They do not bind a port.

use std::io;
use std::net::SocketAddr;

use bridge_auth::Authenticator;
use bridge_edge::connections::{TlsAcceptor, TlsAuthority, TlsError, TlsFiles};
use bridge_edge::credential_file::CredentialFileError;
use bridge_edge::{HostOriginPolicy, PrivateSocketError, StateFolder, StateFolderError};
use bridge_protocol::limits;
use bridge_settings::Secret;

use crate::admin::{self, DenialsError, StoredDenials};
use crate::config::{self, Config, HostResources};
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
    /// The file with the credential for the agent cannot be used.
    #[error("`agent_token_file` {0}")]
    AgentTokenFile(CredentialFileError),
    /// The settings of signed tokens or of authorization servers are wrong or incomplete.
    #[error("{0}")]
    Identity(String),
    /// An entry of `allowed_hosts` or `allowed_origins` is malformed.
    #[error("{0}")]
    Policy(String),
    /// The configuration both starts an agent and has the URL of another one.
    #[error("`run_agent` runs an agent of the bridge's own: do not set `agent_url` beside it")]
    TwoAgents,
    /// The configuration starts an agent, and does not name its program.
    #[error("`run_agent` runs a command of `own_program`: set it, or `agent_url` in its place")]
    NoAgent,
    /// A reload would begin or end to accept any token.
    #[error(
        "whether pages generate their tokens themselves, which they do without `tokens`, `token_file` \
         and keys, cannot change while the bridge runs: restart it"
    )]
    TokensOnReload,
    /// The sockets of the service manager cannot be used.
    #[error("the sockets that the service manager has passed cannot be used: {0}")]
    PassedSockets(io::Error),
    /// The folder for what survives a restart cannot be used.
    #[error("`state_dir` cannot be used: {0}")]
    StateFolder(StateFolderError),
    /// The list of those who are denied access cannot be loaded, and they could connect without it.
    #[error("`state_dir` cannot be used: {0}")]
    Denials(String),
    /// The certificate and its key cannot be used.
    #[error("`tls_cert` and `tls_key` cannot be used: {0}")]
    Tls(TlsError),
    /// The public URL is not encrypted, and the bridge is.
    #[error(
        "`public_url` begins with http://, but with `tls_cert` the bridge serves https:// only: correct \
         it"
    )]
    PublicUrlWithoutTls,
    /// The bridge's own agent would reach the bridge at an address that no certificate has.
    #[error(
        "`run_agent` with `tls_cert` needs `public_url`: the agent reaches the bridge there, at a name \
         of its certificate"
    )]
    AgentNeedsPublicUrl,
    /// The socket for the operator cannot be used.
    #[error("`admin_socket` cannot be used: {0}")]
    AdminSocket(PrivateSocketError),
    /// The settings of a cluster do not fit together, or not to others.
    #[error("{0}")]
    Cluster(String),
    /// The certificate for the other bridges cannot be used.
    #[error("`cluster_tls_cert`, `cluster_tls_key` and `cluster_tls_ca` cannot be used: {0}")]
    ClusterTls(TlsError),
    /// Traces cannot be sent to their endpoint.
    #[error("{0}")]
    Traces(String),
    /// The address is in use, or is not an address of this machine.
    #[error(
        "cannot listen on {address}: {error}. Is another bridge running? \
         `mcp-web doctor` shows which program has the port. End it, or choose another `{setting}`"
    )]
    Bind {
        /// The setting with the address.
        setting: &'static str,
        /// The configured address.
        address: SocketAddr,
        /// The error of the operating system.
        error: io::Error,
    },
}

impl StartError {
    /// Whether a later start with the same settings can succeed: a port or a folder is in use, for
    /// example by a bridge that is shutting down.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Bind { error, .. } => error.kind() != io::ErrorKind::PermissionDenied,
            Self::StateFolder(error) => matches!(error, StateFolderError::InUse(_)),
            Self::AdminSocket(error) => matches!(error, PrivateSocketError::InUse(_)),
            _ => false,
        }
    }
}

/// The rules of who may send requests, as far as a reload can change them.
#[derive(Debug)]
pub(super) struct AccessRules {
    pub(super) policy: HostOriginPolicy,
    pub(super) authenticator: Authenticator,
}

/// The validated parts of a configuration that a bridge needs in order to start.
#[derive(Debug)]
pub(crate) struct CheckedConfig {
    pub(crate) policy: HostOriginPolicy,
    pub(crate) authenticator: Authenticator,
    pub(crate) protected_resource: ProtectedResource,
    pub(crate) agent_credential: Option<Secret>,
    pub(crate) tls: Option<TlsAcceptor>,
    /// The certificate for the other bridges of the cluster.
    pub(crate) cluster_tls: Option<TlsAcceptor>,
}

impl AccessRules {
    /// Loads the configured tokens and keys, and checks the lists.
    pub(super) fn load(config: &Config) -> Result<Self, StartError> {
        let listed = config.tokens.load().map_err(StartError::TokenFile)?;
        let shortest = limits::MIN_TOKEN_CHARS;
        if listed.iter().any(|token| token.chars().count() < shortest) {
            return Err(StartError::ShortToken(shortest));
        }
        if listed.is_empty() && config.tokens.token_file.is_some() {
            return Err(StartError::EmptyTokenFile);
        }
        let tokens = Authenticator::new(&listed, &config.identity.jwt_settings())
            .map_err(StartError::Identity)?;
        let shared = config.shared_limits(&HostResources::detect());
        let tokens = tokens.with_cache_bytes(shared.token_cache_bytes);
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
        let policy = HostOriginPolicy::new(
            "bridge",
            &config.network.allowed_hosts,
            &config.effective_origins(),
        );
        Ok(Self {
            policy: policy.map_err(StartError::Policy)?,
            authenticator: tokens,
        })
    }
}

impl CheckedConfig {
    /// Runs all checks and loads the configured tokens and keys.
    pub(crate) fn new(config: &Config) -> Result<Self, StartError> {
        let AccessRules {
            policy,
            authenticator,
        } = AccessRules::load(config)?;
        check_cluster(config)?;
        if config.agent.run_agent && !config.agent.agent_url.is_empty() {
            return Err(StartError::TwoAgents);
        }
        if config.agent.run_agent && config.agent.own_program.is_none() {
            return Err(StartError::NoAgent);
        }
        let agent_credential = config.agent.load_credential();
        let agent_credential = agent_credential.map_err(StartError::AgentTokenFile)?;
        if let Some(folder) = &config.state.state_dir {
            StateFolder::check(folder, &[ENDED_IDS_FILE]).map_err(StartError::StateFolder)?;
            StoredDenials::check(folder)?;
        }
        if let Some(path) = &config.admin.admin_socket {
            admin::check(path).map_err(StartError::AdminSocket)?;
        }
        let tls = load_tls(config)?;
        let cluster_tls = load_cluster_tls(&config.cluster)?;
        let resource = ProtectedResource::new(&config.identity).map_err(StartError::Identity)?;
        let resource = resource.with_tls(tls.is_some());
        Ok(Self {
            policy,
            authenticator,
            protected_resource: resource,
            agent_credential,
            tls,
            cluster_tls,
        })
    }
}

/// Checks that one of several bridges has only settings that it can share with the others.
fn check_cluster(config: &Config) -> Result<(), StartError> {
    config.cluster.check().map_err(StartError::Cluster)?;
    let refused = match &config.cluster {
        cluster if !cluster.is_enabled() => None,
        _ if config.compatibility.compat.is_some() => Some(
            "`compat` cannot be used with `cluster`: its pages and queries are found by ids that do not \
             belong to a token",
        ),
        _ if config.agent.run_agent => Some(
            "`run_agent` cannot be used with `cluster`: each bridge would have an agent with its own \
             conversations. Run one agent, and set `agent_url`",
        ),
        _ => None,
    };
    refused.map_or(Ok(()), |reason| Err(StartError::Cluster(reason.to_owned())))
}

/// Loads the certificate for the other bridges.
fn load_cluster_tls(config: &config::Cluster) -> Result<Option<TlsAcceptor>, StartError> {
    let (Some(certificate), Some(key), Some(authority)) = (
        &config.cluster_tls_cert,
        &config.cluster_tls_key,
        &config.cluster_tls_ca,
    ) else {
        return Ok(None);
    };
    let files = TlsFiles {
        certificate: certificate.clone(),
        key: key.clone(),
    };
    let loaded = TlsAcceptor::load_mutual(
        files,
        TlsAuthority {
            file: authority.clone(),
            name: config.cluster_tls_name.clone(),
        },
    );
    loaded.map(Some).map_err(StartError::ClusterTls)
}

/// Loads the certificate and its key, and checks what depends on them.
fn load_tls(config: &Config) -> Result<Option<TlsAcceptor>, StartError> {
    let (certificate, key) = (
        config.tls.tls_cert.as_deref(),
        config.tls.tls_key.as_deref(),
    );
    let tls = TlsAcceptor::from_settings(certificate, key).map_err(StartError::Tls)?;
    if tls.is_none() {
        return Ok(None);
    }
    let public_url = config.identity.public_url.as_deref();
    if public_url.is_some_and(|url| !url.to_ascii_lowercase().starts_with("https:")) {
        return Err(StartError::PublicUrlWithoutTls);
    }
    if config.agent.run_agent && public_url.is_none() {
        return Err(StartError::AgentNeedsPublicUrl);
    }
    Ok(tls)
}

impl From<DenialsError> for StartError {
    fn from(error: DenialsError) -> Self {
        match error {
            DenialsError::Folder(error) => Self::StateFolder(error),
            DenialsError::Line(_) => Self::Denials(error.to_string()),
        }
    }
}
