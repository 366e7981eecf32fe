//! MCP sessions (revisions before 2026-07-28), each bound to the realm that opened it.

use std::cell::Cell;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bridge_auth::RealmId;
use dashmap::DashMap;
use futures_util::{Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{
    EventStore, ServerSseMessage, SessionId, SessionManager,
};
use serde_json::value::to_raw_value;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::message::request_key;
use super::request_scope::{OPENING_SESSION, REALM};
use super::session::McpSession;
use crate::config::Config;
use crate::cpu_pool::CpuPool;
use crate::mcp::event_log::{EventLog, is_in_standalone_stream};
use crate::mcp::raw_event::RETRY_DELAY;
use crate::shares::{Party, PoolUse, SharedPool};
use crate::web::sessions_by_realm::IdsByRealm;

/// Idle sessions are ended at most this fraction of the idle timeout too late. This limits how
/// often they are checked, however many sessions there are.
const IDLE_CHECK_DIVISOR: u32 = 20;

/// rmcp ends a session at once, unless it is stuck.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// rmcp's sessions in memory, visible only to the token that opened them.
pub(super) struct RealmSessionManager {
    inner: LocalSessionManager,
    sessions: DashMap<SessionId, Arc<McpSession>>,
    by_realm: IdsByRealm<SessionId>,
    event_log: EventLog,
    slots: SharedPool<RealmId, Weak<McpSession>>,
    idle_timeout: Duration,
    /// The task that ends idle sessions.
    idle_task: OnceLock<AbortHandle>,
}

impl RealmSessionManager {
    /// Creates the manager and spawns its task, which requires a runtime.
    pub(super) fn start(config: &Config, cpu_pool: CpuPool) -> Arc<Self> {
        let sessions = Arc::new(Self::new(config, cpu_pool));
        let weak = Arc::downgrade(&sessions);
        let task = tokio::spawn(async move {
            while let Some(sessions) = weak.upgrade() {
                let next = sessions.close_idle().await;
                drop(sessions);
                tokio::time::sleep_until(next).await;
            }
        });
        let _ = sessions.idle_task.set(task.abort_handle());
        sessions
    }

    fn new(config: &Config, cpu_pool: CpuPool) -> Self {
        let event_log = EventLog::new(config.max_replay_bytes, cpu_pool);
        let store = Arc::new(event_log.clone());
        let mut inner = LocalSessionManager::default().with_event_store(store);
        // rmcp does not see calls of tools, so idle sessions are determined here.
        inner.session_config.keep_alive = None;
        Self {
            inner,
            sessions: DashMap::new(),
            by_realm: IdsByRealm::default(),
            event_log,
            slots: SharedPool::new(config.max_mcp_sessions),
            idle_timeout: config.mcp_session_idle,
            idle_task: OnceLock::new(),
        }
    }

    /// Creates a session that a client is about to open, with a permit. Returns `None` at the limit
    /// of all sessions.
    pub(super) fn try_create(&self, party: &Party<RealmId>) -> Option<Arc<McpSession>> {
        let session = Arc::new(McpSession::new(party.member, party.address));
        let permit = self.slots.try_acquire(party, Arc::downgrade(&session))?;
        session.set_permit(permit);
        Some(session)
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
    async fn close_idle(&self) -> Instant {
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
            if let Some((id, session)) = self.sessions.remove_if(&id, |_, it| is_idle(it)) {
                let _ =
                    tokio::time::timeout(CLOSE_TIMEOUT, self.close_removed(&id, &session)).await;
            }
        }
        next.max(Instant::now() + self.idle_timeout / IDLE_CHECK_DIVISOR)
    }

    /// Ends the session of this realm that has been idle for longest, which is one without a
    /// request, a stream or a call. Returns false when there is none.
    pub(super) async fn evict_idle(&self, realm: RealmId) -> bool {
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
            if let Some((id, session)) = self.sessions.remove_if(&id, |_, it| is_idle(it)) {
                tracing::debug!("an idle MCP session made room for another of its token");
                let _ =
                    tokio::time::timeout(CLOSE_TIMEOUT, self.close_removed(&id, &session)).await;
                return true;
            }
        }
    }

    /// Ends a session, at the limit of all sessions, that makes room for one of this party: the one
    /// that has been idle for longest, of those who have the most. Returns false when there is none.
    pub(super) async fn evict_for(&self, party: &Party<RealmId>) -> bool {
        let idle_since = |session: &Weak<McpSession>| {
            let session = session.upgrade()?;
            // A session that is being opened has no id yet.
            session.id()?;
            session.idle_since()
        };
        let evicted = self.slots.entry_to_evict(party, idle_since);
        let Some(session) = evicted.and_then(|session| session.upgrade()) else {
            return false;
        };
        let Some((id, session)) = session.id().and_then(|id| self.sessions.remove(id)) else {
            return false;
        };
        tracing::debug!("an MCP session made room for one of another party");
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.close_removed(&id, &session)).await;
        true
    }

    /// Closes a session that has been removed from the map.
    async fn close_removed(
        &self,
        id: &SessionId,
        session: &McpSession,
    ) -> Result<(), LocalSessionManagerError> {
        self.by_realm.remove(session.realm, id);
        session.end();
        self.event_log.remove_session(id);
        self.inner.close_session(id).await
    }
}

impl Drop for RealmSessionManager {
    fn drop(&mut self) {
        if let Some(watch) = self.idle_task.get() {
            watch.abort();
        }
    }
}

impl RealmSessionManager {
    /// Binds the events of a stream to a session, and leaves out events that its client does not
    /// support.
    fn bind_stream<S: Stream<Item = ServerSseMessage>>(
        &self,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = ServerSseMessage> + use<S> {
        let (owner, events) = (Arc::clone(id), self.event_log.clone());
        // Each event is bound, because a log that was evicted and starts again belongs to no
        // session.
        let bound = stream.inspect(move |event| {
            if let Some(event_id) = &event.event_id {
                events.bind_session(&owner, event_id);
            }
        });
        // rmcp starts the stream of each request with such an event, whatever the client's
        // revision.
        let sends_priming_event = self.sends_priming_event(id);
        bound
            .filter(move |event| std::future::ready(sends_priming_event || event.message.is_some()))
    }

    /// Whether a client of a session can resume a stream after this event.
    pub(super) fn can_resume(&self, id: &SessionId, last_event_id: &str) -> bool {
        self.event_log.belongs_to(id, last_event_id) || is_in_standalone_stream(id, last_event_id)
    }

    /// Whether the streams of a session start with an event without data.
    fn sends_priming_event(&self, id: &SessionId) -> bool {
        let session = self.sessions.get(id);
        session.is_some_and(|session| session.supports_priming_events())
    }

    /// Opens the standalone stream of a session, which a client opens with GET.
    async fn open_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<
        impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
        LocalSessionManagerError,
    > {
        // With the id of the priming event, a client resumes the stream also if it breaks before
        // the first notification.
        let start = self.event_log.standalone_start(id);
        let stream = self.inner.create_standalone_stream(id).await?;
        let priming = self
            .sends_priming_event(id)
            .then(|| ServerSseMessage::priming(start, RETRY_DELAY));
        Ok(futures_util::stream::iter(priming).chain(self.bind_stream(id, stream)))
    }
}

impl SessionManager for RealmSessionManager {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        // The endpoint sets it for a request that opens a session.
        let Some(session) = OPENING_SESSION.try_with(Cell::take).ok().flatten() else {
            return Err(SessionError::SessionServiceTerminated.into());
        };
        let (id, transport) = self.inner.create_session().await?;
        session.set_id(&id);
        let party = Party::new(session.address, session.realm);
        self.event_log.add_session(&id, party);
        self.by_realm.insert(session.realm, Arc::clone(&id));
        self.sessions.insert(Arc::clone(&id), session);
        Ok((id, transport))
    }

    /// Returns false for a session of another token.
    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let Ok(realm) = REALM.try_get() else {
            return Ok(false);
        };
        Ok(self.get(realm, id).is_some() && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // Outside a request, rmcp closes a session of any realm.
        let realm = REALM.try_get().ok();
        let is_own = |session: &McpSession| realm.is_none_or(|realm| session.realm == realm);
        if let Some((id, session)) = self.sessions.remove_if(id, |_, session| is_own(session)) {
            return self.close_removed(&id, &session).await;
        }
        if self.sessions.contains_key(id) {
            Err(LocalSessionManagerError::SessionNotFound(Arc::clone(id)))
        } else {
            self.inner.close_session(id).await
        }
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.create_stream(id, message).await?;
        Ok(self.bind_stream(id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        if let ClientJsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(request) = &cancelled.params.request_id
            && let Some(session) = self.sessions.get(id)
            && let Ok(id) = to_raw_value(request)
            && let Some(key) = request_key(&id)
        {
            session.cancel_request(&key);
        }
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.open_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        if !self.event_log.belongs_to(id, &last_event_id) {
            // Nothing has followed the priming event.
            if is_in_standalone_stream(id, &last_event_id) {
                return Ok(self.open_standalone_stream(id).await?.left_stream());
            }
            // An event of another session is treated as unknown.
            return Err(LocalSessionManagerError::SessionNotFound(Arc::clone(id)));
        }
        let stream = self.inner.resume(id, last_event_id).await?;
        Ok(self.bind_stream(id, stream).right_stream())
    }

    /// Returns `None`, because rmcp uses this store for requests without a session. Dropping their
    /// stream cancels them, so their events are not stored. The inner manager stores those of
    /// sessions.
    fn event_store(&self) -> Option<Arc<dyn EventStore>> {
        None
    }
}
