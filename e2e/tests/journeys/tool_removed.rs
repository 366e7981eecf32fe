//! A tool that the page removes is gone from every client's list, and every client was told.

use e2e::{McpClient, StaticSite, TestBed};
use serde_json::json;

use crate::{EVERY_WAY, has, open_app};

#[tokio::test]
async fn is_gone_for_every_client_and_each_was_told() {
    let (world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &world).await;
    let mut clients = Vec::new();
    for (leg, era) in EVERY_WAY {
        let mut client = McpClient::connect(&world, leg, era).await;
        client
            .wait_for_tools("it has `removable`", |tools| has(tools, "removable"))
            .await;
        clients.push((leg, era, client));
    }

    let told: Vec<u64> = clients
        .iter()
        .map(|(.., client)| client.changes())
        .collect();
    browser
        .eval("await journey.removable.remove()", json!(null))
        .await;

    for ((leg, era, client), seen) in clients.iter_mut().zip(told) {
        client.wait_for_change(seen).await;
        let tools = client.tools().await;
        assert!(!has(&tools, "removable"), "{leg:?}, {era:?}: {tools:?}");
        assert!(has(&tools, "echo"), "{leg:?}, {era:?}: {tools:?}");
        let refused = client.call("removable", json!({})).await;
        let refusal = refused.expect_err("the tool is gone").to_string();
        assert!(refusal.contains("removable"), "{leg:?}, {era:?}: {refusal}");
    }
}
