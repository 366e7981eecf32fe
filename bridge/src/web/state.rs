//! The state that the routes share.

use std::sync::Arc;

use axum::routing::MethodRouter;
use bridge_auth::Authenticator;
use bridge_edge::HostOriginPolicy;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::protected_resource::ProtectedResource;
use crate::agent_queries::AgentQueries;
use crate::hub::Hub;

/// The state of all routes. MCP and the endpoint of mcp-web 0.1 wrap it in their own states.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) hub: Arc<Hub>,
    pub(crate) agent_queries: Arc<AgentQueries>,
    pub(crate) policy: Arc<HostOriginPolicy>,
    pub(crate) authenticator: Arc<Authenticator>,
    /// The URL of the bridge, and the metadata for OAuth clients.
    pub(crate) protected_resource: Arc<ProtectedResource>,
    /// The page sockets, so that a shutdown can wait for them.
    pub(crate) page_sockets: TaskTracker,
    pub(crate) stopping: CancellationToken,
    /// The app's home page at `/`.
    pub(crate) home: Option<MethodRouter>,
}
