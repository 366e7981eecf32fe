//! The page knows which AI clients are connected, for its user to see.

use e2e::{Era, McpClient, StaticSite, TestBed, Transport};

use crate::open_app;

#[tokio::test]
async fn an_http_client_of_2025_comes_and_goes() {
    comes_and_goes(Transport::Http).await;
}

#[tokio::test]
async fn a_stdio_client_of_2025_comes_and_goes() {
    comes_and_goes(Transport::Stdio).await;
}

async fn comes_and_goes(leg: Transport) {
    let (world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &world).await;
    let client = McpClient::connect(&world, leg, Era::Initialize).await;
    browser
        .wait_for("journey.mcpWeb.clients.some((client) => client.name === 'journeys')")
        .await;

    client.close().await;

    browser
        .wait_for("journey.mcpWeb.clients.length === 0")
        .await;
}
