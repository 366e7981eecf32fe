//! The main use case: with the demo open in Chromium, an AI client lists its tools and calls one,
//! and the page changes.

use std::path::Path;

use e2e::{Browser, ColorScheme, Era, Inspector, TestBed, Transport};
use serde_json::json;

use crate::{configured_token, has};

#[tokio::test]
async fn inspector_over_http_2025() {
    check_add_card(Transport::Http, Era::Initialize, "demo-http-2025").await;
}

#[tokio::test]
async fn inspector_over_http_2026() {
    check_add_card(Transport::Http, Era::Discover, "demo-http-2026").await;
}

#[tokio::test]
async fn inspector_over_stdio_2025() {
    check_add_card(Transport::Stdio, Era::Initialize, "demo-stdio-2025").await;
}

#[tokio::test]
async fn inspector_over_stdio_2026() {
    check_add_card(Transport::Stdio, Era::Discover, "demo-stdio-2026").await;
}

async fn check_add_card(transport: Transport, era: Era, screenshot: &str) {
    let mut bed = TestBed::demo().await;
    let browser = open_demo(&mut bed).await;
    let title = format!("Card of the {screenshot} journey");
    let is_visible = format!("document.body.innerText.includes({})", json!(title));
    assert_eq!(
        browser
            .eval(&format!("return {is_visible}"), json!(null))
            .await,
        false
    );

    let inspector = Inspector::new(&bed, transport, era);
    let tools = inspector.tools().await;
    assert!(
        has(&tools, "list_cards") && has(&tools, "add_card"),
        "{tools:?}"
    );
    let result = inspector.call("add_card", &json!({ "title": title })).await;

    assert_eq!(
        result["structuredContent"]["card"]["title"], title,
        "{result}"
    );
    browser.wait_for(&is_visible).await;
    browser.emulate(ColorScheme::Light, 1280, 1000).await;
    let image = browser.screenshot(screenshot).await;
    assert!(is_png(&image), "{} is an image", image.display());
    assert!(!bed.log().contains(bed.token()), "tokens are not logged");
}

/// Opens the demo, and sets the token to the one in the configuration that it shows for AI clients.
pub(crate) async fn open_demo(bed: &mut TestBed) -> Browser {
    let browser = Browser::open().await;
    browser.goto(&bed.url()).await;
    browser
        .wait_for("mcpWeb.status.state === 'connected'")
        .await;
    let config = browser.eval(
        "const { mcpServers } = await mcpWeb.remoteMcpConfig; return Object.values(mcpServers)[0]",
        json!(null),
    );
    bed.set_token(configured_token(&config.await));
    browser
}

fn is_png(path: &Path) -> bool {
    std::fs::read(path).unwrap().starts_with(b"\x89PNG")
}
