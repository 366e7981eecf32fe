//! Requests of running handlers to the clients that made the calls.
//!
//! All requests that a handler makes in one task are sent in one message. For clients of MCP
//! 2026-07-28, that is one round.

use bridge_protocol::CallId;

use super::effect::Effects;
use super::messages::{ClientRequest, Json, PageToBridge};

/// The maximum size of a request without its parameters, in bytes.
const REQUEST_OVERHEAD_BYTES: usize = 512;

/// The unanswered requests of one call, in order.
#[derive(Debug)]
pub(super) struct PendingClientRequests<J> {
    pending: Vec<PendingRequest<J>>,
}

#[derive(Debug)]
struct PendingRequest<J> {
    request: ClientRequest<J>,
    bytes: usize,
    /// Whether the request was sent on this connection.
    sent: bool,
}

impl<J: Json> PendingClientRequests<J> {
    pub(super) fn new() -> Self {
        Self {
            pending: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, request: ClientRequest<J>, bytes: usize) {
        self.pending.push(PendingRequest {
            request,
            bytes: bytes + REQUEST_OVERHEAD_BYTES,
            sent: false,
        });
    }

    /// Removes an answered request. Returns whether it was pending.
    pub(super) fn complete(&mut self, key: &str) -> bool {
        let before = self.pending.len();
        self.pending.retain(|pending| pending.request.key != key);
        self.pending.len() < before
    }

    pub(super) fn connection_lost(&mut self) {
        for pending in &mut self.pending {
            pending.sent = false;
        }
    }

    /// Sends the requests that were not sent on this connection, in as few frames of at most
    /// `max_bytes` as possible.
    pub(super) fn flush(&mut self, call: &CallId, max_bytes: usize, effects: &mut Effects<J>) {
        let (mut requests, mut total) = (Vec::new(), 0);
        for pending in self.pending.iter_mut().filter(|pending| !pending.sent) {
            pending.sent = true;
            if total + pending.bytes > max_bytes && !requests.is_empty() {
                send(call, std::mem::take(&mut requests), effects);
                total = 0;
            }
            total += pending.bytes;
            requests.push(pending.request.clone());
        }
        if !requests.is_empty() {
            send(call, requests, effects);
        }
    }
}

fn send<J>(call: &CallId, requests: Vec<ClientRequest<J>>, effects: &mut Effects<J>) {
    effects.send(PageToBridge::ClientRequests {
        call: call.clone(),
        requests,
    });
}
