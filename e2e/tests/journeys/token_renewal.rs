//! Tokens that expire while a page is open: it renews them on the open socket, and no call is lost.

use std::time::Duration;

use e2e::{Browser, Era, McpClient, StaticSite, TestBed, TokenIssuer, Transport, with_deadline};
use serde_json::json;

const TOKEN_LIFETIME: Duration = Duration::from_secs(6);

#[tokio::test]
async fn a_call_outlives_many_tokens_and_the_page_one_that_was_late() {
    let issuer = TokenIssuer::start("alice", TOKEN_LIFETIME).await;
    let mut world = TestBed::bridge_with(&TokenIssuer::bridge_arguments()).await;
    world.set_token(issuer.long_lived_token());
    let site = StaticSite::start().await;
    let browser = Browser::open().await;
    browser.goto(&site.app_with_issuer(&world, &issuer)).await;
    browser.wait_for("journey.ready").await;
    let client = McpClient::connect(&world, Transport::Http, Era::Initialize).await;

    let call = client.start_call("held", json!({})).await;
    browser.wait_for("journey.release").await;
    // The first token, and two that came on the open socket.
    browser.wait_for(&fetched_condition(&issuer, 3)).await;
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
    let result = with_deadline("the answer", call.result()).await.unwrap();
    let caller = json!({ "caller": { "via": "mcp", "sub": "alice", "roles": ["editor"] } });
    assert_eq!(result.structured_content, Some(caller));

    issuer.set_refusing(true);
    browser
        .wait_for("journey.mcpWeb.status.state === 'reconnecting'")
        .await;
    issuer.set_refusing(false);
    browser
        .wait_for("journey.mcpWeb.status.state === 'connected'")
        .await;
    let echo = with_deadline("the answer", client.call("echo", json!({ "id": 4 }))).await;
    assert_eq!(echo.unwrap().structured_content, Some(json!({ "id": 4 })));
}

/// True in the page once the issuer has been asked so often.
fn fetched_condition(issuer: &TokenIssuer, times: usize) -> String {
    let url = issuer.url().replace("/token", "/issued");
    format!("Number(await (await fetch({url:?})).text()) >= {times}")
}
