//! Deadlines of calls.
//!
//! # Calls without a receipt
//!
//! A call that was never sent has not run. When the page has not acknowledged a call that was sent,
//! the bridge sends a ping. [`ErrorCode::PageSuspended`] and [`ErrorCode::PageBusy`] promise that
//! the call has not run and never will, so the bridge sends them only after a proof:
//!
//! 1. The page checks late calls ([`Authenticate::checks_late_calls`]): it starts a call without
//!    asking only within [`STALE_AFTER`] after it was sent, and sends the receipt before that.
//! 2. The call was sent once, on the connection that is still open. The receipt of an earlier
//!    connection may be lost.
//! 3. The ping was sent [`EARLIEST_PROOF`] after the call or later. Everything that the page sent
//!    within [`STALE_AFTER`] therefore precedes the pong, and the bridge handles frames in their
//!    order.
//! 4. No other data arrived between the ping and the pong. Otherwise the pong may have overtaken
//!    data that waits for the network, and the ping is repeated after [`PROBE_RETRY_DELAY`].
//! 5. [`PROBE_ROUNDS`] pings in succession were answered like that.
//!
//! From then on the page asks before it starts the call, and learns that the call has ended. Without
//! a proof, a call that was sent ends with [`ErrorCode::CallMayHaveRun`].
//!
//! # Data that the bridge has not read
//!
//! No call ends at a deadline while the bridge has unread data of its page: the task of the
//! connection reports when it has read everything that had arrived before the ping. A call that has
//! timed out waits for that for at most [`PROBE_TIMEOUT`], because a page may send without end.
//!
//! [`Authenticate::checks_late_calls`]: bridge_protocol::Authenticate::checks_late_calls
//! [`ErrorCode::PageSuspended`]: bridge_protocol::ErrorCode::PageSuspended
//! [`ErrorCode::PageBusy`]: bridge_protocol::ErrorCode::PageBusy
//! [`ErrorCode::CallMayHaveRun`]: bridge_protocol::ErrorCode::CallMayHaveRun
//! [`STALE_AFTER`]: bridge_protocol::limits::STALE_AFTER
//! [`EARLIEST_PROOF`]: super::receipt::EARLIEST_PROOF

use bridge_protocol::{CallId, SessionId};

use super::receipt::{PROBE_RETRY_DELAY, PROBE_ROUNDS, PROBE_TIMEOUT};
use super::{CallFailure, ConnectionId, Effect, Effects, Now, Realm, RealmCall, Receipt};

/// The answer to a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// The number of the ping.
    pub probe: u64,
    /// Whether data of the page arrived between the ping and its answer.
    pub data_arrived: bool,
}

impl Realm {
    /// The deadline of a call has passed.
    pub(super) fn call_overdue(&mut self, id: &CallId, now: Now) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        if call.client_requests.is_waiting() && !call.is_parked() {
            return self.client_timed_out(id, now);
        }
        if call.is_parked() || call.has_expired(now) {
            return self.call_expired(id, now);
        }
        match call.receipt {
            Receipt::Awaited { .. } => self.receipt_overdue(id, now),
            Receipt::Probed { probe, .. } => self.probe_overdue(id, probe, now),
            Receipt::AwaitsDocument { .. } => self.document_did_not_return(id, now),
            Receipt::Received => Effects::new(),
        }
    }

    /// The call has timed out. It ends when the bridge has read what the page has sent.
    fn call_expired(&mut self, id: &CallId, now: Now) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        let is_sent = call.send_count > 0 && !call.receipt.awaits_document();
        let is_read = call.is_parked() || !is_sent || call.final_read.is_some();
        let session = call.session.clone();
        if !is_read && let Some((probe, effects)) = self.send_probe(&session, now) {
            let until = now.instant + PROBE_TIMEOUT;
            self.update_call(id, |call| call.final_read = Some((probe, until)));
            return effects;
        }
        let failure = self.calls.get(id).map(RealmCall::timeout_failure);
        failure.map_or_else(Effects::new, |failure| self.abort_call(id, failure, now))
    }

    /// The page has not acknowledged the call in time.
    fn receipt_overdue(&mut self, id: &CallId, now: Now) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        let session_id = call.session.clone();
        if call.send_count == 0 {
            let failure = call.suspended_failure();
            return self.receipt_missing(id, failure, now);
        }
        let last_part_at = self
            .sessions
            .get(&session_id)
            .and_then(|it| it.last_part_at);
        let until = last_part_at.map(|at| at + self.limits.receipt_timeout);
        if let Some(until) = until.filter(|until| *until > now.instant) {
            // The page is sending a large message, and the receipt is queued behind it.
            self.update_call(id, |call| call.receipt = Receipt::Awaited { until });
            return Effects::new();
        }
        self.probe_call(id, 1, now)
    }

    /// Sends a ping because of a call without a receipt.
    fn probe_call(&mut self, id: &CallId, round: u8, now: Now) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        let session = call.session.clone();
        let Some((probe, effects)) = self.send_probe(&session, now) else {
            let failure = self.calls.get(id).map(RealmCall::may_have_run_failure);
            return failure.map_or_else(Effects::new, |failure| {
                self.receipt_missing(id, failure, now)
            });
        };
        let until = now.instant + PROBE_TIMEOUT;
        self.update_call(id, |call| {
            call.receipt = Receipt::Probed {
                probe,
                round,
                until,
            };
        });
        effects
    }

    /// The page's browser has not answered a ping in time.
    fn probe_overdue(&mut self, id: &CallId, probe: u64, now: Now) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        let session = self.sessions.get(&call.session);
        let is_unread =
            session.is_some_and(|it| it.phase.connection().is_some() && it.last_read_probe < probe);
        if is_unread {
            // The answer may be among the data that the bridge has not read.
            self.update_call(id, |call| {
                call.receipt = call.receipt.extended(PROBE_TIMEOUT)
            });
            return Effects::new();
        }
        let failure = call.may_have_run_failure();
        self.receipt_missing(id, failure, now)
    }

    /// Everything that had arrived on a connection before this ping has been read.
    pub fn connection_read(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        probe: u64,
        now: Now,
    ) -> Effects {
        let Some(session) = self.session_on(id, connection) else {
            return Effects::new();
        };
        session.last_read_probe = session.last_read_probe.max(probe);
        let calls: Vec<_> = session.calls.iter().cloned().collect();
        let mut effects = Effects::new();
        for id in calls {
            let Some(call) = self.calls.get(&id) else {
                continue;
            };
            if call.final_read.is_some_and(|(awaited, _)| awaited <= probe) {
                let failure = call.timeout_failure();
                effects.extend(self.abort_call(&id, failure, now));
            } else if is_probed_by(call, probe) && !self.can_be_proven(&id) {
                let failure = call.may_have_run_failure();
                effects.extend(self.receipt_missing(&id, failure, now));
            }
        }
        effects
    }

    /// The page's browser has answered a ping, so everything that was sent before is read.
    pub fn probe_answered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        answer: ProbeAnswer,
        now: Now,
    ) -> Effects {
        let mut effects = self.connection_read(id, connection, answer.probe, now);
        let Some(session) = self.session_on(id, connection) else {
            return effects;
        };
        let calls: Vec<_> = session.calls.iter().cloned().collect();
        for id in calls {
            let Some(call) = self.calls.get(&id) else {
                continue;
            };
            let Receipt::Probed { probe, round, .. } = call.receipt else {
                continue;
            };
            if probe != answer.probe {
                continue;
            }
            effects.extend(if answer.data_arrived {
                let until = now.instant + PROBE_RETRY_DELAY;
                self.update_call(&id, |call| call.receipt = Receipt::Awaited { until });
                Effects::new()
            } else if round < PROBE_ROUNDS {
                self.probe_call(&id, round + 1, now)
            } else {
                let failure = self.not_started_failure(call);
                self.receipt_missing(&id, failure, now)
            });
        }
        effects
    }

    /// Whether the absence of a receipt can prove that the call has not started and never will.
    pub(super) fn can_be_proven(&self, id: &CallId) -> bool {
        let call = self.calls.get(id);
        call.is_some_and(|call| {
            let session = self.sessions.get(&call.session);
            call.send_count <= 1
                && session.is_some_and(|session| session.abilities().checks_late_calls)
        })
    }

    /// The failure of a call that the page has not started and never will.
    fn not_started_failure(&self, call: &RealmCall) -> CallFailure {
        let session = self.sessions.get(&call.session);
        let calls = session.into_iter().flat_map(|session| &session.calls);
        let mut others = calls.filter_map(|id| self.calls.get(id));
        match others.find(|other| other.receipt == Receipt::Received) {
            Some(other) => call.busy_failure(other),
            None => call.suspended_failure(),
        }
    }

    /// Ends a call without a receipt.
    fn receipt_missing(&mut self, id: &CallId, failure: CallFailure, now: Now) -> Effects {
        let call = self.calls.get(id);
        if let Some(session) = call.and_then(|call| self.sessions.get_mut(&call.session)) {
            session.unresponsive = session.phase.connection().is_some();
        }
        self.abort_call(id, failure, now)
    }

    /// Sends a ping on the connection of a session. Returns its number; `None` without a
    /// connection. Calls that are due at the same time share a ping.
    fn send_probe(&mut self, id: &SessionId, now: Now) -> Option<(u64, Effects)> {
        let session = self.sessions.get_mut(id)?;
        let connection = session.phase.connection()?;
        let (probe, sent_at) = session.last_probe;
        if probe > session.last_read_probe && sent_at == Some(now.instant) {
            return Some((probe, Effects::new()));
        }
        let probe = probe + 1;
        session.last_probe = (probe, Some(now.instant));
        let effects = Effects::from([Effect::Probe { connection, probe }]);
        Some((probe, effects))
    }
}

fn is_probed_by(call: &RealmCall, answered: u64) -> bool {
    matches!(call.receipt, Receipt::Probed { probe, .. } if probe <= answered)
}
