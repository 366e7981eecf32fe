//! Simulated MCP clients: they call tools with short and long timeouts, cancel calls, and answer
//! requests of pages, in both eras of MCP.

use std::time::Duration;

use bridge::in_memory::BridgeOutput;
use bridge_protocol::CallId;

use super::World;
use super::event::{CallerStep, Event};
use super::link::{Direction, Packet};
use super::tab::TOOLS;
use crate::simulation::invariants::CallOutcome;

impl World {
    pub(super) fn run_caller_step(&mut self, step: CallerStep) {
        let now = self.now();
        match step {
            CallerStep::Call => {
                let tab = self.random.below(self.tabs.len() as u64) as usize;
                let tool = self.random.one_of(&TOOLS);
                let seconds = self.random.one_of(&[3, 10, 40]);
                let call = self.call(tab, tool, seconds);
                if let Some(call) = call.filter(|_| self.random.percent(30)) {
                    let span = self.random.span(8_000);
                    self.queue
                        .schedule_after(span, Event::Caller(CallerStep::Cancel(call)));
                }
            }
            CallerStep::Cancel(call) => {
                self.with_bridge(|bridge| bridge.cancel(&call, now));
            }
            CallerStep::Answer(call, key) => {
                self.with_bridge(|bridge| bridge.respond_as_client(&call, &key, now));
            }
            CallerStep::Resume(call, round, keys) => {
                self.with_bridge(|bridge| {
                    // No call waits for these answers if it has ended.
                    let resumed = bridge.resume(&call, round, &keys, now);
                    resumed.unwrap_or_default()
                });
            }
        }
    }

    /// Calls a tool of a tab's session. Returns `None` if the bridge is down or rejects the call.
    pub(super) fn call(&mut self, tab: usize, tool: &str, seconds: u64) -> Option<CallId> {
        let now = self.now();
        let session = self.tabs[tab].session.clone();
        let timeout = Duration::from_secs(seconds);
        let result = self.bridge.as_mut()?.call(&session, tool, timeout, now);
        match result {
            Ok((call, outputs)) => {
                self.trace(|| format!("{call} calls `{tool}` of {session}"));
                self.checker.call_made(&call, self.incarnation);
                self.apply_outputs(outputs);
                Some(call)
            }
            Err(code) => {
                self.trace(|| format!("the bridge rejects a call of {session}: {code:?}"));
                None
            }
        }
    }

    /// Applies the outputs of the bridge to the network, the clients and the checker.
    pub(super) fn apply_outputs(&mut self, outputs: Vec<BridgeOutput>) {
        let now = self.queue.now();
        for output in outputs {
            match output {
                BridgeOutput::Frame { connection, text } => {
                    self.send(connection, Direction::ToPage, Packet::Frame(text));
                }
                BridgeOutput::Ping { connection, probe } => {
                    if let Some(link) = self.links.get_mut(&connection) {
                        link.data_arrived = false;
                    }
                    self.send(connection, Direction::ToPage, Packet::Ping(probe));
                    let link = connection;
                    let read = Event::BridgeHasRead { link, probe };
                    self.queue.schedule_after(0, read);
                }
                BridgeOutput::Closed { connection, code } => {
                    self.trace(|| format!("the bridge closes link {connection} with {code}"));
                    self.send(connection, Direction::ToPage, Packet::Close(code));
                    if let Some(link) = self.links.get_mut(&connection) {
                        link.open_at_bridge = false;
                    }
                }
                BridgeOutput::CallEnded { call, outcome } => {
                    let failure = outcome.failure_code();
                    let outcome = failure.map_or(CallOutcome::Answered, CallOutcome::Failed);
                    self.trace(|| format!("{call} ends: {outcome:?}"));
                    self.checker.call_ended(&call, outcome, now);
                }
                BridgeOutput::ClientRequestsPending { call } => self.on_client_requests(&call),
                BridgeOutput::CallHandedOver { call } => {
                    self.trace(|| format!("{call} is handed over"));
                    self.checker.call_handed_over(&call);
                }
                // The input is validated again only if the tool of a new document has another
                // definition, and all documents of a schedule register the same ones.
                BridgeOutput::ValidateInput { call } => {
                    panic!("the definition of the tool of {call} has changed")
                }
                BridgeOutput::CallerEvent { .. }
                | BridgeOutput::ListChanged(_)
                | BridgeOutput::ResourceUpdated { .. } => {}
            }
        }
    }

    fn on_client_requests(&mut self, call: &CallId) {
        let Some(bridge) = &mut self.bridge else {
            return;
        };
        let answers = !self.faults_enabled || self.random.percent(80);
        let span = self.random.span(6_000);
        // A client of MCP 2026-07-28: its call ends with the requests, and it calls again to
        // answer.
        if self.random.percent(50) {
            let Some((round, keys)) = bridge.park(call) else {
                return;
            };
            if answers {
                let step = CallerStep::Resume(call.clone(), round, keys);
                self.queue.schedule_after(span, Event::Caller(step));
            }
            return;
        }
        // A client of an older version answers each request while its call is open.
        for request in bridge.take_client_requests(call) {
            if answers {
                let step = CallerStep::Answer(call.clone(), request.key);
                self.queue.schedule_after(span, Event::Caller(step));
            }
        }
    }
}
