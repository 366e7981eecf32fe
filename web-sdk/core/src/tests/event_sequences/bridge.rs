//! A model of the bridge: the calls that it awaits, and the messages that it sends.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::super::*;

/// The difference between the bridge's clock and the page's clock.
const CLOCK_AHEAD_MS: u64 = 3_600_000;

/// The state of the simulated bridge.
#[derive(Default)]
pub(super) struct Bridge {
    /// The number of restarts.
    pub(super) restarts: u32,
    /// The awaited calls: the tool, and whether the page has acknowledged the call.
    pub(super) awaited: BTreeMap<CallId, (String, bool)>,
    /// When calls ended, on the page's clock.
    pub(super) ended: HashMap<CallId, u64>,
    /// The answers to awaited calls.
    pub(super) answered: HashMap<CallId, Message>,
    /// The registered tools since the latest restart.
    pub(super) listed: Vec<String>,
    /// The requests of handlers to clients since the latest restart.
    pub(super) client_requests: HashSet<(CallId, String)>,
    /// The number of answers received on this connection.
    answers_received: u64,
    /// Whether the page is accepted on this connection.
    is_online: bool,
    /// Messages in transit to the page.
    pub(super) outbox: VecDeque<BridgeToPage<String>>,
}

impl Bridge {
    pub(super) fn restart(&mut self, now_ms: u64) {
        let calls: Vec<_> = self.awaited.keys().cloned().collect();
        for call in calls {
            self.end_call(&call, now_ms);
        }
        self.restarts += 1;
        self.listed.clear();
        self.client_requests.clear();
    }

    pub(super) fn connection_lost(&mut self) {
        self.outbox.clear();
        self.is_online = false;
    }

    pub(super) fn end_call(&mut self, call: &CallId, now_ms: u64) -> bool {
        let was_awaited = self.awaited.remove(call).is_some();
        if was_awaited {
            self.ended.insert(call.clone(), now_ms);
        }
        was_awaited
    }

    pub(super) fn start_call(&mut self, call: CallId, tool: String, now_ms: u64) {
        if self.ended.contains_key(&call) || self.awaited.contains_key(&call) {
            return;
        }
        self.send_call(&call, &tool, now_ms);
        self.awaited.insert(call, (tool, false));
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
            answers: self.answers_received,
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
                if let Some((_, received)) = self.awaited.get_mut(&call) {
                    *received = true;
                }
            }
            PageToBridge::CallsCheck { check, calls } => {
                let is_awaited = |call: &CallId| self.awaited.contains_key(call);
                let (alive, ended) = calls.into_iter().partition(is_awaited);
                self.send(BridgeToPage::CallsAlive {
                    check,
                    alive,
                    ended,
                });
            }
            PageToBridge::CallResponse { ref call, .. }
            | PageToBridge::CallError { ref call, .. } => {
                self.answers_received += 1;
                let call = call.clone();
                let prefix = format!("run {} ", self.restarts);
                assert!(call.0.starts_with(&prefix), "{call} is not of {prefix}");
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

    /// Accepts the page. Acknowledged calls are listed as awaited, and all others are sent again.
    fn accept_page(&mut self, now_ms: u64) {
        self.is_online = true;
        self.answers_received = 0;
        let mut message = authenticated(&format!("b-{}", self.restarts));
        if let BridgeToPage::Authenticated {
            awaited,
            now_ms: bridge_ms,
            ..
        } = &mut message
        {
            *bridge_ms = now_ms + CLOCK_AHEAD_MS;
            let received = self.awaited.iter().filter(|(_, (_, received))| *received);
            *awaited = received.map(|(call, _)| call.clone()).collect();
        }
        self.send(message);
        for (call, (tool, received)) in self.awaited.clone() {
            if !received {
                self.send_call(&call, &tool, now_ms);
            }
        }
    }
}

pub(super) fn definition(name: &str) -> String {
    format!(r#"{{"name":"{name}"}}"#)
}
