//! What the page knows of a call: it may be over, it runs, or it was answered.
//!
//! # Calls that may be over
//!
//! A page that stood still (a frozen tab, a closed laptop) finds calls waiting that nobody waits for any
//! more. The rule, so that each call runs at most once and never late:
//!
//! 1. A call that arrives [`STALE_AFTER`] late, on the bridge's clock, is acknowledged and doubtful: the
//!    page sends `calls-check`.
//! 2. `calls-alive` starts those in `requestIds` and drops those in `ended`. An answer that itself took
//!    longer than that proves nothing, since the page may have stood still again: it asks once more, and
//!    takes twice as long for an answer, so that a slow line is no reason never to start.
//! 3. When the connection breaks before the answer, the calls stay doubtful. On the next connection to the
//!    same bridge the page asks for all of them again, whether the bridge lists them in `awaited` or not:
//!    `authenticated` may have waited, too.
//! 4. A doubtful call that the bridge sends again (the receipt was lost) is looked at anew: in time, it
//!    starts. `call-cancel`, another life of the bridge and the page's own `disconnect` drop it.
//!
//! # Answers that the bridge may not have
//!
//! An answer that was sent may have been lost with its connection. It is kept until a heartbeat counts it,
//! so that it can go again on the next connection to the same bridge.

use bridge_protocol::CallId;
use bridge_protocol::limits::STALE_AFTER;

use super::outcome::SentOutcome;
use crate::core::messages::CallRequest;
use crate::core::pending_client_requests::PendingClientRequests;

/// [`STALE_AFTER`] in milliseconds.
pub(in crate::core) const STALE_AFTER_MS: u64 = STALE_AFTER.as_millis() as u64;

/// So many answers are kept at most; the oldest go first.
pub const MAX_UNACKNOWLEDGED: usize = 64;

/// And so many bytes of them, in JSON. The newest is kept whatever its size.
pub const MAX_UNACKNOWLEDGED_BYTES: usize = 32 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct CallRecord<V> {
    pub(super) id: CallId,
    pub(super) state: State<V>,
}

#[derive(Debug)]
pub(super) enum State<V> {
    /// Received, and perhaps over.
    MaybeEnded {
        request: CallRequest<V>,
        /// When the bridge was asked last.
        checked_ms: u64,
        /// An answer of the bridge counts when it takes no longer.
        answer_timeout_ms: u64,
    },
    /// Its handler runs, and may ask the client.
    Running(PendingClientRequests<V>),
    /// Its handler has ended.
    Answered {
        outcome: SentOutcome<V>,
        bytes: usize,
        /// Its place among the answers sent on this connection, from 1; 0: it was not.
        send_number: u64,
    },
}

impl<V> CallRecord<V> {
    pub(super) fn maybe_ended(request: CallRequest<V>, now_ms: u64) -> Self {
        Self {
            id: request.call.clone(),
            state: State::MaybeEnded {
                request,
                checked_ms: now_ms,
                answer_timeout_ms: STALE_AFTER_MS,
            },
        }
    }

    /// The length of the answer, if there is one.
    pub(super) fn answer_bytes(&self) -> Option<usize> {
        match self.state {
            State::Answered { bytes, .. } => Some(bytes),
            _ => None,
        }
    }
}
