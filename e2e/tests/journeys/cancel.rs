//! A client that cancels: the handler's `signal` fires in the page.

use e2e::{Browser, Era, McpClient, PlainHttp, StaticSite, TestBed, Transport};
use serde_json::json;

use crate::open_app;

#[tokio::test]
async fn by_notification_over_http_2025() {
    by_mcp_client(Transport::Http, Era::Initialize).await;
}

#[tokio::test]
async fn by_ending_the_request_over_http_2026() {
    by_mcp_client(Transport::Http, Era::Discover).await;
}

#[tokio::test]
async fn by_notification_over_stdio_2025() {
    by_mcp_client(Transport::Stdio, Era::Initialize).await;
}

#[tokio::test]
async fn by_notification_over_stdio_2026() {
    by_mcp_client(Transport::Stdio, Era::Discover).await;
}

#[tokio::test]
async fn by_disconnecting_over_plain_http() {
    let (world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &world).await;
    let script = PlainHttp::new(&world);
    let call = tokio::spawn(async move { script.call("hang", json!({})).await });
    browser.wait_for("journey.started === 1").await;

    call.abort();

    the_signal_fired(&browser).await;
}

#[tokio::test]
async fn by_the_end_of_input_of_the_stdio_client() {
    let (world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &world).await;
    let client = McpClient::connect(&world, Transport::Stdio, Era::Initialize).await;
    let _call = client.start_call("hang", json!({})).await;
    browser.wait_for("journey.started === 1").await;

    client.close().await;

    the_signal_fired(&browser).await;
}

async fn by_mcp_client(leg: Transport, era: Era) {
    let (world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &world).await;
    let client = McpClient::connect(&world, leg, era).await;
    let call = client.start_call("hang", json!({})).await;
    browser.wait_for("journey.started === 1").await;

    call.cancel().await;

    the_signal_fired(&browser).await;
    // The conversation goes on.
    let echo = client.call("echo", json!({ "id": 7 })).await.unwrap();
    assert_eq!(echo.structured_content, Some(json!({ "id": 7 })));
}

async fn the_signal_fired(browser: &Browser) {
    browser.wait_for("journey.aborted === 1").await;
}
