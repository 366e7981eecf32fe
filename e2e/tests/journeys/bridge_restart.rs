//! The bridge stops and starts again on its port. The next call works, without any action by page
//! or client.

use e2e::{Era, McpClient, StaticSite, TestBed, Transport, with_deadline};
use serde_json::json;

use crate::{has, open_app};

#[tokio::test]
async fn a_stdio_client_of_2025_recovers_after_a_crash() {
    check_recovery(Era::Initialize, async |bed| bed.crash().await).await;
}

#[tokio::test]
async fn a_stdio_client_of_2026_recovers_after_a_crash() {
    check_recovery(Era::Discover, async |bed| bed.crash().await).await;
}

#[tokio::test]
async fn a_stdio_client_of_2025_recovers_after_an_orderly_stop() {
    check_recovery(Era::Initialize, async |bed| bed.stop().await).await;
}

async fn check_recovery(era: Era, stop: impl AsyncFnOnce(&mut TestBed)) {
    let (mut bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let document = browser.eval("return journey.document", json!(null)).await;
    let mut client = McpClient::connect(&bed, Transport::Stdio, era).await;
    assert_echo(&client, 1).await;

    stop(&mut bed).await;
    browser
        .wait_for("journey.mcpWeb.status.state !== 'connected'")
        .await;
    client
        .wait_for_tools("`echo` is gone", |tools| !has(tools, "echo"))
        .await;
    bed.restart().await;

    client
        .wait_for_tools("`echo` is back", |tools| has(tools, "echo"))
        .await;
    assert_echo(&client, 2).await;
    browser
        .wait_for("journey.mcpWeb.status.state === 'connected'")
        .await;
    let same = browser.eval("return journey.document", json!(null)).await;
    assert_eq!(same, document, "the page was not reloaded");
}

#[tokio::test]
async fn a_crash_fails_a_running_call_over_http() {
    check_running_call_fails(Transport::Http, Era::Discover, async |bed| {
        bed.crash().await
    })
    .await;
}

#[tokio::test]
async fn a_crash_fails_a_running_call_over_stdio() {
    check_running_call_fails(Transport::Stdio, Era::Initialize, async |bed| {
        bed.crash().await
    })
    .await;
}

#[tokio::test]
async fn an_orderly_stop_fails_a_running_call_over_stdio() {
    check_running_call_fails(Transport::Stdio, Era::Initialize, async |bed| {
        bed.stop().await
    })
    .await;
}

/// Checks that the caller gets an error, the handler is aborted, and nothing runs a second time.
/// (Over HTTP, this uses 2026-07-28: rmcp's client of 2025-11-25 tries to resume its stream at the
/// next bridge.)
async fn check_running_call_fails(
    transport: Transport,
    era: Era,
    stop: impl AsyncFnOnce(&mut TestBed),
) {
    let (mut bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let client = McpClient::connect(&bed, transport, era).await;
    let call = client.start_call("hang", json!({})).await;
    browser.wait_for("journey.started === 1").await;

    stop(&mut bed).await;
    let is_error = match with_deadline("the call to fail", call.result()).await {
        Ok(result) => result.is_error == Some(true),
        Err(_) => true,
    };
    assert!(is_error, "the call failed");
    bed.restart().await;
    browser.wait_for("journey.aborted === 1").await;

    let mut client = McpClient::connect(&bed, Transport::Http, Era::Initialize).await;
    client
        .wait_for_tools("`echo` is back", |tools| has(tools, "echo"))
        .await;
    assert_echo(&client, 5).await;
    let started = browser.eval("return journey.started", json!(null)).await;
    assert_eq!(started, 1, "the handler ran once");
}

async fn assert_echo(client: &McpClient, id: u64) {
    let echo = client.call("echo", json!({ "id": id })).await.unwrap();
    assert_eq!(echo.structured_content, Some(json!({ "id": id })));
}
