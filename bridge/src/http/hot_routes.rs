//! In front of the router: the routes that carry calls, for whoever is no browser.
//!
//! A call that a program sends passes the same checks, by the same functions, as behind the router,
//! without its layers: `Host`, token and size. A request with an `Origin` takes the long way, where
//! it gets the headers that browsers look for.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::ORIGIN;
use http::{Method, Request};
use http_body::Body as HttpBody;
use tower::ServiceExt;

use super::{compat, rest};
use crate::compat::CompatService;
use crate::mcp::{self, McpService};
use crate::web::{AppState, guard};

/// See the module documentation.
pub(crate) struct RequestHandler {
    edge: AppState,
    mcp: McpService,
    compat: Option<Arc<CompatService>>,
    router: Router,
}

/// What is answered without the router.
enum FastRoute {
    ToolCall,
    Mcp,
    /// A message of a client that was built for mcp-web 0.1.
    Compat(Arc<CompatService>),
}

impl RequestHandler {
    /// Before the router of the same edge.
    pub(super) fn new(
        edge: AppState,
        mcp: McpService,
        compat: Option<Arc<CompatService>>,
        router: Router,
    ) -> Self {
        Self {
            edge,
            mcp,
            compat,
            router,
        }
    }

    /// Answers a request.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        match self.fast_route(&request) {
            Some(hot) => self.handle_fast(hot, request).await,
            // Or each call would be moved about in a place as large as this one needs.
            None => Box::pin(self.handle_with_router(request.map(Body::new))).await,
        }
    }

    async fn handle_with_router(&self, request: Request<Body>) -> Response {
        let routed = self.router.clone().oneshot(request).await;
        routed.unwrap_or_else(|never| match never {})
    }

    async fn handle_fast<B>(&self, hot: FastRoute, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes>,
        B::Error: Into<axum::BoxError>,
    {
        let edge = &self.edge;
        let (parts, body) = request.into_parts();
        if let Err(problem) = guard::check_host(edge, &parts.uri, &parts.headers) {
            let mut refused = problem.into_response();
            if self.compat.is_some() {
                compat::allow_all_origins(refused.headers_mut());
            }
            return refused;
        }
        let challenged = edge
            .protected_resource
            .as_ref()
            .map(|resource| (resource, resource.base_url(&parts.uri, &parts.headers)));
        let mut response = match hot {
            FastRoute::ToolCall => rest::serve_tool_call(edge, &parts, body).await,
            FastRoute::Mcp => mcp::serve(&self.mcp, parts, body).await,
            FastRoute::Compat(leg) => Box::pin(compat::serve_post(edge, &leg, &parts, body)).await,
        };
        if let Some((resource, base)) = challenged {
            resource.complete_challenge(&base, &mut response);
        }
        response
    }

    fn fast_route<B>(&self, request: &Request<B>) -> Option<FastRoute> {
        if request.method() != Method::POST || request.headers().contains_key(ORIGIN) {
            return None;
        }
        match (request.uri().path(), &self.compat) {
            ("/tool-call", None) => Some(FastRoute::ToolCall),
            ("/mcp", None) => Some(FastRoute::Mcp),
            // The other paths may be the app's.
            ("/" | "/mcp", Some(leg)) => Some(FastRoute::Compat(Arc::clone(leg))),
            _ => None,
        }
    }
}
