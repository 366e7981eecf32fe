//! What a running handler asks the client behind its call.
//!
//! All that is asked in one task goes in one message: to clients of MCP 2026-07-28 that is one round.

use bridge_protocol::CallId;

use super::effect::Effects;
use super::messages::{ClientRequest, PageToBridge};

/// Room for what surrounds the parameters of one request.
const REQUEST_OVERHEAD_BYTES: usize = 512;

/// The requests of one call that have no answer yet, in order.
#[derive(Debug)]
pub(super) struct PendingClientRequests<V> {
    pending: Vec<PendingRequest<V>>,
}

#[derive(Debug)]
struct PendingRequest<V> {
    request: ClientRequest<V>,
    bytes: usize,
    /// On this connection.
    sent: bool,
}

impl<V: Clone> PendingClientRequests<V> {
    pub(super) fn new() -> Self {
        Self {
            pending: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, request: ClientRequest<V>, bytes: usize) {
        self.pending.push(PendingRequest {
            request,
            bytes: bytes + REQUEST_OVERHEAD_BYTES,
            sent: false,
        });
    }

    /// Whether the request was open; it is not any more.
    pub(super) fn complete(&mut self, key: &str) -> bool {
        let before = self.pending.len();
        self.pending.retain(|open| open.request.key != key);
        self.pending.len() < before
    }

    pub(super) fn connection_lost(&mut self) {
        for open in &mut self.pending {
            open.sent = false;
        }
    }

    /// Sends what this connection has not heard, in as few frames as `room` allows.
    pub(super) fn flush(&mut self, call: &CallId, room: usize, effects: &mut Effects<V>) {
        let (mut requests, mut total) = (Vec::new(), 0);
        for open in self.pending.iter_mut().filter(|open| !open.sent) {
            open.sent = true;
            if total + open.bytes > room && !requests.is_empty() {
                send(call, std::mem::take(&mut requests), effects);
                total = 0;
            }
            total += open.bytes;
            requests.push(open.request.clone());
        }
        if !requests.is_empty() {
            send(call, requests, effects);
        }
    }
}

fn send<V>(call: &CallId, requests: Vec<ClientRequest<V>>, effects: &mut Effects<V>) {
    effects.send(PageToBridge::ClientRequests {
        call: call.clone(),
        requests,
    });
}
