//! The AI client is there before the page: meta tools at once, the page's tools after
//! `list_changed`.

use e2e::{Era, McpClient, NativeItem, NativePage, TestBed, Transport};
use serde_json::json;

use crate::{META_TOOLS, has};

#[tokio::test]
async fn over_http_2025() {
    sees_the_page_arrive(Transport::Http, Era::Initialize).await;
}

#[tokio::test]
async fn over_http_2026() {
    sees_the_page_arrive(Transport::Http, Era::Discover).await;
}

#[tokio::test]
async fn over_stdio_2025() {
    sees_the_page_arrive(Transport::Stdio, Era::Initialize).await;
}

#[tokio::test]
async fn over_stdio_2026() {
    sees_the_page_arrive(Transport::Stdio, Era::Discover).await;
}

/// Not even the bridge is there when the client starts.
#[tokio::test]
async fn before_the_bridge_over_stdio_2025() {
    sees_the_bridge_arrive(Era::Initialize).await;
}

#[tokio::test]
async fn before_the_bridge_over_stdio_2026() {
    sees_the_bridge_arrive(Era::Discover).await;
}

async fn sees_the_page_arrive(leg: Transport, era: Era) {
    let world = TestBed::bridge().await;
    let mut client = McpClient::connect(&world, leg, era).await;
    has_only_meta_tools(&client).await;
    let status = client.call("get_connection_status", json!({})).await;
    assert_ne!(status.unwrap().is_error, Some(true));

    let _page = NativePage::open(&world, "late", vec![NativeItem::echo()]).await;

    has_echo(&mut client).await;
}

async fn sees_the_bridge_arrive(era: Era) {
    let mut world = TestBed::bridge().await;
    world.stop().await;
    let mut client = McpClient::connect(&world, Transport::Stdio, era).await;
    has_only_meta_tools(&client).await;

    world.restart().await;
    let _page = NativePage::open(&world, "late", vec![NativeItem::echo()]).await;

    has_echo(&mut client).await;
}

async fn has_only_meta_tools(client: &McpClient) {
    let tools = client.tools().await;
    for name in META_TOOLS {
        assert!(has(&tools, name), "no {name} in {tools:?}");
    }
    assert_eq!(tools.len(), META_TOOLS.len(), "{tools:?}");
}

async fn has_echo(client: &mut McpClient) {
    let tools = client
        .wait_for_tools("it has `echo`", |tools| has(tools, "echo"))
        .await;
    assert!(META_TOOLS.iter().all(|name| has(&tools, name)), "{tools:?}");
    let echo = client.call("echo", json!({ "id": 1 })).await.unwrap();
    assert_eq!(echo.structured_content, Some(json!({ "id": 1 })));
}
