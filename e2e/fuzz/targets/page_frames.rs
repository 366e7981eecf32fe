//! Frames of pages, calls and time, in any order, for the state of a realm.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bridge::in_memory::{ABNORMAL_CLOSURE, BridgeOutput, InMemoryBridge, new_bridge};
use bridge::{CallSettings, Config, PageLimits, PageTimings, Results};
use bridge_protocol::message_parts::{Assembler, AssemblyStatus};
use bridge_protocol::{BridgeToPage, CallId, Kind};
use serde_json::Value;

use crate::choices::Choices;
use crate::mutation::{mutate, mutated_text};
use crate::templates::{PAGE_MESSAGES, page_message};

/// The Unix time in milliseconds at the start of each run: that in the golden files.
const START_MS: u64 = 1_790_000_000_000;

const SESSIONS: [&str; 3] = ["tab-1", "tab-2", "tab-3"];

/// The tools of the golden registration, and names that mutations often produce.
const TOOLS: [&str; 3] = ["echo", "tab-1", ""];

const TOKENS: [&str; 2] = ["expires-soon", "not-valid"];

const MAX_STEPS: usize = 96;

const MAX_SESSIONS: usize = 2;

const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// After this many deadlines, a realm without connections must be empty.
const MAX_DEADLINES: usize = 10_000;

#[test]
fn the_state_of_a_realm_stays_consistent() {
    bolero::check!()
        .with_iterations(0)
        .for_each(|input: &[u8]| {
            let mut choices = Choices::new(input);
            let mut run = Run::new();
            for _ in 0..MAX_STEPS {
                if !choices.has_more() {
                    break;
                }
                run.step(&mut choices);
                run.check();
            }
            run.end();
        });
}

/// One bridge, and what its peers know.
struct Run {
    bridge: InMemoryBridge,
    now: Duration,
    next_connection: u64,
    next_message: u64,
    /// The open connections, each with the unfinished messages to its page.
    connections: BTreeMap<u64, Assembler>,
    /// The calls that have not ended.
    calls: BTreeSet<CallId>,
    /// The keys of requests that the client has seen, and the round in which they were parked.
    asked: Vec<(CallId, String)>,
    parked: Vec<(CallId, u64, Vec<String>)>,
    /// The pings that the bridge has sent.
    probes: Vec<(u64, u64)>,
    /// Strings that have a meaning for the bridge.
    words: Vec<String>,
}

impl Run {
    fn new() -> Self {
        let config = Config {
            page_limits: PageLimits {
                max_sessions: MAX_SESSIONS,
                max_definitions: 6,
                max_definition_bytes: 4096,
                ..PageLimits::default()
            },
            calls: CallSettings {
                max_calls: 4,
                ..CallSettings::default()
            },
            results: Results {
                max_result_bytes: 8192,
                ..Results::default()
            },
            page_timings: PageTimings {
                catalogue_ttl: Duration::from_secs(60),
                ..PageTimings::default()
            },
            ..Config::default()
        };
        let token_lifetime = |token: &str| match token {
            "expires-soon" => Some(Some(Duration::from_secs(30))),
            "not-valid" => None,
            _ => Some(None),
        };
        let words = SESSIONS
            .into_iter()
            .chain(TOKENS)
            .chain(["echo", "d-1", "r1"]);
        Self {
            bridge: new_bridge(&config, "b", START_MS, token_lifetime),
            now: Duration::ZERO,
            next_connection: 0,
            next_message: 0,
            connections: BTreeMap::new(),
            calls: BTreeSet::new(),
            asked: Vec::new(),
            parked: Vec::new(),
            probes: Vec::new(),
            words: words.map(str::to_owned).collect(),
        }
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.below(16) {
            0 => self.connect(choices),
            1..=5 => self.send_message(choices),
            6 => self.send_parts(choices),
            7 => self.send_raw(choices),
            8 => self.close(choices),
            9 | 10 => self.call(choices),
            11 => self.end_call(choices),
            12 => self.ask_client(choices),
            13 => self.pong(choices),
            14 => self.wait(choices),
            _ => self.other(choices),
        }
    }

    fn connection(&self, choices: &mut Choices<'_>) -> Option<u64> {
        let open: Vec<u64> = self.connections.keys().copied().collect();
        (!open.is_empty()).then(|| *choices.pick(&open))
    }

    /// A page opens a socket, and in most cases authenticates and registers its tools.
    fn connect(&mut self, choices: &mut Choices<'_>) {
        self.next_connection += 1;
        let connection = self.next_connection;
        let assembler = Assembler::new(MAX_MESSAGE_BYTES);
        self.connections.insert(connection, assembler);
        let session = *choices.pick(&SESSIONS);
        self.bridge.connection_opened(connection, session);
        if choices.one_in(4) {
            return;
        }
        let mut hello = page_message("authenticate");
        hello["documentId"] = format!("d-{}", choices.below(3)).into();
        hello["timestamp"] = (START_MS + self.now.as_millis() as u64).into();
        self.send(connection, &hello.to_string());
        self.send(connection, &page_message("register").to_string());
    }

    fn message(&self, choices: &mut Choices<'_>) -> String {
        let template = choices.pick(&PAGE_MESSAGES);
        let mut message = mutate(template, choices, &self.words);
        // Most messages about a call are about one that exists.
        let calls: Vec<&CallId> = self.calls.iter().collect();
        if message["requestId"].is_string() && !calls.is_empty() && !choices.one_in(8) {
            message["requestId"] = Value::from(choices.pick(&calls).0.as_str());
        }
        mutated_text(&message, choices)
    }

    fn send_message(&mut self, choices: &mut Choices<'_>) {
        let Some(connection) = self.connection(choices) else {
            return self.connect(choices);
        };
        let message = self.message(choices);
        self.send(connection, &message);
    }

    /// A message in parts, which may be incomplete.
    fn send_parts(&mut self, choices: &mut Choices<'_>) {
        let Some(connection) = self.connection(choices) else {
            return;
        };
        let message = self.message(choices);
        self.next_message += 1;
        let id = if choices.one_in(4) {
            1
        } else {
            self.next_message
        };
        let mut rest = message.as_str();
        for _ in 0..choices.below(4) {
            let (part, after) =
                rest.split_at(rest.floor_char_boundary(choices.below(rest.len() + 1)));
            self.send(connection, &format!("#+{id} {part}"));
            rest = after;
        }
        if !choices.one_in(4) {
            self.send(connection, &format!("#.{id} {rest}"));
        }
    }

    fn send_raw(&mut self, choices: &mut Choices<'_>) {
        if let Some(connection) = self.connection(choices) {
            let mark = choices.pick(&["", "#", "#+1 ", "#.18446744073709551615 ", "{\"type\":\""]);
            let text = format!("{mark}{}", choices.text());
            self.send(connection, &text);
        }
    }

    fn send(&mut self, connection: u64, frame: &str) {
        // A page cannot send on a connection that the bridge has closed.
        if self.connections.contains_key(&connection) {
            let outputs = self.bridge.frame_arrived(connection, frame, self.now);
            self.observe(outputs);
        }
    }

    fn close(&mut self, choices: &mut Choices<'_>) {
        if let Some(connection) = self.connection(choices) {
            let code = *choices.pick(&[1000, 1001, ABNORMAL_CLOSURE, 4999]);
            self.connections.remove(&connection);
            let outputs = self.bridge.connection_closed(connection, code, self.now);
            self.observe(outputs);
        }
    }

    fn call(&mut self, choices: &mut Choices<'_>) {
        let timeout = Duration::from_secs(*choices.pick(&[1, 30, 600]));
        let (session, tool) = (choices.pick(&SESSIONS), choices.pick(&TOOLS));
        if let Ok((call, outputs)) = self.bridge.call(session, tool, timeout, self.now) {
            assert!(self.calls.insert(call), "a call id is used twice");
            self.observe(outputs);
        }
    }

    fn any_call(&self, choices: &mut Choices<'_>) -> Option<CallId> {
        let calls: Vec<&CallId> = self.calls.iter().collect();
        (!calls.is_empty()).then(|| (*choices.pick(&calls)).clone())
    }

    fn end_call(&mut self, choices: &mut Choices<'_>) {
        if let Some(call) = self.any_call(choices) {
            let outputs = self.bridge.cancel(&call, self.now);
            self.observe(outputs);
        }
    }

    /// The client sees the requests of a handler, parks the call, answers or resumes it.
    fn ask_client(&mut self, choices: &mut Choices<'_>) {
        let Some(call) = self.any_call(choices) else {
            return;
        };
        match choices.below(4) {
            0 => {
                let keys = self.bridge.take_client_requests(&call);
                self.asked
                    .extend(keys.into_iter().map(|asked| (call.clone(), asked.key)));
            }
            1 if !self.asked.is_empty() => {
                let (call, key) = choices.pick(&self.asked).clone();
                let outputs = self.bridge.respond_as_client(&call, &key, self.now);
                self.observe(outputs);
            }
            2 => {
                if let Some((round, keys)) = self.bridge.park(&call) {
                    self.parked.push((call, round, keys));
                }
            }
            _ if !self.parked.is_empty() => {
                let (call, round, keys) = choices.pick(&self.parked).clone();
                let outputs = self.bridge.resume(&call, round, &keys, self.now);
                self.observe(outputs.unwrap_or_default());
            }
            _ => {}
        }
    }

    fn pong(&mut self, choices: &mut Choices<'_>) {
        if self.probes.is_empty() {
            return;
        }
        let (connection, probe) = *choices.pick(&self.probes);
        let outputs = if choices.one_in(3) {
            self.bridge.connection_read(connection, probe, self.now)
        } else {
            let data_arrived = choices.one_in(2);
            self.bridge
                .pong_arrived(connection, probe, data_arrived, self.now)
        };
        self.observe(outputs);
    }

    fn wait(&mut self, choices: &mut Choices<'_>) {
        self.now += Duration::from_millis(*choices.pick(&[1, 100, 3_000, 30_000, 700_000]));
        self.run_deadlines();
    }

    fn run_deadlines(&mut self) {
        while let Some(due) = self.bridge.next_deadline().filter(|due| *due <= self.now) {
            let outputs = self.bridge.deadline_passed(self.now);
            self.observe(outputs);
            let next = self.bridge.next_deadline();
            assert!(
                next != Some(due),
                "a deadline that has passed stays: {due:?}"
            );
        }
    }

    fn other(&mut self, choices: &mut Choices<'_>) {
        match choices.below(8) {
            0 => {
                let outputs = self.bridge.stop(self.now);
                self.observe(outputs);
            }
            1 => self.bridge.stalled(Duration::from_secs(2)),
            _ => {
                if let Some(connection) = self.connection(choices) {
                    let outputs = self.bridge.authentication_due(connection, self.now);
                    self.observe(outputs);
                }
            }
        }
    }

    /// Checks what the bridge sends, and remembers what its peers would.
    fn observe(&mut self, outputs: Vec<BridgeOutput>) {
        for output in outputs {
            match output {
                BridgeOutput::Frame { connection, text } => self.receive(connection, &text),
                BridgeOutput::Ping { connection, probe } => {
                    assert!(self.connections.contains_key(&connection));
                    self.probes.push((connection, probe));
                }
                BridgeOutput::Closed { connection, .. } => {
                    let open = self.connections.remove(&connection);
                    assert!(open.is_some(), "a connection is closed twice");
                }
                BridgeOutput::CallEnded { call, .. } => {
                    assert!(self.calls.remove(&call), "a call ends twice");
                }
                BridgeOutput::CallerEvent { call, .. }
                | BridgeOutput::ClientRequestsPending { call }
                | BridgeOutput::CallHandedOver { call } => {
                    assert!(self.calls.contains(&call));
                }
                BridgeOutput::ValidateInput { call } => self.validate(&call),
                BridgeOutput::ListChanged(_) | BridgeOutput::ResourceUpdated { .. } => {}
            }
        }
    }

    /// The arguments of a call are valid for the tool of its new document.
    fn validate(&mut self, call: &CallId) {
        assert!(self.calls.contains(call));
        if let Some((tool, _)) = self.bridge.input_to_validate(call) {
            let outputs = self.bridge.input_validated(call, &tool, Ok(()), self.now);
            self.observe(outputs);
        }
    }

    fn receive(&mut self, connection: u64, frame: &str) {
        let assembler = self.connections.get_mut(&connection);
        let assembler = assembler.expect("nothing is sent on a closed connection");
        let text = match assembler.push(frame) {
            Ok(AssemblyStatus::Complete(text)) => text,
            Ok(AssemblyStatus::Incomplete) => return,
            Err(error) => panic!("{error}"),
        };
        let message = BridgeToPage::decode(&text);
        let message = message.unwrap_or_else(|error| panic!("{error}: {text}"));
        if let BridgeToPage::ToolCall(call) = message {
            self.words.push(call.request_id.0);
        }
    }

    fn check(&self) {
        self.bridge.check_invariants();
        let counts = self.bridge.counts();
        assert_eq!(counts.connections, self.connections.len());
        assert_eq!(counts.calls, self.calls.len());
        assert!(counts.sessions <= MAX_SESSIONS);
        self.check_listed_tools();
    }

    /// Clients can list and call every tool.
    fn check_listed_tools(&self) {
        let mut names = BTreeSet::new();
        for tool in self.bridge.listed(Kind::Tool) {
            let tool: Value = serde_json::from_str(&tool).unwrap();
            let name = tool["name"].as_str().unwrap().to_owned();
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            assert!(
                (1..=64).contains(&name.len()) && name.bytes().all(is_allowed),
                "{name:?}"
            );
            assert_eq!(tool["inputSchema"]["type"], "object", "{name:?}");
            assert!(names.insert(name), "a name is listed twice");
        }
    }

    /// All pages leave: nothing may be left of their sessions and calls.
    fn end(&mut self) {
        let connections: Vec<u64> = self.connections.keys().copied().collect();
        for connection in connections {
            self.connections.remove(&connection);
            let outputs = self
                .bridge
                .connection_closed(connection, ABNORMAL_CLOSURE, self.now);
            self.observe(outputs);
        }
        for _ in 0..MAX_DEADLINES {
            self.check();
            let counts = self.bridge.counts();
            if counts.sessions == 0 && counts.calls == 0 {
                return;
            }
            let due = self.bridge.next_deadline();
            self.now = due.expect("a session without a page ends").max(self.now);
            self.run_deadlines();
        }
        panic!("the sessions do not end: {:?}", self.bridge.counts());
    }
}
