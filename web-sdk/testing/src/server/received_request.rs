//! A request of a client, and its state after the start.

use std::time::Duration;

use serde_json::value::RawValue;

/// A request that a client has sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedRequest<'a> {
    pub(super) client: u64,
    pub(super) id: u64,
    /// The parameters, as JSON.
    pub(super) params: &'a str,
    pub(super) at: Duration,
}

/// The state of a request that was started: it waits for a page, or already has its result.
pub(super) enum Started {
    Waiting,
    Result(Box<RawValue>),
}
