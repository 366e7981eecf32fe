//! The page's side of the protocol, driven by hand.

mod calls;
mod connecting;
mod frames;
mod orders;
mod registering;

use bridge_protocol::{BridgeId, CallId, RegistrationId, SessionId};

use super::*;

type Message = PageToBridge<String>;

pub(super) const LIMITS: Limits = Limits {
    max_result_bytes: 1000,
    max_frame_bytes: 10_000,
    heartbeat_seconds: 20,
};

/// A page whose effects are noted instead of done.
pub(super) struct TestPage {
    page: Page<String>,
    socket_open: bool,
    pub(super) sent: Vec<Message>,
    pub(super) started: Vec<CallId>,
    pub(super) reports: Vec<Report<String>>,
    pub(super) timer: Option<u32>,
    pub(super) sockets: usize,
    pub(super) token_wanted: bool,
    pub(super) flush_wanted: bool,
    /// Every effect in order.
    pub(super) all: Vec<Effect<String>>,
}

impl TestPage {
    pub(super) fn new() -> Self {
        let introduction = Introduction {
            bridge_url: "http://localhost:3001".into(),
            session_id: SessionId::from("tab-1"),
            session_name: None,
            origin: None,
            user_agent: None,
            app: r#"{"name":"board"}"#.into(),
        };
        Self {
            page: Page::new(introduction, Sight::default()),
            socket_open: false,
            sent: Vec::new(),
            started: Vec::new(),
            reports: Vec::new(),
            timer: None,
            sockets: 0,
            token_wanted: false,
            flush_wanted: false,
            all: Vec::new(),
        }
    }

    /// A page that is connected to the bridge `b-1`, with nothing noted yet.
    pub(super) fn connected() -> Self {
        let mut page = Self::new();
        page.tell(|page| page.connect());
        page.accept("b-1");
        page.forget();
        page
    }

    pub(super) fn tell(&mut self, event: impl FnOnce(&mut Page<String>)) {
        event(&mut self.page);
        while let Some(effect) = self.page.next_effect() {
            self.note(&effect);
            self.all.push(effect);
        }
    }

    fn note(&mut self, effect: &Effect<String>) {
        match effect {
            Effect::FetchToken => self.token_wanted = true,
            Effect::OpenSocket => {
                self.sockets += 1;
                self.socket_open = false;
            }
            Effect::Send(message) => {
                assert!(self.socket_open, "sent without a socket: {message:?}");
                self.sent.push(message.clone());
            }
            Effect::CloseSocket | Effect::AbandonSocket => self.socket_open = false,
            Effect::SetTimer(ms) => self.timer = Some(*ms),
            Effect::StopTimer => self.timer = None,
            Effect::FlushSoon => self.flush_wanted = true,
            Effect::StartCall(call) => self.started.push(call.id.clone()),
            Effect::Report(report) => self.reports.push(report.clone()),
        }
    }

    /// Everything the browser and the bridge `bridge_id` must say until the page is connected.
    pub(super) fn accept(&mut self, bridge_id: &str) {
        self.open();
        self.hear(authenticated(bridge_id));
        self.flush();
    }

    /// The token is fetched and the socket opens.
    pub(super) fn open(&mut self) {
        assert!(std::mem::take(&mut self.token_wanted));
        self.tell(|page| page.token_ready(Token("0123456789abcdef".into())));
        self.socket_open = true;
        self.tell(|page| page.socket_opened(1_790_000_000_000));
    }

    pub(super) fn hear(&mut self, message: BridgeToPage<String>) {
        self.tell(|page| page.message_arrived(message));
    }

    /// The connection breaks, and the wait for the next attempt is over.
    pub(super) fn break_and_retry(&mut self) {
        self.close(1006);
        self.tell(|page| page.timer_fired(0.5));
    }

    pub(super) fn close(&mut self, code: u16) {
        self.socket_open = false;
        self.tell(|page| page.socket_closed(code, "", 0.5));
    }

    pub(super) fn flush(&mut self) {
        self.flush_wanted = false;
        self.tell(|page| page.flush());
    }

    pub(super) fn add_tool(&mut self, key: u32, name: &str) {
        let definition = measured(format!(r#"{{"name":"{name}"}}"#));
        let name = name.to_owned();
        self.tell(|page| page.tool_added(ToolKey(key), name, definition, format!("handler {key}")));
    }

    pub(super) fn remove_tool(&mut self, key: u32) {
        self.tell(|page| page.tool_removed(ToolKey(key)));
    }

    pub(super) fn finish(&mut self, call: &str, outcome: Outcome<String>) {
        self.tell(|page| page.handler_finished(CallId::from(call), outcome));
    }

    pub(super) fn statuses(&self) -> Vec<Status> {
        let status = |report: &Report<String>| match report {
            Report::Status(status) => Some(status.clone()),
            _ => None,
        };
        self.reports.iter().filter_map(status).collect()
    }

    pub(super) fn endings(&self) -> Vec<(CallId, Ending<String>)> {
        let ending = |report: &Report<String>| match report {
            Report::CallEnded { call, ending } => Some((call.clone(), ending.clone())),
            _ => None,
        };
        self.reports.iter().filter_map(ending).collect()
    }

    /// Forgets what was noted, not what the page knows.
    pub(super) fn forget(&mut self) {
        self.sent.clear();
        self.started.clear();
        self.reports.clear();
        self.all.clear();
    }
}

pub(super) fn measured(json: String) -> Encoded<String> {
    Encoded {
        bytes: json.len(),
        json,
    }
}

pub(super) fn authenticated(bridge_id: &str) -> BridgeToPage<String> {
    BridgeToPage::Authenticated {
        protocol: 2,
        bridge_id: BridgeId::from(bridge_id),
        limits: LIMITS,
    }
}

pub(super) fn tool_call(call: &str, tool: &str) -> BridgeToPage<String> {
    BridgeToPage::ToolCall(ToolCall {
        call: CallId::from(call),
        tool_name: tool.into(),
        tool_input: "{}".into(),
        client: None,
    })
}

pub(super) fn returned(json: &str) -> Outcome<String> {
    Outcome::Returned {
        value: json.into(),
        result: Some(measured(json.into())),
    }
}

pub(super) fn response(call: &str, json: &str) -> Message {
    PageToBridge::ToolResponse {
        call: CallId::from(call),
        result: Some(json.into()),
    }
}

pub(super) fn register(id: &str, names: &[&str]) -> Message {
    PageToBridge::RegisterTools {
        registration_id: RegistrationId::from(id),
        tools: names
            .iter()
            .map(|name| format!(r#"{{"name":"{name}"}}"#))
            .collect(),
    }
}

pub(super) fn unregister(id: &str, names: &[&str]) -> Message {
    PageToBridge::UnregisterTools {
        registration_id: RegistrationId::from(id),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}
