//! A page: its connection, definitions and calls, and what each event does to them.

mod bridge;
mod connecting;
mod seeing;
mod token;

use bridge_protocol::limits::{HEARTBEAT_EVERY, MAX_FRAME_BYTES, MAX_RESULT_BYTES};
use bridge_protocol::{BridgeId, CallId, SessionId};

use super::calls::{Calls, Outcome};
use super::connection::{Connection, Phase};
use super::definitions::Definitions;
use super::effect::{DefinitionKey, Effect, Effects, Failure, Status};
use super::messages::{ClientRequest, Encoded, Item, Limits, PageToBridge};
use super::parts::Assembler;
use super::timer::{Clock, Timer};
use super::updates::Updates;
use seeing::Seeing;

pub use seeing::{ACTIVITY_EVERY_MS, Sight};

/// The facts about a page that do not change.
#[derive(Clone, Debug)]
pub struct Introduction<V> {
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
/// Each event happens at a time: [`Page::at`] says which, then the event's own method is called, then
/// all effects are taken.
#[derive(Debug)]
pub struct Page<V> {
    introduction: Introduction<V>,
    connection: Connection,
    clock: Clock,
    timer: Timer,
    /// The life of the bridge that calls and registrations belong to.
    bridge_id: Option<BridgeId>,
    /// Those of that bridge.
    limits: Limits,
    /// This page's clock and the bridge's, at one moment or with the page's before.
    clocks: (u64, u64),
    /// Whether silence has been noticed, and the socket has its last chance.
    last_chance: bool,
    /// Whether the app's token function was asked for a token for the open socket.
    renewing: bool,
    /// The bridge has said that the token has expired; its close is on the way.
    expired: Option<Failure>,
    parts: Assembler<V>,
    definitions: Definitions<V>,
    calls: Calls<V>,
    updates: Updates,
    seeing: Seeing,
    /// Whether the app was told of connected clients.
    knows_clients: bool,
    /// Whether the app was told of subscriptions. They outlive a broken connection.
    knows_subscriptions: bool,
    effects: Effects<V>,
}

impl<V: Clone> Page<V> {
    /// A page without a connection.
    pub fn new(introduction: Introduction<V>, sight: Sight) -> Self {
        Self {
            introduction,
            connection: Connection::new(),
            clock: Clock::default(),
            timer: Timer::default(),
            bridge_id: None,
            limits: Limits {
                max_result_bytes: MAX_RESULT_BYTES,
                max_frame_bytes: MAX_FRAME_BYTES,
                max_message_bytes: MAX_FRAME_BYTES,
                heartbeat_seconds: HEARTBEAT_EVERY.as_secs() as u32,
            },
            clocks: (0, 0),
            last_chance: false,
            renewing: false,
            expired: None,
            parts: Assembler::new(),
            definitions: Definitions::new(),
            calls: Calls::new(),
            updates: Updates::default(),
            seeing: Seeing::new(sight),
            knows_clients: false,
            knows_subscriptions: false,
            effects: Effects::new(),
        }
    }

    /// The event that follows happens now: milliseconds since the Unix epoch.
    pub fn at(&mut self, now_ms: u64) {
        self.clock.at(now_ms);
    }

    /// What must happen next. Every event is followed by taking all effects, in order.
    pub fn next_effect(&mut self) -> Option<Effect<V>> {
        self.effects.next()
    }

    // What the app asks for.

    /// The app wants a connection. Nothing changes while there is one or an attempt under way.
    pub fn connect(&mut self) {
        match self.connection.phase {
            Phase::Off => self.connection.start_over(),
            Phase::Waiting { .. } => {}
            _ => return,
        }
        self.attempt();
    }

    /// The app wants no connection any more. Running calls are cancelled.
    pub fn disconnect(&mut self) {
        let reason = Failure::new(Failure::DISCONNECTED, "the page disconnected");
        self.stop(&reason, Status::Disconnected);
    }

    /// The page goes on as another session, which the bridge has never heard of: its former one
    /// belongs to another tab. A connection, or an attempt, is left for one under the new id.
    pub fn set_session(&mut self, session_id: SessionId) {
        self.introduction.session_id = session_id;
        self.bridge_id = None;
        if self.connection.phase == Phase::Off {
            return;
        }
        self.effects.push(Effect::CloseSocket);
        self.connection_lost();
        let reason = Failure::new(Failure::CONNECTION_LOST, "the page is another session now");
        self.calls.void(&reason, &mut self.effects);
        self.attempt();
    }

    /// The app added something: `definition` is the whole MCP object.
    pub fn added(&mut self, key: DefinitionKey, item: Item, definition: Encoded<V>) {
        self.definitions
            .added(key, item, definition, &mut self.effects);
        self.flush_soon();
    }

    /// The app removed something. What was replaced before is gone already.
    pub fn removed(&mut self, key: DefinitionKey) {
        let connected = self.connection.is_ready();
        self.definitions.removed(key, connected, &mut self.effects);
        self.flush_soon();
    }

    /// The content of a resource changed.
    pub fn resource_updated(&mut self, uri: String) {
        self.updates.happened(uri, self.connection.is_ready());
        self.flush_soon();
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

    /// The task that asked for [`Effect::FlushSoon`] is over.
    pub fn flush(&mut self) {
        if self.connection.is_ready() {
            self.definitions
                .flush(self.limits.max_frame_bytes, &mut self.effects);
            self.calls.flush(&self.limits, &mut self.effects);
            self.updates.flush(&mut self.effects);
        }
    }

    fn flush_soon(&mut self) {
        if self.connection.is_ready() {
            self.effects.push(Effect::FlushSoon);
        }
    }

    // What handlers do.

    /// A handler ended.
    pub fn handler_finished(&mut self, call: CallId, outcome: Outcome<V>) {
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
        data: Encoded<V>,
    ) {
        self.calls
            .logged(call, level, logger, data, &mut self.effects);
    }

    /// A handler asks the client behind its call; `bytes` is the length of the parameters. Answered by
    /// [`Report::ClientAnswered`], unless the call ends before.
    pub fn client_asked(&mut self, call: CallId, request: ClientRequest<V>, bytes: usize) {
        self.calls
            .asked(call, request, bytes, &self.limits, &mut self.effects);
        self.flush_soon();
    }
}
