//! How a server ends: first its open connections, then everything.

use http::header::{CONNECTION, HeaderValue};
use http::{Response, StatusCode};
use tokio_util::sync::CancellationToken;

/// Ends a server, at once or in two steps.
#[derive(Clone, Debug)]
pub struct ServerStop {
    leaving: CancellationToken,
    stopping: CancellationToken,
}

impl ServerStop {
    /// Accepts no further connections, and closes each open one after its next response, which says so.
    /// Requests that are sent meanwhile are answered, and new connections wait for another process if
    /// it has the same socket.
    pub fn leave(&self) {
        self.leaving.cancel();
    }

    pub(super) async fn left(&self) {
        self.leaving.cancelled().await;
    }

    pub(super) async fn stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// Says in a response that the connection is closed after it, if the server leaves.
    pub(super) fn mark_last<B>(&self, response: &mut Response<B>) {
        let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        if self.leaving.is_cancelled() && !is_upgrade {
            let headers = response.headers_mut();
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// The server ends when the token is cancelled: connections without a request are closed, and the others
/// after their response.
impl From<CancellationToken> for ServerStop {
    fn from(stopping: CancellationToken) -> Self {
        Self {
            leaving: stopping.child_token(),
            stopping,
        }
    }
}
