//! The AI client starts before the page: the built-in tools are listed at once, and the page's
//! tools after `list_changed`.

use e2e::{Era, McpClient, TestBed, Transport, echo_program};
use serde_json::json;

use crate::{BUILTIN_TOOLS, has};

#[tokio::test]
async fn over_http_2025() {
    check_late_page(Transport::Http, Era::Initialize).await;
}

#[tokio::test]
async fn over_http_2026() {
    check_late_page(Transport::Http, Era::Discover).await;
}

#[tokio::test]
async fn over_stdio_2025() {
    check_late_page(Transport::Stdio, Era::Initialize).await;
}

#[tokio::test]
async fn over_stdio_2026() {
    check_late_page(Transport::Stdio, Era::Discover).await;
}

/// The bridge is not running either when the client starts.
#[tokio::test]
async fn before_the_bridge_over_stdio_2025() {
    check_late_bridge(Era::Initialize).await;
}

#[tokio::test]
async fn before_the_bridge_over_stdio_2026() {
    check_late_bridge(Era::Discover).await;
}

async fn check_late_page(transport: Transport, era: Era) {
    let bed = TestBed::bridge().await;
    let mut client = McpClient::connect(&bed, transport, era).await;
    assert_only_builtin_tools(&client).await;
    let status = client.call("get_connection_status", json!({})).await;
    assert_ne!(status.unwrap().is_error, Some(true));

    let _page = echo_program(&bed, "late").await;

    wait_for_echo(&mut client).await;
}

async fn check_late_bridge(era: Era) {
    let mut bed = TestBed::bridge().await;
    bed.stop().await;
    let mut client = McpClient::connect(&bed, Transport::Stdio, era).await;
    assert_only_builtin_tools(&client).await;

    bed.restart().await;
    let _page = echo_program(&bed, "late").await;

    wait_for_echo(&mut client).await;
}

async fn assert_only_builtin_tools(client: &McpClient) {
    let tools = client.tools().await;
    for name in BUILTIN_TOOLS {
        assert!(has(&tools, name), "no {name} in {tools:?}");
    }
    assert_eq!(tools.len(), BUILTIN_TOOLS.len(), "{tools:?}");
}

async fn wait_for_echo(client: &mut McpClient) {
    let tools = client
        .wait_for_tools("it has `echo`", |tools| has(tools, "echo"))
        .await;
    assert!(
        BUILTIN_TOOLS.iter().all(|name| has(&tools, name)),
        "{tools:?}"
    );
    let echo = client.call("echo", json!({ "id": 1 })).await.unwrap();
    assert_eq!(echo.structured_content, Some(json!({ "id": 1 })));
}
