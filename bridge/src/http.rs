//! The edge: routes, and the checks that every request passes.

mod body;
mod front;
mod guard;
mod page_socket;
mod plain;
mod problem;
mod queries;
mod sdk;
mod v1;
mod well_known;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, any, get, post};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::hub::Hub;
use crate::mcp::McpService;
use crate::v1::CompatService;
use bridge_auth::Authenticator;
use bridge_service::HostOriginPolicy;

pub(crate) use body::read_to_end_limited;
pub(crate) use front::RequestHandler;
pub(crate) use plain::request_too_large;
pub(crate) use problem::Problem;
pub(crate) use well_known::ProtectedResource;

/// What the routes share.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) hub: Arc<Hub>,
    pub(crate) policy: Arc<HostOriginPolicy>,
    pub(crate) authenticator: Arc<Authenticator>,
    /// What OAuth clients hear of it, when there is an authorization server.
    pub(crate) protected_resource: Option<Arc<ProtectedResource>>,
    pub(crate) mcp: McpService,
    /// The leg of clients that were built for mcp-web 0.1, where those are served: then it serves
    /// all.
    pub(crate) compat: Option<Arc<CompatService>>,
    /// The page sockets, so that shutting down can wait for them.
    pub(crate) page_sockets: TaskTracker,
    pub(crate) stopping: CancellationToken,
    /// The app's page at `/`.
    pub(crate) home: Option<MethodRouter>,
}

/// What an app that lives in the same process serves on the bridge's port, under the same checks.
#[derive(Clone, Debug, Default)]
pub struct App {
    /// Its routes. They must not clash with the bridge's own.
    pub routes: Router,
    /// Its page at `/`, for requests that accept `text/html`. `/` stays MCP for all others.
    pub home: Option<MethodRouter>,
}

/// All that the bridge and the app answer.
pub(crate) fn front(edge: AppState, app: App) -> RequestHandler {
    RequestHandler::new(edge.clone(), router(edge, app))
}

/// All routes of the bridge, and those of the app.
fn router(edge: AppState, app: App) -> Router {
    match &edge.compat {
        None => {
            let ours = Router::new()
                .route("/mcp", any(crate::mcp::endpoint))
                .route("/", any(plain::root));
            let cors = guard::cors(Arc::clone(&edge.policy));
            let routes = common_routes(ours).fallback(plain::not_found);
            with_guard(
                routes
                    .with_state(edge.clone())
                    .merge(app.routes)
                    .layer(cors),
                edge,
            )
        }
        Some(_) => {
            // Every path is an endpoint, with every method that has no other meaning there.
            let routes = common_routes(Router::new())
                .method_not_allowed_fallback(v1::endpoint)
                .fallback(v1::endpoint);
            let routes = routes.with_state(edge.clone()).merge(app.routes);
            v1::with_cors(with_guard(v1::with_preflight(routes), edge))
        }
    }
}

/// The routes that mean the same to all.
fn common_routes(routes: Router<AppState>) -> Router<AppState> {
    routes
        .route("/ws", get(page_socket::upgrade))
        .route("/tool-call", post(plain::tool_call))
        .route("/query/{uuid}", queries::open())
        .route("/query/{uuid}/progress", queries::progress())
        .route("/query/{uuid}/complete", queries::complete())
        .route("/query/{uuid}/fail", queries::fail())
        .route("/query/{uuid}/cancel", queries::cancel())
        .route("/sessions", get(plain::sessions))
        .route("/tools", get(plain::tools))
        .route("/healthz", get(plain::health))
        .route(well_known::METADATA_PATH, get(well_known::metadata))
        .route(well_known::MCP_METADATA_PATH, get(well_known::metadata))
        .nest("/sdk", sdk::routes())
}

/// With what every request passes.
fn with_guard(routes: Router, edge: AppState) -> Router {
    routes
        .layer(DefaultBodyLimit::max(edge.hub.config.max_request_bytes))
        .layer(from_fn_with_state(edge, guard::check))
}
