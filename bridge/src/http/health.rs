//! The routes with which a process supervisor and a load balancer check the bridge. They need no
//! token.

use axum::extract::State;
use bridge_protocol::ErrorCode;

use crate::web::{AppState, Problem};

/// Serves `GET /healthz`: responds while the process runs.
pub(super) async fn health() -> &'static str {
    "ok"
}

/// Serves `GET /readyz`: responds with `ready` while the bridge serves, and with 503 while it shuts
/// down.
///
/// New connections are refused as soon as the shutdown begins, so only a connection that was open
/// before receives the 503.
pub(super) async fn readiness(State(state): State<AppState>) -> Result<&'static str, Problem> {
    if state.hub.is_stopping() {
        let message = "the bridge is shutting down: send requests to another bridge, or retry";
        return Err(Problem::new(ErrorCode::BridgeStopping, message));
    }
    Ok("ready")
}
