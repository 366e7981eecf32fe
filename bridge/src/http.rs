//! The routes of the bridge, and the checks that every request passes.

mod catalogue_hand_over;
mod cluster_routes;
mod compat;
mod conversations;
mod health;
mod hot_routes;
mod metrics;
mod page_socket;
mod peer_body;
mod queries;
mod rest;
mod route_name;
mod sdk;
mod tool_call;
mod well_known;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, any, get, post};

use bridge_edge::connections::ConnectionLimits;

use crate::compat::CompatService;
use crate::mcp::{self, McpService};
use crate::web::{AppState, METADATA_PATH, guard};

pub(crate) use hot_routes::RequestHandler;

/// The routes that an app in the bridge's process serves on the bridge's port, under the checks of
/// the bridge.
#[derive(Clone, Debug, Default)]
pub struct MountedApp {
    /// The routes of the app. They must not clash with the bridge's own, nor begin with the path of
    /// `public_url`: it is removed before a request is routed.
    pub routes: Router,
    /// The app's page at `/`, for requests that accept `text/html`. The bridge serves all other
    /// requests to `/`.
    pub home: Option<MethodRouter>,
}

/// Returns the handler of all requests to the bridge and the app. With `compat` it serves only
/// clients of mcp-web 0.1.
pub(crate) fn request_handler(
    state: AppState,
    mcp: McpService,
    compat: Option<Arc<CompatService>>,
    connections: &ConnectionLimits,
    app: MountedApp,
) -> RequestHandler {
    let metrics = metrics::routes(&state, &mcp, compat.as_ref(), connections);
    let app = MountedApp {
        routes: app.routes.merge(metrics),
        ..app
    };
    let router = match &compat {
        Some(compat) => compat_router(&state, compat, app),
        None => router(&state, &mcp, app),
    };
    RequestHandler::new(state, mcp, compat, router)
}

/// Returns all routes of the bridge and of the app.
fn router(state: &AppState, mcp: &McpService, app: MountedApp) -> Router {
    let root = {
        let mcp = mcp.clone();
        move |State(state): State<AppState>, request: Request| rest::root(state, mcp, request)
    };
    let own = Router::new()
        .route("/mcp", any(mcp::endpoint).with_state(mcp.clone()))
        .route("/", any(root));
    let cors = guard::cors(Arc::clone(&state.policy));
    let routes = common_routes(own)
        .method_not_allowed_fallback(rest::method_not_allowed)
        .fallback(well_known::not_found);
    let routes = routes.with_state(state.clone()).merge(app.routes);
    with_guard(routes.layer(cors), state.clone())
}

/// Returns all routes for clients of mcp-web 0.1: every path is an endpoint, for every method that
/// has no other route there.
fn compat_router(state: &AppState, service: &Arc<CompatService>, app: MountedApp) -> Router {
    let endpoint = {
        let service = Arc::clone(service);
        move |State(state): State<AppState>, request: Request| {
            compat::endpoint(state, service, request)
        }
    };
    let routes = common_routes(Router::new())
        .method_not_allowed_fallback(endpoint.clone())
        .fallback(endpoint);
    let routes = routes.with_state(state.clone()).merge(app.routes);
    compat::with_cors(with_guard(compat::with_preflight(routes), state.clone()))
}

/// Adds the routes that do not depend on `compat`.
fn common_routes(routes: Router<AppState>) -> Router<AppState> {
    routes
        .route("/ws", get(page_socket::upgrade))
        .route("/tool-call", post(tool_call::route))
        .route("/query/{uuid}", queries::open())
        .route("/query/{uuid}/progress", queries::progress())
        .route("/query/{uuid}/complete", queries::complete())
        .route("/query/{uuid}/fail", queries::fail())
        .route("/query/{uuid}/cancel", queries::cancel())
        .route("/conversations", conversations::all())
        .route("/conversations/{id}", conversations::one())
        .route("/sessions", get(rest::sessions))
        .route("/tools", get(rest::tools))
        .route("/healthz", get(health::health))
        .route("/readyz", get(health::readiness))
        .route(METADATA_PATH, get(well_known::metadata))
        .route(&format!("{METADATA_PATH}/"), get(well_known::metadata))
        .route(
            &format!("{METADATA_PATH}/{{*resource}}"),
            get(well_known::metadata),
        )
        .nest("/sdk", sdk::routes())
}

/// Adds the checks that every request passes.
fn with_guard(routes: Router, state: AppState) -> Router {
    routes
        .layer(DefaultBodyLimit::max(
            state.hub.config.network.max_request_bytes,
        ))
        .layer(from_fn_with_state(state, guard::check))
}
