//! The hot routes carry the calls of clients that are not browsers. They are served without the
//! router.
//!
//! A request on a hot route passes the checks that it would pass behind the router, by the same
//! functions: `Host`, token and size. A request with an `Origin` goes through the router, where the
//! response gets the headers that browsers require.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bridge_edge::ClientAddress;
use bytes::Bytes;
use http::header::ORIGIN;
use http::{Method, Request};
use http_body::Body as HttpBody;
use tower::ServiceExt;

use super::route_name::route_name;
use super::{compat, tool_call};
use crate::budget::RefusalRecord;
use crate::compat::CompatService;
use crate::mcp::{self, McpService};
use crate::web::public_url::with_path;
use crate::web::{AppState, HttpRequestIds, REQUEST_ID, guard};

/// Serves all requests: those on a hot route directly, the others with the router.
pub(crate) struct RequestHandler {
    pub(super) state: AppState,
    mcp: McpService,
    compat: Option<Arc<CompatService>>,
    router: Router,
    request_ids: HttpRequestIds,
}

/// A route that is served without the router.
enum FastRoute {
    ToolCall,
    Mcp,
    /// A message of a client of mcp-web 0.1.
    Compat(Arc<CompatService>),
}

impl RequestHandler {
    /// Wraps the router of the same state.
    pub(super) fn new(
        state: AppState,
        mcp: McpService,
        compat: Option<Arc<CompatService>>,
        router: Router,
    ) -> Self {
        Self {
            state,
            mcp,
            compat,
            router,
            request_ids: HttpRequestIds::new(),
        }
    }

    /// Responds to a request from this address, with the id of the request in a header.
    pub(crate) async fn handle<B>(&self, request: Request<B>, peer: IpAddr) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let (id, address) = {
            let trusted = self.state.trusted_proxies.load();
            let headers = request.headers();
            let forwarded = self.state.hub.config.network.forwarded_header;
            (
                self.request_ids.of_request(peer, headers, &trusted),
                ClientAddress::from_request(peer, headers, &trusted, forwarded),
            )
        };
        let header = id.to_header();
        let mut response = match &self.state.cluster {
            None => {
                // Pinned here: a function to which this future was passed would move all of it.
                let responding = pin!(self.respond(request, address));
                id.scope(responding).await
            }
            Some(cluster) => {
                let routed = self.respond_in_cluster(cluster, request, address, &header);
                id.scope(Box::pin(routed)).await
            }
        };
        // The responses of mcp-web 0.1 have no such header.
        if self.compat.is_none() {
            response.headers_mut().insert(REQUEST_ID, header);
        }
        response
    }

    /// Responds to a request from this address at this node.
    pub(super) async fn respond<B>(
        &self,
        mut request: Request<B>,
        address: ClientAddress,
    ) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let resource = &self.state.protected_resource;
        let public_url = resource.public_url();
        if let Some(uri) = public_url.and_then(|it| it.without_path(request.uri())) {
            *request.uri_mut() = uri;
        }
        let metadata_url = resource.metadata_url(request.uri(), request.headers());
        // Clients are often configured with a slash at the end.
        if request.uri().path() == "/mcp/" {
            *request.uri_mut() = with_path(request.uri(), "/mcp");
        }
        let route = route_name(request.uri().path());
        let mut response = match self.fast_route(&request) {
            Some(route) => self.handle_fast(route, request, address).await,
            // Boxed, because otherwise the future of each call would be as large as this one.
            None => Box::pin(self.handle_with_router(request.map(Body::new), address)).await,
        };
        if let Some(metadata_url) = metadata_url {
            resource.complete_challenge(&metadata_url, &mut response);
        }
        self.record_refusal(&mut response, address, route);
        response
    }

    /// Logs and counts the refusal that a response reports, if it reports one.
    pub(super) fn record_refusal(
        &self,
        response: &mut Response,
        address: ClientAddress,
        route: &'static str,
    ) {
        if let Some(refusal) = response.extensions_mut().remove::<RefusalRecord>() {
            let RefusalRecord { kind, reason } = refusal;
            let refusals = &self.state.hub.budgets.refusals;
            refusals.record(kind, address, route, &reason);
        }
    }

    async fn handle_with_router(
        &self,
        mut request: Request<Body>,
        address: ClientAddress,
    ) -> Response {
        request.extensions_mut().insert(address);
        let routed = self.router.clone().oneshot(request).await;
        routed.unwrap_or_else(|never| match never {})
    }

    async fn handle_fast<B>(
        &self,
        route: FastRoute,
        request: Request<B>,
        address: ClientAddress,
    ) -> Response
    where
        B: HttpBody<Data = Bytes>,
        B::Error: Into<axum::BoxError>,
    {
        let state = &self.state;
        let (parts, body) = request.into_parts();
        if let Err(problem) = guard::check_host(state, &parts.uri, &parts.headers) {
            let mut response = problem.into_response();
            if self.compat.is_some() {
                compat::allow_all_origins(response.headers_mut());
            }
            return response;
        }
        match route {
            FastRoute::ToolCall => tool_call::serve(state, &parts, body, address).await,
            FastRoute::Mcp => mcp::serve(&self.mcp, parts, body, address).await,
            FastRoute::Compat(service) => {
                Box::pin(compat::serve_post(state, &service, &parts, body, address)).await
            }
        }
    }

    fn fast_route<B>(&self, request: &Request<B>) -> Option<FastRoute> {
        if request.method() != Method::POST || request.headers().contains_key(ORIGIN) {
            return None;
        }
        match (request.uri().path(), &self.compat) {
            ("/tool-call", None) => Some(FastRoute::ToolCall),
            ("/mcp", None) => Some(FastRoute::Mcp),
            // The app may use the other paths.
            ("/" | "/mcp", Some(service)) => Some(FastRoute::Compat(Arc::clone(service))),
            _ => None,
        }
    }
}
