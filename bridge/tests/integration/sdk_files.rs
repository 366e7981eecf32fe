//! The files below `/sdk/`, which are public, compressed and have ETags. A bridge that was built
//! without them responds with instructions to build them.

use serde_json::Value;

use crate::kit::*;

/// Whether the folder that `build.rs` embeds contains the SDK.
fn is_built_with_sdk() -> bool {
    let folder = option_env!("MCP_WEB_SDK_DIR")
        .unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/sdk"));
    std::path::Path::new(folder)
        .join("mcp_web_core_bg.wasm")
        .is_file()
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
