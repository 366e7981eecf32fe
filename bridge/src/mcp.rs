//! The MCP leg: rmcp's Streamable HTTP service in front of the realms.
//!
//! This is the only module that knows rmcp. `endpoint` checks the token, smooths what rmcp is
//! strict about, and hands the request on; `handler` answers the methods; `reach` carries progress,
//! logs and questions to the client of a running call, `rounds` seals what a client of 2026-07-28
//! carries between the rounds of one; `sessions` binds each MCP session to the realm that opened
//! it, and ends those that are idle, `events` keeps what a dropped stream lost, `replay` says it again; `clients` tells
//! clients what changed; `known` is what a request shows of its client.
//!
//! Beside rmcp is the `lane`: most `tools/call` and `tools/list` take it, and never meet rmcp.

// SEP-2577 deprecates logging, sampling, roots and subscriptions by method; the clients of today
// have them.
#![allow(deprecated)]

mod asked;
mod capabilities;
mod clients;
mod convert;
mod encoding;
mod endpoint;
mod events;
mod handler;
mod known;
mod lane;
mod reach;
mod replay;
mod rounds;
mod session;
mod session_choice;
mod sessions;

use std::cell::Cell;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::http::AppState;
use crate::hub::Hub;
use crate::queries::QueryLifetime;
use bridge_auth::RealmId;
use handler::Handler;
use rounds::RequestStateSealer;
use session::McpSession;
use sessions::RealmSessionManager;

pub(crate) use convert::MAX_CLIENT_INFO_CHARS;
pub(crate) use convert::check_definition;
pub(crate) use endpoint::{endpoint, serve};

tokio::task_local! {
    /// The realm of the HTTP request being served: rmcp's session manager and tool lookup have no
    /// other way to know it.
    static REALM: RealmId;

    /// The MCP session that this request opens.
    static OPENED: Cell<Option<Arc<McpSession>>>;
}

/// A stream of events that says nothing shows so often that it is there. Some clients read for five
/// seconds: httpx's, where an application makes its own.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(4);

/// The service and the sessions behind it.
#[derive(Clone)]
pub(crate) struct McpService {
    service: StreamableHttpService<Handler, RealmSessionManager>,
    sessions: Arc<RealmSessionManager>,
    client_cache: Arc<lane::ClientCache>,
}

impl McpService {
    pub(crate) fn new(hub: &Arc<Hub>, stopping: CancellationToken) -> Self {
        let sessions = RealmSessionManager::start(&hub.config);
        // Host and Origin are checked on every route before this one.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_cancellation_token(stopping)
            // It would begin streams with an event that older clients do not know.
            .with_sse_retry(None)
            .with_sse_keep_alive(Some(KEEP_ALIVE_INTERVAL))
            .with_max_request_body_bytes(hub.config.max_request_bytes);
        let hub = Arc::clone(hub);
        let seal = Arc::new(RequestStateSealer::new(&hub.config));
        let evicting = Arc::downgrade(&sessions);
        let handler =
            move || Handler::new(Arc::clone(&hub), Arc::clone(&seal), Weak::clone(&evicting));
        let service =
            StreamableHttpService::new(move || Ok(handler()), Arc::clone(&sessions), config);
        Self {
            service,
            sessions,
            client_cache: Arc::default(),
        }
    }

    /// A session that an agent has opened with the token of its query ends with that: the agent
    /// cannot end it any more.
    fn close_session_with_query(&self, edge: &AppState, life: QueryLifetime, session: &str) {
        let (sessions, id) = (Arc::clone(&self.sessions), Arc::from(session));
        let stopping = edge.stopping.clone();
        edge.page_sockets.spawn(async move {
            tokio::select! {
                () = life.drained() => {}
                () = stopping.cancelled() => {}
            }
            // One that has ended meanwhile is no loss.
            let _ = sessions.close_session(&id).await;
        });
    }
}
