//! rmcp's Streamable HTTP service and the sessions behind it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::client_cache::ClientCache;
use super::handler::Handler;
use super::input_required::RequestStateSealer;
use super::session_manager::RealmSessionManager;
use crate::agent_queries::QueryLifetime;
use crate::web::AppState;

/// The interval of keepalives in an event stream without events. Some clients have a read timeout
/// of five seconds: it is the default of httpx, where an application creates its own client.
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(4);

/// The MCP service with its sessions.
#[derive(Clone)]
pub(crate) struct McpService {
    pub(super) state: AppState,
    pub(super) service: StreamableHttpService<Handler, RealmSessionManager>,
    pub(super) sessions: Arc<RealmSessionManager>,
    pub(super) client_cache: Arc<ClientCache>,
    pub(super) sealer: Arc<RequestStateSealer>,
}

impl McpService {
    pub(crate) fn new(state: AppState) -> Self {
        let hub = Arc::clone(&state.hub);
        let sessions = RealmSessionManager::start(&hub.config, hub.cpu_pool.clone());
        // Host and Origin are checked on every route before this one.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_cancellation_token(state.stopping.clone())
            // A retry event would start streams with an event that older clients do not support.
            .with_sse_retry(None)
            .with_sse_keep_alive(Some(KEEP_ALIVE_INTERVAL))
            .with_max_request_body_bytes(hub.config.max_request_bytes);
        let sealer = Arc::new(RequestStateSealer::new(&hub.config));
        let evicting = Arc::downgrade(&sessions);
        let handler_sealer = Arc::clone(&sealer);
        let handler = move || {
            let hub = Arc::clone(&hub);
            Handler::new(hub, Arc::clone(&handler_sealer), Weak::clone(&evicting))
        };
        let service =
            StreamableHttpService::new(move || Ok(handler()), Arc::clone(&sessions), config);
        Self {
            state,
            service,
            sessions,
            client_cache: Arc::default(),
            sealer,
        }
    }

    /// The number of MCP sessions.
    pub(crate) fn session_count(&self) -> usize {
        self.sessions.count()
    }

    /// The bytes of the events that are kept for replay.
    pub(crate) fn replay_bytes(&self) -> usize {
        self.sessions.event_log().bytes()
    }

    /// Ends a session that was opened with the token of a query when the query ends, because the
    /// agent can then no longer end it.
    pub(super) fn close_session_with_query(&self, lifetime: QueryLifetime, session: &str) {
        let (sessions, id) = (Arc::clone(&self.sessions), Arc::from(session));
        let stopping = self.state.stopping.clone();
        self.state.page_sockets.spawn(async move {
            tokio::select! {
                () = lifetime.drained() => {}
                () = stopping.cancelled() => {}
            }
            // The session may have ended already.
            let _ = sessions.close_session(&id).await;
        });
    }
}
