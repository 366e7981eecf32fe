//! MCP sessions (revisions before 2026-07-28), each bound to the realm that opened it.

use std::cell::Cell;
use std::sync::Arc;

use dashmap::DashMap;
use futures_util::{Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{
    EventStore, ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::events::Events;
use super::{PLACE, REALM};
use crate::auth::RealmId;
use crate::config::Config;

/// The id with which rmcp opens a stream of its own.
const FIRST_EVENT: &str = "0";

/// rmcp's sessions in memory, visible only to the token that opened them.
pub(super) struct BoundSessions {
    inner: LocalSessionManager,
    owners: DashMap<SessionId, Owner>,
    events: Events,
    places: Arc<Semaphore>,
}

#[derive(Debug)]
struct Owner {
    realm: RealmId,
    _place: OwnedSemaphorePermit,
}

impl BoundSessions {
    pub(super) fn new(config: &Config) -> Self {
        let events = Events::new(config.max_replay_bytes);
        let store = Arc::new(events.clone());
        let mut inner = LocalSessionManager::default().with_event_store(store);
        inner.session_config.keep_alive = Some(config.mcp_session_idle);
        Self {
            inner,
            owners: DashMap::new(),
            events,
            places: Arc::new(Semaphore::new(config.max_mcp_sessions)),
        }
    }

    /// A place for one more session; `None` when there are as many as may be.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Whether this realm has opened the session.
    pub(super) fn is_of(&self, realm: RealmId, id: &str) -> bool {
        self.owners
            .get(id)
            .is_some_and(|owner| owner.realm == realm)
    }
}

/// Notes that what this stream brings is this session's.
fn owned<S: Stream<Item = ServerSseMessage>>(
    events: &Events,
    id: &SessionId,
    stream: S,
) -> impl Stream<Item = ServerSseMessage> + use<S> {
    let (id, events) = (Arc::clone(id), events.clone());
    // Each event says so: a log that had to go begins anew.
    stream.inspect(move |event| {
        if let Some(event_id) = &event.event_id {
            events.heard_by(&id, event_id);
        }
    })
}

impl SessionManager for BoundSessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        // The endpoint has put both there for a request that opens a session.
        let place = PLACE.try_with(Cell::take).ok().flatten();
        let (Ok(realm), Some(_place)) = (REALM.try_get(), place) else {
            return Err(SessionError::SessionServiceTerminated.into());
        };
        let (id, transport) = self.inner.create_session().await?;
        self.owners.insert(Arc::clone(&id), Owner { realm, _place });
        Ok((id, transport))
    }

    /// A session of another token is as good as none.
    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let realm = REALM.try_get().ok();
        let owner = self.owners.get(id).map(|owner| owner.realm);
        Ok(owner.is_some() && owner == realm && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let foreign = match (REALM.try_get(), self.owners.get(id)) {
            (Ok(realm), Some(owner)) => owner.realm != realm,
            // Without a request around it, it is rmcp that tidies up.
            _ => false,
        };
        if foreign {
            return Err(LocalSessionManagerError::SessionNotFound(Arc::clone(id)));
        }
        self.owners.remove(id);
        self.events.forget(id);
        self.inner.close_session(id).await
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
        Ok(owned(&self.events, id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.create_standalone_stream(id).await?;
        Ok(owned(&self.events, id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        if last_event_id == FIRST_EVENT {
            let stream = self.inner.create_standalone_stream(id).await?;
            return Ok(owned(&self.events, id, stream).left_stream());
        }
        // An event of another session is as good as none.
        if !self.events.is_of(id, &last_event_id) {
            return Err(LocalSessionManagerError::SessionNotFound(Arc::clone(id)));
        }
        let stream = self.inner.resume(id, last_event_id).await?;
        Ok(stream.right_stream())
    }

    /// rmcp asks this for requests without a session, whose dropped stream is a cancel: nothing of
    /// them is kept. Sessions keep theirs inside.
    fn event_store(&self) -> Option<Arc<dyn EventStore>> {
        None
    }
}
