//! A page that cannot work says what happened and what to do: in its status, and once in the console.

use e2e::{Browser, StaticSite, TestBed, with_deadline};
use serde_json::json;

#[tokio::test]
async fn the_wasm_is_not_served_or_not_reached() {
    let (world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;

    let app = site.app_with_sdk(&world, &site.sdk_without_wasm());
    browser.goto(&app).await;
    let advice = ["HTTP 404", "serve mcp_web_core_bg.wasm"];
    assert_reported(&browser, "failed", "WasmLoadFailed", &advice).await;

    block(&browser, &["*.wasm"]).await;
    browser.goto(&site.app(&world)).await;
    let advice = ["Failed to fetch", "server runs", "connect-src"];
    assert_reported(&browser, "failed", "WasmLoadFailed", &advice).await;

    block(&browser, &[]).await;
    browser
        .eval("await journey.mcpWeb.connect()", json!(null))
        .await;
}

#[tokio::test]
async fn the_bridge_is_not_running() {
    let (world, mut stopped) = (TestBed::bridge().await, TestBed::bridge().await);
    let site = StaticSite::start().await;
    stopped.stop().await;
    let browser = Browser::open().await;

    let sdk = format!("{}/sdk", world.url());
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
async fn the_bridge_refuses_origin_or_token() {
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

/// Waits for the state and looks for `advice` in the error's message and in the console.
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
    // It is told once the page has found out what stands in the way.
    let told = with_deadline("the console to say so", async {
        loop {
            let console = browser.console().await.into_iter();
            let told: Vec<_> = console
                .filter(|line| line.contains("\"mcp-web: "))
                .collect();
            if !told.is_empty() {
                return told;
            }
        }
    })
    .await;
    assert_eq!(told.len(), 1, "{told:?}");
    for words in advice {
        assert!(message.contains(words), "{words:?} in {message:?}");
        assert!(told[0].contains(words), "{words:?} in {told:?}");
    }
}

async fn block(browser: &Browser, urls: &[&str]) {
    browser.devtools("Network.enable", json!({})).await;
    browser
        .devtools("Network.setBlockedURLs", json!({ "urls": urls }))
        .await;
}
