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

use crate::auth::Tokens;
use crate::hub::Hub;
use crate::mcp::McpLeg;
use crate::origin::Policy;
use crate::v1::Leg;

pub(crate) use body::whole;
pub(crate) use front::Front;
pub(crate) use plain::too_large;
pub(crate) use problem::Problem;
pub(crate) use well_known::Resource;

/// What the routes share.
#[derive(Clone)]
pub(crate) struct Edge {
    pub(crate) hub: Arc<Hub>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) tokens: Arc<Tokens>,
    /// What OAuth clients hear of it, when there is an authorization server.
    pub(crate) resource: Option<Arc<Resource>>,
    pub(crate) mcp: McpLeg,
    /// The leg of clients that were built for mcp-web 0.1, where those are served: then it serves
    /// all.
    pub(crate) v1: Option<Arc<Leg>>,
    /// The page sockets, so that shutting down can wait for them.
    pub(crate) sockets: TaskTracker,
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
pub(crate) fn front(edge: Edge, app: App) -> Front {
    Front::new(edge.clone(), router(edge, app))
}

/// All routes of the bridge, and those of the app.
fn router(edge: Edge, app: App) -> Router {
    match &edge.v1 {
        None => {
            let ours = Router::new()
                .route("/mcp", any(crate::mcp::endpoint))
                .route("/", any(plain::root));
            let cors = guard::cors(Arc::clone(&edge.policy));
            let routes = common(ours).fallback(plain::not_found);
            guarded(
                routes
                    .with_state(edge.clone())
                    .merge(app.routes)
                    .layer(cors),
                edge,
            )
        }
        Some(_) => {
            // Every path is an endpoint, with every method that has no other meaning there.
            let routes = common(Router::new())
                .method_not_allowed_fallback(v1::endpoint)
                .fallback(v1::endpoint);
            let routes = routes.with_state(edge.clone()).merge(app.routes);
            v1::with_cors(guarded(v1::with_preflight(routes), edge))
        }
    }
}

/// The routes that mean the same to all.
fn common(routes: Router<Edge>) -> Router<Edge> {
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
        .route(well_known::METADATA, get(well_known::metadata))
        .route(well_known::METADATA_OF_MCP, get(well_known::metadata))
        .nest("/sdk", sdk::routes())
}

/// With what every request passes.
fn guarded(routes: Router, edge: Edge) -> Router {
    routes
        .layer(DefaultBodyLimit::max(edge.hub.config.max_request_bytes))
        .layer(from_fn_with_state(edge, guard::check))
}
