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
    says: VecDeque<Message>,
    has_socket: bool,
    next_key: u32,
    /// The app's tools: key and name, in order.
    wanted: Vec<(u32, String)>,
    /// Effects looked at so far.
    looked_at: usize,
    received: HashSet<CallId>,
    started: HashSet<CallId>,
    ended: HashMap<CallId, Ending>,
    /// How often the page asked whether a call is alive.
    checked: HashMap<CallId, u32>,
    /// What handlers asked their clients.
    asked: Vec<(CallId, String)>,
    /// What clients answered.
    replied: HashSet<(CallId, String)>,
}

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            page: TestPage::new(),
            bridge: Bridge::default(),
            says: VecDeque::new(),
            has_socket: false,
            next_key: 0,
            wanted: Vec::new(),
            looked_at: 0,
            received: HashSet::new(),
            started: HashSet::new(),
            ended: HashMap::new(),
            checked: HashMap::new(),
            asked: Vec::new(),
            replied: HashSet::new(),
        };
        world.page.tell(|page| page.connect());
        world.open();
        world.exchange();
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

    pub(super) fn run(&mut self, step: Step) {
        let now_ms = self.page.now_ms;
        match step {
            Step::Add(name) => self.add(format!("t{name}")),
            Step::Remove(pick) if !self.wanted.is_empty() => {
                let (key, _) = self.wanted.remove(pick % self.wanted.len());
                self.page.remove(key);
            }
            Step::Flush => self.page.flush(),
            Step::Call { id, tool } => {
                let call = CallId(format!("life {} call {id}", self.bridge.life));
                self.bridge.calls(call, format!("t{tool}"), now_ms);
            }
            Step::Finish(pick) => {
                if let Some(call) = self.running(pick) {
                    self.page.finish(&call.0, returned("1"));
                }
            }
            Step::Cancel(pick) => {
                let count = self.bridge.open.len().max(1);
                if let Some(call) = self.bridge.open.keys().nth(pick % count).cloned() {
                    self.bridge.cancels(&call, now_ms);
                }
            }
            Step::Ask(pick) => {
                if let Some(call) = self.running(pick) {
                    self.ask(call);
                }
            }
            Step::Respond(pick) => self.respond(pick),
            Step::Deliver(count) => self.deliver(count),
            Step::Hear(count) => self.hear(count),
            Step::Pass(ms) => self.page.now_ms += ms,
            Step::Break => self.break_line(),
            Step::BridgeRestarts => {
                self.break_line();
                self.bridge.restart(now_ms);
            }
            Step::Retry if !self.has_socket => {
                self.page.timer_fires(0.5);
                self.open();
            }
            Step::Wake => {
                self.page.tell(|page| page.woken());
                self.open();
            }
            Step::Heartbeat => self.bridge.beats(),
            _ => {}
        }
        self.look();
    }

    fn ask(&mut self, call: CallId) {
        let key = format!("k{}", self.asked.len());
        let request = ClientRequest {
            key: key.clone(),
            method: "roots/list".into(),
            params: "{}".into(),
        };
        self.page
            .tell(|page| page.client_asked(call.clone(), request, 2));
        self.asked.push((call, key));
    }

    /// The client answers something that it was asked, perhaps again.
    fn respond(&mut self, pick: usize) {
        let mut heard: Vec<_> = self.bridge.heard.iter().cloned().collect();
        heard.sort();
        let count = heard.len().max(1);
        if let Some((call, key)) = heard.get(pick % count).cloned() {
            let response = ClientResponse {
                key,
                response: "{}".into(),
            };
            self.bridge.say(BridgeToPage::ClientResponses {
                call,
                responses: vec![response],
            });
        }
    }

    fn add(&mut self, name: String) {
        self.next_key += 1;
        self.page.add_tool(self.next_key, &name);
        match self.wanted.iter_mut().find(|(_, wanted)| *wanted == name) {
            Some(place) => place.0 = self.next_key,
            None => self.wanted.push((self.next_key, name)),
        }
    }

    // The line.

    fn break_line(&mut self) {
        self.look();
        self.says.clear();
        self.bridge.connection_lost();
        if std::mem::take(&mut self.has_socket) {
            self.page.close(1006);
        }
    }

    fn open(&mut self) {
        if self.page.token_wanted {
            self.page.open();
            self.has_socket = true;
            self.look();
        }
    }

    fn deliver(&mut self, count: usize) {
        for _ in 0..count {
            if let Some(message) = self.says.pop_front() {
                self.bridge.hears(message, self.page.now_ms);
            }
        }
    }

    fn hear(&mut self, count: usize) {
        for _ in 0..count {
            if let Some(message) = self.bridge.says.pop_front() {
                self.page.hear(message);
                self.look();
            }
        }
    }

    /// Until nobody has anything to say.
    fn exchange(&mut self) {
        self.page.flush();
        self.look();
        while !self.says.is_empty() || !self.bridge.says.is_empty() {
            self.deliver(self.says.len());
            self.hear(self.bridge.says.len());
        }
    }

    /// Holds what happened against the promises.
    fn look(&mut self) {
        let news = self.page.all[self.looked_at..].to_vec();
        self.looked_at = self.page.all.len();
        for effect in news {
            match effect {
                Effect::Send(message) => {
                    self.page_says(&message);
                    self.says.push_back(message);
                }
                Effect::StartCall(call) => self.starts(call.id),
                Effect::Report(Report::CallEnded { call, ending }) => {
                    assert!(self.started.contains(&call));
                    let former = self.ended.insert(call, ending);
                    assert_eq!(former, None, "a call ends once");
                }
                Effect::Report(Report::ClientAnswered { call, key, .. }) => {
                    assert!(!self.ended.contains_key(&call), "nobody waits any more");
                    assert!(self.replied.insert((call, key)), "an answer comes once");
                }
                _ => {}
            }
        }
    }

    fn starts(&mut self, call: CallId) {
        assert!(self.received.contains(&call), "receipt comes first");
        if let Some(ended_ms) = self.bridge.ended.get(&call) {
            let doublings = self.checked.get(&call).map_or(0, |count| count - 1);
            let late_ms = self.page.now_ms - ended_ms;
            assert!(late_ms <= STALE_AFTER_MS << doublings, "{call} was over");
        }
        assert!(self.started.insert(call), "a call runs at most once");
    }

    fn page_says(&mut self, message: &Message) {
        match message {
            PageToBridge::CallReceived(call) => {
                self.received.insert(call.clone());
            }
            PageToBridge::CallsCheck(calls) => {
                for call in calls {
                    *self.checked.entry(call.clone()).or_default() += 1;
                }
            }
            PageToBridge::ClientRequests { call, .. } => {
                assert!(!self.ended.contains_key(call), "{call} is over");
            }
            _ => {}
        }
    }

    /// Everybody finishes, and both sides must agree.
    pub(super) fn settle(&mut self) {
        while !self.has_socket {
            self.run(Step::Retry);
        }
        self.exchange();
        self.nobody_waits_in_vain();
        while let Some(call) = self.running(0) {
            assert!(
                self.bridge.open.contains_key(&call),
                "{call} runs for nobody"
            );
            self.page.finish(&call.0, returned("1"));
            self.look();
        }
        self.exchange();
        assert_eq!(self.bridge.open.len(), 0, "every call ends");
        self.nothing_was_lost();
        let mut listed = self.bridge.listed.clone();
        let wanted = self.wanted.iter();
        let mut wanted: Vec<_> = wanted.map(|(_, name)| definition(name)).collect();
        listed.sort();
        wanted.sort();
        assert_eq!(listed, wanted);
    }

    fn nobody_waits_in_vain(&self) {
        for (call, key) in &self.asked {
            let asked = (call.clone(), key.clone());
            let running = self.started.contains(call) && !self.ended.contains_key(call);
            assert!(
                !running || self.bridge.heard.contains(&asked),
                "{call} waits in vain for {key}"
            );
        }
    }

    /// What a handler returned is what somebody who waited for it got.
    fn nothing_was_lost(&self) {
        for (call, answer) in &self.bridge.answered {
            let finished = self.ended.get(call) == Some(&Ending::Finished);
            let responded = matches!(answer, PageToBridge::CallResponse { .. });
            assert_eq!(finished, responded, "{call}: {answer:?}");
        }
    }
}
