//! Who calls: with little patience or much, able to answer for a person, in both eras of MCP.

use std::time::Duration;

use bridge::simulation::Output;
use bridge_protocol::CallId;

use super::network::{Parcel, Way};
use super::oracle::Ended;
use super::tab::TOOLS;
use super::world::{Event, World};

/// Something that a caller does later.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Call,
    Cancel(CallId),
    /// The client answers what the page asked.
    Answer(CallId, String),
    /// The client comes back with its answers (MCP 2026-07-28).
    Resume(CallId, u64, Vec<String>),
}

impl World {
    pub(super) fn caller(&mut self, step: Step) {
        let at = self.at();
        match step {
            Step::Call => {
                let tab = self.random.below(self.tabs.len() as u64) as usize;
                let tool = self.random.one_of(&TOOLS);
                let seconds = self.random.one_of(&[3, 10, 40]);
                let call = self.call(tab, tool, seconds);
                if let Some(call) = call.filter(|_| self.random.percent(30)) {
                    let span = self.random.span(8_000);
                    self.agenda.after(span, Event::Caller(Step::Cancel(call)));
                }
            }
            Step::Cancel(call) => {
                self.in_bridge(|bridge| bridge.cancel(&call, at));
            }
            Step::Answer(call, key) => {
                self.in_bridge(|bridge| bridge.answer_for_client(&call, &key, at));
            }
            Step::Resume(call, round, keys) => {
                self.in_bridge(|bridge| {
                    let resumed = bridge.resume(&call, round, &keys, at);
                    resumed.unwrap_or_default()
                });
            }
        }
    }

    /// Calls a tool of a tab's session, if there is a bridge and the session is there.
    pub(super) fn call(&mut self, tab: usize, tool: &str, seconds: u64) -> Option<CallId> {
        let at = self.at();
        let session = self.tabs[tab].session.clone();
        let timeout = Duration::from_secs(seconds);
        let called = self.bridge.as_mut()?.call(&session, tool, timeout, at);
        match called {
            Ok((call, outputs)) => {
                self.trace(|| format!("{call} is made: `{tool}` of {session}"));
                self.oracle.made(&call, self.life);
                self.take(outputs);
                Some(call)
            }
            Err(code) => {
                self.trace(|| format!("no call of {session}: {code:?}"));
                None
            }
        }
    }

    /// Does what the bridge puts out.
    pub(super) fn take(&mut self, outputs: Vec<Output>) {
        let now = self.agenda.now();
        for output in outputs {
            match output {
                Output::Frame { connection, text } => {
                    self.send(connection, Way::ToPage, Parcel::Frame(text));
                }
                Output::Closed { connection, code } => {
                    self.trace(|| format!("the bridge closes line {connection} with {code}"));
                    self.send(connection, Way::ToPage, Parcel::Close(code));
                    if let Some(line) = self.lines.get_mut(&connection) {
                        line.open_at_bridge = false;
                    }
                }
                Output::Ended { call, failure } => {
                    let how = failure.map_or(Ended::Answered, Ended::Failed);
                    self.trace(|| format!("{call} ends: {how:?}"));
                    self.oracle.ended(&call, how, now);
                }
                Output::Asks { call } => self.client_is_asked(&call),
            }
        }
    }

    fn client_is_asked(&mut self, call: &CallId) {
        let Some(bridge) = &mut self.bridge else {
            return;
        };
        let comes_back = !self.faulty || self.random.percent(80);
        let span = self.random.span(6_000);
        if self.random.percent(50) {
            let Some((round, keys)) = bridge.park(call) else {
                return;
            };
            if comes_back {
                let step = Step::Resume(call.clone(), round, keys);
                self.agenda.after(span, Event::Caller(step));
            }
            return;
        }
        for key in bridge.take_client_requests(call) {
            if comes_back {
                let step = Step::Answer(call.clone(), key);
                self.agenda.after(span, Event::Caller(step));
            }
        }
    }
}
