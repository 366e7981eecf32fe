//! The routes `/sdk/…`: the JavaScript and wasm that a page imports, embedded when the bridge is
//! built.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bridge_protocol::ErrorCode;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH,
};
use http::{HeaderMap, StatusCode};
use tower_http::compression::CompressionLayer;

use crate::web::{AppState, PathSegment, Problem};

include!(concat!(env!("OUT_DIR"), "/sdk_files.rs"));

/// One embedded file.
struct SdkFile {
    name: &'static str,
    etag: &'static str,
    body: &'static [u8],
}

/// Returns the routes of the embedded files.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/{file}", get(serve_file))
        .layer(CompressionLayer::new())
}

async fn serve_file(PathSegment(name): PathSegment, headers: HeaderMap) -> Response {
    let Some(file) = SDK_FILES.iter().find(|file| file.name == name) else {
        return file_not_found(&name).into_response();
    };
    let cross_origin = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "cross-origin",
        ),
        (CACHE_CONTROL, "no-cache"),
        (ETAG, file.etag),
    ];
    let known = headers
        .get(IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok());
    if known.is_some_and(|tags| {
        tags.split(',')
            .any(|tag| tag.trim().trim_start_matches("W/") == file.etag)
    }) {
        return (StatusCode::NOT_MODIFIED, cross_origin).into_response();
    }
    (
        cross_origin,
        [(CONTENT_TYPE, content_type(file.name))],
        file.body,
    )
        .into_response()
}

fn file_not_found(name: &str) -> Problem {
    let message = if SDK_FILES.is_empty() {
        "this bridge was built without the SDK: run `cargo xtask sdk` and build it again, or \
         import the npm package `mcp-web-sdk`"
            .to_owned()
    } else {
        let names: Vec<_> = SDK_FILES.iter().map(|file| file.name).collect();
        format!(
            "there is no {name:?} in the SDK: there are {}",
            names.join(", ")
        )
    };
    Problem::new(ErrorCode::UnknownMethod, message)
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        _ => "text/plain; charset=utf-8",
    }
}
