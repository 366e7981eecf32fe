//! A ping that finds out whether the page has started a call: see the module `overdue_calls` of the
//! crate `bridge-realm`.

use std::task::Poll;

use bridge_realm::realm::ProbeAnswer;

use super::socket::PageSocket;

/// The size of the pong to a numbered ping: a header of two bytes, a mask of four, and the number
/// (RFC 6455 section 5.2).
const PONG_BYTES: u64 = 2 + 4 + 8;

/// The last ping that was sent because of a call.
#[derive(Debug, Default)]
pub(super) struct Probe {
    number: u64,
    /// The number of bytes that had arrived on the connection when the ping was queued.
    received_before: u64,
    /// Whether data that arrived before the ping may still be unread.
    is_unread: bool,
}

impl Probe {
    /// Queues the ping with this number.
    pub(super) fn send(&mut self, socket: &mut PageSocket, number: u64) {
        socket.queue_numbered_ping(number);
        *self = Self {
            number,
            received_before: socket.received_bytes(),
            is_unread: true,
        };
    }

    /// The socket has been read empty. Ready with the number of the ping, once.
    pub(super) fn poll_read_through(&mut self) -> Poll<u64> {
        if std::mem::take(&mut self.is_unread) {
            Poll::Ready(self.number)
        } else {
            Poll::Pending
        }
    }

    /// Returns what the pong with this number shows. `None` if it does not answer the last ping.
    pub(super) fn answer(&self, socket: &PageSocket, number: u64) -> Option<ProbeAnswer> {
        let received = socket.received_bytes() - self.received_before;
        (number == self.number).then(|| ProbeAnswer {
            probe: number,
            data_arrived: received != PONG_BYTES || socket.is_mid_message(),
        })
    }
}
