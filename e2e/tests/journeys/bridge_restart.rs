//! The bridge goes away and comes back on its port: nobody touches page or client, and the next
//! call works.

use e2e::{Era, Leg, McpClient, Site, World};
use serde_json::json;

use crate::{has, open_app};

#[tokio::test]
async fn after_a_crash_with_a_stdio_client_2025() {
    goes_on(Era::Initialize, async |world| world.crash().await).await;
}

#[tokio::test]
async fn after_a_crash_with_a_stdio_client_2026() {
    goes_on(Era::Discover, async |world| world.crash().await).await;
}

#[tokio::test]
async fn after_an_orderly_stop_with_a_stdio_client_2025() {
    goes_on(Era::Initialize, async |world| world.stop().await).await;
}

async fn goes_on(era: Era, end: impl AsyncFnOnce(&mut World)) {
    let (mut world, site) = (World::bridge().await, Site::start().await);
    let browser = open_app(&site, &world).await;
    let document = browser.eval("return journey.document", json!(null)).await;
    let mut client = McpClient::connect(&world, Leg::Stdio, era).await;
    echoes(&client, 1).await;

    end(&mut world).await;
    browser
        .wait_for("journey.mcpWeb.status.state !== 'connected'")
        .await;
    client
        .tools_when("`echo` is gone", |tools| !has(tools, "echo"))
        .await;
    world.restart().await;

    client
        .tools_when("`echo` is back", |tools| has(tools, "echo"))
        .await;
    echoes(&client, 2).await;
    browser
        .wait_for("journey.mcpWeb.status.state === 'connected'")
        .await;
    let same = browser.eval("return journey.document", json!(null)).await;
    assert_eq!(same, document, "the page was not loaded again");
}

async fn echoes(client: &McpClient, id: u64) {
    let echo = client.call("echo", json!({ "id": id })).await.unwrap();
    assert_eq!(echo.structured_content, Some(json!({ "id": id })));
}
