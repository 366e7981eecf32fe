//! Tokens that expire while a page is open: it renews them on the open socket, and no call is lost.

use std::time::Duration;

use e2e::{Browser, Era, Issuer, Leg, McpClient, Site, World, within};
use serde_json::json;

const LIFE: Duration = Duration::from_secs(6);

#[tokio::test]
async fn a_call_outlives_many_tokens_and_the_page_one_that_was_late() {
    let issuer = Issuer::start("alice", LIFE).await;
    let mut world = World::bridge_with(&Issuer::bridge_arguments()).await;
    world.take_token(issuer.lasting_token());
    let site = Site::start().await;
    let browser = Browser::open().await;
    browser
        .goto(&site.app_with_tokens_of(&world, &issuer))
        .await;
    browser.wait_for("journey.ready").await;
    let client = McpClient::connect(&world, Leg::Http, Era::Initialize).await;

    let call = client.start_call("held", json!({})).await;
    browser.wait_for("journey.release").await;
    // The first token, and two that came on the open socket.
    browser.wait_for(&fetched(&issuer, 3)).await;
    let states = browser.eval("return journey.states", json!(null)).await;
    let last = states
        .as_array()
        .unwrap()
        .iter()
        .rposition(|state| state == "connected");
    assert_eq!(
        last,
        states.as_array().unwrap().len().checked_sub(1),
        "{states}"
    );
    let lost = states
        .as_array()
        .unwrap()
        .iter()
        .any(|state| state == "reconnecting");
    assert!(!lost, "the connection was never lost: {states}");
    browser.eval("journey.release()", json!(null)).await;
    let result = within("the answer", call.result()).await.unwrap();
    let caller = json!({ "caller": { "via": "mcp", "sub": "alice", "roles": ["editor"] } });
    assert_eq!(result.structured_content, Some(caller));

    issuer.refuse(true);
    browser
        .wait_for("journey.mcpWeb.status.state === 'reconnecting'")
        .await;
    issuer.refuse(false);
    browser
        .wait_for("journey.mcpWeb.status.state === 'connected'")
        .await;
    let echo = within("the answer", client.call("echo", json!({ "id": 4 }))).await;
    assert_eq!(echo.unwrap().structured_content, Some(json!({ "id": 4 })));
}

/// True in the page once the issuer has been asked so often.
fn fetched(issuer: &Issuer, times: usize) -> String {
    let url = issuer.url().replace("/token", "/issued");
    format!("Number(await (await fetch({url:?})).text()) >= {times}")
}
