//! `Host`, `Origin` and CORS, on every route.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bridge_protocol::ErrorCode;
use http::header::{HOST, HeaderName};
use http::{HeaderValue, Method, StatusCode};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::{Edge, Problem};
use crate::origin::{Origin, Policy};

/// Refuses foreign hosts and foreign origins, and leaves the verdict for the routes.
pub(super) async fn check(State(edge): State<Edge>, mut request: Request, next: Next) -> Response {
    if !edge.policy.host_allowed(request.uri(), request.headers()) {
        let host = request
            .headers()
            .get(HOST)
            .map(|host| String::from_utf8_lossy(host.as_bytes()));
        let message = format!(
            "the host {:?} is not served here: add it to `allowed_hosts` (--allowed-hosts)",
            host.unwrap_or_default()
        );
        let problem = Problem {
            status: StatusCode::FORBIDDEN,
            code: ErrorCode::OriginNotAllowed,
            message,
        };
        return problem.into_response();
    }
    let origin = edge.policy.origin(request.uri(), request.headers());
    if let Origin::Foreign(origin) = &origin
        && !decides_itself(request.uri().path())
    {
        return foreign(origin).into_response();
    }
    request.extensions_mut().insert(origin);
    next.run(request).await
}

/// The SDK is public, and the page socket refuses in words that a browser does not hide.
fn decides_itself(path: &str) -> bool {
    path == "/ws" || path.starts_with("/sdk/")
}

/// The refusal of a foreign origin, with the setting that would allow it.
pub(super) fn foreign(origin: &str) -> Problem {
    Problem::new(
        ErrorCode::OriginNotAllowed,
        format!(
            "pages from {origin:?} may not use this bridge: add the origin to `allowed_origins` \
             (--allowed-origins), beside `loopback` if pages of this machine use it too"
        ),
    )
}

/// Answers for allowed origins, preflight included (Fetch standard, "CORS protocol").
pub(super) fn cors(policy: Arc<Policy>) -> CorsLayer {
    let allowed = AllowOrigin::predicate(move |_: &HeaderValue, request| {
        matches!(
            policy.origin(&request.uri, &request.headers),
            Origin::Allowed(_)
        )
    });
    CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([HeaderName::from_static("mcp-session-id")])
        .allow_private_network(true)
}
