//! The routes for whoever operates the bridge, with `metrics_token`: `/metrics`, what the bridge counts, for a
//! Prometheus server, and `/cluster`.

mod bridge_metrics;
mod cluster_metrics;
mod cluster_overview;
mod metric_writer;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bridge_auth::{AuthError, bearer_token};
use bridge_edge::TokenHash;
use bridge_edge::connections::ConnectionLimits;
use bridge_protocol::ErrorCode;
use http::header::CONTENT_TYPE;

use super::{compat, rest};
use crate::compat::CompatService;
use crate::mcp::McpService;
use crate::web::{AppState, Problem, client_address};
use bridge_metrics::BridgeMetrics;

/// The state of the routes.
struct MetricsRoute {
    state: AppState,
    metrics: BridgeMetrics,
    compat: Option<Arc<CompatService>>,
}

/// Returns the routes. A reload can set `metrics_token` later, so they exist also without it.
pub(super) fn routes(
    state: &AppState,
    mcp: &McpService,
    compat_service: Option<&Arc<CompatService>>,
    connections: &ConnectionLimits,
) -> Router {
    let route = Arc::new(MetricsRoute {
        state: state.clone(),
        metrics: BridgeMetrics::new(
            state.clone(),
            mcp.clone(),
            compat_service.cloned(),
            connections.clone(),
        ),
        compat: compat_service.cloned(),
    });
    let only_with_token = from_fn_with_state(Arc::clone(&route), only_with_token);
    let mut routes = Router::new().route("/metrics", get(metrics_text));
    if let Some(cluster) = &state.cluster {
        let overview = get(cluster_overview::overview);
        let overview = overview.with_state((state.clone(), Arc::clone(cluster)));
        routes = routes.route("/cluster", overview);
    }
    routes.route_layer(only_with_token).with_state(route)
}

/// Passes on requests with `metrics_token`. While it is not set, responds as if the route did not exist.
async fn only_with_token(
    State(route): State<Arc<MetricsRoute>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(expected) = route.state.metrics_token.load_full() else {
        return match &route.compat {
            Some(service) => {
                let (state, service) = (route.state.clone(), Arc::clone(service));
                compat::endpoint(state, service, request).await
            }
            None => rest::not_found(request.uri()).into_response(),
        };
    };
    let token = bearer_token(request.headers(), None, false);
    match token.as_deref().map(TokenHash::from_token) {
        Some(token) if token == *expected => next.run(request).await,
        Some(_) => {
            let address = client_address(request.extensions());
            let refused = AuthError::invalid(
                "this is not `metrics_token`, with which alone metrics may be read",
            );
            route.state.token_refused(address, refused).into_response()
        }
        None => Problem::new(
            ErrorCode::MissingAuthentication,
            "metrics need `metrics_token` as bearer token",
        )
        .into_response(),
    }
}

/// Serves `GET /metrics` in the text format of OpenMetrics.
async fn metrics_text(State(route): State<Arc<MetricsRoute>>) -> Response {
    let content_type = [(CONTENT_TYPE, bridge_metrics::CONTENT_TYPE)];
    (content_type, route.metrics.encode()).into_response()
}
