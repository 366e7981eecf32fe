//! How soon and how often a stream that ended is opened again.

use std::time::Duration;

use crate::event_stream::StreamEnd;

/// The delay before the first attempt to reopen a stream, unless the bridge sets another one. It
/// doubles with each attempt after which no message arrived.
const INITIAL_REOPEN_DELAY: Duration = Duration::from_millis(250);

/// The longest delay that the bridge can set. It also bounds our own.
const MAX_REOPEN_DELAY: Duration = Duration::from_secs(30);

/// How often the stream of a request is reopened in a row without an event on it.
const MAX_REOPENS: u32 = 6;

/// The delays between the attempts to reopen one stream.
#[derive(Debug, Default)]
pub(crate) struct ReopenBackoff {
    /// The delay that the bridge set with `retry`.
    server_delay: Option<Duration>,
    /// Attempts since the last message. An event without a message is not progress: a bridge may
    /// send an id on each stream and break each of them.
    since_message: u32,
    /// Attempts since the last event with an id. A bridge that closes its streams on purpose, to
    /// be polled, sends at least an id on each of them, and is polled without end.
    since_id: u32,
}

impl ReopenBackoff {
    /// A message has arrived.
    pub(crate) fn message_received(&mut self) {
        self.since_message = 0;
        self.since_id = 0;
    }

    /// An event with an id has arrived.
    pub(crate) fn id_received(&mut self) {
        self.since_id = 0;
    }

    /// The bridge has set the delay, in milliseconds.
    pub(crate) fn retry_received(&mut self, milliseconds: u64) {
        self.server_delay = Some(Duration::from_millis(milliseconds).min(MAX_REOPEN_DELAY));
    }

    /// Returns whether the stream of a request has been reopened too often without an event.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.since_id >= MAX_REOPENS
    }

    /// Counts an attempt, and returns the delay before it. After a broken or silent connection the first
    /// attempt is immediate, because it shows whether the bridge is gone. After that, no delay is
    /// shorter than the one that the bridge has set.
    pub(crate) fn next_delay(&mut self, end: &StreamEnd) -> Duration {
        let attempt = self.since_message;
        self.since_message = self.since_message.saturating_add(1);
        self.since_id = self.since_id.saturating_add(1);
        let backoff = INITIAL_REOPEN_DELAY * 2_u32.pow(attempt.min(MAX_REOPENS));
        match (end, self.server_delay) {
            (StreamEnd::Broken | StreamEnd::Silent, _) if attempt == 0 => Duration::ZERO,
            (StreamEnd::Broken | StreamEnd::Silent, Some(server_delay)) => {
                backoff.max(server_delay)
            }
            (StreamEnd::Closed, Some(server_delay)) if attempt == 0 => server_delay,
            (StreamEnd::Closed, Some(server_delay)) => server_delay.max(INITIAL_REOPEN_DELAY),
            (_, None) => backoff,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delays in milliseconds of streams that each give an id and end.
    fn delays(backoff: &mut ReopenBackoff, end: &StreamEnd, attempts: usize) -> Vec<u128> {
        let mut delay = || {
            backoff.id_received();
            assert!(!backoff.is_exhausted());
            backoff.next_delay(end).as_millis()
        };
        (0..attempts).map(|_| delay()).collect()
    }

    #[test]
    fn streams_that_give_an_id_and_break_are_reopened_with_growing_delays() {
        let mut backoff = ReopenBackoff::default();
        let expected = [0, 500, 1000, 2000, 4000, 8000, 16_000, 16_000];
        assert_eq!(delays(&mut backoff, &StreamEnd::Broken, 8), expected);
        backoff.message_received();
        assert_eq!(delays(&mut backoff, &StreamEnd::Broken, 2), [0, 500]);
    }

    #[test]
    fn the_delay_of_the_bridge_is_honoured() {
        let mut backoff = ReopenBackoff::default();
        backoff.retry_received(3000);
        assert_eq!(delays(&mut backoff, &StreamEnd::Closed, 3), [3000; 3]);
        backoff.message_received();
        assert_eq!(delays(&mut backoff, &StreamEnd::Broken, 3), [0, 3000, 3000]);
        backoff.message_received();
        backoff.retry_received(0);
        assert_eq!(delays(&mut backoff, &StreamEnd::Closed, 3), [0, 250, 250]);
        backoff.retry_received(u64::MAX);
        assert_eq!(delays(&mut backoff, &StreamEnd::Closed, 1), [30_000]);
    }

    #[test]
    fn streams_without_any_event_are_abandoned() {
        let mut backoff = ReopenBackoff::default();
        for _ in 0..MAX_REOPENS {
            assert!(!backoff.is_exhausted());
            backoff.next_delay(&StreamEnd::Broken);
        }
        assert!(backoff.is_exhausted());
    }
}
