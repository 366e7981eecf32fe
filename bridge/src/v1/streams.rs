//! MCP sessions of clients built for mcp-web 0.1, and their streams of events.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bridge_protocol::{ClientInfo, ConnectedClient};
use bytes::Bytes;
use dashmap::DashMap;
use futures_util::Stream;
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::auth::{Principal, RealmId};
use crate::by_realm::ByRealm;
use crate::hub::{Hub, NewsLine};
use crate::mcp::CLIENT_CHARS;
use crate::realm::ClientId;

/// So often a stream without events says that it is alive.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(30);

/// Sessions that have been idle for too long are gone at once; their memory is, after this.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// There are as many sessions as may be.
#[derive(Debug)]
pub(crate) struct Full;

/// By their ids.
type Open = DashMap<String, Arc<McpSession>>;

/// All MCP sessions of such clients.
#[derive(Debug)]
pub(crate) struct McpSessions {
    hub: Weak<Hub>,
    open: Arc<Open>,
    by_realm: Arc<ByRealm<String>>,
    places: Arc<Semaphore>,
    idle: Duration,
    sweeper: JoinHandle<()>,
}

impl Drop for McpSessions {
    fn drop(&mut self) {
        self.sweeper.abort();
    }
}

/// One of them. It leaves its realm at its end.
#[derive(Debug)]
pub(crate) struct McpSession {
    id: String,
    hub: Weak<Hub>,
    by_realm: Weak<ByRealm<String>>,
    realm: RealmId,
    /// When its token ends.
    ends_at: Option<Instant>,
    /// Absent when so many tokens wait already that this one hears of no changes.
    told: Option<(ClientId, Arc<NewsLine>)>,
    used: Mutex<Used>,
    ended: CancellationToken,
}

#[derive(Debug)]
struct Used {
    last: Instant,
    /// Requests that are being answered.
    requests: usize,
    /// Its place among all, until its end.
    permit: Option<OwnedSemaphorePermit>,
    /// The stream that hears the news; a newer one takes its place.
    stream: Option<CancellationToken>,
}

impl Drop for McpSession {
    fn drop(&mut self) {
        self.end();
    }
}

impl McpSession {
    fn used(&self) -> std::sync::MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session is over: its places are free.
    fn end(&self) {
        self.ended.cancel();
        let permit = self.used().permit.take();
        if permit.is_none() {
            return;
        }
        if let Some(by_realm) = self.by_realm.upgrade() {
            by_realm.remove(self.realm, &self.id);
        }
        if let (Some(hub), Some((client, _))) = (self.hub.upgrade(), &self.told) {
            hub.client_left(self.realm, *client);
        }
    }

    /// Since when it has neither a stream nor a request; `None` while it has one.
    fn idle_since(&self) -> Option<Instant> {
        let used = self.used();
        let mut stream = used.stream.iter();
        let listening = stream.any(|stream| !stream.is_cancelled());
        (!listening && used.requests == 0).then_some(used.last)
    }

    fn is_over(&self, idle: Duration) -> bool {
        let is_idle = |since: Instant| since.elapsed() >= idle;
        self.ended.is_cancelled() || self.idle_since().is_some_and(is_idle)
    }
}

/// A request of a session that is being answered.
#[derive(Debug)]
pub(super) struct Answering(Arc<McpSession>);

impl Answering {
    pub(super) fn is_of(&self, realm: RealmId) -> bool {
        self.0.realm == realm
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut used = self.0.used();
        used.requests -= 1;
        used.last = Instant::now();
    }
}

impl McpSessions {
    pub(super) fn new(hub: &Arc<Hub>) -> Self {
        let open = Arc::new(DashMap::new());
        let idle = hub.config.mcp_session_idle;
        Self {
            hub: Arc::downgrade(hub),
            places: Arc::new(Semaphore::new(hub.config.max_mcp_sessions)),
            sweeper: tokio::spawn(sweep(Arc::clone(&open), idle)),
            open,
            by_realm: Arc::default(),
            idle,
        }
    }

    /// Opens one, and says its id. Where there is no place, the session of the same token that has
    /// been idle for longest makes room. `until`: it ends with this.
    pub(super) fn open(
        &self,
        principal: &Principal,
        info: ClientInfo,
        until: CancellationToken,
    ) -> Result<String, Full> {
        let hub = self.hub.upgrade().ok_or(Full)?;
        let short = |text: String| text.chars().take(CLIENT_CHARS).collect();
        let client = ConnectedClient {
            id: 0,
            info: ClientInfo {
                name: short(info.name),
                version: info.version.map(short),
                title: info.title.map(short),
            },
            protocol_version: "2024-11-05".to_owned(),
        };
        let realm = principal.realm;
        let (permit, told) = loop {
            let permit = Arc::clone(&self.places).try_acquire_owned();
            let told = permit
                .is_ok()
                .then(|| hub.client_connected(realm, client.clone()));
            match (permit, told) {
                (Ok(permit), Some(Ok(told))) => break (permit, told),
                _ if self.evict_idle(realm) => {}
                _ => return Err(Full),
            }
        };
        let id = uuid::Uuid::new_v4().to_string();
        let session = McpSession {
            id: id.clone(),
            hub: Weak::clone(&self.hub),
            by_realm: Arc::downgrade(&self.by_realm),
            realm,
            ends_at: principal.ends_at(),
            told,
            used: Mutex::new(Used {
                last: Instant::now(),
                requests: 0,
                permit: Some(permit),
                stream: None,
            }),
            ended: until,
        };
        self.by_realm.insert(realm, id.clone());
        self.open.insert(id.clone(), Arc::new(session));
        Ok(id)
    }

    /// A request of a session is being answered as long as this lives; `None` when there is no
    /// session of this id.
    pub(super) fn answering(&self, id: &str) -> Option<Answering> {
        let session = self.find(id)?;
        session.used().requests += 1;
        Some(Answering(session))
    }

    /// Ends the session of this realm that has been idle for longest. False when none is idle.
    fn evict_idle(&self, realm: RealmId) -> bool {
        loop {
            let ids = self.by_realm.of(realm).into_iter();
            let idle = ids.filter_map(|id| {
                let since = self.open.get(&id)?.idle_since()?;
                Some((since, id))
            });
            let Some((since, id)) = idle.min_by_key(|(since, _)| *since) else {
                return false;
            };
            // A request may have come meanwhile.
            let is_idle = |session: &Arc<McpSession>| session.idle_since() == Some(since);
            if let Some((_, session)) = self.open.remove_if(&id, |_, it| is_idle(it)) {
                session.end();
                return true;
            }
        }
    }

    /// Who finds a session uses it. Both happen while the map is held, so that the sweeper sees
    /// either none or both.
    fn find(&self, id: &str) -> Option<Arc<McpSession>> {
        let session = self.open.get(id)?;
        if session.is_over(self.idle) {
            return None;
        }
        session.used().last = Instant::now();
        Some(Arc::clone(&session))
    }

    /// The session, for somebody with a token of this realm, or without any.
    pub(crate) fn of(&self, realm: Option<RealmId>, id: &str) -> Option<Arc<McpSession>> {
        let of_realm = |session: &Arc<McpSession>| realm.is_none_or(|realm| realm == session.realm);
        self.find(id).filter(of_realm)
    }

    /// Ends it.
    pub(crate) fn end(&self, id: &str) {
        if let Some((_, session)) = self.open.remove(id) {
            session.end();
        }
    }
}

async fn sweep(open: Arc<Open>, idle: Duration) {
    let every = SWEEP_EVERY.min(idle).max(Duration::from_millis(1));
    let mut ticks = interval_at(Instant::now() + every, every);
    loop {
        ticks.tick().await;
        for id in over(&open, idle) {
            end_if_over(&open, &id, idle);
        }
    }
}

/// The sessions that have been idle for too long.
fn over(open: &Open, idle: Duration) -> Vec<String> {
    let over = open.iter().filter(|session| session.is_over(idle));
    over.map(|session| session.key().clone()).collect()
}

/// Ends it, unless somebody has come back to it meanwhile.
fn end_if_over(open: &Open, id: &str, idle: Duration) {
    let ended = open.remove_if(id, |_, session| session.is_over(idle));
    // Now that the map is let go: leaving a realm takes a lock of its own.
    drop(ended);
}

/// The events of a session: what changed, and a sign of life, until the session, the stream or the
/// bridge ends, or another stream of the session begins.
pub(crate) fn events(
    session: &McpSession,
    stopping: CancellationToken,
) -> impl Stream<Item = Bytes> + Send + use<> {
    let superseded = CancellationToken::new();
    let former = session.used().stream.replace(superseded.clone());
    if let Some(former) = former {
        former.cancel();
    }
    let line = session.told.as_ref().map(|(_, line)| Arc::clone(line));
    let start = Instant::now() + KEEPALIVE_EVERY;
    let listening = Listening {
        line,
        keepalive: interval_at(start, KEEPALIVE_EVERY),
        ended: session.ended.clone(),
        ends_at: session.ends_at,
        stopping,
        superseded: superseded.clone(),
        _gone: superseded.drop_guard(),
    };
    stream::unfold(listening, |mut listening| async {
        let events = listening.next().await?;
        Some((events, listening))
    })
}

/// One event, and the end of the stream: there is no session to hear of.
pub(crate) fn refused(why: &str) -> Bytes {
    let error = serde_json::json!({ "code": -32600, "message": why });
    Bytes::from(event(
        &serde_json::json!({ "jsonrpc": "2.0", "error": error }),
    ))
}

fn event(message: &serde_json::Value) -> String {
    format!("data: {message}\n\n")
}

struct Listening {
    line: Option<Arc<NewsLine>>,
    keepalive: tokio::time::Interval,
    ended: CancellationToken,
    ends_at: Option<Instant>,
    stopping: CancellationToken,
    superseded: CancellationToken,
    /// Whoever looks sees that nobody listens any more.
    _gone: DropGuard,
}

impl Listening {
    async fn next(&mut self) -> Option<Bytes> {
        let news = async {
            let Some(line) = &self.line else {
                return std::future::pending().await;
            };
            loop {
                // Of prompts and resources these clients hear nothing.
                match line.next().await.tool_changes {
                    0 => {}
                    changes => return changes,
                }
            }
        };
        let token_ends = async {
            match self.ends_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.ended.cancelled() => None,
            () = self.stopping.cancelled() => None,
            () = self.superseded.cancelled() => None,
            () = token_ends => None,
            changes = news => Some(changed(changes)),
            _ = self.keepalive.tick() => Some(Bytes::from_static(b": keepalive\n\n")),
        }
    }
}

fn changed(times: usize) -> Bytes {
    let message = serde_json::json!({ "jsonrpc": "2.0",
        "method": "notifications/tools/list_changed" });
    Bytes::from(event(&message).repeat(times))
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;
    use crate::config::Config;
    use crate::definition::Definitions;

    async fn sessions() -> (Arc<Hub>, McpSessions, Principal) {
        let hub = Hub::new(Config::default(), Definitions::new(|_, _| Ok(()), 1000));
        let sessions = McpSessions::new(&hub);
        let tokens = crate::auth::Tokens::new(&[], &hub.config.identity).unwrap();
        let principal = tokens.verify(Some("token-of-a-test-0123456789")).await;
        (hub, sessions, principal.unwrap())
    }

    fn info(name: &str) -> ClientInfo {
        ClientInfo {
            name: name.to_owned(),
            version: None,
            title: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_says_every_30_s_that_it_is_alive() {
        let (_hub, sessions, principal) = sessions().await;
        let id = sessions
            .open(&principal, info("c"), CancellationToken::new())
            .unwrap();
        let session = sessions.of(None, &id).unwrap();
        let mut events = std::pin::pin!(events(&session, CancellationToken::new()));
        let begun = Instant::now();
        for nth in 1..4 {
            assert_eq!(events.next().await.unwrap(), ": keepalive\n\n");
            assert_eq!(begun.elapsed(), nth * Duration::from_secs(30));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_idle_after_an_hour_unless_somebody_listens() {
        let (hub, sessions, principal) = sessions().await;
        let [idle, used, listening] = ["idle", "used", "listening"].map(|name| {
            sessions
                .open(&principal, info(name), CancellationToken::new())
                .unwrap()
        });
        let session = sessions.of(None, &listening).unwrap();
        let stream = events(&session, CancellationToken::new());
        drop(session);
        tokio::time::advance(Duration::from_secs(3599)).await;
        assert!(sessions.answering(&used).is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(sessions.answering(&idle).is_none());
        assert!(sessions.answering(&used).is_some());
        assert!(sessions.of(None, &listening).is_some());
        drop(stream);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(sessions.answering(&listening).is_none());
        // The sweeper's turn.
        tokio::time::sleep(SWEEP_EVERY).await;
        assert!(sessions.open.is_empty());
        assert_eq!(
            hub.read(principal.realm, |realm| realm.client_count()),
            None
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_back_while_the_sweeper_is_at_work_keeps_the_session() {
        let (_hub, sessions, principal) = sessions().await;
        let open = |name| {
            let info = info(name);
            sessions.open(&principal, info, CancellationToken::new())
        };
        let (back, gone) = (open("back").unwrap(), open("gone").unwrap());
        let session = sessions.of(None, &back).unwrap();
        tokio::time::advance(sessions.idle).await;
        let seen = over(&sessions.open, sessions.idle);
        assert_eq!(seen.len(), 2);
        let stream = events(&session, CancellationToken::new());
        drop(session);
        for id in &seen {
            end_if_over(&sessions.open, id, sessions.idle);
        }
        assert!(sessions.of(None, &back).is_some());
        assert!(sessions.of(None, &gone).is_none());
        drop(stream);
    }
}
