//! A page: its connection, definitions and calls, and the events that change them.

mod bridge_messages;
mod connection_events;
mod token;
mod visibility;

use bridge_protocol::limits::{
    HEARTBEAT_INTERVAL, MAX_BUFFERED_BYTES, MAX_FRAME_BYTES, MAX_RESULT_BYTES,
};
use bridge_protocol::{BridgeId, CallId, SessionId};

use super::calls::{Calls, HandlerOutcome, MAX_PROMPT_MS};
use super::connection::{Connection, Phase};
use super::definitions::Definitions;
use super::effect::{DefinitionKey, Effect, Effects, Failure, StartedCall, Status};
use super::message_parts::Assembler;
use super::messages::{ClientRequest, Item, Json, Limits, PageToBridge, SizedJson};
use super::resource_updates::PendingResourceUpdates;
use super::timer::{Clock, Timer};
use visibility::VisibilityTracker;

pub use visibility::{ACTIVITY_INTERVAL_MS, PageVisibility};

/// The properties of a page that do not change.
#[derive(Clone, Debug)]
pub struct PageInfo<J> {
    /// The address of the bridge, for error messages.
    pub bridge_url: String,
    /// The session. [`Page::set_session`] changes it.
    pub session_id: SessionId,
    /// The name that the user gave the tab.
    pub session_name: Option<String>,
    /// `location.origin`.
    pub origin: Option<String>,
    /// A random text, chosen once per document: a bridge does not restart a call in another
    /// document.
    pub document_id: Option<String>,
    /// `navigator.userAgent`.
    pub user_agent: Option<String>,
    /// The app as JSON text.
    pub app: J,
    /// Whether a fresh token can be fetched, because the app passed a function.
    pub renewable: bool,
}

/// The page's side of the protocol.
///
/// For each event, the caller sets the time with [`Page::set_now`], calls the method of the event,
/// and then performs all effects of [`Page::next_effect`].
#[derive(Debug)]
pub struct Page<J> {
    info: PageInfo<J>,
    connection: Connection,
    clock: Clock,
    timer: Timer,
    /// The run of the bridge that calls and registrations belong to.
    bridge_id: Option<BridgeId>,
    /// The limits of that bridge.
    limits: Limits,
    /// One moment on this page's clock and on the bridge's clock. The page's value may be too
    /// early, never too late.
    clock_sync: (u64, u64),
    /// Whether too much of what the page sent is still buffered in the browser.
    is_backlogged: bool,
    /// Whether the connection was silent for too long, and the page processes pending messages
    /// before it abandons the socket.
    draining: bool,
    /// Whether a fresh token for the open socket is being fetched.
    renewing: bool,
    /// Set when the bridge has reported that the token has expired. A close follows.
    expired_error: Option<Failure>,
    assembler: Assembler<J>,
    definitions: Definitions<J>,
    calls: Calls<J>,
    resource_updates: PendingResourceUpdates,
    visibility: VisibilityTracker,
    /// Whether connected clients were reported to the app.
    clients_reported: bool,
    /// Whether subscriptions were reported to the app. They outlive a broken connection.
    subscriptions_reported: bool,
    effects: Effects<J>,
}

impl<J: Json> Page<J> {
    /// Creates a page without a connection.
    pub fn new(info: PageInfo<J>, visibility: PageVisibility) -> Self {
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
            is_backlogged: false,
            draining: false,
            renewing: false,
            expired_error: None,
            assembler: Assembler::new(),
            definitions: Definitions::new(),
            calls: Calls::new(),
            resource_updates: PendingResourceUpdates::default(),
            visibility: VisibilityTracker::new(visibility),
            clients_reported: false,
            subscriptions_reported: false,
            effects: Effects::new(),
        }
    }

    /// Sets the time of the next event, in milliseconds since the Unix epoch.
    pub fn set_now(&mut self, now_ms: u64) {
        self.clock.advance_to(now_ms);
    }

    /// Sets how many of the sent bytes the browser still has to transmit.
    pub fn set_buffered(&mut self, bytes: u32) {
        self.is_backlogged = bytes > MAX_BUFFERED_BYTES;
    }

    /// Returns the call if its handler may start now. If it does not start in time, the page first
    /// asks the bridge whether it is awaited. The caller sets the time after it has performed the
    /// effects before [`Effect::StartCall`], so that the acknowledgement was sent in time.
    pub fn confirm_start(&mut self, call: StartedCall<J>) -> Option<StartedCall<J>> {
        let now_ms = self.clock.now_ms;
        if call.start_by_ms.is_none_or(|latest| now_ms <= latest) {
            return Some(call);
        }
        self.calls.delayed(call.request, now_ms, &mut self.effects);
        None
    }

    /// Returns the next effect. After every event, all effects must be performed in order.
    pub fn next_effect(&mut self) -> Option<Effect<J>> {
        self.effects.next()
    }

    /// Starts to connect. Has no effect while the page is connected or an attempt is in progress.
    pub fn connect(&mut self) {
        match self.connection.phase {
            Phase::Off => self.connection.reset(),
            Phase::Waiting { .. } => {}
            _ => return,
        }
        self.start_attempt();
    }

    /// Disconnects the page and cancels running calls.
    pub fn disconnect(&mut self) {
        let reason = Failure::new(Failure::DISCONNECTED, "the page disconnected");
        self.stop(&reason, Status::Disconnected);
    }

    /// Changes the session of the page to one that is new to the bridge, because the former one
    /// belongs to another tab. A connection or an attempt is replaced by one with the new id.
    pub fn set_session(&mut self, session_id: SessionId) {
        self.info.session_id = session_id;
        self.bridge_id = None;
        if self.connection.phase == Phase::Off {
            return;
        }
        self.effects.push(Effect::CloseSocket);
        self.connection_lost();
        let reason = Failure::new(Failure::CONNECTION_LOST, "the page changed its session");
        self.calls.cancel_all(&reason, &mut self.effects);
        self.start_attempt();
    }

    /// Adds a definition of the app: `definition` is the complete MCP object, and it is `repeatable`
    /// if a repeated call does no harm.
    pub fn definition_added(
        &mut self,
        key: DefinitionKey,
        item: Item,
        definition: SizedJson<J>,
        repeatable: bool,
    ) {
        self.definitions
            .add(key, item, definition, repeatable, &mut self.effects);
        self.schedule_flush();
    }

    /// Removes a definition of the app. One that was replaced has already been removed.
    pub fn definition_removed(&mut self, key: DefinitionKey) {
        let connected = self.connection.is_ready();
        self.definitions.remove(key, connected, &mut self.effects);
        self.schedule_flush();
    }

    /// Reports that the content of a resource changed.
    pub fn resource_updated(&mut self, uri: String) {
        self.resource_updates.add(uri, self.connection.is_ready());
        self.schedule_flush();
    }

    /// Sends a message of the JavaScript module about a query. Returns whether it was sent: without
    /// a connection, the module decides what to send on the next one.
    pub fn query(&mut self, message: J) -> bool {
        let connected = self.connection.is_ready();
        if connected {
            self.effects.send(PageToBridge::Query(message));
        }
        connected
    }

    /// The task that caused [`Effect::ScheduleFlush`] has ended.
    pub fn flush(&mut self) {
        if self.connection.is_ready() {
            self.definitions.flush(&self.limits, &mut self.effects);
            self.calls.flush(&self.limits, &mut self.effects);
            self.resource_updates.flush(&mut self.effects);
        }
    }

    fn schedule_flush(&mut self) {
        if self.connection.is_ready() {
            self.effects.push(Effect::ScheduleFlush);
        }
    }

    /// A handler ended.
    pub fn handler_finished(&mut self, call: CallId, outcome: HandlerOutcome<J>) {
        let ended = self
            .calls
            .finished(call, outcome, &self.limits, &mut self.effects);
        if let Some(task) = ended {
            let is_prompt = self.clock.now_ms - task.started_ms <= MAX_PROMPT_MS;
            self.definitions.observed(task.definition, is_prompt);
        }
    }

    /// A task that [`Effect::ScheduleTask`] scheduled runs, so the previous task has ended.
    pub fn task_ended(&mut self) {
        self.calls
            .task_ended(&mut self.definitions, &mut self.effects);
    }

    /// A handler reports its progress, as JSON texts. Without a connection the report is dropped.
    pub fn progressed(
        &mut self,
        call: CallId,
        progress: J,
        total: Option<J>,
        message: Option<String>,
    ) {
        self.calls
            .progressed(call, progress, total, message, &mut self.effects);
    }

    /// A handler sends a log message to the client. Without a connection the message is dropped.
    pub fn logged(
        &mut self,
        call: CallId,
        level: String,
        logger: Option<String>,
        data: SizedJson<J>,
    ) {
        self.calls
            .logged(call, level, logger, data, &mut self.effects);
    }

    /// A handler makes a request to the client that made the call; `bytes` is the size of the
    /// parameters. [`Report::ClientAnswered`](super::effect::Report::ClientAnswered) answers it,
    /// unless the call ends first.
    pub fn client_requested(&mut self, call: CallId, request: ClientRequest<J>, bytes: usize) {
        self.calls
            .client_requested(call, request, bytes, &self.limits, &mut self.effects);
        self.schedule_flush();
    }

    /// A handler arms the hand-over of its call to the next document, with this state as JSON text,
    /// or disarms it.
    pub fn hand_over_requested(&mut self, call: CallId, state: J, is_armed: bool) {
        self.calls
            .hand_over_requested(call, state, is_armed, &mut self.effects);
    }

    /// Visibility, focus or title may have changed, or the page is not frozen any more.
    pub fn visibility_changed(&mut self, visibility: PageVisibility) {
        self.visibility.current = visibility;
        self.set_frozen(false);
    }

    /// The browser is about to suspend the page. [`Page::visibility_changed`] reports when the page
    /// resumes.
    pub fn froze(&mut self) {
        self.set_frozen(true);
    }

    fn set_frozen(&mut self, frozen: bool) {
        self.visibility.set_frozen(frozen, self.calls.last_check());
        if self.connection.is_ready() {
            self.task_ended();
            self.visibility.send_changes(&mut self.effects);
        }
    }

    /// The user interacted with the page.
    pub fn user_acted(&mut self) {
        if self.connection.is_ready() {
            self.visibility
                .send_activity(self.clock.now_ms, &mut self.effects);
        }
    }
}
