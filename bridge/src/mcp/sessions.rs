//! The MCP sessions (revisions before 2026-07-28), each visible only to the token that opened it.

use std::sync::Arc;
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_protocol::ConnectedClient;
use bridge_realm::realm::Refusal;
use tokio::time::Instant;

use super::event_log::EventLog;
use super::notifier::ClientNotifier;
use super::session::{ActivityGuard, McpSession};
use crate::budget::{Party, PoolUse};
use crate::config::McpSessionLimits;
use crate::hub::{ClientSessions, Hub};
use crate::web::session_pool::{PooledSession, SessionPool, SessionSlot};

/// The MCP sessions, by their ids.
pub(super) struct McpSessions {
    pool: Arc<SessionPool<LoggedSession>>,
    event_log: EventLog,
}

/// A session, with the log of the events that its client can still receive.
struct LoggedSession {
    session: Arc<McpSession>,
    event_log: EventLog,
}

impl PooledSession for LoggedSession {
    fn idle_deadline(&self, idle: Duration) -> Option<Instant> {
        self.session.idle_deadline(idle)
    }

    fn end(&self, reason: &'static str) {
        self.session.end();
        self.event_log.remove_session(&self.session);
        if let Some(lines) = self.session.lines() {
            lines.end(reason);
        }
    }
}

impl ClientSessions for McpSessions {
    fn realms(&self) -> Vec<RealmId> {
        self.pool.realms()
    }

    fn has_realm(&self, realm: RealmId) -> bool {
        self.pool.has_realm(realm)
    }

    fn end_of_realm(&self, realm: RealmId) {
        self.pool.end_of_realm(realm);
    }
}

impl McpSessions {
    /// Creates the collection, which requires a runtime.
    pub(super) fn start(hub: &Hub) -> Self {
        let McpSessionLimits {
            mcp_session_idle,
            max_replay_bytes,
            ..
        } = hub.config.mcp_sessions;
        Self {
            pool: SessionPool::start(hub.budgets.limits.mcp_sessions, mcp_session_idle),
            event_log: EventLog::new(max_replay_bytes),
        }
    }

    /// Opens a session with this id, which is active while the guard exists. At the limit of all
    /// sessions, one of the parties with the most makes room.
    ///
    /// # Errors
    ///
    /// When no session makes room: how much of the limit the party uses.
    pub(super) fn open(
        &self,
        id: &Arc<str>,
        party: &Party<RealmId>,
    ) -> Result<(Arc<McpSession>, ActivityGuard), PoolUse> {
        let slot = self.pool.reserve(id, party)?;
        let session = Arc::new(McpSession::new(Arc::clone(id), *party));
        let activity = session.begin_activity();
        self.insert(slot, &session);
        Ok((session, activity))
    }

    /// Adds a session that was restored. At the limit of all sessions, one of another party makes room:
    /// those of one party would evict each other with every request.
    ///
    /// # Errors
    ///
    /// When no session makes room: how much of the limit the party uses.
    pub(super) fn add_restored(&self, session: McpSession) -> Result<Arc<McpSession>, PoolUse> {
        let slot = self
            .pool
            .reserve_sparing_own(session.id(), &session.party())?;
        let session = Arc::new(session);
        self.insert(slot, &session);
        Ok(session)
    }

    fn insert(&self, slot: SessionSlot, session: &Arc<McpSession>) {
        let logged = LoggedSession {
            session: Arc::clone(session),
            event_log: self.event_log.clone(),
        };
        self.pool.insert(slot, logged);
    }

    /// Connects a client to its realm, see [`ClientNotifier::connect`]. At the limit of clients of the
    /// token, its session that has been idle for longest is evicted.
    ///
    /// # Errors
    ///
    /// When the limit of clients of the token is reached, and none is idle.
    pub(super) fn connect_client(
        &self,
        hub: &Arc<Hub>,
        realm: RealmId,
        address: ClientAddress,
        client: &ConnectedClient,
    ) -> Result<Option<ClientNotifier>, Refusal> {
        self.pool.evicting_idle(realm, || {
            ClientNotifier::connect(hub, realm, address, client.clone())
        })
    }

    /// Checks that a realm has fewer than `max_clients` clients. Otherwise its session that has been
    /// idle for longest makes room.
    ///
    /// # Errors
    ///
    /// The number of clients, when none of them is idle.
    pub(super) fn make_room_for_client(
        &self,
        hub: &Hub,
        realm: RealmId,
        max_clients: usize,
    ) -> Result<(), usize> {
        self.pool.evicting_idle(realm, || {
            let clients = hub.with_realm(realm, |realm| realm.client_count());
            match clients.unwrap_or(0) {
                clients if clients >= max_clients => Err(clients),
                _ => Ok(()),
            }
        })
    }

    /// Returns the session, if this realm has opened it.
    pub(super) fn get(&self, realm: RealmId, id: &str) -> Option<Arc<McpSession>> {
        let session = self.pool.with_session(id, |it| Arc::clone(&it.session))?;
        (session.realm() == realm).then_some(session)
    }

    /// The sessions of a realm.
    pub(super) fn of_realm(&self, realm: RealmId) -> Vec<Arc<McpSession>> {
        self.pool.map_realm(realm, |it| Arc::clone(&it.session))
    }

    /// The number of sessions.
    pub(super) fn count(&self) -> usize {
        self.pool.count()
    }

    pub(super) fn event_log(&self) -> &EventLog {
        &self.event_log
    }

    /// Ends a session, unless it has ended already. The reason is logged.
    pub(super) fn end(&self, session: &McpSession, reason: &'static str) {
        self.pool.end(session.id(), reason);
    }
}
