//! A client cancels a call: the handler's `signal` fires in the page.

use e2e::{Browser, Era, McpClient, PlainHttp, StaticSite, TestBed, Transport};
use serde_json::json;

use crate::open_app;

#[tokio::test]
async fn by_notification_over_http_2025() {
    check_cancel(Transport::Http, Era::Initialize).await;
}

#[tokio::test]
async fn by_ending_the_request_over_http_2026() {
    check_cancel(Transport::Http, Era::Discover).await;
}

#[tokio::test]
async fn by_notification_over_stdio_2025() {
    check_cancel(Transport::Stdio, Era::Initialize).await;
}

#[tokio::test]
async fn by_notification_over_stdio_2026() {
    check_cancel(Transport::Stdio, Era::Discover).await;
}

#[tokio::test]
async fn by_disconnecting_over_plain_http() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let script = PlainHttp::new(&bed);
    let call = tokio::spawn(async move { script.call("hang", json!({})).await });
    browser.wait_for("journey.started === 1").await;

    call.abort();

    wait_for_abort(&browser).await;
}

#[tokio::test]
async fn by_the_end_of_input_of_the_stdio_client() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let client = McpClient::connect(&bed, Transport::Stdio, Era::Initialize).await;
    let _call = client.start_call("hang", json!({})).await;
    browser.wait_for("journey.started === 1").await;

    client.close().await;

    wait_for_abort(&browser).await;
}

async fn check_cancel(transport: Transport, era: Era) {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let client = McpClient::connect(&bed, transport, era).await;
    let call = client.start_call("hang", json!({})).await;
    browser.wait_for("journey.started === 1").await;

    call.cancel().await;

    wait_for_abort(&browser).await;
    // The client stays connected.
    let echo = client.call("echo", json!({ "id": 7 })).await.unwrap();
    assert_eq!(echo.structured_content, Some(json!({ "id": 7 })));
}

async fn wait_for_abort(browser: &Browser) {
    browser.wait_for("journey.aborted === 1").await;
}
