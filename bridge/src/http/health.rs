//! The routes with which a process supervisor and a load balancer check the bridge. They need no
//! token.

use axum::extract::State;
use bridge_protocol::ErrorCode;

use crate::web::{AppState, Problem};

/// Serves `GET /healthz`: responds while the process runs.
pub(super) async fn health() -> &'static str {
    "ok"
}

/// Serves `GET /readyz`: responds with `ready` while the bridge serves, and with 503 while it drains or
/// shuts down, is cut off from the other bridges of its cluster, or lacks the keys of the only tokens that
/// are valid. While it drains, it still serves what arrives. Without NATS it serves as well, once it was
/// known to the others: otherwise one outage of NATS would take all bridges out.
pub(super) async fn readiness(State(state): State<AppState>) -> Result<&'static str, Problem> {
    if state.hub.is_stopping() {
        let message = "the bridge is shutting down: send requests to another bridge, or retry";
        return Err(Problem::new(ErrorCode::BridgeStopping, message));
    }
    if state.hub.is_draining() {
        let message = "draining: the bridge ends when its calls have ended, send requests to \
                       another bridge";
        return Err(Problem::new(ErrorCode::BridgeStopping, message));
    }
    let cluster = state.cluster.as_ref();
    if let Some(message) = cluster.and_then(|cluster| cluster.unready_reason()) {
        let problem = Problem::new(ErrorCode::ClusterUnavailable, message);
        return Err(problem.uncounted());
    }
    if state.authenticator.lacks_keys() {
        let message = "the keys of signed tokens have not been fetched yet, and no other tokens \
                       are valid: the log says why, check `jwks_url`";
        let problem = Problem::new(ErrorCode::AuthenticationUnavailable, message);
        return Err(problem.uncounted());
    }
    Ok("ready")
}
