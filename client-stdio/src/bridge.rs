//! The bridge as far as we know, and when to look for it again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::absence::Absence;
use crate::config::Config;
use crate::exchange::FromBridge;
use crate::headers::Tools;
use crate::message::Request;
use crate::opening::Opening;
use crate::upstream::Link;

/// The first pause between attempts to reach a bridge; doubled each time, with jitter.
const FIRST_RETRY: Duration = Duration::from_millis(250);

/// The longest pause. A client's request does not wait for its end.
const LONGEST_RETRY: Duration = Duration::from_secs(5);

/// A link that breaks sooner than this after it was opened is not opened again at once: a bridge
/// that accepts and drops would be asked without pause.
const STABLE_AFTER: Duration = Duration::from_secs(1);

/// Where the search for a bridge stands.
pub(crate) enum Bridge {
    /// The client has not said anything that needs one.
    Unasked,
    Connecting(BoxFuture<'static, Result<Link, Absence>>),
    Online {
        link: Box<Link>,
        since: Instant,
    },
    /// Nothing is tried when another attempt could not end otherwise.
    Offline {
        retry_at: Option<Instant>,
    },
}

/// What happens on the bridge's side.
pub(crate) enum BridgeEvent {
    Found(Box<Link>),
    NotFound(Absence),
    RetryDue,
    Said(FromBridge),
}

impl Bridge {
    /// Begins an attempt. `standing` is asked of the bridge that is found.
    pub(crate) fn connect(
        config: &Config,
        opening: &Opening,
        tools: &Tools,
        standing: Vec<Request>,
    ) -> Self {
        let link = Link::open(config.clone(), opening.clone(), tools.clone(), standing);
        Self::Connecting(Box::pin(link))
    }

    /// The next event. May be dropped and called again without losing one.
    pub(crate) async fn next(&mut self) -> BridgeEvent {
        match self {
            Self::Unasked | Self::Offline { retry_at: None } => std::future::pending().await,
            Self::Connecting(attempt) => match attempt.await {
                Ok(link) => BridgeEvent::Found(Box::new(link)),
                Err(absence) => BridgeEvent::NotFound(absence),
            },
            Self::Online { link, .. } => BridgeEvent::Said(link.receive().await),
            Self::Offline { retry_at: Some(at) } => {
                tokio::time::sleep_until(*at).await;
                BridgeEvent::RetryDue
            }
        }
    }

    pub(crate) fn link(&mut self) -> Option<&mut Link> {
        match self {
            Self::Online { link, .. } => Some(link),
            _ => None,
        }
    }

    /// Whether the link lasted long enough to be opened again at once when it is lost.
    pub(crate) fn is_stable(&self) -> bool {
        matches!(self, Self::Online { since, .. } if since.elapsed() > STABLE_AFTER)
    }
}

/// Jittered pauses that grow.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    /// Attempts since the last link that lasted.
    attempts: u32,
}

impl Backoff {
    /// The time of the next attempt: between half of the pause and all of it from now, so that
    /// many clients do not come back at once.
    pub(crate) fn next_attempt(&mut self) -> Instant {
        let longest = FIRST_RETRY
            .saturating_mul(1 << self.attempts.min(8))
            .min(LONGEST_RETRY);
        self.attempts += 1;
        let random = RandomState::new().hash_one(()) as u32;
        let jitter = f64::from(random) / f64::from(u32::MAX);
        Instant::now() + longest / 2 + (longest / 2).mul_f64(jitter)
    }

    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..10)
            .map(|_| backoff.next_attempt() - Instant::now())
            .collect();
        assert!(pauses[0] <= FIRST_RETRY && pauses[0] > FIRST_RETRY / 4);
        assert!(pauses[9] <= LONGEST_RETRY && pauses[9] > LONGEST_RETRY / 4);
        backoff.reset();
        assert!(backoff.next_attempt() - Instant::now() <= FIRST_RETRY);
    }
}
