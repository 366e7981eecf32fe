//! A bridge as the page ought to see it: what it waits for, and what it says.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::super::*;

/// The bridge's clock is ahead by this.
const CLOCK_AHEAD_MS: u64 = 3_600_000;

#[derive(Default)]
pub(super) struct Bridge {
    pub(super) incarnation: u32,
    /// Calls that somebody waits for: the tool, and whether the page has acknowledged them.
    pub(super) open: BTreeMap<CallId, (String, bool)>,
    /// When nobody waited any more, on the page's clock.
    pub(super) ended: HashMap<CallId, u64>,
    /// How calls were answered that somebody waited for.
    pub(super) answered: HashMap<CallId, Message>,
    /// Its list of tools, in this life.
    pub(super) listed: Vec<String>,
    /// What handlers asked their clients, in this life.
    pub(super) client_requests: HashSet<(CallId, String)>,
    /// Answers taken on this connection.
    answers_taken: u64,
    /// Whether the page is accepted on this connection.
    is_online: bool,
    /// On the way to the page.
    pub(super) outbox: VecDeque<BridgeToPage<String>>,
}

impl Bridge {
    pub(super) fn restart(&mut self, now_ms: u64) {
        let calls: Vec<_> = self.open.keys().cloned().collect();
        for call in calls {
            self.end_call(&call, now_ms);
        }
        self.incarnation += 1;
        self.listed.clear();
        self.client_requests.clear();
    }

    pub(super) fn connection_lost(&mut self) {
        self.outbox.clear();
        self.is_online = false;
    }

    pub(super) fn end_call(&mut self, call: &CallId, now_ms: u64) -> bool {
        let was_open = self.open.remove(call).is_some();
        if was_open {
            self.ended.insert(call.clone(), now_ms);
        }
        was_open
    }

    pub(super) fn start_call(&mut self, call: CallId, tool: String, now_ms: u64) {
        if self.ended.contains_key(&call) || self.open.contains_key(&call) {
            return;
        }
        self.send_call(&call, &tool, now_ms);
        self.open.insert(call, (tool, false));
    }

    fn send_call(&mut self, call: &CallId, tool: &str, now_ms: u64) {
        let BridgeToPage::CallRequested(mut request) = tool_call(&call.0, tool) else {
            panic!();
        };
        request.sent_ms = Some(now_ms + CLOCK_AHEAD_MS);
        self.send(BridgeToPage::CallRequested(request));
    }

    pub(super) fn cancel(&mut self, call: &CallId, now_ms: u64) {
        if self.end_call(call, now_ms) {
            self.send(cancel(&call.0));
        }
    }

    pub(super) fn send_heartbeat(&mut self) {
        self.send(BridgeToPage::Heartbeat {
            sequence: 1,
            answers: self.answers_taken,
        });
    }

    pub(super) fn send(&mut self, message: BridgeToPage<String>) {
        if self.is_online {
            self.outbox.push_back(message);
        }
    }

    pub(super) fn receive(&mut self, message: Message, now_ms: u64) {
        match message {
            PageToBridge::Authenticate(_) => self.accept_page(now_ms),
            PageToBridge::CallReceived(call) => {
                if let Some((_, received)) = self.open.get_mut(&call) {
                    *received = true;
                }
            }
            PageToBridge::CallsCheck(calls) => {
                let is_open = |call: &CallId| self.open.contains_key(call);
                let (alive, ended) = calls.into_iter().partition(is_open);
                self.send(BridgeToPage::CallsAlive { alive, ended });
            }
            PageToBridge::CallResponse { ref call, .. }
            | PageToBridge::CallError { ref call, .. } => {
                self.answers_taken += 1;
                let call = call.clone();
                let life = format!("life {} ", self.incarnation);
                assert!(call.0.starts_with(&life), "{call} is not of {life}");
                if self.end_call(&call, now_ms) {
                    self.answered.insert(call, message);
                }
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
                for request in requests {
                    self.client_requests.insert((call.clone(), request.key));
                }
            }
            _ => {}
        }
    }

    /// What was received is awaited; the rest is sent again.
    fn accept_page(&mut self, now_ms: u64) {
        self.is_online = true;
        self.answers_taken = 0;
        let mut welcome = authenticated(&format!("b-{}", self.incarnation));
        if let BridgeToPage::Authenticated {
            awaited,
            now_ms: bridges,
            ..
        } = &mut welcome
        {
            *bridges = now_ms + CLOCK_AHEAD_MS;
            let received = self.open.iter().filter(|(_, (_, received))| *received);
            *awaited = received.map(|(call, _)| call.clone()).collect();
        }
        self.send(welcome);
        for (call, (tool, received)) in self.open.clone() {
            if !received {
                self.send_call(&call, &tool, now_ms);
            }
        }
    }
}

pub(super) fn definition(name: &str) -> String {
    format!(r#"{{"name":"{name}"}}"#)
}
