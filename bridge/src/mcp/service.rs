//! The MCP service: the sessions, and what serves their requests.

use std::sync::Arc;

use bridge_settings::Secret;

use super::client_cache::ClientCache;
use super::input_required::RequestStateSealer;
use super::rmcp_handler::Handler;
use super::rmcp_services::RmcpServices;
use super::session::McpSession;
use super::session_ids::SessionIds;
use super::sessions::McpSessions;
use crate::agent_queries::QueryLifetime;
use crate::web::AppState;

/// The MCP service with its sessions.
#[derive(Clone)]
pub(crate) struct McpService {
    pub(super) state: AppState,
    pub(super) handler: Handler,
    pub(super) rmcp: RmcpServices,
    pub(super) sessions: Arc<McpSessions>,
    pub(super) client_cache: Arc<ClientCache>,
    pub(super) sealer: Arc<RequestStateSealer>,
    pub(super) session_ids: Arc<SessionIds>,
}

impl McpService {
    /// Creates the service. `key` seals the states of calls, if it survives a restart.
    pub(crate) fn new(state: AppState, key: Option<&Secret>, session_ids: SessionIds) -> Self {
        let hub = Arc::clone(&state.hub);
        let sessions = Arc::new(McpSessions::start(&hub));
        let sessions_of_realms = Arc::downgrade(&sessions);
        hub.register_client_sessions(sessions_of_realms);
        let handler = Handler::new(Arc::clone(&hub), Arc::clone(&sessions));
        let max_request_bytes = hub.config.network.max_request_bytes;
        Self {
            rmcp: RmcpServices::new(&handler, max_request_bytes, &state.stopping),
            handler,
            sessions,
            client_cache: Arc::default(),
            sealer: Arc::new(RequestStateSealer::new(key, &hub.config)),
            session_ids: Arc::new(session_ids),
            state,
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
    pub(super) fn end_session_with_query(
        &self,
        lifetime: QueryLifetime,
        session: &Arc<McpSession>,
    ) {
        let session = Arc::downgrade(session);
        let sessions = Arc::clone(&self.sessions);
        let stopping = self.state.stopping.clone();
        self.state.page_sockets.spawn(async move {
            tokio::select! {
                () = lifetime.drained() => {}
                () = stopping.cancelled() => {}
            }
            // The session may have ended already.
            if let Some(session) = session.upgrade() {
                sessions.end(&session, "its query has ended");
            }
        });
    }
}
