//! A page, its app, a bridge and the network between them, and the invariants that must hold.

use std::collections::{HashMap, HashSet, VecDeque};

use super::super::*;
use super::Step;
use super::bridge::{Bridge, definition};
use crate::calls::STALE_AFTER_MS;

/// The state of a test run.
pub(super) struct Harness {
    page: TestPage,
    bridge: Bridge,
    /// Messages in transit to the bridge.
    outbox: VecDeque<Message>,
    has_socket: bool,
    next_key: u32,
    /// The app's tools: key and name, in order.
    tools: Vec<(u32, String)>,
    /// The number of effects that were checked.
    effects_checked: usize,
    received: HashSet<CallId>,
    started: HashSet<CallId>,
    ended: HashMap<CallId, CallEnd>,
    /// The number of times that the page checked whether a call is alive.
    check_counts: HashMap<CallId, u32>,
    /// The requests of handlers to clients.
    client_requests: Vec<(CallId, String)>,
    /// The responses of clients that were delivered to handlers.
    client_answers: HashSet<(CallId, String)>,
}

impl Harness {
    pub(super) fn new() -> Self {
        let mut harness = Self {
            page: TestPage::new(),
            bridge: Bridge::default(),
            outbox: VecDeque::new(),
            has_socket: false,
            next_key: 0,
            tools: Vec::new(),
            effects_checked: 0,
            received: HashSet::new(),
            started: HashSet::new(),
            ended: HashMap::new(),
            check_counts: HashMap::new(),
            client_requests: Vec::new(),
            client_answers: HashSet::new(),
        };
        harness.page.dispatch(|page| page.connect());
        harness.open();
        harness.deliver_all();
        harness
    }

    /// Picks one of the running calls.
    fn running_call(&self, pick: usize) -> Option<CallId> {
        let running = self.started.iter();
        let mut running: Vec<_> = running
            .filter(|call| !self.ended.contains_key(call))
            .collect();
        running.sort();
        let count = running.len().max(1);
        running.get(pick % count).map(|call| (*call).clone())
    }

    pub(super) fn apply(&mut self, step: Step) {
        let now_ms = self.page.now_ms;
        match step {
            Step::Add(name) => self.add(format!("t{name}")),
            Step::Remove(pick) if !self.tools.is_empty() => {
                let (key, _) = self.tools.remove(pick % self.tools.len());
                self.page.remove(key);
            }
            Step::Flush => self.page.flush(),
            Step::EndTask => self.page.end_task(),
            Step::Call { id, tool } => {
                let call = CallId(format!("run {} call {id}", self.bridge.restarts));
                self.bridge.start_call(call, format!("t{tool}"), now_ms);
            }
            Step::Finish(pick) => {
                if let Some(call) = self.running_call(pick) {
                    self.page.finish(&call.0, returned("1"));
                }
            }
            Step::Cancel(pick) => {
                let count = self.bridge.awaited.len().max(1);
                if let Some(call) = self.bridge.awaited.keys().nth(pick % count).cloned() {
                    self.bridge.cancel(&call, now_ms);
                }
            }
            Step::Request(pick) => {
                if let Some(call) = self.running_call(pick) {
                    self.request(call);
                }
            }
            Step::Respond(pick) => self.respond(pick),
            Step::Deliver(count) => self.deliver_to_bridge(count),
            Step::Receive(count) => self.deliver_to_page(count),
            Step::PassTime(ms) => self.page.now_ms += ms,
            Step::Break => self.break_connection(),
            Step::BridgeRestarts => {
                self.break_connection();
                self.bridge.restart(now_ms);
            }
            Step::Retry if !self.has_socket => {
                self.page.timer_fires(0.5);
                self.open();
            }
            Step::Resume => {
                self.page.dispatch(|page| page.resumed());
                self.open();
            }
            Step::Heartbeat => self.bridge.send_heartbeat(),
            _ => {}
        }
        self.check_effects();
    }

    /// A handler makes a request to its client.
    fn request(&mut self, call: CallId) {
        let key = format!("k{}", self.client_requests.len());
        let request = ClientRequest {
            key: key.clone(),
            method: "roots/list".into(),
            params: "{}".into(),
        };
        self.page
            .dispatch(|page| page.client_requested(call.clone(), request, 2));
        self.client_requests.push((call, key));
    }

    /// A client responds to a request, possibly not for the first time.
    fn respond(&mut self, pick: usize) {
        let mut requests: Vec<_> = self.bridge.client_requests.iter().cloned().collect();
        requests.sort();
        let count = requests.len().max(1);
        if let Some((call, key)) = requests.get(pick % count).cloned() {
            let response = ClientResponse {
                key,
                response: "{}".into(),
            };
            self.bridge.send(BridgeToPage::ClientResponses {
                call,
                responses: vec![response],
            });
        }
    }

    fn add(&mut self, name: String) {
        self.next_key += 1;
        if is_repeatable(self.next_key) {
            self.page.add_repeatable_tool(self.next_key, &name);
        } else {
            self.page.add_tool(self.next_key, &name);
        }
        match self.tools.iter_mut().find(|(_, other)| *other == name) {
            Some(tool) => tool.0 = self.next_key,
            None => self.tools.push((self.next_key, name)),
        }
    }

    fn break_connection(&mut self) {
        self.check_effects();
        self.outbox.clear();
        self.bridge.connection_lost();
        if std::mem::take(&mut self.has_socket) {
            self.page.close(1006);
        }
    }

    fn open(&mut self) {
        if self.page.token_requested {
            self.page.open();
            self.has_socket = true;
            self.check_effects();
        }
    }

    fn deliver_to_bridge(&mut self, count: usize) {
        for _ in 0..count {
            if let Some(message) = self.outbox.pop_front() {
                self.bridge.receive(message, self.page.now_ms);
            }
        }
    }

    fn deliver_to_page(&mut self, count: usize) {
        for _ in 0..count {
            if let Some(message) = self.bridge.outbox.pop_front() {
                self.page.receive(message);
                self.check_effects();
            }
        }
    }

    /// Delivers messages until none is in transit.
    fn deliver_all(&mut self) {
        self.page.flush();
        self.check_effects();
        while !self.outbox.is_empty() || !self.bridge.outbox.is_empty() {
            self.deliver_to_bridge(self.outbox.len());
            self.deliver_to_page(self.bridge.outbox.len());
        }
    }

    /// Checks the invariants for all new effects.
    fn check_effects(&mut self) {
        let new_effects = self.page.effects[self.effects_checked..].to_vec();
        self.effects_checked = self.page.effects.len();
        for effect in new_effects {
            match effect {
                Effect::Send(message) => {
                    self.on_page_message(&message);
                    self.outbox.push_back(message);
                }
                Effect::StartCall(call) if self.page.started.contains(&call.request.call) => {
                    let is_acknowledged = self.received.contains(&call.request.call);
                    assert!(is_acknowledged || is_repeatable(call.definition.0));
                    self.on_call_start(call.request.call);
                }
                Effect::Report(Report::CallEnded { call, outcome }) => {
                    assert!(self.started.contains(&call));
                    let former = self.ended.insert(call, outcome);
                    assert_eq!(former, None, "a call ends once");
                }
                Effect::Report(Report::ClientAnswered { call, key, .. }) => {
                    assert!(!self.ended.contains_key(&call), "{call} has ended");
                    assert!(
                        self.client_answers.insert((call, key)),
                        "a response is delivered once"
                    );
                }
                _ => {}
            }
        }
    }

    fn on_call_start(&mut self, call: CallId) {
        if let Some(ended_ms) = self.bridge.ended.get(&call) {
            let is_repeated = self.check_counts.get(&call).is_some_and(|count| *count > 1);
            let late_ms = self.page.now_ms - ended_ms;
            let latest_ms = if is_repeated {
                2 * STALE_AFTER_MS
            } else {
                STALE_AFTER_MS
            };
            assert!(late_ms <= latest_ms, "{call} has ended");
        }
        assert!(self.started.insert(call), "a call runs at most once");
    }

    fn on_page_message(&mut self, message: &Message) {
        match message {
            PageToBridge::CallReceived(call) => {
                self.received.insert(call.clone());
            }
            PageToBridge::CallsCheck { calls, .. } => {
                for call in calls {
                    *self.check_counts.entry(call.clone()).or_default() += 1;
                }
            }
            PageToBridge::ClientRequests { call, .. } => {
                assert!(!self.ended.contains_key(call), "{call} has ended");
            }
            _ => {}
        }
    }

    /// Ends all calls, and checks that both sides agree.
    pub(super) fn finish_and_check(&mut self) {
        while !self.has_socket {
            self.apply(Step::Retry);
        }
        self.deliver_all();
        // The task in which the last calls were started.
        self.page.end_task();
        self.deliver_all();
        self.assert_no_pending_requests();
        self.assert_running_calls_are_acknowledged();
        while let Some(call) = self.running_call(0) {
            assert!(
                self.bridge.awaited.contains_key(&call),
                "{call} runs and is not awaited"
            );
            self.page.finish(&call.0, returned("1"));
            self.check_effects();
        }
        self.deliver_all();
        assert_eq!(self.bridge.awaited.len(), 0, "every call ends");
        self.assert_no_lost_answers();
        let mut listed = self.bridge.listed.clone();
        let expected = self.tools.iter();
        let mut expected: Vec<_> = expected.map(|(_, name)| definition(name)).collect();
        listed.sort();
        expected.sort();
        assert_eq!(listed, expected);
    }

    fn assert_running_calls_are_acknowledged(&self) {
        for (call, (_, received)) in &self.bridge.awaited {
            let running = self.started.contains(call) && !self.ended.contains_key(call);
            assert!(!running || *received, "{call} runs without a receipt");
        }
    }

    fn assert_no_pending_requests(&self) {
        for (call, key) in &self.client_requests {
            let request = (call.clone(), key.clone());
            let running = self.started.contains(call) && !self.ended.contains_key(call);
            assert!(
                !running || self.bridge.client_requests.contains(&request),
                "{key} of {call} was not sent"
            );
        }
    }

    /// The bridge has a result for an answered call exactly if its handler finished.
    fn assert_no_lost_answers(&self) {
        for (call, answer) in &self.bridge.answered {
            let finished = self.ended.get(call) == Some(&CallEnd::Finished);
            let responded = matches!(answer, PageToBridge::CallResponse { .. });
            assert_eq!(finished, responded, "{call}: {answer:?}");
        }
    }
}

/// Whether calls of the tool with this key may be repeated.
fn is_repeatable(key: u32) -> bool {
    key.is_multiple_of(2)
}
