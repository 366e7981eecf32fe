//! A request of a client, and how it starts.

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

/// A request that has to wait for a page, or the result that it has already.
pub(super) enum Started {
    Waiting,
    Result(Box<RawValue>),
}
