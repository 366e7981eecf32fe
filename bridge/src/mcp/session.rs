//! What the bridge itself knows of an MCP session (revisions before 2026-07-28), beside rmcp: whose
//! it is, who the client is and what it listens to, which calls of the lane it runs, and since when
//! it is idle.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_protocol::LogLevel;
use futures_util::task::AtomicWaker;
use rmcp::RoleServer;
use rmcp::model::RequestId;
use rmcp::service::Peer;
use rmcp::transport::streamable_http_server::session::SessionId;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::mcp::notifier::ClientNotifier;
use crate::mcp::requesting_client::RequestingClient;

/// What a client hears until it says what it wants.
const DEFAULT_LOG_LEVEL: LogLevel = LogLevel::Info;

/// An MCP session, from the request that opens it to its end.
#[derive(Debug)]
pub(super) struct McpSession {
    pub(super) realm: RealmId,
    id: OnceLock<SessionId>,
    state: Mutex<State>,
    ended: CancellationToken,
}

#[derive(Debug)]
struct State {
    /// From `initialize` on.
    client: Option<Arc<RequestingClient>>,
    /// The client's place in its realm, from `initialize` to the end of the session.
    notifier: Option<ClientNotifier>,
    /// The session's own place among all, until its end.
    permit: Option<OwnedSemaphorePermit>,
    /// The client has said `notifications/initialized`.
    is_ready: bool,
    log_level: LogLevel,
    calls: Vec<Arc<CancellableCall>>,
    /// Requests that are being answered, and streams that stand.
    activity_count: usize,
    /// When something was open last.
    last_active: Instant,
    has_ended: bool,
}

/// A call of the lane, by the id that the client gave it.
#[derive(Debug)]
struct CancellableCall {
    request_key: Box<str>,
    is_cancelled: AtomicBool,
    waker: AtomicWaker,
}

impl McpSession {
    pub(super) fn new(realm: RealmId, permit: OwnedSemaphorePermit) -> Self {
        Self {
            realm,
            id: OnceLock::new(),
            state: Mutex::new(State {
                client: None,
                notifier: None,
                permit: Some(permit),
                is_ready: false,
                log_level: DEFAULT_LOG_LEVEL,
                calls: Vec::new(),
                activity_count: 0,
                last_active: Instant::now(),
                has_ended: false,
            }),
            ended: CancellationToken::new(),
        }
    }

    /// rmcp has given it an id.
    pub(super) fn set_id(&self, id: &SessionId) {
        let _ = self.id.set(Arc::clone(id));
    }

    pub(super) fn id(&self) -> Option<&SessionId> {
        self.id.get()
    }

    /// The client said who it is, perhaps not for the first time.
    pub(super) fn set_client(&self, client: RequestingClient) {
        self.state().client = Some(Arc::new(client));
    }

    /// The client has its place in the realm; one that it had before is given back.
    pub(super) fn set_notifier(&self, notifier: Option<ClientNotifier>) {
        let mut state = self.state();
        // A session that has ended meanwhile keeps no place.
        let former = match state.has_ended {
            true => notifier,
            false => std::mem::replace(&mut state.notifier, notifier),
        };
        // To leave a realm takes its lock.
        drop(state);
        drop(former);
    }

    /// The client has finished its handshake: from now on it hears of changes.
    pub(super) fn start_notifications(&self, peer: Peer<RoleServer>) {
        let mut state = self.state();
        state.is_ready = true;
        if let Some(client) = &mut state.notifier {
            client.start(peer);
        }
    }

    /// Does something with the client's place in its realm, if it has one.
    pub(super) fn with_notifier<T>(&self, act: impl FnOnce(&ClientNotifier) -> T) -> Option<T> {
        self.state().notifier.as_ref().map(act)
    }

    /// Whether the client knows events without data (MCP 2025-11-25 and later).
    pub(super) fn supports_priming_events(&self) -> bool {
        let state = self.state();
        state
            .client
            .as_ref()
            .is_some_and(|client| client.supports_priming_events())
    }

    pub(super) fn log_level(&self) -> LogLevel {
        self.state().log_level
    }

    pub(super) fn set_log_level(&self, level: LogLevel) {
        self.state().log_level = level;
    }

    /// The client, once it has finished its handshake.
    pub(super) fn ready_client(&self) -> Option<(Arc<RequestingClient>, LogLevel)> {
        let state = self.state();
        let client = state.client.as_ref().filter(|_| state.is_ready)?;
        Some((Arc::clone(client), state.log_level))
    }

    /// Something of it is open as long as this lives.
    pub(super) fn begin_activity(self: &Arc<Self>) -> ActivityGuard {
        self.state().activity_count += 1;
        ActivityGuard(Arc::clone(self))
    }

    /// A call begins. `None` when the session has ended meanwhile.
    pub(super) fn begin_call(self: &Arc<Self>, request: Box<str>) -> Option<CallGuard> {
        let call = Arc::new(CancellableCall {
            request_key: request,
            is_cancelled: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        });
        let mut state = self.state();
        if state.has_ended {
            return None;
        }
        state.calls.push(Arc::clone(&call));
        drop(state);
        Some(CallGuard {
            session: Arc::clone(self),
            call,
        })
    }

    /// The client takes back each call that it gave this id.
    pub(super) fn cancel_request(&self, request_key: &str) {
        let state = self.state();
        let matching = state
            .calls
            .iter()
            .filter(|call| *call.request_key == *request_key);
        matching.for_each(|call| call.cancel());
    }

    /// The session is over, and its calls are.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.calls.iter().for_each(|call| call.cancel());
        let places = (state.notifier.take(), state.permit.take());
        // To leave a realm takes its lock.
        drop(state);
        self.ended.cancel();
        drop(places);
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Since when nothing of it is open; `None` while something is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.idle_deadline(Duration::ZERO)
    }

    /// When it will have been idle for so long, if nothing happens; `None` while something is open.
    pub(super) fn idle_deadline(&self, idle: Duration) -> Option<Instant> {
        let state = self.state();
        let is_idle = state.activity_count == 0 && state.calls.is_empty();
        is_idle.then(|| state.last_active + idle)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One spelling for each id: `"a"` and `"\u0061"` are one.
pub(super) fn request_key(id: &RequestId) -> Box<str> {
    match id {
        RequestId::Number(number) => number.to_string().into(),
        RequestId::String(text) => format!("\"{text}\"").into(),
    }
}

impl CancellableCall {
    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// A request that is being answered, or a stream that stands.
#[derive(Debug)]
pub(super) struct ActivityGuard(Arc<McpSession>);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.activity_count -= 1;
        state.last_active = Instant::now();
    }
}

/// A call of the lane. Dropped at its end.
#[derive(Debug)]
pub(super) struct CallGuard {
    session: Arc<McpSession>,
    call: Arc<CancellableCall>,
}

impl CallGuard {
    pub(super) fn session(&self) -> &Arc<McpSession> {
        &self.session
    }

    /// Ready when the client has taken it back, or its session has ended.
    pub(super) fn poll_cancelled(&self, context: &mut Context<'_>) -> Poll<()> {
        self.call.waker.register(context.waker());
        match self.is_cancelled() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.call.is_cancelled.load(Ordering::Acquire)
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let mut state = self.session.state();
        let mut calls = state.calls.iter();
        if let Some(index) = calls.position(|call| Arc::ptr_eq(call, &self.call)) {
            state.calls.swap_remove(index);
        }
        state.last_active = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::sync::Semaphore;

    use super::*;

    fn session() -> Arc<McpSession> {
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        Arc::new(McpSession::new(RealmId::from_token("token"), permit))
    }

    fn is_cancelled(call: &CallGuard) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        call.poll_cancelled(&mut context).is_ready()
    }

    #[test]
    fn cancel_stops_the_calls_of_its_id_and_session_end_stops_all() {
        let session = session();
        let call = |id: &str| session.begin_call(id.into()).unwrap();
        let (one, same, other) = (call("1"), call("1"), call("\"1\""));
        session.cancel_request("1");
        assert!(is_cancelled(&one) && is_cancelled(&same) && !is_cancelled(&other));
        drop(one);
        session.end();
        assert!(is_cancelled(&other));
        assert!(session.begin_call("2".into()).is_none());
    }

    #[test]
    fn request_key_is_equal_for_each_spelling_of_an_id() {
        for (json, key) in [
            ("-7", "-7"),
            (r#""a""#, r#""a""#),
            (r#""\u0061""#, r#""a""#),
        ] {
            let id: RequestId = serde_json::from_str(json).unwrap();
            assert_eq!(*request_key(&id), *key);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_starts_when_the_last_activity_ends() {
        let idle = Duration::from_secs(60);
        let session = session();
        let began = Instant::now();
        assert_eq!(session.idle_deadline(idle), Some(began + idle));
        let (open, call) = (session.begin_activity(), session.begin_call("1".into()));
        tokio::time::advance(idle).await;
        drop(open);
        assert_eq!(session.idle_deadline(idle), None);
        tokio::time::advance(idle).await;
        drop(call);
        assert_eq!(session.idle_deadline(idle), Some(began + 3 * idle));
    }
}
