//! A page is notified of the AI clients that are connected, so that it can show them to its user.

use e2e::{Era, McpClient, StaticSite, TestBed, Transport};

use crate::open_app;

#[tokio::test]
async fn an_http_client_of_2025_is_listed_while_connected() {
    check_client_list(Transport::Http).await;
}

#[tokio::test]
async fn a_stdio_client_of_2025_is_listed_while_connected() {
    check_client_list(Transport::Stdio).await;
}

async fn check_client_list(transport: Transport) {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let client = McpClient::connect(&bed, transport, Era::Initialize).await;
    browser
        .wait_for("journey.mcpWeb.clients.some((client) => client.name === 'journeys')")
        .await;

    client.close().await;

    browser
        .wait_for("journey.mcpWeb.clients.length === 0")
        .await;
}
