//! The route `/metrics`: what the bridge counts, for a Prometheus server.

mod bridge_metrics;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bridge_auth::{AuthError, bearer_token};
use bridge_edge::TokenHash;
use bridge_edge::connections::ConnectionLimits;
use bridge_protocol::ErrorCode;
use http::header::CONTENT_TYPE;

use crate::compat::CompatService;
use crate::mcp::McpService;
use crate::web::{AppState, Problem, client_address};
use bridge_metrics::BridgeMetrics;

/// The state of the route.
struct MetricsRoute {
    state: AppState,
    /// The hash of `metrics_token`. A comparison of hashes takes no time that depends on how much of
    /// a token is right.
    token: TokenHash,
    metrics: BridgeMetrics,
}

/// Returns the route, or no routes if `metrics_token` is not set.
pub(super) fn routes(
    state: &AppState,
    mcp: &McpService,
    compat: Option<&Arc<CompatService>>,
    connections: &ConnectionLimits,
) -> Router {
    let Some(token) = &state.hub.config.monitoring.metrics_token else {
        return Router::new();
    };
    let route = MetricsRoute {
        state: state.clone(),
        token: TokenHash::from_token(token.expose()),
        metrics: BridgeMetrics::new(
            state.clone(),
            mcp.clone(),
            compat.cloned(),
            connections.clone(),
        ),
    };
    Router::new()
        .route("/metrics", get(metrics_text))
        .with_state(Arc::new(route))
}

/// Serves `GET /metrics` in the text format of OpenMetrics.
async fn metrics_text(
    State(route): State<Arc<MetricsRoute>>,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers();
    let token = bearer_token(headers, None, false);
    match token.as_deref().map(TokenHash::from_token) {
        Some(token) if token == route.token => {
            let content_type = [(CONTENT_TYPE, bridge_metrics::CONTENT_TYPE)];
            Ok((content_type, route.metrics.encode()).into_response())
        }
        Some(_) => {
            let address = client_address(request.extensions());
            let refused = AuthError::invalid(
                "this is not `metrics_token`, with which alone metrics may be read",
            );
            Err(route.state.token_refused(address, refused))
        }
        None => Err(Problem::new(
            ErrorCode::MissingAuthentication,
            "metrics need `metrics_token` as bearer token",
        )),
    }
}
