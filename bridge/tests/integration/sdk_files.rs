//! The files below `/sdk/`, which are public, compressed and have ETags. A bridge that was built
//! without them responds with instructions to build them.

use std::io::Read;
use std::path::Path;

use brotli_decompressor::Decompressor;
use reqwest::Method;
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, ETAG, IF_NONE_MATCH};
use serde_json::Value;

use crate::kit::*;

/// The folder that `build.rs` embeds.
fn sdk_folder() -> &'static Path {
    let folder = option_env!("MCP_WEB_SDK_DIR")
        .unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/sdk"));
    Path::new(folder)
}

/// Whether the folder that `build.rs` embeds contains the SDK.
fn is_built_with_sdk() -> bool {
    sdk_folder().join("mcp_web_core_bg.wasm").is_file()
}

#[tokio::test]
async fn sdk_files_are_public_and_typed_or_explain_how_to_build_them() {
    let bridge = start_bridge().await;
    for (name, media_type) in [
        ("mcp-web.js", "text/javascript"),
        ("mcp-web-dev-warnings.js", "text/javascript"),
        ("mcp-web-diagnose.js", "text/javascript"),
        ("mcp-web-dialog.js", "text/javascript"),
        ("mcp-web-client-requests.js", "text/javascript"),
        ("mcp-web-images.js", "text/javascript"),
        ("mcp-web-query.js", "text/javascript"),
        ("mcp-web.js.map", "application/json"),
        ("mcp_web_core.js", "text/javascript"),
        ("mcp_web_core_bg.wasm", "application/wasm"),
    ] {
        let url = format!("{}/sdk/{name}", bridge.url());
        let get = || {
            http_client()
                .get(&url)
                .header("origin", "https://app.example.com")
        };
        if !is_built_with_sdk() {
            let response = get().send().await.unwrap();
            assert_eq!(response.status(), 404);
            let problem: Value = response.json().await.unwrap();
            assert!(
                problem["message"]
                    .as_str()
                    .unwrap()
                    .contains("cargo xtask sdk"),
                "{problem}"
            );
            continue;
        }
        let response = get()
            .header("accept-encoding", "gzip")
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200, "{name}");
        let headers = response.headers().clone();
        assert!(
            headers["content-type"]
                .to_str()
                .unwrap()
                .starts_with(media_type),
            "{name}"
        );
        assert_eq!(headers["access-control-allow-origin"], "*");
        assert_eq!(headers["cross-origin-resource-policy"], "cross-origin");
        assert_eq!(headers["content-encoding"], "gzip", "{name}");
        let best = get()
            .header("accept-encoding", "gzip, br")
            .send()
            .await
            .unwrap();
        assert_eq!(best.headers()["content-encoding"], "br", "{name}");
        assert_eq!(best.headers()["vary"], "accept-encoding", "{name}");
        assert_eq!(best.headers()["etag"], headers["etag"], "{name}");
        assert!(
            best.bytes().await.unwrap().len() < response.bytes().await.unwrap().len(),
            "{name}"
        );
        let again = get()
            .header("if-none-match", &headers["etag"])
            .send()
            .await
            .unwrap();
        assert_eq!(again.status(), 304, "{name}");
    }
}

/// Files are embedded as brotli only.
#[tokio::test]
async fn clients_with_and_without_brotli_receive_the_same_bytes() {
    if !is_built_with_sdk() {
        return;
    }
    let bridge = start_bridge().await;
    let request = |name: &str, method: Method, coding: &str| {
        let url = format!("{}/sdk/{name}", bridge.url());
        let request = http_client().request(method, url);
        request.header("accept-encoding", coding.to_owned())
    };
    let mut compared = 0;
    for entry in sdk_folder().read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let embedded = [".js", ".js.map", ".wasm"];
        if name.starts_with("mcp-web-node.") || !embedded.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let file = std::fs::read(&path).unwrap();
        let length = file.len().to_string();
        let mut etags = Vec::new();
        // The second request is served from what the first one decompressed.
        for method in [Method::GET, Method::GET, Method::HEAD] {
            let response = request(name, method.clone(), "identity")
                .send()
                .await
                .unwrap();
            let headers = response.headers().clone();
            assert_eq!(headers.get(CONTENT_ENCODING), None, "{name}");
            assert_eq!(headers[CONTENT_LENGTH], length, "{name}");
            etags.push(headers[ETAG].clone());
            let body = response.bytes().await.unwrap();
            let expected: &[u8] = if method == Method::HEAD { b"" } else { &file };
            assert!(body == expected, "{name} differs");
        }
        let compressed = request(name, Method::GET, "br").send().await.unwrap();
        assert_eq!(compressed.headers()[CONTENT_ENCODING], "br", "{name}");
        let compressed_length = compressed.headers()[CONTENT_LENGTH].clone();
        etags.push(compressed.headers()[ETAG].clone());
        let compressed = compressed.bytes().await.unwrap();
        assert_eq!(compressed_length, compressed.len().to_string(), "{name}");
        let mut decompressed = Vec::new();
        let mut decompressor = Decompressor::new(&*compressed, 4096);
        decompressor.read_to_end(&mut decompressed).unwrap();
        assert!(decompressed == file, "{name} differs as brotli");
        assert!(etags.iter().all(|etag| *etag == etags[0]), "{etags:?}");
        for coding in ["identity", "br"] {
            let known = request(name, Method::GET, coding).header(IF_NONE_MATCH, &etags[0]);
            assert_eq!(known.send().await.unwrap().status(), 304, "{name}");
        }
        compared += 1;
    }
    assert!(compared >= 10, "only {compared} files");
}

#[tokio::test]
async fn an_unknown_sdk_file_is_404() {
    let bridge = start_bridge().await;
    let response = http_client()
        .get(format!("{}/sdk/nothing.js", bridge.url()))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 404);
}
