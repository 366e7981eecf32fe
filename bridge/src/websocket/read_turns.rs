//! When a socket may be read: its task yields to others after each turn, and waits when the peer
//! has sent more frames than its rate allows.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::task::coop;
use tokio::time::{Instant, Sleep, sleep_until};

use super::frame_rate::FrameRate;

/// The number of frames in a turn. One read of the socket can contain 20,000 of them. With so few,
/// a call waits about a millisecond for the turns of 64 busy pages.
pub(super) const MAX_FRAMES_PER_TURN: u32 = 16;

/// The number of bytes in a turn, which may all belong to one long frame.
pub(super) const MAX_BYTES_PER_TURN: usize = 64 * 1024;

/// The turns of one socket. A turn ends after [`MAX_FRAMES_PER_TURN`] or [`MAX_BYTES_PER_TURN`].
#[derive(Debug)]
pub(super) struct ReadTurns {
    rate: FrameRate,
    /// The bytes that were read in this turn.
    bytes: usize,
    /// Whether other tasks have run since the turn began.
    has_yielded: bool,
    /// Exists while the rate does not allow further frames.
    pause: Option<Pin<Box<Sleep>>>,
    /// Whether the socket was empty when it was last read.
    is_empty: bool,
}

impl ReadTurns {
    /// Creates the turns of a socket that may send this many frames per second.
    pub(super) fn new(frames_per_second: u32) -> Self {
        Self {
            rate: FrameRate::new(frames_per_second, Instant::now()),
            bytes: 0,
            has_yielded: true,
            pause: None,
            is_empty: false,
        }
    }

    /// Changes the number of frames per second.
    pub(super) fn set_rate(&mut self, frames_per_second: u32) {
        self.rate = FrameRate::new(frames_per_second, Instant::now());
    }

    /// Polls for the next turn. `unused` is the number of frames that this turn has left. Returns
    /// the number of frames of the next one.
    pub(super) fn poll_next_turn(&mut self, cx: &mut Context<'_>, unused: u32) -> Poll<u32> {
        if !std::mem::replace(&mut self.has_yielded, true) {
            // A task that wakes itself is queued behind all others.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frames = match unused {
            0 => ready!(self.poll_rate(cx)),
            unused => unused,
        };
        self.bytes = 0;
        self.has_yielded = false;
        Poll::Ready(frames)
    }

    /// Polls for frames that the rate allows.
    fn poll_rate(&mut self, cx: &mut Context<'_>) -> Poll<u32> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            match self.rate.take(MAX_FRAMES_PER_TURN, Instant::now) {
                Ok(frames) => return Poll::Ready(frames),
                Err(until) => {
                    self.pause = Some(Box::pin(sleep_until(until)));
                }
            }
        }
    }

    /// Whether this turn has read all bytes that it may read.
    pub(super) fn has_read_enough(&self) -> bool {
        self.bytes >= MAX_BYTES_PER_TURN
    }

    /// Records that bytes were read from the socket.
    pub(super) fn record_read(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.is_empty = false;
    }

    /// Records that a read of the socket waits, so that other tasks run.
    pub(super) fn record_waiting(&mut self) {
        self.has_yielded = true;
        // Without a budget, tokio lets a read wait although something has arrived.
        self.is_empty = coop::has_budget_remaining();
    }

    /// Whether the socket was empty when it was last read. Bytes that were read before may still
    /// wait for the next turn.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }
}
