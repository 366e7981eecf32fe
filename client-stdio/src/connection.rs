//! The state of the connection to the bridge.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::bridge_session::{BridgeSession, KnownBridge};
use crate::config::Config;
use crate::connect_error::BridgeError;
use crate::exchange::BridgeMessage;
use crate::handshake::ClientHandshake;
use crate::message::JsonRpcRequest;

/// A session that is lost sooner than this after its handshake is not replaced immediately. Without
/// this rule a bridge that accepts connections and drops them would be contacted in a tight loop.
const STABLE_AFTER: Duration = Duration::from_secs(1);

/// The state of the connection to the bridge.
pub(crate) enum BridgeState {
    /// The client has not sent a request that needs a bridge.
    Idle,
    /// An attempt to connect is under way.
    Connecting(BoxFuture<'static, Result<BridgeSession, BridgeError>>),
    /// A bridge has answered the handshake.
    Online {
        session: Box<BridgeSession>,
        since: Instant,
    },
    /// The last attempt failed or the session was lost. `retry_at` is `None` if another attempt
    /// cannot succeed.
    Offline { retry_at: Option<Instant> },
}

/// An event of the connection to the bridge.
pub(crate) enum BridgeEvent {
    /// The handshake is complete.
    Connected(Box<BridgeSession>),
    /// The attempt to connect failed.
    ConnectFailed(BridgeError),
    /// It is time to connect again.
    RetryDue,
    /// The session received a message or failed.
    Received(BridgeMessage),
}

impl BridgeState {
    /// Starts an attempt to connect. The requests in `replay` are sent once the handshake is complete.
    pub(crate) fn connect(
        config: &Config,
        handshake: &ClientHandshake,
        known: KnownBridge,
        replay: Vec<JsonRpcRequest>,
    ) -> Self {
        let (config, handshake) = (config.clone(), handshake.clone());
        let session = BridgeSession::connect(config, handshake, known, replay);
        Self::Connecting(Box::pin(session))
    }

    /// Waits for the next event. This method is cancel safe.
    pub(crate) async fn next_event(&mut self) -> BridgeEvent {
        match self {
            Self::Idle | Self::Offline { retry_at: None } => std::future::pending().await,
            Self::Connecting(attempt) => match attempt.await {
                Ok(session) => BridgeEvent::Connected(Box::new(session)),
                Err(error) => BridgeEvent::ConnectFailed(error),
            },
            Self::Online { session, .. } => BridgeEvent::Received(session.recv().await),
            Self::Offline { retry_at: Some(at) } => {
                tokio::time::sleep_until(*at).await;
                BridgeEvent::RetryDue
            }
        }
    }

    /// Returns the session, if a bridge is online.
    pub(crate) fn session(&mut self) -> Option<&mut BridgeSession> {
        match self {
            Self::Online { session, .. } => Some(session),
            _ => None,
        }
    }

    /// Returns whether the session has lasted long enough to be replaced immediately when it is
    /// lost.
    pub(crate) fn is_stable(&self) -> bool {
        matches!(self, Self::Online { since, .. } if since.elapsed() > STABLE_AFTER)
    }
}
