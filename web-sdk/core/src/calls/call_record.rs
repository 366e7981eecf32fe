//! The page's record of a call, which may have ended, is running, or was answered.
//!
//! # Calls that may have ended
//!
//! A page that was suspended (a frozen tab, a closed laptop) receives calls that are no longer
//! awaited. These rules make sure that each call runs at most once, and never too late:
//!
//! 1. A call that arrives more than [`STALE_AFTER`] late, on the bridge's clock, is acknowledged
//!    and may have ended: the page sends `calls-check`. So may one that arrives while much of what
//!    the page has sent is still buffered, and one whose handler does not start in that time. The
//!    clock is read again after the acknowledgement was sent.
//! 2. `calls-alive` starts the calls in `requestIds` and drops those in `ended`. An answer that
//!    itself took longer than that time proves nothing, because the page may have been suspended
//!    again. The page then sends the check again and accepts an answer within twice the time, so
//!    that a slow network does not keep a call from starting. The handler also starts within that
//!    time; if the thread was busy for longer, the page sends the check again.
//! 3. When the connection breaks before the answer, the calls may still have ended. On the next
//!    connection to the same bridge the page checks all of them again, whether the bridge lists
//!    them in `awaited` or not, because `authenticated` may also have been delayed.
//! 4. When the bridge sends such a call again (the acknowledgement was lost), the new copy decides:
//!    if it arrives in time, the call starts. `call-cancel`, a restart of the bridge and the page's
//!    own `disconnect` drop the call.
//!
//! # Answers that are the receipt
//!
//! A call is acknowledged before its handler starts, so that the bridge can tell a call that runs
//! from one that never will. If a repeated call does no harm (a read, or a tool with `readOnlyHint`
//! or `idempotentHint`), the difference does not matter to the caller. Once a few calls in
//! succession have been answered in the task in which their handlers were started, and within
//! [`MAX_PROMPT_MS`], the next ones are acknowledged only if that task ends without an answer.
//! Otherwise the answer is the receipt.
//!
//! # Answers that the bridge may not have received
//!
//! An answer that was sent may have been lost with its connection. It is stored until a heartbeat
//! acknowledges it, so that it can be sent again on the next connection to the same bridge.

use bridge_protocol::CallId;
use bridge_protocol::limits::STALE_AFTER;

use super::outcome::SentOutcome;
use crate::effect::{DefinitionKey, Effects};
use crate::messages::{HandlerRequest, Json, PageToBridge};
use crate::pending_client_requests::PendingClientRequests;

/// [`STALE_AFTER`] in milliseconds.
pub(crate) const STALE_AFTER_MS: u64 = STALE_AFTER.as_millis() as u64;

/// An answer that took longer, in milliseconds, is not expected to be the receipt next time.
pub(crate) const MAX_PROMPT_MS: u64 = 50;

/// The maximum number of stored answers; the oldest are dropped first.
pub const MAX_UNACKNOWLEDGED: usize = 64;

/// The maximum size of all stored answers, in bytes of JSON. The newest is stored whatever its
/// size.
pub const MAX_UNACKNOWLEDGED_BYTES: usize = 32 * 1024 * 1024;

/// A call that the page has acknowledged.
#[derive(Debug)]
pub(super) struct CallRecord<J> {
    pub(super) id: CallId,
    pub(super) state: State<J>,
}

/// The state of a call that the page has acknowledged.
#[derive(Debug)]
pub(super) enum State<J> {
    /// The call has arrived late and may have ended.
    MaybeEnded {
        request: HandlerRequest<J>,
        /// The number of the latest check. Answers to earlier checks prove nothing.
        check: u64,
        /// When the page last sent a check.
        checked_ms: u64,
        /// The answer to the check counts if it takes no longer than this.
        answer_timeout_ms: u64,
    },
    /// The handler is running.
    Running(RunningCall<J>),
    /// The handler has ended.
    Answered {
        outcome: SentOutcome<J>,
        bytes: usize,
        /// The number of the answer among those sent on this connection, from 1; 0 if it was not
        /// sent.
        send_number: u64,
    },
}

/// A call whose handler is running.
#[derive(Debug)]
pub(super) struct RunningCall<J> {
    /// The requests that the handler has made to the client.
    pub(super) requests: PendingClientRequests<J>,
    /// Set until the task in which the handler was started has ended, if a repeated call does no
    /// harm.
    pub(super) first_task: Option<FirstTask>,
    /// The handler's latest request: the state with which the hand-over is armed, or `None` to
    /// disarm it.
    pub(super) hand_over: Option<J>,
    pub(super) is_armed: bool,
}

/// The task in which a handler was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstTask {
    pub(crate) definition: DefinitionKey,
    pub(crate) started_ms: u64,
    /// Whether the call has not been acknowledged yet.
    pub(crate) receipt_due: bool,
}

impl<J: Json> RunningCall<J> {
    pub(super) fn new(first_task: Option<FirstTask>) -> Self {
        Self {
            requests: PendingClientRequests::new(),
            first_task,
            hand_over: None,
            is_armed: false,
        }
    }

    /// Sends the handler's latest request about the hand-over.
    pub(super) fn send_hand_over(&self, id: &CallId, effects: &mut Effects<J>) {
        if let Some(state) = self.hand_over.clone() {
            let call = id.clone();
            effects.send(PageToBridge::CallHandOver { call, state });
        }
    }

    /// Acknowledges the call, unless it was already acknowledged.
    pub(super) fn acknowledge(&mut self, id: &CallId, effects: &mut Effects<J>) {
        if let Some(first_task) = &mut self.first_task
            && std::mem::take(&mut first_task.receipt_due)
        {
            effects.send(PageToBridge::CallReceived(id.clone()));
        }
    }
}

impl<J> CallRecord<J> {
    pub(super) fn maybe_ended(request: HandlerRequest<J>, check: u64, now_ms: u64) -> Self {
        Self {
            id: request.call.clone(),
            state: State::MaybeEnded {
                request,
                check,
                checked_ms: now_ms,
                answer_timeout_ms: STALE_AFTER_MS,
            },
        }
    }

    /// Returns the size of the answer, if there is one.
    pub(super) fn answer_bytes(&self) -> Option<usize> {
        match self.state {
            State::Answered { bytes, .. } => Some(bytes),
            _ => None,
        }
    }
}
