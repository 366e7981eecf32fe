//! The bridge as far as we know, and when to look for it again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::bridge_session::BridgeSession;
use crate::config::Config;
use crate::connect_error::BridgeError;
use crate::exchange::BridgeMessage;
use crate::handshake::ClientHandshake;
use crate::headers::ToolHeaders;
use crate::message::Request;

/// The first pause between attempts to reach a bridge; doubled each time, with jitter.
const INITIAL_BACKOFF: Duration = Duration::from_millis(250);

/// The longest pause. A client's request does not wait for its end.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// A link that breaks sooner than this after it was opened is not opened again at once: a bridge
/// that accepts and drops would be asked without pause.
const STABLE_AFTER: Duration = Duration::from_secs(1);

/// Where the search for a bridge stands.
pub(crate) enum BridgeState {
    /// The client has not said anything that needs one.
    Idle,
    Connecting(BoxFuture<'static, Result<BridgeSession, BridgeError>>),
    Online {
        session: Box<BridgeSession>,
        since: Instant,
    },
    /// Nothing is tried when another attempt could not end otherwise.
    Offline {
        retry_at: Option<Instant>,
    },
}

/// What happens on the bridge's side.
pub(crate) enum BridgeEvent {
    Connected(Box<BridgeSession>),
    ConnectFailed(BridgeError),
    RetryDue,
    Received(BridgeMessage),
}

impl BridgeState {
    /// Begins an attempt. `standing` is asked of the bridge that is found.
    pub(crate) fn connect(
        config: &Config,
        opening: &ClientHandshake,
        tools: &ToolHeaders,
        standing: Vec<Request>,
    ) -> Self {
        let link = BridgeSession::connect(config.clone(), opening.clone(), tools.clone(), standing);
        Self::Connecting(Box::pin(link))
    }

    /// The next event. May be dropped and called again without losing one.
    pub(crate) async fn next_event(&mut self) -> BridgeEvent {
        match self {
            Self::Idle | Self::Offline { retry_at: None } => std::future::pending().await,
            Self::Connecting(attempt) => match attempt.await {
                Ok(link) => BridgeEvent::Connected(Box::new(link)),
                Err(absence) => BridgeEvent::ConnectFailed(absence),
            },
            Self::Online { session: link, .. } => BridgeEvent::Received(link.recv().await),
            Self::Offline { retry_at: Some(at) } => {
                tokio::time::sleep_until(*at).await;
                BridgeEvent::RetryDue
            }
        }
    }

    pub(crate) fn session(&mut self) -> Option<&mut BridgeSession> {
        match self {
            Self::Online { session: link, .. } => Some(link),
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
        let longest = INITIAL_BACKOFF
            .saturating_mul(1 << self.attempts.min(8))
            .min(MAX_BACKOFF);
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
    fn backoff_grows_up_to_the_maximum() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..10)
            .map(|_| backoff.next_attempt() - Instant::now())
            .collect();
        assert!(pauses[0] <= INITIAL_BACKOFF && pauses[0] > INITIAL_BACKOFF / 4);
        assert!(pauses[9] <= MAX_BACKOFF && pauses[9] > MAX_BACKOFF / 4);
        backoff.reset();
        assert!(backoff.next_attempt() - Instant::now() <= INITIAL_BACKOFF);
    }
}
