//! The MCP sessions (revisions before 2026-07-28), each visible only to the token that opened it.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_protocol::ConnectedClient;
use bridge_realm::realm::Refusal;
use bridge_service::ClientAddress;
use dashmap::DashMap;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::event_log::EventLog;
use super::notifier::ClientNotifier;
use super::session::{ActivityGuard, McpSession};
use crate::budget::{Party, PoolUse, SharedPool};
use crate::config::Config;
use crate::hub::Hub;
use crate::web::sessions_by_realm::IdsByRealm;

/// Idle sessions are ended at most this fraction of the idle timeout too late. This limits how
/// often they are checked, however many sessions there are.
const IDLE_CHECK_DIVISOR: u32 = 20;

/// The MCP sessions, by their ids.
pub(super) struct McpSessions {
    sessions: DashMap<Arc<str>, Arc<McpSession>>,
    by_realm: IdsByRealm<Arc<str>>,
    event_log: EventLog,
    slots: SharedPool<RealmId, Weak<McpSession>>,
    idle_timeout: Duration,
    /// The task that ends idle sessions.
    idle_task: OnceLock<AbortHandle>,
}

impl McpSessions {
    /// Creates the collection and spawns its task, which requires a runtime.
    pub(super) fn start(config: &Config) -> Arc<Self> {
        let sessions = Arc::new(Self {
            sessions: DashMap::new(),
            by_realm: IdsByRealm::default(),
            event_log: EventLog::new(config.max_replay_bytes),
            slots: SharedPool::new(config.max_mcp_sessions),
            idle_timeout: config.mcp_session_idle,
            idle_task: OnceLock::new(),
        });
        let weak = Arc::downgrade(&sessions);
        let task = tokio::spawn(async move {
            while let Some(sessions) = weak.upgrade() {
                let next = sessions.close_idle();
                drop(sessions);
                tokio::time::sleep_until(next).await;
            }
        });
        let _ = sessions.idle_task.set(task.abort_handle());
        sessions
    }

    /// Opens a session, which is active while the guard exists. Returns `None` at the limit of all
    /// sessions.
    pub(super) fn open(&self, party: &Party<RealmId>) -> Option<(Arc<McpSession>, ActivityGuard)> {
        let session = Arc::new(McpSession::new(party.member, party.address));
        let activity = session.begin_activity();
        let permit = self.slots.try_acquire(party, Arc::downgrade(&session))?;
        session.set_permit(permit);
        let id = session.id();
        self.by_realm.insert(session.realm, Arc::clone(id));
        self.sessions.insert(Arc::clone(id), Arc::clone(&session));
        Some((session, activity))
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
        loop {
            match ClientNotifier::connect(hub, realm, address, client.clone()) {
                Err(_) if self.evict_idle(realm) => {}
                connected => return connected,
            }
        }
    }

    /// Returns how many of all sessions a party has.
    pub(super) fn used_by(&self, party: &Party<RealmId>) -> PoolUse {
        self.slots.used_by(party)
    }

    /// Returns the session, if this realm has opened it.
    pub(super) fn get(&self, realm: RealmId, id: &str) -> Option<Arc<McpSession>> {
        let session = self.sessions.get(id)?;
        (session.realm == realm).then(|| Arc::clone(&session))
    }

    /// The number of sessions.
    pub(super) fn count(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn event_log(&self) -> &EventLog {
        &self.event_log
    }

    /// Ends the sessions that had no request and no open stream for the idle timeout, and returns
    /// when to check again.
    fn close_idle(&self) -> Instant {
        let now = Instant::now();
        let mut next = now + self.idle_timeout;
        let mut idle = Vec::new();
        for session in &self.sessions {
            match session.idle_deadline(self.idle_timeout) {
                Some(at) if at <= now => idle.push(Arc::clone(session.key())),
                Some(at) => next = next.min(at),
                None => {}
            }
        }
        for id in idle {
            // A request may have arrived meanwhile.
            let is_idle = |session: &Arc<McpSession>| {
                session
                    .idle_deadline(self.idle_timeout)
                    .is_some_and(|at| at <= now)
            };
            if let Some((_, session)) = self.sessions.remove_if(&id, |_, it| is_idle(it)) {
                self.end_removed(&session);
            }
        }
        next.max(Instant::now() + self.idle_timeout / IDLE_CHECK_DIVISOR)
    }

    /// Ends the session of this realm that has been idle for longest, which is one without a
    /// request, a stream or a call. Returns false when there is none.
    pub(super) fn evict_idle(&self, realm: RealmId) -> bool {
        loop {
            let ids = self.by_realm.ids(realm).into_iter();
            let idle = ids.filter_map(|id| {
                let since = self.sessions.get(&id)?.idle_since()?;
                Some((since, id))
            });
            let Some((since, id)) = idle.min_by_key(|(since, _)| *since) else {
                return false;
            };
            // A request may have arrived meanwhile.
            let is_idle = |session: &Arc<McpSession>| session.idle_since() == Some(since);
            if let Some((_, session)) = self.sessions.remove_if(&id, |_, it| is_idle(it)) {
                tracing::debug!("an idle MCP session made room for another of its token");
                self.end_removed(&session);
                return true;
            }
        }
    }

    /// Ends a session, at the limit of all sessions, that makes room for one of this party: the one
    /// that has been idle for longest, of those who have the most. Returns false when there is none.
    pub(super) fn evict_for(&self, party: &Party<RealmId>) -> bool {
        let idle_since = |session: &Weak<McpSession>| session.upgrade()?.idle_since();
        let evicted = self.slots.entry_to_evict(party, idle_since);
        let Some(session) = evicted.and_then(|session| session.upgrade()) else {
            return false;
        };
        // A request may have arrived meanwhile, or another has ended it.
        let is_idle = |session: &Arc<McpSession>| session.idle_since().is_some();
        let removed = self.sessions.remove_if(session.id(), |_, it| is_idle(it));
        if let Some((_, session)) = removed {
            tracing::debug!("an MCP session made room for one of another party");
            self.end_removed(&session);
        }
        true
    }

    /// Ends a session, unless it has ended already.
    pub(super) fn end(&self, session: &McpSession) {
        if let Some((_, session)) = self.sessions.remove(session.id()) {
            self.end_removed(&session);
        }
    }

    /// Ends a session that has been removed from the map.
    fn end_removed(&self, session: &McpSession) {
        self.by_realm.remove(session.realm, session.id());
        session.end();
        self.event_log.remove_session(session);
    }
}

impl Drop for McpSessions {
    fn drop(&mut self) {
        if let Some(watch) = self.idle_task.get() {
            watch.abort();
        }
    }
}
