//! Checks of `Host` and `Origin`, and CORS, on every route; and of the token, on the routes that
//! require one.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bridge_auth::{AuthError, Principal, Scope, bearer_token};
use bridge_edge::{ClientAddress, HostCheck, HostOriginPolicy, OriginCheck};
use bridge_protocol::ErrorCode;
use http::header::{HeaderName, RETRY_AFTER, UPGRADE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Uri};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::{AppState, Problem, REQUEST_ID, client_address};
use crate::budget::RefusalKind;

/// Rejects foreign hosts and foreign origins, and passes the origin to the routes.
pub(crate) async fn check(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Err(problem) = check_host(&state, request.uri(), request.headers()) {
        return problem.into_response();
    }
    let origin = state.policy.check_origin(request.uri(), request.headers());
    if let OriginCheck::Foreign(origin) = &origin
        && !skips_origin_check(&request)
    {
        return origin_rejected(origin).into_response();
    }
    request.extensions_mut().insert(origin);
    next.run(request).await
}

/// Checks that a request is for this bridge.
pub(crate) fn check_host(state: &AppState, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    match state.policy.check_host(uri, headers) {
        HostCheck::Allowed => Ok(()),
        HostCheck::Foreign(host) => {
            let message = format!(
                "the host {host:?} is not served here: add it to `allowed_hosts` (--allowed-hosts)"
            );
            Err(Problem::new(ErrorCode::HostNotAllowed, message))
        }
        HostCheck::Repeated => {
            let problem = Problem::new(ErrorCode::ProtocolViolation, HostCheck::REPEATED);
            Err(problem.refusing(RefusalKind::ForeignHost))
        }
    }
}

impl AppState {
    /// Returns the token of a request.
    pub(crate) fn request_token<'a>(
        &self,
        headers: &'a HeaderMap,
        query: Option<&'a str>,
    ) -> Option<Cow<'a, str>> {
        let config = &self.hub.config;
        let in_url = config.tokens.allow_token_in_url || config.allows_compat_anonymous_access();
        bearer_token(headers, query, in_url)
    }

    /// Returns the principal of a request's token. A refused token is counted for the address of
    /// the client.
    pub(crate) async fn authenticate(
        &self,
        parts: &Parts,
        address: ClientAddress,
    ) -> Result<Principal, Problem> {
        let token = self.request_token(&parts.headers, parts.uri.query());
        let of_query = token
            .as_deref()
            .and_then(|it| self.agent_queries.principal_for_token(it));
        match of_query {
            // The token of a query cannot be guessed, and agents may learn its end by a refusal.
            Some(principal) => Ok(principal?),
            None => {
                let verified = self.authenticator.verify(token.as_deref(), address).await;
                verified.map_err(|error| self.token_refused(address, error))
            }
        }
    }

    /// Checks the token of a request again if tokens were revoked since the rules of this
    /// [generation](bridge_auth::Authenticator::generation), while the body of the request arrived.
    pub(crate) async fn check_again(
        &self,
        parts: &Parts,
        address: ClientAddress,
        rules: u64,
    ) -> Result<(), Problem> {
        if self.authenticator.generation() != rules {
            // Boxed, because it is rare.
            Box::pin(self.authenticate(parts, address)).await?;
        }
        Ok(())
    }

    /// Counts a refused token for the address of its client, and returns the response.
    pub(crate) fn token_refused(&self, address: ClientAddress, error: AuthError) -> Problem {
        match self.hub.budgets.auth_failures.record(address, &error) {
            Some(retry_after) => Problem::too_many_refused_tokens(retry_after),
            None => error.into(),
        }
    }

    /// Returns the principal of a request's token, which must have this scope.
    pub(crate) async fn authorize(
        &self,
        parts: &Parts,
        scope: Scope,
    ) -> Result<Principal, Problem> {
        let address = client_address(&parts.extensions);
        let principal = self.authenticate(parts, address).await?;
        principal.require_scope(scope)?;
        Ok(principal)
    }
}

/// Whether the request skips the check of its origin. The SDK is public, and the page socket
/// rejects an origin in a message, which a browser shows to the page.
fn skips_origin_check(request: &Request) -> bool {
    let path = request.uri().path();
    path == "/ws"
        || path.starts_with("/sdk/")
        || (path == "/" && is_upgrade(request.method(), request.headers()))
}

/// Whether a request to a route other than `/ws` is an upgrade to the socket of a page.
pub(crate) fn is_upgrade(method: &Method, headers: &HeaderMap) -> bool {
    let upgrade = headers.get(UPGRADE);
    let to_socket = upgrade.is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
    to_socket && *method == Method::GET
}

/// Rejects a foreign origin, and names the setting that would allow it.
pub(crate) fn origin_rejected(origin: &str) -> Problem {
    Problem::new(
        ErrorCode::OriginNotAllowed,
        format!(
            "pages from {origin:?} may not use this bridge: add the origin to `allowed_origins` \
             (--allowed-origins), beside `loopback` if pages of this machine use it too"
        ),
    )
}

/// Returns the CORS layer, which responds to allowed origins, preflight requests included (Fetch
/// standard, "CORS protocol").
pub(crate) fn cors(policy: Arc<HostOriginPolicy>) -> CorsLayer {
    let allowed = AllowOrigin::predicate(move |_: &HeaderValue, request| {
        matches!(
            policy.check_origin(&request.uri, &request.headers),
            OriginCheck::Allowed(_)
        )
    });
    CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([
            HeaderName::from_static("mcp-session-id"),
            REQUEST_ID,
            RETRY_AFTER,
            WWW_AUTHENTICATE,
        ])
        .allow_private_network(true)
}
