//! An MCP session (revisions before 2026-07-28): its realm, its client with its notifications and
//! questions, its calls and streams, and the time of the last activity.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_protocol::LogLevel;
use futures_util::task::AtomicWaker;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;
use uuid::Uuid;

use super::change_log::ChangeLog;
use super::client_overview::ClientOverview;
use super::client_questions::ClientQuestions;
use super::notifier::ClientNotifier;
use super::requesting_client::RequestingClient;
use crate::budget::Party;
use crate::hub::{NotificationQueue, PendingNotifications};
use crate::lifecycle::{LifecycleLog, LoggedClient, OpenMcpSession};

/// The maximum number of standalone streams of a session. One more ends the oldest.
const MAX_STREAMS: usize = 32;

/// The number of characters that identify a session in the log.
pub(super) const LOGGED_ID_CHARS: usize = 8;

/// The log level of a session until the client sets one.
const DEFAULT_LOG_LEVEL: LogLevel = LogLevel::Info;

/// An MCP session, from the request that opens it to its end.
#[derive(Debug)]
pub(super) struct McpSession {
    id: Arc<str>,
    /// Distinguishes the events of this session from those of its id before it was restored.
    life: Uuid,
    /// Whether the session continues a former one of its id.
    is_restored: bool,
    /// The party whose share of the limits the session counts for: the client that opened it.
    party: Party<RealmId>,
    /// The lines of the session in the log, once its client is known.
    lines: OnceLock<OpenMcpSession>,
    state: Mutex<State>,
    /// Notifies the standalone streams that something about them has changed.
    streams_changed: Notify,
    /// The requests to the client.
    pub(super) questions: Arc<ClientQuestions>,
}

/// The part of a session that changes.
#[derive(Debug)]
struct State {
    /// The client, set by `initialize`.
    client: Option<Arc<RequestingClient>>,
    /// The client's connection to its realm, from `initialize` to the end of the session.
    notifier: Option<ClientNotifier>,
    /// Whether the client has sent `notifications/initialized`.
    is_ready: bool,
    log_level: LogLevel,
    calls: Vec<Arc<CancellableCall>>,
    /// The numbers of the open standalone streams. The last one is used.
    streams: Vec<u64>,
    last_stream: u64,
    changes: ChangeLog,
    /// The number of the first recorded change that no stream has sent.
    first_unsent: Option<u64>,
    /// The number of requests that are being answered and of open streams.
    activity_count: usize,
    /// When the last activity ended.
    last_active: Instant,
    has_ended: bool,
}

/// A call, with the id that the client gave it.
#[derive(Debug)]
struct CancellableCall {
    request_key: Box<str>,
    is_cancelled: AtomicBool,
    waker: AtomicWaker,
}

impl McpSession {
    pub(super) fn new(id: Arc<str>, party: Party<RealmId>) -> Self {
        Self {
            id,
            life: Uuid::new_v4(),
            is_restored: false,
            party,
            lines: OnceLock::new(),
            state: Mutex::new(State {
                client: None,
                notifier: None,
                is_ready: false,
                log_level: DEFAULT_LOG_LEVEL,
                calls: Vec::new(),
                streams: Vec::new(),
                last_stream: 0,
                changes: ChangeLog::default(),
                first_unsent: None,
                activity_count: 0,
                last_active: Instant::now(),
                has_ended: false,
            }),
            streams_changed: Notify::new(),
            questions: Arc::new(ClientQuestions::new()),
        }
    }

    /// Makes a new session continue a former one of its id. Its client has finished the handshake, and
    /// does not know what has changed since.
    pub(super) fn continue_former(mut self) -> Self {
        self.is_restored = true;
        let mut state = self.state();
        state.is_ready = true;
        let first = state.changes.last_number() + 1;
        state.changes.record(PendingNotifications {
            tools_changed: true,
            prompts_changed: true,
            resources_changed: true,
            ..PendingNotifications::default()
        });
        state.first_unsent = Some(first);
        drop(state);
        self
    }

    /// Logs that the session was opened by the client of a token with this subject.
    pub(super) fn log_opened(&self, log: &Arc<LifecycleLog>, subject: Option<&String>) {
        let client = self.state().client.as_ref().map(|it| it.connected_client());
        let client = LoggedClient {
            realm: self.realm(),
            subject: subject.cloned(),
            address: self.party.address,
            name: client.map(|client| client.info.name).unwrap_or_default(),
            // The id that the client sends is a secret.
            mcp_session: Some(self.life.simple().to_string()[..LOGGED_ID_CHARS].to_owned()),
        };
        self.lines
            .get_or_init(|| log.open_mcp_session(client, self.is_restored));
    }

    /// The lines of the session in the log, once it was opened.
    pub(super) fn lines(&self) -> Option<&OpenMcpSession> {
        self.lines.get()
    }

    /// Whether the session continues a former one of its id.
    pub(super) fn is_restored(&self) -> bool {
        self.is_restored
    }

    pub(super) fn id(&self) -> &Arc<str> {
        &self.id
    }

    pub(super) fn life(&self) -> Uuid {
        self.life
    }

    /// The party whose share of the limits the session counts for.
    pub(super) fn party(&self) -> Party<RealmId> {
        self.party
    }

    /// The realm whose token opened the session.
    pub(super) fn realm(&self) -> RealmId {
        self.party.member
    }

    /// Sets the client. A client may initialise more than once.
    pub(super) fn set_client(&self, client: RequestingClient) {
        self.state().client = Some(Arc::new(client));
    }

    /// Sets the client's connection to its realm, and drops the previous one.
    pub(super) fn set_notifier(&self, notifier: Option<ClientNotifier>) {
        let mut state = self.state();
        // A session that has ended must not connect its client.
        let former = if state.has_ended {
            notifier
        } else {
            // A new connection has no subscriptions.
            state.changes.forget_resources();
            std::mem::replace(&mut state.notifier, notifier)
        };
        // Dropping a notifier takes the lock of its realm.
        drop(state);
        drop(former);
        self.streams_changed.notify_waiters();
    }

    /// Starts the notifications of the client, after its handshake.
    pub(super) fn set_ready(&self) {
        self.state().is_ready = true;
        self.streams_changed.notify_waiters();
    }

    /// Calls `act` with the client's connection to its realm, if there is one.
    pub(super) fn with_notifier<T>(&self, act: impl FnOnce(&ClientNotifier) -> T) -> Option<T> {
        self.state().notifier.as_ref().map(act)
    }

    /// Returns the client if it has finished its handshake and is not connected to its realm, because the
    /// limit of tokens with waiting clients was reached.
    pub(super) fn unconnected_client(&self) -> Option<Arc<RequestingClient>> {
        let state = self.state();
        let is_unconnected = state.is_ready && state.notifier.is_none() && !state.has_ended;
        is_unconnected.then(|| state.client.clone()).flatten()
    }

    pub(super) fn set_log_level(&self, level: LogLevel) {
        self.state().log_level = level;
    }

    /// Returns the client and its log level, once it has initialised.
    pub(super) fn client(&self) -> Option<(Arc<RequestingClient>, LogLevel)> {
        let state = self.state();
        let client = state.client.as_ref()?;
        Some((Arc::clone(client), state.log_level))
    }

    /// Opens a standalone stream, and returns its number. At the maximum, the oldest ends.
    pub(super) fn open_stream(&self) -> u64 {
        let mut state = self.state();
        state.last_stream += 1;
        let number = state.last_stream;
        if state.streams.len() == MAX_STREAMS {
            state.streams.remove(0);
        }
        state.streams.push(number);
        drop(state);
        self.streams_changed.notify_waiters();
        number
    }

    /// Ends a standalone stream, which has not sent the changes from this number on. The newest of the
    /// others is used from now on, and sends them.
    pub(super) fn close_stream(&self, number: u64, first_unsent: Option<u64>) {
        let mut state = self.state();
        state.streams.retain(|open| *open != number);
        let numbers = state.first_unsent.into_iter().chain(first_unsent);
        state.first_unsent = numbers.min();
        drop(state);
        self.streams_changed.notify_waiters();
    }

    /// Returns the current role of a standalone stream, and a notification of the next change.
    pub(super) fn stream_role(&self, number: u64) -> (StreamRole, Notified<'_>) {
        let changed = self.streams_changed.notified();
        let mut state = self.state();
        let role = match state.streams.last() {
            _ if state.has_ended || !state.streams.contains(&number) => StreamRole::Ended,
            Some(newest) if *newest == number && state.is_ready => StreamRole::Used {
                queue: state.notifier.as_ref().map(ClientNotifier::queue),
                unsent: match state.first_unsent.take() {
                    Some(first) => state.changes.after(first - 1),
                    None => Vec::new(),
                },
            },
            _ => StreamRole::Waiting,
        };
        (role, changed)
    }

    /// Records changes that are about to be sent, and returns the events.
    pub(super) fn record_changes(&self, pending: PendingNotifications) -> Vec<(u64, String)> {
        self.state().changes.record(pending)
    }

    /// Records that the client need not answer a request any more, and returns the event.
    pub(super) fn record_withdrawn(&self, request_id: String) -> Vec<(u64, String)> {
        self.state().changes.record_withdrawn(request_id)
    }

    /// The number of the last recorded change.
    pub(super) fn last_change(&self) -> u64 {
        self.state().changes.last_number()
    }

    /// Returns the events of the changes that were recorded after the one with this number.
    pub(super) fn changes_after(&self, number: u64) -> Vec<(u64, String)> {
        self.state().changes.after(number)
    }

    /// Ends the client's subscription to a resource.
    pub(super) fn unsubscribe(&self, uri: &str) {
        let mut state = self.state();
        state.changes.forget_resource(uri);
        if let Some(client) = &state.notifier {
            client.unsubscribe(uri);
        }
    }

    /// Marks the session as active while the returned guard exists.
    pub(super) fn begin_activity(self: &Arc<Self>) -> ActivityGuard {
        self.state().activity_count += 1;
        ActivityGuard(Arc::clone(self))
    }

    /// Registers a call. Returns `None` when the session has ended meanwhile.
    pub(super) fn begin_call(self: &Arc<Self>, request: &str) -> Option<CallGuard> {
        let call = Arc::new(CancellableCall {
            request_key: request.into(),
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

    /// Cancels each call to which the client gave this id.
    pub(super) fn cancel_request(&self, request_key: &str) {
        let state = self.state();
        let matching = state
            .calls
            .iter()
            .filter(|call| *call.request_key == *request_key);
        matching.for_each(|call| call.cancel());
    }

    /// Ends the session, and cancels its calls.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.calls.iter().for_each(|call| call.cancel());
        let notifier = state.notifier.take();
        // Dropping a notifier takes the lock of its realm.
        drop(state);
        self.streams_changed.notify_waiters();
        drop(notifier);
    }

    /// Describes the session to an operator.
    pub(super) fn overview(&self) -> ClientOverview {
        let state = self.state();
        let client = state.client.as_ref().map(|it| it.connected_client());
        let is_active = state.activity_count > 0 || !state.calls.is_empty();
        let idle = state.last_active.elapsed().as_secs();
        ClientOverview {
            id: self.life.simple().to_string(),
            version: client.as_ref().and_then(|it| it.info.version.clone()),
            protocol_version: client.as_ref().map(|it| it.protocol_version.clone()),
            name: client.map(|it| it.info.name),
            address: self.party.address.to_string(),
            streams: state.streams.len(),
            calls: state.calls.len(),
            idle_seconds: if is_active { 0 } else { idle },
        }
    }

    /// Returns when the session will have been idle for this time, or `None` while it is active.
    pub(super) fn idle_deadline(&self, idle: Duration) -> Option<Instant> {
        let state = self.state();
        let is_idle = state.activity_count == 0 && state.calls.is_empty();
        is_idle.then(|| state.last_active + idle)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CancellableCall {
    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// The role of a standalone stream.
pub(super) enum StreamRole {
    /// Its session has ended, or it makes room for another.
    Ended,
    /// A newer stream is used, or the handshake has not finished.
    Waiting,
    /// It sends the notifications of this queue, if the client receives any, after what another stream
    /// has not sent.
    Used {
        queue: Option<Arc<NotificationQueue>>,
        unsent: Vec<(u64, String)>,
    },
}

/// Marks a session as active: a request is being answered, or a stream is open.
#[derive(Debug)]
pub(super) struct ActivityGuard(Arc<McpSession>);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.activity_count -= 1;
        state.last_active = Instant::now();
    }
}

/// A running call. Dropping it removes the call from its session.
#[derive(Debug)]
pub(super) struct CallGuard {
    session: Arc<McpSession>,
    call: Arc<CancellableCall>,
}

impl CallGuard {
    pub(super) fn session(&self) -> &Arc<McpSession> {
        &self.session
    }

    /// Ready when the client has cancelled the call, or its session has ended.
    pub(super) fn poll_cancelled(&self, context: &mut Context<'_>) -> Poll<()> {
        self.call.waker.register(context.waker());
        if self.is_cancelled() {
            Poll::Ready(())
        } else {
            Poll::Pending
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

    use super::*;

    fn session() -> Arc<McpSession> {
        let address = std::net::IpAddr::from([127, 0, 0, 1]).into();
        let party = Party::new(address, RealmId::from_token("token"));
        Arc::new(McpSession::new("session".into(), party))
    }

    fn is_cancelled(call: &CallGuard) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        call.poll_cancelled(&mut context).is_ready()
    }

    #[test]
    fn cancel_stops_the_calls_of_its_id_and_session_end_stops_all() {
        let session = session();
        let call = |id: &str| session.begin_call(id).unwrap();
        let (one, same, other) = (call("1"), call("1"), call("\"1\""));
        session.cancel_request("1");
        assert!(is_cancelled(&one) && is_cancelled(&same) && !is_cancelled(&other));
        drop(one);
        session.end();
        assert!(is_cancelled(&other));
        assert!(session.begin_call("2").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_starts_when_the_last_activity_ends() {
        let idle = Duration::from_secs(60);
        let session = session();
        let began = Instant::now();
        assert_eq!(session.idle_deadline(idle), Some(began + idle));
        let (open, call) = (session.begin_activity(), session.begin_call("1"));
        tokio::time::advance(idle).await;
        drop(open);
        assert_eq!(session.idle_deadline(idle), None);
        tokio::time::advance(idle).await;
        drop(call);
        assert_eq!(session.idle_deadline(idle), Some(began + 3 * idle));
    }
}
