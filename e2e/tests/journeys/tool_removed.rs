//! A tool that the page removes disappears from every client's list, with a notification.

use e2e::{McpClient, StaticSite, TestBed};
use serde_json::json;

use crate::{TRANSPORTS_AND_ERAS, has, open_app};

#[tokio::test]
async fn a_removed_tool_disappears_for_every_client_with_a_notification() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let mut clients = Vec::new();
    for (transport, era) in TRANSPORTS_AND_ERAS {
        let mut client = McpClient::connect(&bed, transport, era).await;
        client
            .wait_for_tools("it has `removable`", |tools| has(tools, "removable"))
            .await;
        clients.push((transport, era, client));
    }

    let changes: Vec<u64> = clients
        .iter()
        .map(|(.., client)| client.changes())
        .collect();
    browser
        .eval("await journey.removable.remove()", json!(null))
        .await;

    for ((transport, era, client), seen) in clients.iter_mut().zip(changes) {
        client.wait_for_change(seen).await;
        let tools = client.tools().await;
        assert!(
            !has(&tools, "removable"),
            "{transport:?}, {era:?}: {tools:?}"
        );
        assert!(has(&tools, "echo"), "{transport:?}, {era:?}: {tools:?}");
        let result = client.call("removable", json!({})).await;
        let error = result.expect_err("the tool is gone").to_string();
        assert!(
            error.contains("removable"),
            "{transport:?}, {era:?}: {error}"
        );
    }
}
