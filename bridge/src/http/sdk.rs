//! The routes `/sdk/…`: the JavaScript and wasm that a page imports, embedded when the bridge is
//! built.

use std::sync::OnceLock;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bridge_protocol::ErrorCode;
use brotli_decompressor::BrotliDecompress;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE,
    ETAG, HeaderName, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, StatusCode};
use tower_http::compression::CompressionLayer;

use crate::web::{AppState, PathSegment, Problem};

include!(concat!(env!("OUT_DIR"), "/sdk_files.rs"));

/// One embedded file.
struct SdkFile {
    name: &'static str,
    etag: &'static str,
    /// The size of the content.
    bytes: usize,
    /// The content, compressed with brotli at the best level.
    brotli: &'static [u8],
    /// The content, once a client without brotli has requested it.
    content: OnceLock<Bytes>,
}

impl SdkFile {
    /// Returns the content for a client that does not accept brotli. It is decompressed once, because
    /// anyone may request it without a token.
    fn content(&self) -> Bytes {
        let decompress = || {
            let mut content = Vec::with_capacity(self.bytes);
            // It cannot fail: the build script has compressed the content, and both are in memory.
            let _ = BrotliDecompress(&mut &*self.brotli, &mut content);
            content.into()
        };
        self.content.get_or_init(decompress).clone()
    }
}

/// Returns the routes of the embedded files.
///
/// Files are embedded only as brotli. For clients that do not accept it, they are decompressed once,
/// and compressed with gzip when they are requested.
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
    let common = (cross_origin, [(CONTENT_TYPE, content_type(file.name))]);
    if accepts_brotli(&headers) {
        let encoding = [(CONTENT_ENCODING, "br"), (VARY, "accept-encoding")];
        return (common, encoding, file.brotli).into_response();
    }
    (common, file.content()).into_response()
}

/// Returns whether `Accept-Encoding` names brotli, and not with a weight of zero (RFC 9110,
/// section 12.5.3).
fn accepts_brotli(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let mut codings = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        name.trim().eq_ignore_ascii_case("br") && weight.parse().is_ok_and(|q: f32| q > 0.0)
    })
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
        Some("map") => "application/json",
        Some("wasm") => "application/wasm",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brotli_is_accepted_unless_its_weight_is_zero() {
        let accepts = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, value.parse().unwrap());
            accepts_brotli(&headers)
        };
        for value in [
            "br",
            "gzip, deflate, br, zstd",
            "gzip;q=0.5, BR;q=0.1",
            "br; q=1",
        ] {
            assert!(accepts(value), "{value}");
        }
        for value in [
            "",
            "gzip",
            "br;q=0",
            "br;q=0.0, gzip",
            "brotli",
            "*;q=0",
            "br;q=x",
        ] {
            assert!(!accepts(value), "{value}");
        }
        assert!(!accepts_brotli(&HeaderMap::new()));
    }
}
