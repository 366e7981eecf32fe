//! The state that the routes share.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use axum::routing::MethodRouter;
use bridge_auth::{Authenticator, Principal};
use bridge_edge::connections::TlsAcceptor;
use bridge_edge::{HostOriginPolicy, TokenHash, TrustedProxies};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::protected_resource::ProtectedResource;
use crate::agent_queries::AgentQueries;
use crate::cluster::ClusterNode;
use crate::hub::Hub;

/// The state of all routes. MCP and the endpoint of mcp-web 0.1 wrap it in their own states.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) hub: Arc<Hub>,
    pub(crate) agent_queries: Arc<AgentQueries>,
    pub(crate) policy: Arc<HostOriginPolicy>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) trusted_proxies: TrustedProxies,
    /// The hash of `metrics_token`. A comparison of hashes takes no time that depends on how much of
    /// a token is right.
    pub(crate) metrics_token: Arc<ArcSwapOption<TokenHash>>,
    /// The URL of the bridge, and the metadata for OAuth clients.
    pub(crate) protected_resource: Arc<ProtectedResource>,
    /// The certificate with which the bridge encrypts, if it does.
    pub(crate) tls: Option<TlsAcceptor>,
    /// The page sockets, so that a shutdown can wait for them.
    pub(crate) page_sockets: TaskTracker,
    pub(crate) stopping: CancellationToken,
    /// This node, if the bridge is one of several.
    pub(crate) cluster: Option<Arc<ClusterNode>>,
    /// The app's home page at `/`.
    pub(crate) home: Option<MethodRouter>,
}

impl AppState {
    /// Completes when the token of a long response expires, or may have been revoked: then the client
    /// sends another request, which is refused if it was.
    pub(crate) fn token_end(&self, principal: &Principal) -> BoxFuture<'static, ()> {
        let expires_at = principal.expires_at();
        let revoked = Authenticator::revocation(&self.authenticator, principal);
        Box::pin(async move {
            match expires_at {
                None => revoked.await,
                Some(at) => tokio::select! {
                    () = revoked => {}
                    () = tokio::time::sleep_until(at) => {}
                },
            }
        })
    }
}
