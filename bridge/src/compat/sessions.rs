//! The MCP sessions of clients built for mcp-web 0.1, and their event streams.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bridge_protocol::{ClientInfo, ConnectedClient};
use bytes::Bytes;
use dashmap::DashMap;
use futures_util::Stream;
use futures_util::stream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::budget::{Party, PoolPermit, SharedPool};
use crate::hub::{Hub, NotificationQueue};
use crate::mcp::MAX_CLIENT_INFO_CHARS;
use crate::web::sessions_by_realm::IdsByRealm;
use bridge_auth::{Principal, RealmId};
use bridge_realm::realm::ClientId;
use bridge_service::ClientAddress;

/// The interval of keepalive comments in an event stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// The interval in which the memory of expired sessions is freed. An expired session cannot be used
/// even before that.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// How many sessions may be ended for one. Several are needed only if others take their places.
const MAX_EVICTIONS: usize = 8;

/// The error when the maximum number of sessions is reached.
#[derive(Debug)]
pub(crate) struct SessionLimitReached;

/// The permit for one session, whose id is the entry in the pool.
type SessionPermit = PoolPermit<RealmId, Arc<str>>;

/// Sessions by their ids.
type SessionMap = DashMap<String, Arc<CompatSession>>;

/// All MCP sessions of clients built for mcp-web 0.1.
#[derive(Debug)]
pub(crate) struct CompatSessions {
    hub: Weak<Hub>,
    sessions: Arc<SessionMap>,
    by_realm: Arc<IdsByRealm<String>>,
    slots: SharedPool<RealmId, Arc<str>>,
    idle_timeout: Duration,
    sweep_task: JoinHandle<()>,
}

impl Drop for CompatSessions {
    fn drop(&mut self) {
        self.sweep_task.abort();
    }
}

/// One MCP session. Its client leaves the realm when the session ends.
#[derive(Debug)]
pub(crate) struct CompatSession {
    id: String,
    hub: Weak<Hub>,
    by_realm: Weak<IdsByRealm<String>>,
    realm: RealmId,
    /// When the token of the session expires.
    expires_at: Option<Instant>,
    /// `None` if the limit of realms without pages is reached: then the session gets no
    /// notifications.
    notifications: Option<(ClientId, Arc<NotificationQueue>)>,
    activity: Mutex<Activity>,
    ended: CancellationToken,
}

#[derive(Debug)]
struct Activity {
    last_active: Instant,
    /// The number of requests that are being answered.
    requests: usize,
    /// The permit that counts the session, until it ends.
    permit: Option<SessionPermit>,
    /// Cancels the current event stream when a newer one replaces it.
    stream: Option<CancellationToken>,
}

impl Drop for CompatSession {
    fn drop(&mut self) {
        self.end();
    }
}

impl CompatSession {
    fn activity(&self) -> std::sync::MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the session and releases its permit.
    fn end(&self) {
        self.ended.cancel();
        let permit = self.activity().permit.take();
        if permit.is_none() {
            return;
        }
        if let Some(by_realm) = self.by_realm.upgrade() {
            by_realm.remove(self.realm, &self.id);
        }
        if let (Some(hub), Some((client, _))) = (self.hub.upgrade(), &self.notifications) {
            hub.client_disconnected(self.realm, *client);
        }
    }

    /// When the session became idle; `None` while it has an event stream or a running request.
    fn idle_since(&self) -> Option<Instant> {
        let activity = self.activity();
        let mut stream = activity.stream.iter();
        let has_stream = stream.any(|stream| !stream.is_cancelled());
        (!has_stream && activity.requests == 0).then_some(activity.last_active)
    }

    fn is_expired(&self, idle: Duration) -> bool {
        let is_idle = |since: Instant| since.elapsed() >= idle;
        self.ended.is_cancelled() || self.idle_since().is_some_and(is_idle)
    }
}

/// A request of a session that is being answered.
#[derive(Debug)]
pub(crate) struct RequestGuard(Arc<CompatSession>);

impl RequestGuard {
    /// Whether the session of the request belongs to this realm.
    pub(super) fn belongs_to(&self, realm: RealmId) -> bool {
        self.0.realm == realm
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.requests -= 1;
        activity.last_active = Instant::now();
    }
}

impl CompatSessions {
    pub(super) fn new(hub: &Arc<Hub>) -> Self {
        let sessions = Arc::new(DashMap::new());
        let idle_timeout = hub.config.mcp_session_idle;
        Self {
            hub: Arc::downgrade(hub),
            slots: SharedPool::new(hub.config.max_mcp_sessions),
            sweep_task: tokio::spawn(sweep(Arc::clone(&sessions), idle_timeout)),
            sessions,
            by_realm: Arc::default(),
            idle_timeout,
        }
    }

    /// The number of sessions.
    pub(crate) fn count(&self) -> usize {
        self.slots.count()
    }

    /// Opens a session for a client with this address and returns its id. At the limit of the token,
    /// its session that has been idle for the longest time is ended, and at the limit of all
    /// sessions one of those who have the most. The session ends when `ended` is cancelled.
    pub(super) fn open(
        &self,
        principal: &Principal,
        address: ClientAddress,
        info: ClientInfo,
        ended: CancellationToken,
    ) -> Result<String, SessionLimitReached> {
        let hub = self.hub.upgrade().ok_or(SessionLimitReached)?;
        let truncate = |text: String| text.chars().take(MAX_CLIENT_INFO_CHARS).collect();
        let client = ConnectedClient {
            id: 0,
            info: ClientInfo {
                name: truncate(info.name),
                version: info.version.map(truncate),
                title: info.title.map(truncate),
            },
            protocol_version: "2024-11-05".to_owned(),
        };
        let realm = principal.realm;
        let party = Party::new(address, realm);
        let id = uuid::Uuid::new_v4().to_string();
        let permit = self.acquire_slot(&party, &id)?;
        let notifications = loop {
            match hub.client_connected(realm, address, client.clone()) {
                Ok(notifications) => break notifications,
                Err(_) if self.evict_idle(realm) => {}
                Err(_) => return Err(SessionLimitReached),
            }
        };
        let session = CompatSession {
            id: id.clone(),
            hub: Weak::clone(&self.hub),
            by_realm: Arc::downgrade(&self.by_realm),
            realm,
            expires_at: principal.expires_at(),
            notifications,
            activity: Mutex::new(Activity {
                last_active: Instant::now(),
                requests: 0,
                permit: Some(permit),
                stream: None,
            }),
            ended,
        };
        self.by_realm.insert(realm, id.clone());
        self.sessions.insert(id.clone(), Arc::new(session));
        Ok(id)
    }

    /// Acquires the permit for a session with this id.
    fn acquire_slot(
        &self,
        party: &Party<RealmId>,
        id: &str,
    ) -> Result<SessionPermit, SessionLimitReached> {
        let idle_since = |id: &Arc<str>| self.sessions.get(&**id)?.idle_since();
        for _ in 0..MAX_EVICTIONS {
            if let Some(permit) = self.slots.try_acquire(party, id.into()) {
                return Ok(permit);
            }
            let evicted = self.slots.entry_to_evict(party, idle_since);
            self.end(&evicted.ok_or(SessionLimitReached)?);
        }
        Err(SessionLimitReached)
    }

    /// Marks a request as running while the guard lives; `None` if there is no session with this
    /// id.
    pub(crate) fn begin_request(&self, id: &str) -> Option<RequestGuard> {
        let session = self.get_and_touch(id)?;
        session.activity().requests += 1;
        Some(RequestGuard(session))
    }

    /// Ends the session of this realm that has been idle for the longest time. Returns whether
    /// there was one.
    fn evict_idle(&self, realm: RealmId) -> bool {
        loop {
            let ids = self.by_realm.ids(realm).into_iter();
            let idle = ids.filter_map(|id| {
                let since = self.sessions.get(&id)?.idle_since()?;
                Some((since, id))
            });
            let Some((since, id)) = idle.min_by_key(|(since, _)| *since) else {
                return false;
            };
            // A request may have arrived in the meantime.
            let is_idle = |session: &Arc<CompatSession>| session.idle_since() == Some(since);
            if let Some((_, session)) = self.sessions.remove_if(&id, |_, it| is_idle(it)) {
                session.end();
                return true;
            }
        }
    }

    /// Finds a session and marks it as active. Both happen while the map entry is locked, so that
    /// the sweep does not end a session that has just been found.
    fn get_and_touch(&self, id: &str) -> Option<Arc<CompatSession>> {
        let session = self.sessions.get(id)?;
        if session.is_expired(self.idle_timeout) {
            return None;
        }
        session.activity().last_active = Instant::now();
        Some(Arc::clone(&session))
    }

    /// The session with this id, if it belongs to `realm` or if no realm is given.
    pub(crate) fn get(&self, realm: Option<RealmId>, id: &str) -> Option<Arc<CompatSession>> {
        let belongs_to_realm =
            |session: &Arc<CompatSession>| realm.is_none_or(|realm| realm == session.realm);
        self.get_and_touch(id).filter(belongs_to_realm)
    }

    /// Ends the session with this id.
    pub(crate) fn end(&self, id: &str) {
        if let Some((_, session)) = self.sessions.remove(id) {
            session.end();
        }
    }
}

/// Ends expired sessions at regular intervals.
async fn sweep(open: Arc<SessionMap>, idle: Duration) {
    let interval = SWEEP_INTERVAL.min(idle).max(Duration::from_millis(1));
    let mut ticks = interval_at(Instant::now() + interval, interval);
    loop {
        ticks.tick().await;
        for id in expired_ids(&open, idle) {
            end_if_expired(&open, &id, idle);
        }
    }
}

/// The ids of the sessions that have expired.
fn expired_ids(open: &SessionMap, idle: Duration) -> Vec<String> {
    let over = open.iter().filter(|session| session.is_expired(idle));
    over.map(|session| session.key().clone()).collect()
}

/// Ends a session, unless it has become active in the meantime.
fn end_if_expired(open: &SessionMap, id: &str, idle: Duration) {
    let ended = open.remove_if(id, |_, session| session.is_expired(idle));
    // Dropped after the lock of the map is released: leaving a realm takes another lock.
    drop(ended);
}

/// The event stream of a session, with notifications and keepalives. It ends with the session or
/// the bridge, or when another stream of the session begins.
pub(crate) fn event_stream(
    session: &CompatSession,
    stopping: CancellationToken,
) -> impl Stream<Item = Bytes> + Send + use<> {
    let superseded = CancellationToken::new();
    let former = session.activity().stream.replace(superseded.clone());
    if let Some(former) = former {
        former.cancel();
    }
    let notifications = session.notifications.as_ref();
    let queue = notifications.map(|(_, queue)| Arc::clone(queue));
    let start = Instant::now() + KEEP_ALIVE_INTERVAL;
    let notifications = NotificationStream {
        queue,
        keepalive: interval_at(start, KEEP_ALIVE_INTERVAL),
        ended: session.ended.clone(),
        expires_at: session.expires_at,
        stopping,
        superseded: superseded.clone(),
        _closed: superseded.drop_guard(),
    };
    stream::unfold(notifications, |mut notifications| async {
        let events = notifications.next().await?;
        Some((events, notifications))
    })
}

/// The only event of a stream that cannot be opened: a JSON-RPC error.
pub(crate) fn error_event(message: &str) -> Bytes {
    let error = serde_json::json!({ "code": -32600, "message": message });
    Bytes::from(encode_event(
        &serde_json::json!({ "jsonrpc": "2.0", "error": error }),
    ))
}

fn encode_event(message: &serde_json::Value) -> String {
    format!("data: {message}\n\n")
}

struct NotificationStream {
    queue: Option<Arc<NotificationQueue>>,
    keepalive: tokio::time::Interval,
    ended: CancellationToken,
    expires_at: Option<Instant>,
    stopping: CancellationToken,
    superseded: CancellationToken,
    /// Cancels `superseded` when the stream is dropped, which marks the session as without a
    /// stream.
    _closed: DropGuard,
}

impl NotificationStream {
    async fn next(&mut self) -> Option<Bytes> {
        let changes = async {
            let Some(queue) = &self.queue else {
                return std::future::pending().await;
            };
            loop {
                // These clients get no notifications about prompts and resources.
                match queue.recv().await.tool_change_count {
                    0 => {}
                    changes => return changes,
                }
            }
        };
        let token_ends = async {
            match self.expires_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.ended.cancelled() => None,
            () = self.stopping.cancelled() => None,
            () = self.superseded.cancelled() => None,
            () = token_ends => None,
            changes = changes => Some(tools_changed_events(changes)),
            _ = self.keepalive.tick() => Some(Bytes::from_static(b": keepalive\n\n")),
        }
    }
}

fn tools_changed_events(times: usize) -> Bytes {
    let message = serde_json::json!({ "jsonrpc": "2.0",
        "method": "notifications/tools/list_changed" });
    Bytes::from(encode_event(&message).repeat(times))
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;
    use crate::config::Config;
    use bridge_realm::definition::DefinitionRegistry;

    async fn sessions() -> (Arc<Hub>, CompatSessions, Principal) {
        let hub = Hub::new(
            Config::default(),
            DefinitionRegistry::new(|_, _| Ok(()), 1000),
            Arc::<crate::agent_queries::AgentQueries>::default(),
        );
        let sessions = CompatSessions::new(&hub);
        let tokens =
            bridge_auth::Authenticator::new(&[], &hub.config.identity.jwt_settings()).unwrap();
        let principal = tokens.verify(Some("token-of-a-test-0123456789")).await;
        (hub, sessions, principal.unwrap())
    }

    fn address() -> ClientAddress {
        std::net::IpAddr::from([127, 0, 0, 1]).into()
    }

    fn info(name: &str) -> ClientInfo {
        ClientInfo {
            name: name.to_owned(),
            version: None,
            title: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_sends_a_keep_alive_comment_every_30_s() {
        let (_hub, sessions, principal) = sessions().await;
        let id = sessions
            .open(&principal, address(), info("c"), CancellationToken::new())
            .unwrap();
        let session = sessions.get(None, &id).unwrap();
        let mut events = std::pin::pin!(event_stream(&session, CancellationToken::new()));
        let begun = Instant::now();
        for nth in 1..4 {
            assert_eq!(events.next().await.unwrap(), ": keepalive\n\n");
            assert_eq!(begun.elapsed(), nth * Duration::from_secs(30));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_expires_after_an_idle_hour_unless_a_stream_is_open() {
        let (hub, sessions, principal) = sessions().await;
        let [idle, used, listening] = ["idle", "used", "listening"].map(|name| {
            sessions
                .open(&principal, address(), info(name), CancellationToken::new())
                .unwrap()
        });
        let session = sessions.get(None, &listening).unwrap();
        let stream = event_stream(&session, CancellationToken::new());
        drop(session);
        tokio::time::advance(Duration::from_secs(3599)).await;
        assert!(sessions.begin_request(&used).is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(sessions.begin_request(&idle).is_none());
        assert!(sessions.begin_request(&used).is_some());
        assert!(sessions.get(None, &listening).is_some());
        drop(stream);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(sessions.begin_request(&listening).is_none());
        // Let the sweep run.
        tokio::time::sleep(SWEEP_INTERVAL).await;
        assert!(sessions.sessions.is_empty());
        assert_eq!(
            hub.with_realm(principal.realm, |realm| realm.client_count()),
            None
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_used_during_a_sweep_is_kept() {
        let (_hub, sessions, principal) = sessions().await;
        let open = |name| {
            let info = info(name);
            sessions.open(&principal, address(), info, CancellationToken::new())
        };
        let (back, gone) = (open("back").unwrap(), open("gone").unwrap());
        let session = sessions.get(None, &back).unwrap();
        tokio::time::advance(sessions.idle_timeout).await;
        let seen = expired_ids(&sessions.sessions, sessions.idle_timeout);
        assert_eq!(seen.len(), 2);
        let stream = event_stream(&session, CancellationToken::new());
        drop(session);
        for id in &seen {
            end_if_expired(&sessions.sessions, id, sessions.idle_timeout);
        }
        assert!(sessions.get(None, &back).is_some());
        assert!(sessions.get(None, &gone).is_none());
        drop(stream);
    }
}
