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
    places: Arc<Semaphore>,
    idle: Duration,
    sweeper: JoinHandle<()>,
}

impl Drop for McpSessions {
    fn drop(&mut self) {
        self.sweeper.abort();
    }
}

/// One of them. It leaves its realm when it is dropped.
#[derive(Debug)]
pub(crate) struct McpSession {
    hub: Weak<Hub>,
    realm: RealmId,
    /// When its token ends.
    ends_at: Option<Instant>,
    /// Absent when so many tokens wait already that this one hears of no changes.
    told: Option<(ClientId, Arc<NewsLine>)>,
    used: Mutex<Used>,
    ended: CancellationToken,
    _place: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct Used {
    last: Instant,
    /// The stream that hears the news; a newer one takes its place.
    stream: Option<CancellationToken>,
}

impl Drop for McpSession {
    fn drop(&mut self) {
        self.ended.cancel();
        if let (Some(hub), Some((client, _))) = (self.hub.upgrade(), &self.told) {
            hub.client_left(self.realm, *client);
        }
    }
}

impl McpSession {
    fn used(&self) -> std::sync::MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session with an open stream is in use.
    fn is_over(&self, idle: Duration) -> bool {
        if self.ended.is_cancelled() {
            return true;
        }
        let used = self.used();
        let listening = used
            .stream
            .as_ref()
            .is_some_and(|stream| !stream.is_cancelled());
        !listening && used.last.elapsed() >= idle
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
            idle,
        }
    }

    /// Opens one, and says its id. `until`: it ends with this.
    pub(super) fn open(
        &self,
        principal: &Principal,
        info: ClientInfo,
        until: CancellationToken,
    ) -> Result<String, Full> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let (Ok(place), Some(hub)) = (place, self.hub.upgrade()) else {
            return Err(Full);
        };
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
        let told = hub.client_connected(realm, client).map_err(|_| Full)?;
        let session = McpSession {
            hub: Weak::clone(&self.hub),
            realm,
            ends_at: principal.ends_at(),
            told,
            used: Mutex::new(Used {
                last: Instant::now(),
                stream: None,
            }),
            ended: until,
            _place: place,
        };
        let id = uuid::Uuid::new_v4().to_string();
        self.open.insert(id.clone(), Arc::new(session));
        Ok(id)
    }

    /// A client has used it. False when there is none of this id.
    pub(super) fn touch(&self, id: Option<&str>) -> bool {
        id.is_some_and(|id| self.find(id).is_some())
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
            session.ended.cancel();
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
        assert!(sessions.touch(Some(&used)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!sessions.touch(Some(&idle)));
        assert!(sessions.touch(Some(&used)));
        assert!(sessions.of(None, &listening).is_some());
        drop(stream);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(!sessions.touch(Some(&listening)));
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
