//! The bridge goes away and comes back on its port: nobody touches page or client, and the next
//! call works.

use e2e::{Era, McpClient, PlainHttp, StaticSite, TestBed, Transport, with_deadline};
use serde_json::json;

use crate::{has, open_app};

#[tokio::test]
async fn after_a_crash_with_a_stdio_client_2025() {
    recovers_after(Era::Initialize, async |world| world.crash().await).await;
}

#[tokio::test]
async fn after_a_crash_with_a_stdio_client_2026() {
    recovers_after(Era::Discover, async |world| world.crash().await).await;
}

#[tokio::test]
async fn after_an_orderly_stop_with_a_stdio_client_2025() {
    recovers_after(Era::Initialize, async |world| world.stop().await).await;
}

async fn recovers_after(era: Era, end: impl AsyncFnOnce(&mut TestBed)) {
    let (mut world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &world).await;
    let document = browser.eval("return journey.document", json!(null)).await;
    let mut client = McpClient::connect(&world, Transport::Stdio, era).await;
    echoes(&client, 1).await;

    end(&mut world).await;
    browser
        .wait_for("journey.mcpWeb.status.state !== 'connected'")
        .await;
    client
        .wait_for_tools("`echo` is gone", |tools| !has(tools, "echo"))
        .await;
    world.restart().await;

    client
        .wait_for_tools("`echo` is back", |tools| has(tools, "echo"))
        .await;
    echoes(&client, 2).await;
    browser
        .wait_for("journey.mcpWeb.status.state === 'connected'")
        .await;
    let same = browser.eval("return journey.document", json!(null)).await;
    assert_eq!(same, document, "the page was not loaded again");
}

#[tokio::test]
async fn after_a_crash_during_a_call_over_http() {
    a_call_ends_with_the_bridge(Transport::Http, Era::Discover, async |world| {
        world.crash().await
    })
    .await;
}

#[tokio::test]
async fn after_a_crash_during_a_call_over_stdio() {
    a_call_ends_with_the_bridge(Transport::Stdio, Era::Initialize, async |world| {
        world.crash().await
    })
    .await;
}

#[tokio::test]
async fn after_an_orderly_stop_during_a_call_over_stdio() {
    a_call_ends_with_the_bridge(Transport::Stdio, Era::Initialize, async |world| {
        world.stop().await
    })
    .await;
}

/// The caller has its error, the handler hears that nobody waits, and nothing runs a second time.
/// (Over HTTP in 2026: rmcp's client of 2025 hopes to hear what its stream lost from the next bridge.)
async fn a_call_ends_with_the_bridge(
    leg: Transport,
    era: Era,
    end: impl AsyncFnOnce(&mut TestBed),
) {
    let (mut world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &world).await;
    let client = McpClient::connect(&world, leg, era).await;
    let call = client.start_call("hang", json!({})).await;
    browser.wait_for("journey.started === 1").await;

    end(&mut world).await;
    let failed = match with_deadline("the caller to have its error", call.result()).await {
        Ok(result) => result.is_error == Some(true),
        Err(_) => true,
    };
    assert!(failed, "the call did not survive");
    world.restart().await;
    browser
        .wait_for("journey.mcpWeb.status.state === 'connected'")
        .await;
    browser.wait_for("journey.aborted === 1").await;

    let script = PlainHttp::new(&world);
    let answer = with_deadline("the answer", script.call("echo", json!({ "id": 5 }))).await;
    assert_eq!(answer.unwrap()["structuredContent"], json!({ "id": 5 }));
    let started = browser.eval("return journey.started", json!(null)).await;
    assert_eq!(started, 1, "it ran once");
}

async fn echoes(client: &McpClient, id: u64) {
    let echo = client.call("echo", json!({ "id": id })).await.unwrap();
    assert_eq!(echo.structured_content, Some(json!({ "id": id })));
}
