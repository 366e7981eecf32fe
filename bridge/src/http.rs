//! The edge: routes, and the checks that every request passes.

mod guard;
mod page_socket;
mod plain;
mod problem;
mod sdk;
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

/// All routes of the bridge, and those of the app.
pub(crate) fn router(edge: Edge, app: App) -> Router {
    let max_request_bytes = edge.hub.config.max_request_bytes;
    Router::new()
        .route("/mcp", any(crate::mcp::endpoint))
        .route("/ws", get(page_socket::upgrade))
        .route("/tool-call", post(plain::tool_call))
        .route("/sessions", get(plain::sessions))
        .route("/tools", get(plain::tools))
        .route("/healthz", get(plain::health))
        .route(well_known::METADATA, get(well_known::metadata))
        .route(well_known::METADATA_OF_MCP, get(well_known::metadata))
        .nest("/sdk", sdk::routes())
        .route("/", any(plain::root))
        .fallback(plain::not_found)
        .with_state(edge.clone())
        .merge(app.routes)
        .layer(DefaultBodyLimit::max(max_request_bytes))
        .layer(guard::cors(Arc::clone(&edge.policy)))
        .layer(from_fn_with_state(edge, guard::check))
}
