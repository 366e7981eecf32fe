//! MCP sessions (revisions before 2026-07-28), each bound to the realm that opened it.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dashmap::DashMap;
use futures_util::{Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{
    EventStore, ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::events::Events;
use super::replay::RETRY;
use super::session::{Session, request_key};
use super::{OPENED, REALM};
use crate::auth::RealmId;
use crate::by_realm::ByRealm;
use crate::config::Config;

/// The id of the event without data with which a stream begins that a client opens by itself.
pub(super) const FIRST_EVENT: &str = "0";

/// A session that is idle ends this long after its time at the latest, in parts of that time:
/// however many there are, they are not looked at more often.
const IDLE_PART: u32 = 20;

/// rmcp ends a session at once, unless it is stuck.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// rmcp's sessions in memory, visible only to the token that opened them.
pub(super) struct BoundSessions {
    inner: LocalSessionManager,
    sessions: DashMap<SessionId, Arc<Session>>,
    by_realm: ByRealm<SessionId>,
    events: Events,
    places: Arc<Semaphore>,
    idle: Duration,
    /// Ends those that are idle.
    watch: OnceLock<AbortHandle>,
}

impl BoundSessions {
    /// Needs a runtime.
    pub(super) fn start(config: &Config) -> Arc<Self> {
        let sessions = Arc::new(Self::new(config));
        let watched = Arc::downgrade(&sessions);
        let watch = tokio::spawn(async move {
            while let Some(sessions) = watched.upgrade() {
                let next = sessions.end_idle().await;
                drop(sessions);
                tokio::time::sleep_until(next).await;
            }
        });
        let _ = sessions.watch.set(watch.abort_handle());
        sessions
    }

    fn new(config: &Config) -> Self {
        let events = Events::new(config.max_replay_bytes);
        let store = Arc::new(events.clone());
        let mut inner = LocalSessionManager::default().with_event_store(store);
        // rmcp does not see the calls of the lane: when a session is idle is known here.
        inner.session_config.keep_alive = None;
        Self {
            inner,
            sessions: DashMap::new(),
            by_realm: ByRealm::default(),
            events,
            places: Arc::new(Semaphore::new(config.max_mcp_sessions)),
            idle: config.mcp_session_idle,
            watch: OnceLock::new(),
        }
    }

    /// A place for one more session; `None` when there are as many as may be.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// The session, if this realm has opened it.
    pub(super) fn of(&self, realm: RealmId, id: &str) -> Option<Arc<Session>> {
        let session = self.sessions.get(id)?;
        (session.realm == realm).then(|| Arc::clone(&session))
    }

    pub(super) fn events(&self) -> &Events {
        &self.events
    }

    /// Ends the sessions that had no request and no open stream for their time, and says when to
    /// look again.
    async fn end_idle(&self) -> Instant {
        let now = Instant::now();
        let mut next = now + self.idle;
        let mut idle = Vec::new();
        for session in &self.sessions {
            match session.idle_at(self.idle) {
                Some(at) if at <= now => idle.push(Arc::clone(session.key())),
                Some(at) => next = next.min(at),
                None => {}
            }
        }
        for id in idle {
            // A request may have come meanwhile.
            let is_idle =
                |session: &Arc<Session>| session.idle_at(self.idle).is_some_and(|at| at <= now);
            if let Some((id, session)) = self.sessions.remove_if(&id, |_, it| is_idle(it)) {
                let _ = tokio::time::timeout(CLOSE_WITHIN, self.end(&id, &session)).await;
            }
        }
        next.max(Instant::now() + self.idle / IDLE_PART)
    }

    /// Ends the session of this realm that has been idle for longest: one without a request, a
    /// stream and a call. False when there is none.
    pub(super) async fn evict_idle(&self, realm: RealmId) -> bool {
        loop {
            let ids = self.by_realm.of(realm).into_iter();
            let idle = ids.filter_map(|id| {
                let since = self.sessions.get(&id)?.idle_since()?;
                Some((since, id))
            });
            let Some((since, id)) = idle.min_by_key(|(since, _)| *since) else {
                return false;
            };
            // A request may have come meanwhile.
            let is_idle = |session: &Arc<Session>| session.idle_since() == Some(since);
            if let Some((id, session)) = self.sessions.remove_if(&id, |_, it| is_idle(it)) {
                tracing::debug!("an idle MCP session made room for another of its token");
                let _ = tokio::time::timeout(CLOSE_WITHIN, self.end(&id, &session)).await;
                return true;
            }
        }
    }

    /// A session that is no longer among the others.
    async fn end(&self, id: &SessionId, session: &Session) -> Result<(), LocalSessionManagerError> {
        self.by_realm.remove(session.realm, id);
        session.end();
        self.events.forget(id);
        self.inner.close_session(id).await
    }
}

impl Drop for BoundSessions {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.get() {
            watch.abort();
        }
    }
}

impl BoundSessions {
    /// Notes that what this stream brings is this session's, and leaves out what its client does not
    /// know.
    fn owned<S: Stream<Item = ServerSseMessage>>(
        &self,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = ServerSseMessage> + use<S> {
        let (owner, events) = (Arc::clone(id), self.events.clone());
        // Each event says so: a log that had to go begins anew.
        let owned = stream.inspect(move |event| {
            if let Some(event_id) = &event.event_id {
                events.heard_by(&owner, event_id);
            }
        });
        // rmcp begins the stream of each request with one, whatever the client's revision.
        let primes = self.primes(id);
        owned.filter(move |event| std::future::ready(primes || event.message.is_some()))
    }

    /// Whether the streams of a session begin with an event without data.
    fn primes(&self, id: &SessionId) -> bool {
        let session = self.sessions.get(id);
        session.is_some_and(|session| session.knows_priming_events())
    }

    /// The stream that a client opens by itself.
    async fn standalone(
        &self,
        id: &SessionId,
    ) -> Result<
        impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
        LocalSessionManagerError,
    > {
        let stream = self.inner.create_standalone_stream(id).await?;
        let priming = self
            .primes(id)
            .then(|| ServerSseMessage::priming(FIRST_EVENT, RETRY));
        Ok(futures_util::stream::iter(priming).chain(self.owned(id, stream)))
    }
}

impl SessionManager for BoundSessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        // The endpoint has put it there for a request that opens a session.
        let Some(session) = OPENED.try_with(Cell::take).ok().flatten() else {
            return Err(SessionError::SessionServiceTerminated.into());
        };
        let (id, transport) = self.inner.create_session().await?;
        session.named(&id);
        self.by_realm.insert(session.realm, Arc::clone(&id));
        self.sessions.insert(Arc::clone(&id), session);
        Ok((id, transport))
    }

    /// A session of another token is as good as none.
    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let Ok(realm) = REALM.try_get() else {
            return Ok(false);
        };
        Ok(self.of(realm, id).is_some() && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // Without a request around it, it is rmcp that tidies up.
        let realm = REALM.try_get().ok();
        let is_own = |session: &Session| realm.is_none_or(|realm| session.realm == realm);
        if let Some((id, session)) = self.sessions.remove_if(id, |_, session| is_own(session)) {
            return self.end(&id, &session).await;
        }
        match self.sessions.contains_key(id) {
            true => Err(LocalSessionManagerError::SessionNotFound(Arc::clone(id))),
            false => self.inner.close_session(id).await,
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
        Ok(self.owned(id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        if let ClientJsonRpcMessage::Notification(told) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &told.notification
            && let Some(request) = &cancelled.params.request_id
            && let Some(session) = self.sessions.get(id)
        {
            session.cancel(&request_key(request));
        }
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.standalone(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        if last_event_id == FIRST_EVENT {
            return Ok(self.standalone(id).await?.left_stream());
        }
        // An event of another session is as good as none.
        if !self.events.is_of(id, &last_event_id) {
            return Err(LocalSessionManagerError::SessionNotFound(Arc::clone(id)));
        }
        let stream = self.inner.resume(id, last_event_id).await?;
        Ok(self.owned(id, stream).right_stream())
    }

    /// rmcp asks this for requests without a session, whose dropped stream is a cancel: nothing of
    /// them is kept. Sessions keep theirs inside.
    fn event_store(&self) -> Option<Arc<dyn EventStore>> {
        None
    }
}
