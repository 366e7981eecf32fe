//! `Host`, `Origin` and CORS, on every route.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bridge_protocol::ErrorCode;
use http::header::{HOST, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::{AppState, Policy, Problem};

/// Refuses foreign hosts and foreign origins.
pub(super) async fn check_host_and_origin(
    State(edge): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    if !edge.policy.host_allowed(request.uri(), headers) {
        let message = format!(
            "the host {:?} is not served here: add it to `allowed_hosts` (--allowed-hosts)",
            header_text(headers, &HOST)
        );
        return Problem::new(ErrorCode::OriginNotAllowed, message).into_response();
    }
    if !headers.get(ORIGIN).is_none_or(|it| edge.policy.allows(it)) {
        let message = format!(
            "pages from {:?} may not use this agent: ask through the bridge, or add the origin to \
             `allowed_origins` (--allowed-origins)",
            header_text(headers, &ORIGIN)
        );
        return Problem::new(ErrorCode::OriginNotAllowed, message).into_response();
    }
    next.run(request).await
}

fn header_text(headers: &HeaderMap, name: &HeaderName) -> String {
    let value = headers.get(name).map(HeaderValue::as_bytes);
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}

/// Answers for allowed origins, preflight included (Fetch standard, "CORS protocol").
pub(super) fn cors(policy: Arc<Policy>) -> CorsLayer {
    let allowed = AllowOrigin::predicate(move |origin: &HeaderValue, _| policy.allows(origin));
    CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::PUT, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([RETRY_AFTER, WWW_AUTHENTICATE])
        .allow_private_network(true)
}
