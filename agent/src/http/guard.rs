//! The checks of `Host` and `Origin`, and CORS, for all routes.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bridge_edge::{HostCheck, HostOriginPolicy, OriginCheck};
use bridge_protocol::ErrorCode;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::Rejection;

/// Refuses foreign hosts and foreign origins.
pub(super) async fn check_host_and_origin(
    State(policy): State<Arc<HostOriginPolicy>>,
    request: Request,
    next: Next,
) -> Response {
    let (uri, headers) = (request.uri(), request.headers());
    match policy.check_host(uri, headers) {
        HostCheck::Allowed => {}
        HostCheck::Foreign(host) => {
            let message = format!(
                "the host {host:?} is not served here: add it to `allowed_hosts` (--allowed-hosts)"
            );
            return Rejection::new(ErrorCode::HostNotAllowed, message).into_response();
        }
        HostCheck::Repeated => {
            let code = ErrorCode::ProtocolViolation;
            return Rejection::new(code, HostCheck::REPEATED).into_response();
        }
    }
    if let OriginCheck::Foreign(origin) = policy.check_origin(uri, headers) {
        let message = format!(
            "pages from {origin:?} may not use this agent: ask through the bridge, or add the origin \
             to `allowed_origins` (--allowed-origins)"
        );
        return Rejection::new(ErrorCode::OriginNotAllowed, message).into_response();
    }
    next.run(request).await
}

/// Creates the layer that answers CORS requests of allowed origins, preflight requests included
/// (Fetch standard, "CORS protocol").
pub(super) fn cors(policy: Arc<HostOriginPolicy>) -> CorsLayer {
    let is_allowed = move |_: &HeaderValue, request: &Parts| {
        let origin = policy.check_origin(&request.uri, &request.headers);
        matches!(origin, OriginCheck::Allowed(_))
    };
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(is_allowed))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([RETRY_AFTER, WWW_AUTHENTICATE])
        .allow_private_network(true)
}
