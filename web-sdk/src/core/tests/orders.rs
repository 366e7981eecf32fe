//! Whatever happens in whatever order, the promises of the protocol hold.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;

/// Something that happens to a page.
#[derive(Clone, Debug)]
enum Step {
    Add(u32),
    Remove(usize),
    Flush,
    Call { id: u32, tool: u32 },
    Finish(usize),
    Cancel(usize),
    Ask(usize),
    Respond(usize),
    Break,
    BridgeRestarts,
    Retry,
    Wake,
    Heartbeat,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..4_u32).prop_map(Step::Add),
        2 => any::<usize>().prop_map(Step::Remove),
        3 => Just(Step::Flush),
        6 => (0..12_u32, 0..4_u32).prop_map(|(id, tool)| Step::Call { id, tool }),
        4 => any::<usize>().prop_map(Step::Finish),
        1 => any::<usize>().prop_map(Step::Cancel),
        4 => any::<usize>().prop_map(Step::Ask),
        2 => any::<usize>().prop_map(Step::Respond),
        2 => Just(Step::Break),
        1 => Just(Step::BridgeRestarts),
        3 => Just(Step::Retry),
        1 => Just(Step::Wake),
        1 => Just(Step::Heartbeat),
    ]
}

/// A page, and the bridge and the app as they ought to see it.
struct World {
    page: TestPage,
    life: u32,
    online: bool,
    next_key: u32,
    /// The app's tools: key and name, in order.
    wanted: Vec<(u32, String)>,
    /// Effects looked at so far.
    looked_at: usize,
    /// The bridge's list of this life.
    listed: Vec<String>,
    received: HashSet<CallId>,
    started: HashSet<CallId>,
    ended: HashSet<CallId>,
    finished: HashSet<CallId>,
    answered: HashMap<CallId, usize>,
    /// What handlers asked their clients, and what the bridge heard of it in this life.
    asked: Vec<(CallId, String)>,
    heard: HashSet<(CallId, String)>,
    /// What clients answered.
    replied: HashSet<(CallId, String)>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            page: TestPage::connected(),
            life: 1,
            online: true,
            next_key: 0,
            wanted: Vec::new(),
            looked_at: 0,
            listed: Vec::new(),
            received: HashSet::new(),
            started: HashSet::new(),
            ended: HashSet::new(),
            finished: HashSet::new(),
            answered: HashMap::new(),
            asked: Vec::new(),
            heard: HashSet::new(),
            replied: HashSet::new(),
        };
        world.look();
        world
    }

    fn running(&self, pick: usize) -> Option<String> {
        let mut running: Vec<_> = self.started.difference(&self.ended).collect();
        running.sort();
        let count = running.len().max(1);
        running.get(pick % count).map(|call| call.0.clone())
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Add(name) => self.add(format!("t{name}")),
            Step::Remove(pick) if !self.wanted.is_empty() => {
                let (key, _) = self.wanted.remove(pick % self.wanted.len());
                self.page.remove(key);
            }
            Step::Flush => self.page.flush(),
            Step::Call { id, tool } if self.online => {
                let call = format!("life {} call {id}", self.life);
                self.page.hear(tool_call(&call, &format!("t{tool}")));
            }
            Step::Finish(pick) => {
                if let Some(call) = self.running(pick) {
                    self.page.finish(&call, returned("1"));
                }
            }
            Step::Cancel(pick) if self.online => {
                if let Some(call) = self.running(pick) {
                    self.page.hear(cancel(&call));
                }
            }
            Step::Ask(pick) => {
                if let Some(call) = self.running(pick) {
                    self.ask(CallId(call));
                }
            }
            Step::Respond(pick) if self.online => self.respond(pick),
            Step::Break => self.go_offline(),
            Step::BridgeRestarts => {
                self.go_offline();
                self.life += 1;
                self.listed.clear();
            }
            Step::Retry => self.come_back(|page| page.timer_fired(0.5)),
            Step::Wake => self.come_back(|page| page.woken()),
            Step::Heartbeat if self.online => {
                self.page.hear(BridgeToPage::Heartbeat {
                    sequence: 1,
                    answers: 0,
                });
            }
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
        let mut heard: Vec<_> = self.heard.iter().cloned().collect();
        heard.sort();
        let count = heard.len().max(1);
        if let Some((call, key)) = heard.get(pick % count).cloned() {
            let response = ClientResponse {
                key,
                response: "{}".into(),
            };
            self.page.hear(BridgeToPage::ClientResponses {
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

    fn go_offline(&mut self) {
        if std::mem::take(&mut self.online) {
            self.page.close(1006);
        }
    }

    fn come_back(&mut self, event: impl FnOnce(&mut Page<String>)) {
        if !self.online {
            self.page.tell(event);
            self.page.accept(&format!("b-{}", self.life));
            self.online = true;
        }
    }

    /// Holds what happened against the promises.
    fn look(&mut self) {
        let news = self.page.all[self.looked_at..].to_vec();
        self.looked_at = self.page.all.len();
        for effect in news {
            match effect {
                Effect::Send(message) => self.bridge_hears(message),
                Effect::StartCall(call) => {
                    assert!(self.received.contains(&call.id), "receipt comes first");
                    assert!(self.started.insert(call.id), "a call runs at most once");
                }
                Effect::Report(Report::CallEnded { call, ending }) => {
                    assert!(self.started.contains(&call));
                    if matches!(ending, Ending::Finished) {
                        self.finished.insert(call.clone());
                    }
                    assert!(self.ended.insert(call), "a call ends once");
                }
                Effect::Report(Report::ClientAnswered { call, key, .. }) => {
                    assert!(!self.ended.contains(&call), "nobody waits any more");
                    assert!(self.replied.insert((call, key)), "an answer comes once");
                }
                _ => {}
            }
        }
    }

    fn bridge_hears(&mut self, message: Message) {
        match message {
            PageToBridge::CallReceived(call) => {
                self.received.insert(call);
            }
            PageToBridge::CallResponse { call, .. } => {
                let life = format!("life {} ", self.life);
                assert!(call.0.starts_with(&life), "{call} is not of {life}");
                *self.answered.entry(call).or_default() += 1;
            }
            PageToBridge::Register { items, .. } => {
                for Definition { json, .. } in items {
                    if !self.listed.contains(&json) {
                        self.listed.push(json);
                    }
                }
            }
            PageToBridge::Unregister { items, .. } => self
                .listed
                .retain(|tool| !items.iter().any(|item| *tool == definition(&item.name))),
            PageToBridge::ClientRequests { call, requests } => {
                let life = format!("life {} ", self.life);
                assert!(call.0.starts_with(&life), "{call} is not of {life}");
                assert!(!self.ended.contains(&call), "{call} is over");
                for request in requests {
                    self.heard.insert((call.clone(), request.key));
                }
            }
            _ => {}
        }
    }

    /// Everybody finishes, and both sides must agree.
    fn settle(&mut self) {
        self.run(Step::Retry);
        self.run(Step::Flush);
        for (call, key) in &self.asked {
            let asked = (call.clone(), key.clone());
            let running = self.started.contains(call) && !self.ended.contains(call);
            assert!(
                !running || self.heard.contains(&asked),
                "{call} waits in vain for {key}"
            );
        }
        while let Some(call) = self.running(0) {
            self.page.finish(&call, returned("1"));
            self.look();
        }
        let mut listed = self.listed.clone();
        let mut wanted: Vec<_> = self
            .wanted
            .iter()
            .map(|(_, name)| definition(name))
            .collect();
        listed.sort();
        wanted.sort();
        assert_eq!(listed, wanted);
        assert!(self.answered.values().all(|answers| *answers == 1));
        let life = format!("life {} ", self.life);
        for call in self
            .finished
            .iter()
            .filter(|call| call.0.starts_with(&life))
        {
            assert!(self.answered.contains_key(call), "{call} has no answer");
        }
    }
}

fn definition(name: &str) -> String {
    format!(r#"{{"name":"{name}"}}"#)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn promises_hold(steps in proptest::collection::vec(step(), 0..60)) {
        let mut world = World::new();
        for step in steps {
            world.run(step);
        }
        world.settle();
    }
}
