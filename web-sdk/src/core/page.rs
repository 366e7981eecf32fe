//! A page: its connection, definitions and calls, and what each event does to them.

mod bridge_messages;
mod reconnect;
mod token;
mod visibility;

use bridge_protocol::limits::{HEARTBEAT_INTERVAL, MAX_FRAME_BYTES, MAX_RESULT_BYTES};
use bridge_protocol::{BridgeId, CallId, SessionId};

use super::calls::{Calls, HandlerOutcome};
use super::connection::{Connection, Phase};
use super::definitions::Definitions;
use super::effect::{DefinitionKey, Effect, Effects, Failure, Status};
use super::messages::{ClientRequest, Item, Limits, PageToBridge, SizedJson};
use super::parts::Assembler;
use super::timer::{Clock, Timer};
use crate::core::resource_updates::PendingResourceUpdates;
use visibility::VisibilityTracker;

pub use visibility::{ACTIVITY_INTERVAL_MS, PageVisibility};

/// The facts about a page that do not change.
#[derive(Clone, Debug)]
pub struct PageInfo<V> {
    /// Where the bridge is, for error messages.
    pub bridge_url: String,
    /// The session. [`Page::set_session`] gives the page another.
    pub session_id: SessionId,
    /// A name that a person gave the tab.
    pub session_name: Option<String>,
    /// `location.origin`.
    pub origin: Option<String>,
    /// Chosen once per document: a bridge begins no call anew in another one.
    pub document_id: Option<String>,
    /// `navigator.userAgent`.
    pub user_agent: Option<String>,
    /// The app as JSON text.
    pub app: V,
    /// Whether a fresh token can be fetched: it comes from a function.
    pub renewable: bool,
}

/// The page's side of the protocol.
///
/// Each event happens at a time: [`Page::set_now`] says which, then the event's own method is called, then
/// all effects are taken.
#[derive(Debug)]
pub struct Page<V> {
    info: PageInfo<V>,
    connection: Connection,
    clock: Clock,
    timer: Timer,
    /// The life of the bridge that calls and registrations belong to.
    bridge_id: Option<BridgeId>,
    /// Those of that bridge.
    limits: Limits,
    /// This page's clock and the bridge's, at one moment or with the page's before.
    clock_sync: (u64, u64),
    /// Whether silence has been noticed, and the socket has its last chance.
    draining: bool,
    /// Whether the app's token function was asked for a token for the open socket.
    renewing: bool,
    /// The bridge has said that the token has expired; its close is on the way.
    expired_error: Option<Failure>,
    assembler: Assembler<V>,
    definitions: Definitions<V>,
    calls: Calls<V>,
    resource_updates: PendingResourceUpdates,
    visibility: VisibilityTracker,
    /// Whether the app was told of connected clients.
    clients_reported: bool,
    /// Whether the app was told of subscriptions. They outlive a broken connection.
    subscriptions_reported: bool,
    effects: Effects<V>,
}

impl<V: Clone> Page<V> {
    /// A page without a connection.
    pub fn new(info: PageInfo<V>, sight: PageVisibility) -> Self {
        Self {
            info,
            connection: Connection::new(),
            clock: Clock::default(),
            timer: Timer::default(),
            bridge_id: None,
            limits: Limits {
                max_result_bytes: MAX_RESULT_BYTES,
                max_frame_bytes: MAX_FRAME_BYTES,
                max_message_bytes: MAX_FRAME_BYTES,
                heartbeat_seconds: HEARTBEAT_INTERVAL.as_secs() as u32,
            },
            clock_sync: (0, 0),
            draining: false,
            renewing: false,
            expired_error: None,
            assembler: Assembler::new(),
            definitions: Definitions::new(),
            calls: Calls::new(),
            resource_updates: PendingResourceUpdates::default(),
            visibility: VisibilityTracker::new(sight),
            clients_reported: false,
            subscriptions_reported: false,
            effects: Effects::new(),
        }
    }

    /// The event that follows happens now: milliseconds since the Unix epoch.
    pub fn set_now(&mut self, now_ms: u64) {
        self.clock.advance_to(now_ms);
    }

    /// What must happen next. Every event is followed by taking all effects, in order.
    pub fn next_effect(&mut self) -> Option<Effect<V>> {
        self.effects.next()
    }

    // What the app asks for.

    /// The app wants a connection. Nothing changes while there is one or an attempt under way.
    pub fn connect(&mut self) {
        match self.connection.phase {
            Phase::Off => self.connection.reset(),
            Phase::Waiting { .. } => {}
            _ => return,
        }
        self.start_attempt();
    }

    /// The app wants no connection any more. Running calls are cancelled.
    pub fn disconnect(&mut self) {
        let reason = Failure::new(Failure::DISCONNECTED, "the page disconnected");
        self.stop(&reason, Status::Disconnected);
    }

    /// The page goes on as another session, which the bridge has never heard of: its former one
    /// belongs to another tab. A connection, or an attempt, is left for one under the new id.
    pub fn set_session(&mut self, session_id: SessionId) {
        self.info.session_id = session_id;
        self.bridge_id = None;
        if self.connection.phase == Phase::Off {
            return;
        }
        self.effects.push(Effect::CloseSocket);
        self.connection_lost();
        let reason = Failure::new(Failure::CONNECTION_LOST, "the page is another session now");
        self.calls.cancel_all(&reason, &mut self.effects);
        self.start_attempt();
    }

    /// The app added something: `definition` is the whole MCP object.
    pub fn added(&mut self, key: DefinitionKey, item: Item, definition: SizedJson<V>) {
        self.definitions
            .add(key, item, definition, &mut self.effects);
        self.schedule_flush();
    }

    /// The app removed something. What was replaced before is gone already.
    pub fn definition_removed(&mut self, key: DefinitionKey) {
        let connected = self.connection.is_ready();
        self.definitions.remove(key, connected, &mut self.effects);
        self.schedule_flush();
    }

    /// The content of a resource changed.
    pub fn resource_updated(&mut self, uri: String) {
        self.resource_updates.add(uri, self.connection.is_ready());
        self.schedule_flush();
    }

    /// The module has a message about a query. Returns whether there is a connection that it goes out on:
    /// without one the module says it again, or something else, on the next.
    pub fn query(&mut self, message: V) -> bool {
        let connected = self.connection.is_ready();
        if connected {
            self.effects.send(PageToBridge::Query(message));
        }
        connected
    }

    /// The task that asked for [`Effect::ScheduleFlush`] is over.
    pub fn flush(&mut self) {
        if self.connection.is_ready() {
            self.definitions
                .flush(self.limits.max_frame_bytes, &mut self.effects);
            self.calls.flush(&self.limits, &mut self.effects);
            self.resource_updates.flush(&mut self.effects);
        }
    }

    fn schedule_flush(&mut self) {
        if self.connection.is_ready() {
            self.effects.push(Effect::ScheduleFlush);
        }
    }

    // What handlers do.

    /// A handler ended.
    pub fn handler_finished(&mut self, call: CallId, outcome: HandlerOutcome<V>) {
        self.calls
            .finished(call, outcome, &self.limits, &mut self.effects);
    }

    /// A handler says how far it is, as JSON texts. Said without a connection, it is not said.
    pub fn progressed(
        &mut self,
        call: CallId,
        progress: V,
        total: Option<V>,
        message: Option<String>,
    ) {
        self.calls
            .progressed(call, progress, total, message, &mut self.effects);
    }

    /// A handler has something for the client's log. Said without a connection, it is not said.
    pub fn logged(
        &mut self,
        call: CallId,
        level: String,
        logger: Option<String>,
        data: SizedJson<V>,
    ) {
        self.calls
            .logged(call, level, logger, data, &mut self.effects);
    }

    /// A handler asks the client behind its call; `bytes` is the length of the parameters. Answered by
    /// [`Report::ClientAnswered`], unless the call ends before.
    pub fn client_requested(&mut self, call: CallId, request: ClientRequest<V>, bytes: usize) {
        self.calls
            .client_requested(call, request, bytes, &self.limits, &mut self.effects);
        self.schedule_flush();
    }
}
