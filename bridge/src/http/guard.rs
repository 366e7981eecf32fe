//! `Host`, `Origin` and CORS, on every route; the token, where a route wants one.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bridge_protocol::ErrorCode;
use http::header::{HOST, HeaderName, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Uri};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::{Edge, Problem, page_socket};
use crate::auth::{Principal, Scope, token_of};
use crate::origin::{Origin, Policy};

/// Refuses foreign hosts and foreign origins, and leaves the verdict for the routes.
pub(super) async fn check(State(edge): State<Edge>, mut request: Request, next: Next) -> Response {
    if let Err(problem) = for_us(&edge, request.uri(), request.headers()) {
        return problem.into_response();
    }
    let origin = edge.policy.origin(request.uri(), request.headers());
    if let Origin::Foreign(origin) = &origin
        && !decides_itself(&request)
    {
        return foreign(origin).into_response();
    }
    request.extensions_mut().insert(origin);
    let base = edge
        .resource
        .as_ref()
        .map(|resource| resource.base(request.uri(), request.headers()));
    let mut response = next.run(request).await;
    if let (Some(resource), Some(base)) = (&edge.resource, base) {
        resource.complete_challenge(&base, &mut response);
    }
    response
}

/// Whether a request may be for this bridge at all.
pub(super) fn for_us(edge: &Edge, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    if edge.policy.host_allowed(uri, headers) {
        return Ok(());
    }
    let host = headers
        .get(HOST)
        .map(|host| String::from_utf8_lossy(host.as_bytes()));
    let message = format!(
        "the host {:?} is not served here: add it to `allowed_hosts` (--allowed-hosts)",
        host.unwrap_or_default()
    );
    Err(Problem::new(ErrorCode::OriginNotAllowed, message))
}

impl Edge {
    /// The token of a request.
    pub(super) fn token<'a>(
        &self,
        headers: &'a HeaderMap,
        query: Option<&'a str>,
    ) -> Option<Cow<'a, str>> {
        let config = &self.hub.config;
        let in_url = config.allow_token_in_url || config.is_as_open_as_v1();
        token_of(headers, query, in_url)
    }

    /// Whom the token of a request names.
    pub(crate) async fn principal(
        &self,
        headers: &HeaderMap,
        query: Option<&str>,
    ) -> Result<Principal, Problem> {
        let token = self.token(headers, query);
        let of_query = token
            .as_deref()
            .and_then(|it| self.hub.queries.principal(it));
        match of_query {
            Some(principal) => Ok(principal?),
            None => Ok(self.tokens.verify(token.as_deref()).await?),
        }
    }

    /// The same, if the token is good for this.
    pub(super) async fn granted(&self, parts: &Parts, scope: Scope) -> Result<Principal, Problem> {
        let principal = self.principal(&parts.headers, parts.uri.query()).await?;
        principal.needs(scope)?;
        Ok(principal)
    }
}

/// The SDK is public, and the page socket refuses in words that a browser does not hide.
fn decides_itself(request: &Request) -> bool {
    let path = request.uri().path();
    path == "/ws" || path.starts_with("/sdk/") || (path == "/" && page_socket::is_wanted(request))
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
        .expose_headers([HeaderName::from_static("mcp-session-id"), WWW_AUTHENTICATE])
        .allow_private_network(true)
}
