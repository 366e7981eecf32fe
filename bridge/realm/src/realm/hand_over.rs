//! The hand-over of a call from a document of a session to the next one.

use std::any::Any;
use std::time::Duration;
use web_time::Instant;

use bridge_protocol::limits::{MAX_ARMED_BYTES, MAX_ARMED_CALLS, MAX_HAND_OVER_BYTES};
use serde_json::value::RawValue;

use super::ConnectionId;

/// The state with which a handler hands its call over.
#[derive(Debug)]
pub struct HandOverState {
    json: Box<RawValue>,
    /// Counts the bytes of the state for as long as the realm stores it.
    _lease: Option<Box<dyn Any + Send + Sync>>,
}

impl HandOverState {
    /// Creates a state. The lease is dropped together with it.
    pub fn new(json: Box<RawValue>, lease: Option<Box<dyn Any + Send + Sync>>) -> Self {
        Self {
            json,
            _lease: lease,
        }
    }

    /// The JSON text that the next document receives.
    pub(super) fn json(&self) -> &RawValue {
        &self.json
    }

    /// The size in bytes of JSON.
    pub(super) fn bytes(&self) -> usize {
        self.json.get().len()
    }
}

/// A page's request about the hand-over of one of its calls.
#[derive(Debug)]
pub enum HandOverRequest {
    /// The next document should continue the call from this state.
    Arm(HandOverState),
    /// The call is to end with its document.
    Disarm,
    /// The call was to be armed, and the bridge has no memory for its state.
    OutOfMemory,
}

/// Whether the next document would continue a call.
#[derive(Debug, Default)]
pub(super) enum Arming {
    /// The call ends with its document.
    #[default]
    Disarmed,
    /// The next document would continue from this state.
    Armed(HandOverState),
    /// The page has armed the call beyond a limit, so the call ends with its document.
    Refused(String),
}

/// The hand-overs of one call.
#[derive(Debug, Default)]
pub(super) struct HandOver {
    pub(super) arming: Arming,
    /// The state of the former document. It is stored until the current document has acknowledged
    /// the call.
    pub(super) continuation: Option<HandOverState>,
    /// How often the call was handed over.
    pub(super) count: u32,
    /// The connection of the former document, which must still confirm that it hands the call over:
    /// a newer state may be in transit.
    pub(super) unconfirmed_on: Option<ConnectionId>,
}

impl HandOver {
    /// The size of the state with which the call is armed; `None` if it is not.
    pub(super) fn armed_bytes(&self) -> Option<usize> {
        match &self.arming {
            Arming::Armed(state) => Some(state.bytes()),
            _ => None,
        }
    }
}

/// The number and the size of some states.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StateTotals {
    pub(super) count: usize,
    pub(super) bytes: usize,
}

impl StateTotals {
    /// Adds a state of this size.
    pub(super) fn add(self, bytes: usize) -> Self {
        Self {
            count: self.count + 1,
            bytes: self.bytes + bytes,
        }
    }

    /// The limit of a session that another state of this size would exceed.
    pub(super) fn exceeded_limit(self, bytes: usize) -> Option<String> {
        let with = self.add(bytes);
        if bytes > MAX_HAND_OVER_BYTES {
            Some(format!(
                "its state has {bytes} bytes, and {MAX_HAND_OVER_BYTES} is the limit"
            ))
        } else if with.count > MAX_ARMED_CALLS {
            Some(format!(
                "{MAX_ARMED_CALLS} calls of the page have a state already, which is the limit"
            ))
        } else if with.bytes > MAX_ARMED_BYTES {
            Some(format!(
                "the states of the page would have {} bytes, and {MAX_ARMED_BYTES} is the limit",
                with.bytes
            ))
        } else {
            None
        }
    }
}

/// When a session gives up waiting for its next document; `None` if it does not wait at all.
pub(super) fn return_deadline(page_return: Duration, now: Instant) -> Option<Instant> {
    (!page_return.is_zero()).then(|| now + page_return)
}
