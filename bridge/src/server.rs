//! Starts and stops a bridge.

mod address_in_use;
mod cluster_node;
mod config_warnings;
mod drain;
mod preflight;
mod reload;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bridge_edge::connections::{
    self, ConnectionLimits, ConnectionSlots, ConnectionTimeouts, Listener, ServerStop, TlsAcceptor,
    WhenFull,
};
use bridge_edge::credential_file::CredentialFileError;
use bridge_edge::{StateFolder, TokenHash, TrustedProxies, TrustedProxy};
use bridge_traces::Traces;
use tokio::task::{AbortHandle, JoinHandle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admin::{AdminServer, Administration, StoredDenials};
use crate::agent_queries::AgentQueries;
use crate::cluster::ClusterNode;
use crate::compat::CompatService;
use crate::config::{Config, HostResources};
use crate::http::{self, MountedApp};
use crate::hub::Hub;
use crate::mcp::{self, McpService, SessionIds};
use crate::web::AppState;

use address_in_use::listen;
use cluster_node::PeerListener;

pub use address_in_use::{AddressInUse, ReleaseAddress};
pub(crate) use cluster_node::run_cluster_check;
pub(crate) use config_warnings::config_warnings;
pub(crate) use preflight::CheckedConfig;
pub use preflight::StartError;
pub(crate) use reload::LiveSettings;

/// How long open connections may take to end after [`ServerHandle::shutdown`].
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the head of a request from another bridge may take, at least: longer than its connections
/// stay open without one.
const PEER_HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// How many connections the questions of other bridges may have beside those of `max_connections`. Each
/// bridge has one for its ping, and one for each realm that it asks for at the same time.
const PEER_QUESTION_CONNECTIONS: usize = 256;

/// The name of the bridge in traces.
const SERVICE_NAME: &str = "mcp-web-bridge";

/// The version of the bridge in traces.
const SERVICE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The response to a connection that exceeds `max_connections`.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 84\r\n\r\n\
    the bridge serves as many connections as it may: retry, or raise `max_connections`.\n";

/// The response to a connection of an address that has as many of them as it may have.
const TOO_MANY_OF_ADDRESS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 159\r\n\r\n\
    this address has as many connections as one address may have of `max_connections`: close \
    some, raise it, or name your proxy in `trusted_proxies`, if it is one\n";

/// Starts a bridge and returns when it is listening. `app` is served on the same port, with the
/// same checks of `Host` and `Origin`.
///
/// # Errors
///
/// [`StartError`] when the configuration is unsafe or invalid, or when the address cannot be bound.
///
/// # Examples
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let mut config = bridge::Config::default();
/// config.network.bind = ([127, 0, 0, 1], 0).into();
/// let bridge = bridge::serve(config, bridge::MountedApp::default()).await.unwrap();
/// assert!(bridge.url().starts_with("http://127.0.0.1:"));
/// bridge.shutdown().await;
/// # });
/// ```
pub async fn serve(config: Config, app: MountedApp) -> Result<ServerHandle, StartError> {
    serve_on(None, None, config, app).await
}

/// Starts a bridge on sockets of the service manager, or else on `bind`, which may be released.
pub(crate) async fn serve_on(
    passed: Option<Listener>,
    release: Option<ReleaseAddress>,
    mut config: Config,
    app: MountedApp,
) -> Result<ServerHandle, StartError> {
    if let Some(passed) = &passed {
        // It decides who can connect, and so whether tokens are needed.
        config.network.bind = passed.local_addr().map_err(StartError::PassedSockets)?;
    }
    let checked = CheckedConfig::new(&config)?;
    for warning in config_warnings(&config, &HostResources::detect()) {
        tracing::warn!("{warning}");
    }
    let bind_error = |error| StartError::Bind {
        setting: "bind",
        address: config.network.bind,
        error,
    };
    let state_folder = config.state.state_dir.as_deref().map(StateFolder::open);
    let state_folder = state_folder.transpose().map_err(StartError::StateFolder)?;
    let folder_key = state_folder.as_ref().map(|folder| folder.key().clone());
    // The key of a folder is that of one bridge alone.
    let shared_key = cluster_node::shared_state_key(&config.cluster).or(folder_key);
    let state_key = config.state.state_key.clone().or(shared_key);
    let session_ids = SessionIds::load(state_key.as_ref(), state_folder.as_ref());
    let session_ids = session_ids.map_err(StartError::StateFolder)?;
    let traces = Traces::start(&config.traces.settings(), SERVICE_NAME, SERVICE_VERSION);
    let traces = traces.map_err(StartError::Traces)?;
    let listener = match passed {
        Some(passed) => passed,
        None => listen(config.network.bind, release)
            .await
            .map_err(bind_error)?,
    };
    let listener = listener.with_tls(checked.tls.clone());
    let peer_listener = PeerListener::bind(&config.cluster, checked.cluster_tls)?;
    let address = listener.local_addr().map_err(bind_error)?;

    if state_key.is_none() {
        tracing::warn!(
            "MCP sessions end with this process, and some AI clients do not start new ones: set \
             `state_dir` (MCP_WEB_STATE_DIR) to restore them after a restart"
        );
    }
    checked.authenticator.start();
    let tokens_are_self_made = !checked.authenticator.has_configured_tokens();
    let agent_queries = Arc::new(AgentQueries::new(
        &config,
        checked.agent_credential,
        tokens_are_self_made,
    ));
    let hub = Hub::new(
        config,
        mcp::check_definition,
        Arc::clone(&agent_queries) as _,
    );
    hub.set_traces(traces);
    agent_queries.set_hub(&hub);
    let stopping = CancellationToken::new();
    // Ends what runs already if the bridge does not start.
    let stop_on_error = stopping.clone().drop_guard();
    // Before this bridge exchanges them with others.
    let denials = StoredDenials::load(&hub.denied, state_folder.as_ref())?;
    let cluster = peer_listener
        .as_ref()
        .map(|it| it.start(&hub, stopping.clone()))
        .transpose()?;
    if let Some(cluster) = &cluster {
        agent_queries.set_node(cluster.id().to_string());
    }
    let authenticator = checked
        .authenticator
        .with_deny_list(Arc::clone(&hub.denied));
    let authenticator = Arc::new(authenticator);
    let compat = hub.config.compatibility.compat.map(|_| {
        let service = Arc::new(CompatService::new(&hub, &agent_queries, &authenticator));
        let sessions = Arc::downgrade(&service);
        hub.register_client_sessions(sessions);
        service
    });
    let metrics_token = hub.config.monitoring.metrics_token.as_ref();
    let metrics_token = metrics_token.map(|token| TokenHash::from_token(token.expose()));
    let trusted_proxies = hub.config.network.trusted_proxies.clone();
    let state = AppState {
        trusted_proxies: TrustedProxies::new(trusted_proxies),
        metrics_token: Arc::new(ArcSwapOption::from_pointee(metrics_token)),
        policy: Arc::new(checked.policy),
        authenticator,
        protected_resource: Arc::new(checked.protected_resource),
        tls: checked.tls.clone(),
        page_sockets: TaskTracker::new(),
        stopping: stopping.clone(),
        home: app.home.clone(),
        cluster: cluster.clone(),
        hub: Arc::clone(&hub),
        agent_queries: Arc::clone(&agent_queries),
    };
    let limits = connection_limits(&hub, state.trusted_proxies.clone());
    let slots = limits.slots.clone();
    let live_settings = LiveSettings::new(&state);
    let sockets = state.page_sockets.clone();
    let mcp = McpService::new(state.clone(), state_key.as_ref(), session_ids);
    let administration = Administration {
        hub: Arc::clone(&hub),
        mcp: mcp.clone(),
        denials,
        authenticator: Arc::clone(&state.authenticator),
        cluster: cluster.clone(),
    };
    let administration = Arc::new(administration);
    if let Some(cluster) = &cluster {
        let following = Arc::clone(&administration).follow(Arc::clone(cluster));
        cluster.spawn(following);
    }
    let admin_socket = hub.config.admin.admin_socket.as_deref();
    let admin = match admin_socket {
        Some(path) => AdminServer::start(path, administration, stopping.clone())
            .await
            .map(Some)
            .map_err(StartError::AdminSocket)?,
        None => None,
    };
    let agent = &hub.config.agent;
    if let Some(program) = agent.own_program.clone().filter(|_| agent.run_agent) {
        let tls = checked.tls.as_ref();
        let url = tls.and(hub.config.identity.public_url.clone());
        agent_queries.start_agent(program, address, url);
    }
    let handler = http::request_handler(state, mcp, compat, &limits, app);
    let handler = Arc::new(handler);
    let stop = ServerStop::from(stopping.clone());
    let peer_server = peer_listener.map(|peers| {
        let handler = Arc::clone(&handler);
        let limits = peer_connection_limits(&limits, &hub);
        let (slots, max_connections) = (limits.slots.clone(), hub.budgets.limits.connections);
        let respond = move |request, peer| {
            let handler = Arc::clone(&handler);
            let is_full = slots.open_count() > max_connections;
            async move { handler.handle_from_peer(request, peer, is_full).await }
        };
        let serving = connections::serve(peers.listener, respond, limits, stop.clone());
        tokio::spawn(serving)
    });
    let respond = move |request, peer| {
        let handler = Arc::clone(&handler);
        async move { handler.handle(request, peer).await }
    };
    let serving = connections::serve(listener, respond, limits, stop.clone());
    let server = tokio::spawn(serving);
    stop_on_error.disarm();
    Ok(ServerHandle {
        address,
        hub,
        agent_queries,
        stopping,
        stop,
        sockets,
        slots,
        server,
        admin,
        tls: checked.tls,
        state_folder,
        live_settings,
        cluster,
        peer_server,
    })
}

/// Other bridges have no shares of the connections: their clients have them there. Their own questions find
/// a connection also when clients have all.
fn peer_connection_limits(limits: &ConnectionLimits, hub: &Hub) -> ConnectionLimits {
    let any_address = [TrustedProxy::any_ipv4(), TrustedProxy::any_ipv6()];
    let any_address = TrustedProxies::new(any_address.to_vec());
    ConnectionLimits {
        slots: ConnectionSlots::new(
            hub.budgets.limits.connections + PEER_QUESTION_CONNECTIONS,
            any_address,
        ),
        timeouts: ConnectionTimeouts {
            // Between requests, the other bridge closes a connection first.
            head: limits.timeouts.head.max(PEER_HEAD_TIMEOUT),
            ..limits.timeouts
        },
        ..limits.clone()
    }
}

fn connection_limits(hub: &Hub, trusted_proxies: TrustedProxies) -> ConnectionLimits {
    let config = &hub.config;
    let timeouts = config.http_timeouts;
    ConnectionLimits {
        slots: ConnectionSlots::new(hub.budgets.limits.connections, trusted_proxies),
        timeouts: ConnectionTimeouts {
            head: timeouts.request_head_within,
            body_progress: timeouts.request_body_progress_within,
            body: timeouts.request_body_within,
            response_progress: timeouts.response_progress_within,
        },
        when_full: WhenFull::Reject {
            limit_reached: TOO_MANY_CONNECTIONS,
            address_share: TOO_MANY_OF_ADDRESS,
        },
        observer: Some(Arc::clone(&hub.budgets.refusals) as _),
        traffic: Arc::default(),
    }
}

/// A running bridge. Dropping the handle does not stop the bridge, which then runs until the
/// runtime ends.
#[derive(Debug)]
pub struct ServerHandle {
    address: SocketAddr,
    hub: Arc<Hub>,
    agent_queries: Arc<AgentQueries>,
    stopping: CancellationToken,
    stop: ServerStop,
    sockets: TaskTracker,
    slots: ConnectionSlots,
    server: JoinHandle<()>,
    admin: Option<AdminServer>,
    tls: Option<TlsAcceptor>,
    state_folder: Option<StateFolder>,
    live_settings: LiveSettings,
    cluster: Option<Arc<ClusterNode>>,
    /// The server for the other bridges.
    peer_server: Option<JoinHandle<()>>,
}

impl ServerHandle {
    /// The settings that can be replaced.
    pub(crate) fn live_settings(&self) -> &LiveSettings {
        &self.live_settings
    }

    /// The address that the bridge listens on, with the actual port if the configured port is 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the bridge.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Waits until neither a client nor a page has been connected for this long.
    pub(crate) async fn idle(&self, duration: Duration) {
        self.slots.idle(duration).await;
    }

    /// The certificate with which the bridge encrypts, if it does.
    pub fn tls(&self) -> Option<&TlsAcceptor> {
        self.tls.as_ref()
    }

    /// Loads `agent_token_file` again. Queries that are sent from now on carry its first credential.
    /// Blocks while it reads the file.
    ///
    /// # Errors
    ///
    /// [`CredentialFileError`] when the file cannot be used. The former credential is still sent.
    pub fn reload_agent_credential(&self) -> Result<(), CredentialFileError> {
        self.agent_queries.reload_credential(&self.hub.config.agent)
    }

    /// Shuts the bridge down gracefully: calls fail with `BridgeStopping`, pages are closed with a
    /// code after which they reconnect (1012), and streams end. Returns after at most 5 s.
    pub async fn shutdown(self) {
        self.hub.stop();
        self.stopping.cancel();
        self.sockets.close();
        let mut servers = vec![self.server];
        servers.extend(self.peer_server);
        let aborts: Vec<_> = servers.iter().map(JoinHandle::abort_handle).collect();
        let ended = async {
            // First, so that pages which connect to other bridges are served by them.
            if let Some(cluster) = &self.cluster {
                cluster.leave().await;
            }
            self.hub.result_store.stop().await;
            self.agent_queries.stop().await;
            self.sockets.wait().await;
            if let Some(admin) = self.admin {
                admin.stopped().await;
            }
            for server in servers {
                let _ = server.await;
            }
            self.hub.traces().stop().await;
        };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await.is_err() {
            aborts.iter().for_each(AbortHandle::abort);
        }
        self.hub.log_suppressed();
        if let Some(folder) = &self.state_folder {
            folder.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::budget::RefusalKind;

    #[test]
    fn refusals_of_connections_are_complete_responses_with_a_time() {
        let after = RefusalKind::MaxConnections.retry_after().unwrap().as_secs();
        for response in [super::TOO_MANY_CONNECTIONS, super::TOO_MANY_OF_ADDRESS] {
            let response = std::str::from_utf8(response).unwrap();
            let (head, body) = response.split_once("\r\n\r\n").unwrap();
            for field in [
                format!("content-length: {}", body.len()),
                format!("retry-after: {after}"),
            ] {
                assert!(head.lines().any(|line| line == field), "{field}: {head}");
            }
        }
    }
}
