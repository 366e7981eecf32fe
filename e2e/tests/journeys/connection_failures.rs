//! A page that cannot connect reports what happened and what to do: in its status, and once in the
//! console.

use e2e::{Browser, StaticSite, TestBed, poll_pause, with_deadline};
use serde_json::json;

/// The module that has the wasm in it.
const INLINE_WASM: &str = "*mcp-web-wasm.js";

#[tokio::test]
async fn missing_wasm_is_replaced_by_the_module_that_has_it_in_it() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;
    let app = site.app_with_sdk(&bed, &site.sdk_without_wasm());
    browser.goto(&app).await;
    browser.wait_for("journey.ready").await;
}

#[tokio::test]
async fn missing_or_unreachable_wasm_is_reported() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;

    block(&browser, &[INLINE_WASM]).await;
    let app = site.app_with_sdk(&bed, &site.sdk_without_wasm());
    browser.goto(&app).await;
    let advice = ["HTTP 404", "serve mcp_web_core_bg.wasm", "Vite"];
    assert_reported(&browser, "failed", "WasmLoadFailed", &advice).await;

    block(&browser, &["*.wasm", INLINE_WASM]).await;
    browser.goto(&site.app(&bed)).await;
    let advice = ["Failed to fetch", "server runs", "connect-src"];
    assert_reported(&browser, "failed", "WasmLoadFailed", &advice).await;

    block(&browser, &[]).await;
    browser
        .eval("await journey.mcpWeb.connect()", json!(null))
        .await;
}

#[tokio::test]
async fn an_unreachable_bridge_is_reported() {
    let (bed, mut stopped) = (TestBed::bridge().await, TestBed::bridge().await);
    let site = StaticSite::start().await;
    stopped.stop().await;
    let browser = Browser::open().await;

    let sdk = format!("{}/sdk", bed.url());
    browser.goto(&site.app_with_sdk(&stopped, &sdk)).await;
    let (url, start) = (stopped.url(), "start it, or set bridgeUrl");
    assert_reported(
        &browser,
        "reconnecting",
        "BridgeUnreachable",
        &[&url, start],
    )
    .await;

    stopped.restart().await;
    browser.wait_for("journey.ready").await;
}

#[tokio::test]
async fn a_rejected_origin_or_token_is_reported() {
    let strict = TestBed::bridge_with(&["--allowed-origins", "https://app.example.com"]).await;
    let listed = TestBed::bridge_with(&["--tokens", "a-token-of-someone-else"]).await;
    let site = StaticSite::start().await;
    let browser = Browser::open().await;

    browser.goto(&site.app(&strict)).await;
    let advice = [site.url(), "add the origin to `allowed_origins`"];
    assert_reported(&browser, "failed", "OriginNotAllowed", &advice).await;

    browser.goto(&site.app(&listed)).await;
    let advice = ["not on this bridge's list", "ask its operator", "authToken"];
    assert_reported(&browser, "failed", "InvalidAuthentication", &advice).await;
}

/// Waits for the state, and checks that error message and console contain `advice`.
async fn assert_reported(browser: &Browser, state: &str, code: &str, advice: &[&str]) {
    let (status, state) = ("journey.mcpWeb.status", json!(state));
    browser
        .wait_for(&format!("{status}.state === {state}"))
        .await;
    let found = browser
        .eval(
            &format!("return [{status}.error.code, {status}.error.message]"),
            json!(null),
        )
        .await;
    assert_eq!(found[0], code);
    let message = found[1].as_str().unwrap();
    // The console message is written after the page has found out the cause.
    let lines = with_deadline("a message in the console", async {
        loop {
            let console = browser.console().await.into_iter();
            let lines: Vec<_> = console
                .filter(|line| line.contains("\"mcp-web: "))
                .collect();
            if !lines.is_empty() {
                return lines;
            }
            poll_pause().await;
        }
    })
    .await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    for text in advice {
        assert!(message.contains(text), "{text:?} in {message:?}");
        assert!(lines[0].contains(text), "{text:?} in {lines:?}");
    }
}

async fn block(browser: &Browser, urls: &[&str]) {
    browser.devtools("Network.enable", json!({})).await;
    browser
        .devtools("Network.setBlockedURLs", json!({ "urls": urls }))
        .await;
}
