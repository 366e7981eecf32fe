//! The MCP sessions of clients built for mcp-web 0.1, and their event streams.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bridge_mcp_results::request_error::INVALID_REQUEST;
use bridge_protocol::{ClientInfo, ConnectedClient};
use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::budget::Party;
use crate::hub::{Hub, NotificationQueue};
use crate::lifecycle::{LoggedClient, OpenMcpSession};
use crate::mcp::{ClientNotifier, MAX_CLIENT_INFO_CHARS};
use crate::web::session_pool::{PooledSession, SessionPool};
use bridge_auth::{Principal, RealmId};
use bridge_edge::ClientAddress;

/// The interval of keepalive comments in an event stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// The error when the maximum number of sessions is reached.
#[derive(Debug)]
pub(crate) struct SessionLimitReached;

/// All MCP sessions of clients built for mcp-web 0.1.
#[derive(Debug)]
pub(crate) struct CompatSessions {
    hub: Weak<Hub>,
    pool: Arc<SessionPool<Arc<CompatSession>>>,
}

/// One MCP session. Its client leaves the realm when the session ends.
#[derive(Debug)]
pub(crate) struct CompatSession {
    realm: RealmId,
    /// When the token of the session expires.
    expires_at: Option<Instant>,
    activity: Mutex<Activity>,
    lines: OpenMcpSession,
    ended: CancellationToken,
}

#[derive(Debug)]
struct Activity {
    last_active: Instant,
    /// The number of requests that are being answered.
    requests: usize,
    /// Cancels the current event stream when a newer one replaces it.
    stream: Option<CancellationToken>,
    /// The client's connection to its realm, until the session ends. `None` if the limit of realms
    /// without pages is reached: then the session gets no notifications.
    notifier: Option<ClientNotifier>,
}

impl CompatSession {
    fn activity(&self) -> std::sync::MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PooledSession for Arc<CompatSession> {
    /// A session whose agent's query has ended is not in use, and has no time left.
    fn idle_deadline(&self, idle: Duration) -> Option<Instant> {
        let activity = self.activity();
        if self.ended.is_cancelled() {
            return Some(activity.last_active);
        }
        let mut stream = activity.stream.iter();
        let has_stream = stream.any(|stream| !stream.is_cancelled());
        let is_idle = !has_stream && activity.requests == 0;
        is_idle.then(|| activity.last_active + idle)
    }

    fn end(&self, reason: &'static str) {
        self.lines.end(reason);
        self.ended.cancel();
        let notifier = self.activity().notifier.take();
        // Dropping a notifier takes the lock of its realm.
        drop(notifier);
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
        Self {
            hub: Arc::downgrade(hub),
            pool: SessionPool::start(
                hub.budgets.limits.mcp_sessions,
                hub.config.mcp_sessions.mcp_session_idle,
            ),
        }
    }

    /// The number of sessions.
    pub(crate) fn count(&self) -> usize {
        self.pool.count()
    }

    /// Opens a session for a client with this address and returns its id. At the limit of the
    /// token, its session that has been idle for the longest time is ended, and at the limit of all
    /// sessions one of the parties with the most. The session ends when `ended` is cancelled.
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
        let id: Arc<str> = uuid::Uuid::new_v4().to_string().into();
        let slot = self.pool.reserve(&id, &Party::new(address, realm));
        let slot = slot.map_err(|_| SessionLimitReached)?;
        let notifier = self.pool.evicting_idle(realm, || {
            ClientNotifier::connect(&hub, realm, address, client.clone())
        });
        let notifier = notifier.map_err(|_| SessionLimitReached)?;
        let client = LoggedClient {
            realm,
            subject: principal.sub.clone(),
            address,
            name: client.info.name,
            mcp_session: None,
        };
        let session = CompatSession {
            realm,
            expires_at: principal.expires_at(),
            activity: Mutex::new(Activity {
                last_active: Instant::now(),
                requests: 0,
                stream: None,
                notifier,
            }),
            lines: hub.lifecycle.open_mcp_session(client, false),
            ended,
        };
        self.pool.insert(slot, Arc::new(session));
        Ok(id.to_string())
    }

    /// Marks a request as running while the guard lives; `None` if there is no session with this
    /// id.
    pub(crate) fn begin_request(&self, id: &str) -> Option<RequestGuard> {
        let begin = |session: &Arc<CompatSession>| {
            session.activity().requests += 1;
            RequestGuard(Arc::clone(session))
        };
        self.pool.with_session(id, begin)
    }

    /// The session with this id, if it belongs to `realm` or if no realm is given. It is active now.
    pub(crate) fn get(&self, realm: Option<RealmId>, id: &str) -> Option<Arc<CompatSession>> {
        let touch = |session: &Arc<CompatSession>| {
            session.activity().last_active = Instant::now();
            Arc::clone(session)
        };
        let session = self.pool.with_session(id, touch)?;
        realm
            .is_none_or(|realm| realm == session.realm)
            .then_some(session)
    }

    /// The realms with sessions.
    pub(super) fn realms(&self) -> Vec<RealmId> {
        self.pool.realms()
    }

    /// Ends all sessions of a realm.
    pub(super) fn end_of_realm(&self, realm: RealmId) {
        self.pool.end_of_realm(realm);
    }

    /// Ends the session with this id, because its client does.
    pub(crate) fn end(&self, id: &str) {
        self.pool.end(id, "its client ended it");
    }
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
    let queue = session
        .activity()
        .notifier
        .as_ref()
        .map(ClientNotifier::queue);
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
    let error = serde_json::json!({ "code": INVALID_REQUEST, "message": message });
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
    use crate::web::session_pool::SWEEP_INTERVAL;

    async fn sessions() -> (Arc<Hub>, CompatSessions, Principal) {
        let hub = Hub::new(
            Config::default(),
            |_, _| Ok(()),
            Arc::<crate::agent_queries::AgentQueries>::default(),
        );
        let sessions = CompatSessions::new(&hub);
        let tokens =
            bridge_auth::Authenticator::new(&[], &hub.config.identity.jwt_settings()).unwrap();
        let token = Some("token-of-a-test-0123456789");
        let principal = tokens.verify(token, address()).await;
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
        assert_eq!(sessions.count(), 0);
        assert_eq!(
            hub.with_realm(principal.realm, |realm| realm.client_count()),
            None
        );
    }
}
