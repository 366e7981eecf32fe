//! Serves the page and its files.

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, StatusCode};

use crate::assets::{self, Asset, INDEX, ORDER};

/// The policy of the pages. It allows the page's own scripts, the SDK's wasm, and connections to the
/// server that the page came from. These include its WebSocket: for browsers, `'self'` covers `ws:` and
/// `wss:` of the same host and port.
const PAGE_POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
    connect-src 'self'; style-src 'self'; img-src 'self' data:; object-src 'none'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The policy of the other documents. They are for hosts of MCP Apps, which give them a separate
/// origin and policy. At this origin they can be read, but not run.
const OTHER_DOCUMENTS_POLICY: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// Serves the order form, and everything that the pages load, at `/demo/`. The board is [`home`].
pub(crate) fn routes() -> Router {
    Router::new()
        .route("/demo/order", get(order))
        .route("/demo/{name}", get(demo_file))
}

async fn order(request: HeaderMap) -> Response {
    let response = serve(&ORDER, &request);
    ([(CONTENT_SECURITY_POLICY, PAGE_POLICY)], response).into_response()
}

/// Serves the board: the response to `GET /` with `Accept: text/html`.
pub(crate) async fn home(request: HeaderMap) -> Response {
    let response = serve(&INDEX, &request);
    // `VARY`, because the same address responds as an MCP server to requests without `text/html`.
    (
        [(CONTENT_SECURITY_POLICY, PAGE_POLICY), (VARY, "accept")],
        response,
    )
        .into_response()
}

async fn demo_file(Path(name): Path<String>, request: HeaderMap) -> Response {
    match assets::find(&name) {
        Some(asset) if asset.content_type.starts_with("text/html") => (
            [(CONTENT_SECURITY_POLICY, OTHER_DOCUMENTS_POLICY)],
            serve(asset, &request),
        )
            .into_response(),
        Some(asset) => serve(asset, &request),
        None => (
            StatusCode::NOT_FOUND,
            format!("the demo has no file {name:?}\n"),
        )
            .into_response(),
    }
}

/// Responds with a file, or with 304 if the browser has it. File names contain no version, so browsers
/// revalidate each time.
fn serve(asset: &'static Asset, request: &HeaderMap) -> Response {
    let headers = [
        (CACHE_CONTROL, "no-cache"),
        (ETAG, asset.etag.as_str()),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    if etag_matches(request, &asset.etag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(CONTENT_TYPE, asset.content_type)], asset.body).into_response()
}

/// Returns whether `If-None-Match` contains the tag, by weak comparison (RFC 9110, section 13.1.2).
fn etag_matches(request: &HeaderMap, etag: &str) -> bool {
    let tags = request
        .get(IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok());
    tags.is_some_and(|tags| {
        tags.split(',')
            .map(|tag| tag.trim().trim_start_matches("W/"))
            .any(|tag| tag == etag || tag == "*")
    })
}
