//! The main job: with the demo open in Chromium, an AI client lists its tools and calls one, and
//! the page changes.

use std::path::Path;

use e2e::{Browser, ColorScheme, Era, Inspector, TestBed, Transport};
use serde_json::{Value, json};

use crate::has;

#[tokio::test]
async fn inspector_over_http_2025() {
    adds_a_card(Transport::Http, Era::Initialize, "demo-http-2025").await;
}

#[tokio::test]
async fn inspector_over_http_2026() {
    adds_a_card(Transport::Http, Era::Discover, "demo-http-2026").await;
}

#[tokio::test]
async fn inspector_over_stdio_2025() {
    adds_a_card(Transport::Stdio, Era::Initialize, "demo-stdio-2025").await;
}

#[tokio::test]
async fn inspector_over_stdio_2026() {
    adds_a_card(Transport::Stdio, Era::Discover, "demo-stdio-2026").await;
}

async fn adds_a_card(leg: Transport, era: Era, screenshot: &str) {
    let mut world = TestBed::demo().await;
    let browser = open_demo(&mut world).await;
    let title = format!("Card of the {screenshot} journey");
    let shown = format!("document.body.innerText.includes({})", json!(title));
    assert_eq!(
        browser.eval(&format!("return {shown}"), json!(null)).await,
        false
    );

    let inspector = Inspector::new(&world, leg, era);
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
    browser.wait_for(&shown).await;
    browser.emulate(ColorScheme::Light, 1280, 1000).await;
    let image = browser.screenshot(screenshot).await;
    assert!(is_png(&image), "{} is a picture", image.display());
    assert!(
        !world.log().contains(world.token()),
        "tokens are not logged"
    );
}

/// Opens the demo and takes over the configuration that it shows for AI clients.
pub(crate) async fn open_demo(world: &mut TestBed) -> Browser {
    let browser = Browser::open().await;
    browser.goto(&world.url()).await;
    browser
        .wait_for("mcpWeb.status.state === 'connected'")
        .await;
    let config = browser.eval(
        "const { mcpServers } = await mcpWeb.remoteMcpConfig; return Object.values(mcpServers)[0]",
        json!(null),
    );
    world.set_token(token_in(&config.await));
    browser
}

fn token_in(config: &Value) -> String {
    let header = config["headers"]["Authorization"].as_str();
    let token = header.and_then(|header| header.strip_prefix("Bearer "));
    token
        .expect("the page shows its token to its user")
        .to_owned()
}

fn is_png(path: &Path) -> bool {
    std::fs::read(path).unwrap().starts_with(b"\x89PNG")
}
