//! Starts and stops a bridge.

mod preflight;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bridge_edge::StateFolder;
use bridge_edge::connections::{
    self, ConnectionLimits, ConnectionSlots, ConnectionTimeouts, Listener, WhenFull,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent_queries::AgentQueries;
use crate::compat::CompatService;
use crate::config::Config;
use crate::http::{self, MountedApp};
use crate::hub::Hub;
use crate::mcp::{self, McpService, SessionIds};
use crate::web::AppState;

pub(crate) use preflight::CheckedConfig;
pub use preflight::StartError;

/// How long open connections may take to end after [`ServerHandle::shutdown`].
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The response to a connection that exceeds `max_connections`.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain\r\nconnection: close\r\ncontent-length: 84\r\n\r\n\
    the bridge serves as many connections as it may: retry, or raise `max_connections`.\n";

/// The response to a connection of an address that has as many of them as it may have.
const TOO_MANY_OF_ADDRESS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain\r\nconnection: close\r\ncontent-length: 159\r\n\r\n\
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
    let checked = CheckedConfig::new(&config)?;
    let bind_error = |error| StartError::Bind {
        address: config.network.bind,
        error,
    };
    let state_folder = config.state.state_dir.as_deref().map(StateFolder::open);
    let state_folder = state_folder.transpose().map_err(StartError::StateFolder)?;
    let folder_key = state_folder.as_ref().map(StateFolder::key);
    let state_key = config.state.state_key.as_ref().or(folder_key).cloned();
    let session_ids = SessionIds::load(state_key.as_ref(), state_folder.as_ref());
    let session_ids = session_ids.map_err(StartError::StateFolder)?;
    let listener = Listener::bind(config.network.bind).map_err(bind_error)?;
    let address = listener.local_addr().map_err(bind_error)?;

    if state_key.is_none() {
        tracing::warn!(
            "MCP sessions end with this process, and some AI clients do not start new ones: set \
             `state_dir` (MCP_WEB_STATE_DIR) to restore them after a restart"
        );
    }
    checked.authenticator.start();
    let tokens_are_self_made = !checked.authenticator.has_configured_tokens();
    let agent_queries = Arc::new(AgentQueries::new(&config, tokens_are_self_made));
    let hub = Hub::new(
        config,
        mcp::check_definition,
        Arc::clone(&agent_queries) as _,
    );
    agent_queries.set_hub(&hub);
    if hub.config.agent.run_agent {
        agent_queries.start_agent(address);
    }
    let stopping = CancellationToken::new();
    let authenticator = Arc::new(checked.authenticator);
    let compat = hub.config.compatibility.compat.map(|_| {
        let service = CompatService::new(&hub, &agent_queries, &authenticator);
        Arc::new(service)
    });
    let state = AppState {
        policy: Arc::new(checked.policy),
        authenticator,
        protected_resource: Arc::new(checked.protected_resource),
        page_sockets: TaskTracker::new(),
        stopping: stopping.clone(),
        home: app.home.clone(),
        hub: Arc::clone(&hub),
        agent_queries: Arc::clone(&agent_queries),
    };
    let limits = connection_limits(&hub);
    let sockets = state.page_sockets.clone();
    let mcp = McpService::new(state.clone(), state_key.as_ref(), session_ids);
    let handler = http::request_handler(state, mcp, compat, &limits, app);
    let handler = Arc::new(handler);
    let respond = move |request, peer| {
        let handler = Arc::clone(&handler);
        async move { handler.handle(request, peer).await }
    };
    let server = tokio::spawn(connections::serve(
        listener,
        respond,
        limits,
        stopping.clone(),
    ));
    Ok(ServerHandle {
        address,
        hub,
        agent_queries,
        stopping,
        sockets,
        server,
        state_folder,
    })
}

fn connection_limits(hub: &Hub) -> ConnectionLimits {
    let config = &hub.config;
    let timeouts = config.http_timeouts;
    ConnectionLimits {
        slots: ConnectionSlots::new(
            config.network.max_connections,
            config.network.trusted_proxies.clone(),
        ),
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
    sockets: TaskTracker,
    server: JoinHandle<()>,
    state_folder: Option<StateFolder>,
}

impl ServerHandle {
    /// The address that the bridge listens on, with the actual port if the configured port is 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the bridge.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Shuts the bridge down gracefully: calls fail with `BridgeStopping`, pages are closed with a
    /// code after which they reconnect (1012), and streams end. Returns after at most 5 s.
    pub async fn shutdown(self) {
        self.hub.stop();
        self.stopping.cancel();
        self.sockets.close();
        let abort = self.server.abort_handle();
        let ended = async {
            self.hub.result_store.stop().await;
            self.agent_queries.stop().await;
            self.sockets.wait().await;
            let _ = self.server.await;
        };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await.is_err() {
            abort.abort();
        }
        if let Some(folder) = &self.state_folder {
            folder.release();
        }
    }
}
