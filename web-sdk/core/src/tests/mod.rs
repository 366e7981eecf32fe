//! Tests of [`Page`]: a test causes events and checks the recorded effects.

mod calls;
mod client_requests;
mod connection_lifecycle;
mod event_sequences;
mod frames;
mod hand_over;
mod late_calls;
mod message_parts;
mod queries;
mod receipts;
mod registration;
mod resources;
mod resumption;
mod source_rules;
mod token_renewal;

use bridge_protocol::{BridgeId, CallId, RegistrationId, SessionId};

use super::*;

type Message = PageToBridge<String>;

/// The limits of the test bridge: small, so that tests can exceed them with little data.
pub(super) const TEST_LIMITS: Limits = Limits {
    max_result_bytes: 12_000,
    max_frame_bytes: 10_000,
    max_message_bytes: 100_000,
    heartbeat_seconds: 20,
};

/// The start time of tests, on the clocks of the page and the bridge.
pub(super) const NOW_MS: u64 = 1_790_000_000_000;

/// A page whose effects are recorded instead of performed.
pub(super) struct TestPage {
    page: Page<String>,
    /// The page's wall clock.
    pub(super) now_ms: u64,
    socket_open: bool,
    /// The messages that were sent; checks have no number here.
    pub(super) sent: Vec<Message>,
    pub(super) started: Vec<CallId>,
    pub(super) reports: Vec<Report<String>>,
    pub(super) timer: Option<u32>,
    pub(super) sockets_opened: usize,
    pub(super) token_requested: bool,
    pub(super) flush_requested: bool,
    pub(super) task_scheduled: bool,
    /// The time in milliseconds between an event and the start of a handler.
    pub(super) start_delay_ms: u64,
    /// Every effect in order.
    pub(super) effects: Vec<Effect<String>>,
}

impl TestPage {
    pub(super) fn new() -> Self {
        Self::with_token_source(false)
    }

    /// Creates a page whose token comes from a function, if `renewable`.
    pub(super) fn with_token_source(renewable: bool) -> Self {
        Self::with_facts(renewable, Some("http://localhost".into()))
    }

    /// Creates the session of a program.
    pub(super) fn without_origin() -> Self {
        Self::with_facts(false, None)
    }

    fn with_facts(renewable: bool, origin: Option<String>) -> Self {
        let info = PageInfo {
            bridge_url: "http://localhost:3001".into(),
            session_id: SessionId::from("tab-1"),
            session_name: None,
            origin,
            document_id: None,
            user_agent: None,
            renewable,
            app: r#"{"name":"board"}"#.into(),
        };
        Self {
            page: Page::new(info, PageVisibility::default()),
            now_ms: NOW_MS,
            socket_open: false,
            sent: Vec::new(),
            started: Vec::new(),
            reports: Vec::new(),
            timer: None,
            sockets_opened: 0,
            token_requested: false,
            flush_requested: false,
            task_scheduled: false,
            start_delay_ms: 0,
            effects: Vec::new(),
        }
    }

    /// Creates a page that is connected to the bridge `b-1`, with no recorded effects.
    pub(super) fn connected() -> Self {
        let mut page = Self::new();
        page.dispatch(|page| page.connect());
        page.accept("b-1");
        page.clear();
        page
    }

    /// Creates a connected page with the tool `echo` and no recorded effects.
    pub(super) fn with_echo() -> Self {
        let mut page = Self::connected();
        page.add_tool(1, "echo");
        page.flush();
        page.clear();
        page
    }

    pub(super) fn dispatch(&mut self, event: impl FnOnce(&mut Page<String>)) {
        self.page.set_now(self.now_ms);
        event(&mut self.page);
        while let Some(effect) = self.page.next_effect() {
            self.record(&effect);
            self.effects.push(effect);
        }
    }

    fn record(&mut self, effect: &Effect<String>) {
        match effect {
            Effect::FetchToken => self.token_requested = true,
            Effect::OpenSocket => {
                self.sockets_opened += 1;
                self.socket_open = false;
            }
            Effect::Send(message) => {
                assert!(self.socket_open, "sent without a socket: {message:?}");
                let mut message = message.clone();
                if let PageToBridge::CallsCheck { check, .. } = &mut message {
                    *check = 0;
                }
                self.sent.push(message);
            }
            Effect::CloseSocket | Effect::AbandonSocket => self.socket_open = false,
            Effect::SetTimer(ms) => self.timer = Some(*ms),
            Effect::StopTimer => self.timer = None,
            Effect::ScheduleFlush => self.flush_requested = true,
            Effect::ScheduleTask => self.task_scheduled = true,
            Effect::StartCall(call) => {
                self.page.set_now(self.now_ms + self.start_delay_ms);
                if let Some(call) = self.page.confirm_start(call.clone()) {
                    self.started.push(call.request.call);
                }
            }
            Effect::Report(report) => self.reports.push(report.clone()),
        }
    }

    /// Completes an attempt successfully: the socket opens, and the bridge `bridge_id` accepts the
    /// page.
    pub(super) fn accept(&mut self, bridge_id: &str) {
        self.accept_with(authenticated(bridge_id));
    }

    /// Completes an attempt successfully with this answer of the bridge.
    pub(super) fn accept_with(&mut self, authenticated: BridgeToPage<String>) {
        self.open();
        self.receive(authenticated);
        self.flush();
    }

    /// The token is fetched and the socket opens.
    pub(super) fn open(&mut self) {
        assert!(std::mem::take(&mut self.token_requested));
        self.dispatch(|page| page.token_ready(Token("0123456789abcdef".into())));
        self.socket_open = true;
        self.dispatch(|page| page.socket_opened());
    }

    pub(super) fn receive(&mut self, message: BridgeToPage<String>) {
        self.dispatch(|page| page.message_arrived(message));
    }

    /// Breaks the connection and ends the backoff.
    pub(super) fn break_and_retry(&mut self) {
        self.close(1006);
        self.timer_fires(0.5);
    }

    /// Advances the clock without an event.
    pub(super) fn pass_time(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    /// Advances the clock to the deadline of the timer, which fires.
    pub(super) fn timer_fires(&mut self, random: f64) {
        self.now_ms += u64::from(self.timer.take().unwrap());
        self.dispatch(|page| page.timer_fired(random));
    }

    pub(super) fn close(&mut self, code: u16) {
        self.close_with(code, "");
    }

    /// Closes the socket with this code and reason.
    pub(super) fn close_with(&mut self, code: u16, reason: &str) {
        self.socket_open = false;
        self.dispatch(|page| page.socket_closed(code, reason, 0.5));
    }

    pub(super) fn flush(&mut self) {
        self.flush_requested = false;
        self.dispatch(|page| page.flush());
    }

    pub(super) fn add_tool(&mut self, key: u32, name: &str) {
        self.add(key, Kind::Tool, name);
    }

    /// Adds a tool whose calls may safely be repeated.
    pub(super) fn add_repeatable_tool(&mut self, key: u32, name: &str) {
        self.add_definition(key, Kind::Tool, name, true);
    }

    pub(super) fn add(&mut self, key: u32, kind: Kind, name: &str) {
        self.add_definition(key, kind, name, false);
    }

    fn add_definition(&mut self, key: u32, kind: Kind, name: &str, repeatable: bool) {
        let definition = sized_json(format!(r#"{{"name":"{name}"}}"#));
        let key = DefinitionKey(key);
        self.dispatch(|page| page.definition_added(key, item(kind, name), definition, repeatable));
    }

    /// The task ends, and the one that it has scheduled runs.
    pub(super) fn end_task(&mut self) {
        if std::mem::take(&mut self.task_scheduled) {
            self.dispatch(|page| page.task_ended());
        }
    }

    pub(super) fn remove(&mut self, key: u32) {
        self.dispatch(|page| page.definition_removed(DefinitionKey(key)));
    }

    pub(super) fn finish(&mut self, call: &str, outcome: HandlerOutcome<String>) {
        self.dispatch(|page| page.handler_finished(CallId::from(call), outcome));
    }

    pub(super) fn statuses(&self) -> Vec<Status> {
        let status = |report: &Report<String>| match report {
            Report::Status(status) => Some(status.clone()),
            _ => None,
        };
        self.reports.iter().filter_map(status).collect()
    }

    pub(super) fn call_outcomes(&self) -> Vec<(CallId, CallEnd)> {
        let outcome = |report: &Report<String>| match report {
            Report::CallEnded { call, outcome } => Some((call.clone(), outcome.clone())),
            _ => None,
        };
        self.reports.iter().filter_map(outcome).collect()
    }

    /// Clears the recorded effects. The state of the page stays.
    pub(super) fn clear(&mut self) {
        self.sent.clear();
        self.started.clear();
        self.reports.clear();
        self.effects.clear();
    }
}

pub(super) fn sized_json(json: String) -> SizedJson<String> {
    SizedJson {
        bytes: json.len(),
        json,
    }
}

pub(super) fn authenticated(bridge_id: &str) -> BridgeToPage<String> {
    BridgeToPage::Authenticated {
        protocol: 2,
        bridge_id: BridgeId::from(bridge_id),
        session_name: None,
        awaited: Vec::new(),
        now_ms: NOW_MS,
        token_expires_in_ms: None,
        limits: TEST_LIMITS,
    }
}

/// Returns the message with which the bridge `b-1` accepts the page and awaits these calls.
pub(super) fn authenticated_awaiting(calls: &[&str]) -> BridgeToPage<String> {
    let mut message = authenticated("b-1");
    if let BridgeToPage::Authenticated { awaited, .. } = &mut message {
        *awaited = call_ids(calls);
    }
    message
}

/// Creates an answer to the latest check.
pub(super) fn calls_alive(alive: &[&str], ended: &[&str]) -> BridgeToPage<String> {
    calls_alive_to(u64::MAX, alive, ended)
}

/// Creates the answer to the check with this number.
pub(super) fn calls_alive_to(check: u64, alive: &[&str], ended: &[&str]) -> BridgeToPage<String> {
    BridgeToPage::CallsAlive {
        check,
        alive: call_ids(alive),
        ended: call_ids(ended),
    }
}

pub(super) fn call_received(call: &str) -> Message {
    PageToBridge::CallReceived(CallId::from(call))
}

pub(super) fn leaving(hands_over: &[&str]) -> Message {
    PageToBridge::Leaving {
        hands_over: call_ids(hands_over),
    }
}

/// Creates a check as [`TestPage::sent`] contains it.
pub(super) fn calls_check(calls: &[&str]) -> Message {
    PageToBridge::CallsCheck {
        check: 0,
        calls: call_ids(calls),
    }
}

pub(super) fn call_ids(calls: &[&str]) -> Vec<CallId> {
    calls.iter().map(|call| CallId::from(*call)).collect()
}

pub(super) fn item(kind: Kind, name: &str) -> Item {
    Item {
        kind,
        name: name.into(),
    }
}

pub(super) fn tool_call(call: &str, tool: &str) -> BridgeToPage<String> {
    request(call, Kind::Tool, tool)
}

/// Creates a call of a tool with this number of hand-overs.
pub(super) fn continued_tool_call(call: &str, tool: &str, hand_overs: u64) -> BridgeToPage<String> {
    let mut message = tool_call(call, tool);
    if let BridgeToPage::CallRequested(request) = &mut message {
        request.hand_overs = hand_overs;
    }
    message
}

pub(super) fn request(call: &str, kind: Kind, name: &str) -> BridgeToPage<String> {
    BridgeToPage::CallRequested(HandlerRequest {
        call: CallId::from(call),
        item: item(kind, name),
        sent_ms: None,
        hand_overs: 0,
        message: format!("message {call}"),
    })
}

pub(super) fn cancel(call: &str) -> BridgeToPage<String> {
    BridgeToPage::CallCancel {
        call: CallId::from(call),
        code: "CallCancelled".into(),
        reason: "the client cancelled".into(),
    }
}

pub(super) fn returned(json: &str) -> HandlerOutcome<String> {
    HandlerOutcome::Returned {
        answer: Answer {
            result: Some(json.into()),
            ..empty_answer()
        },
        bytes: json.len(),
    }
}

pub(super) fn empty_answer() -> Answer<String> {
    Answer {
        result: None,
        content: None,
        structured_content: None,
        meta: None,
    }
}

pub(super) fn threw(message: &str) -> HandlerOutcome<String> {
    HandlerOutcome::Threw {
        code: None,
        message: message.into(),
        details: Answer::default(),
        bytes: 0,
    }
}

pub(super) fn response(call: &str, json: &str) -> Message {
    PageToBridge::CallResponse {
        call: CallId::from(call),
        answer: Answer {
            result: Some(json.into()),
            ..empty_answer()
        },
    }
}

pub(super) fn register(id: &str, names: &[&str]) -> Message {
    PageToBridge::Register {
        registration_id: RegistrationId::from(id),
        items: names
            .iter()
            .map(|name| Definition {
                kind: Kind::Tool,
                json: format!(r#"{{"name":"{name}"}}"#),
            })
            .collect(),
    }
}

pub(super) fn unregister(id: &str, names: &[&str]) -> Message {
    PageToBridge::Unregister {
        registration_id: RegistrationId::from(id),
        items: names.iter().map(|name| item(Kind::Tool, name)).collect(),
    }
}
