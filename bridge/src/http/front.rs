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

use super::{Edge, guard, plain, v1};
use crate::v1::Leg;

/// See the module documentation.
pub(crate) struct Front {
    edge: Edge,
    router: Router,
}

/// What is answered without the router.
enum Hot {
    ToolCall,
    Mcp,
    /// A message of a client that was built for mcp-web 0.1.
    V1(Arc<Leg>),
}

impl Front {
    /// Before the router of the same edge.
    pub(super) fn new(edge: Edge, router: Router) -> Self {
        Self { edge, router }
    }

    /// Answers a request.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        match hot(&self.edge, &request) {
            Some(hot) => self.answer_here(hot, request).await,
            // Or each call would be moved about in a place as large as this one needs.
            None => Box::pin(self.route(request.map(Body::new))).await,
        }
    }

    async fn route(&self, request: Request<Body>) -> Response {
        let routed = self.router.clone().oneshot(request).await;
        routed.unwrap_or_else(|never| match never {})
    }

    async fn answer_here<B>(&self, hot: Hot, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes>,
        B::Error: Into<axum::BoxError>,
    {
        let edge = &self.edge;
        let (parts, body) = request.into_parts();
        if let Err(problem) = guard::for_us(edge, &parts.uri, &parts.headers) {
            let mut refused = problem.into_response();
            if edge.v1.is_some() {
                v1::allow_all(refused.headers_mut());
            }
            return refused;
        }
        let challenged = edge
            .resource
            .as_ref()
            .map(|resource| (resource, resource.base(&parts.uri, &parts.headers)));
        let mut response = match hot {
            Hot::ToolCall => plain::call_tool(edge, &parts, body).await,
            Hot::Mcp => crate::mcp::serve(edge, parts, body).await,
            Hot::V1(leg) => Box::pin(v1::post_here(edge, &leg, &parts, body)).await,
        };
        if let Some((resource, base)) = challenged {
            resource.complete_challenge(&base, &mut response);
        }
        response
    }
}

fn hot<B>(edge: &Edge, request: &Request<B>) -> Option<Hot> {
    if request.method() != Method::POST || request.headers().contains_key(ORIGIN) {
        return None;
    }
    match (request.uri().path(), &edge.v1) {
        ("/tool-call", None) => Some(Hot::ToolCall),
        ("/mcp", None) => Some(Hot::Mcp),
        // The other paths may be the app's.
        ("/" | "/mcp", Some(leg)) => Some(Hot::V1(Arc::clone(leg))),
        _ => None,
    }
}
