//! A page, its app, the bridge and the line between them.

use std::collections::{HashMap, HashSet, VecDeque};

use super::super::*;
use super::Step;
use super::bridge::{Bridge, definition};

/// `limits::STALE_AFTER`.
const STALE_AFTER_MS: u64 = 2_000;

pub(super) struct World {
    page: TestPage,
    bridge: Bridge,
    /// On the way to the bridge.
    outbox: VecDeque<Message>,
    has_socket: bool,
    next_key: u32,
    /// The app's tools: key and name, in order.
    tools: Vec<(u32, String)>,
    /// Effects looked at so far.
    effects_seen: usize,
    received: HashSet<CallId>,
    started: HashSet<CallId>,
    ended: HashMap<CallId, CallOutcome>,
    /// How often the page asked whether a call is alive.
    check_counts: HashMap<CallId, u32>,
    /// What handlers asked their clients.
    client_requests: Vec<(CallId, String)>,
    /// What clients answered.
    client_answers: HashSet<(CallId, String)>,
}

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            page: TestPage::new(),
            bridge: Bridge::default(),
            outbox: VecDeque::new(),
            has_socket: false,
            next_key: 0,
            tools: Vec::new(),
            effects_seen: 0,
            received: HashSet::new(),
            started: HashSet::new(),
            ended: HashMap::new(),
            check_counts: HashMap::new(),
            client_requests: Vec::new(),
            client_answers: HashSet::new(),
        };
        world.page.dispatch(|page| page.connect());
        world.open();
        world.deliver_all();
        world
    }

    fn running(&self, pick: usize) -> Option<CallId> {
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
            Step::Call { id, tool } => {
                let call = CallId(format!("life {} call {id}", self.bridge.incarnation));
                self.bridge.start_call(call, format!("t{tool}"), now_ms);
            }
            Step::Finish(pick) => {
                if let Some(call) = self.running(pick) {
                    self.page.finish(&call.0, returned("1"));
                }
            }
            Step::Cancel(pick) => {
                let count = self.bridge.open.len().max(1);
                if let Some(call) = self.bridge.open.keys().nth(pick % count).cloned() {
                    self.bridge.cancel(&call, now_ms);
                }
            }
            Step::Ask(pick) => {
                if let Some(call) = self.running(pick) {
                    self.ask(call);
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
            Step::Wake => {
                self.page.dispatch(|page| page.resumed());
                self.open();
            }
            Step::Heartbeat => self.bridge.send_heartbeat(),
            _ => {}
        }
        self.check_effects();
    }

    fn ask(&mut self, call: CallId) {
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

    /// The client answers something that it was asked, perhaps again.
    fn respond(&mut self, pick: usize) {
        let mut heard: Vec<_> = self.bridge.client_requests.iter().cloned().collect();
        heard.sort();
        let count = heard.len().max(1);
        if let Some((call, key)) = heard.get(pick % count).cloned() {
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
        self.page.add_tool(self.next_key, &name);
        match self.tools.iter_mut().find(|(_, wanted)| *wanted == name) {
            Some(place) => place.0 = self.next_key,
            None => self.tools.push((self.next_key, name)),
        }
    }

    // The line.

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

    /// Until nobody has anything to say.
    fn deliver_all(&mut self) {
        self.page.flush();
        self.check_effects();
        while !self.outbox.is_empty() || !self.bridge.outbox.is_empty() {
            self.deliver_to_bridge(self.outbox.len());
            self.deliver_to_page(self.bridge.outbox.len());
        }
    }

    /// Holds what happened against the promises.
    fn check_effects(&mut self) {
        let news = self.page.effects[self.effects_seen..].to_vec();
        self.effects_seen = self.page.effects.len();
        for effect in news {
            match effect {
                Effect::Send(message) => {
                    self.on_page_message(&message);
                    self.outbox.push_back(message);
                }
                Effect::StartCall(call) => self.on_call_start(call.id),
                Effect::Report(Report::CallEnded {
                    call,
                    outcome: ending,
                }) => {
                    assert!(self.started.contains(&call));
                    let former = self.ended.insert(call, ending);
                    assert_eq!(former, None, "a call ends once");
                }
                Effect::Report(Report::ClientAnswered { call, key, .. }) => {
                    assert!(!self.ended.contains_key(&call), "nobody waits any more");
                    assert!(
                        self.client_answers.insert((call, key)),
                        "an answer comes once"
                    );
                }
                _ => {}
            }
        }
    }

    fn on_call_start(&mut self, call: CallId) {
        assert!(self.received.contains(&call), "receipt comes first");
        if let Some(ended_ms) = self.bridge.ended.get(&call) {
            let doublings = self.check_counts.get(&call).map_or(0, |count| count - 1);
            let late_ms = self.page.now_ms - ended_ms;
            assert!(late_ms <= STALE_AFTER_MS << doublings, "{call} was over");
        }
        assert!(self.started.insert(call), "a call runs at most once");
    }

    fn on_page_message(&mut self, message: &Message) {
        match message {
            PageToBridge::CallReceived(call) => {
                self.received.insert(call.clone());
            }
            PageToBridge::CallsCheck(calls) => {
                for call in calls {
                    *self.check_counts.entry(call.clone()).or_default() += 1;
                }
            }
            PageToBridge::ClientRequests { call, .. } => {
                assert!(!self.ended.contains_key(call), "{call} is over");
            }
            _ => {}
        }
    }

    /// Everybody finishes, and both sides must agree.
    pub(super) fn finish_and_check(&mut self) {
        while !self.has_socket {
            self.apply(Step::Retry);
        }
        self.deliver_all();
        self.assert_no_pending_requests();
        while let Some(call) = self.running(0) {
            assert!(
                self.bridge.open.contains_key(&call),
                "{call} runs for nobody"
            );
            self.page.finish(&call.0, returned("1"));
            self.check_effects();
        }
        self.deliver_all();
        assert_eq!(self.bridge.open.len(), 0, "every call ends");
        self.assert_no_lost_answers();
        let mut listed = self.bridge.listed.clone();
        let wanted = self.tools.iter();
        let mut wanted: Vec<_> = wanted.map(|(_, name)| definition(name)).collect();
        listed.sort();
        wanted.sort();
        assert_eq!(listed, wanted);
    }

    fn assert_no_pending_requests(&self) {
        for (call, key) in &self.client_requests {
            let asked = (call.clone(), key.clone());
            let running = self.started.contains(call) && !self.ended.contains_key(call);
            assert!(
                !running || self.bridge.client_requests.contains(&asked),
                "{call} waits in vain for {key}"
            );
        }
    }

    /// What a handler returned is what somebody who waited for it got.
    fn assert_no_lost_answers(&self) {
        for (call, answer) in &self.bridge.answered {
            let finished = self.ended.get(call) == Some(&CallOutcome::Finished);
            let responded = matches!(answer, PageToBridge::CallResponse { .. });
            assert_eq!(finished, responded, "{call}: {answer:?}");
        }
    }
}
