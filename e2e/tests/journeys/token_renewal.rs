//! Tokens expire while a page is open: it renews them on the open socket, and no call is lost.

use std::time::Duration;

use e2e::{Browser, Era, McpClient, StaticSite, TestBed, TokenIssuer, Transport, with_deadline};
use serde_json::json;

const TOKEN_LIFETIME: Duration = Duration::from_secs(6);

#[tokio::test]
async fn a_call_survives_token_renewals_and_a_page_survives_a_late_token() {
    let issuer = TokenIssuer::start("alice", TOKEN_LIFETIME).await;
    let mut bed = TestBed::bridge_with(&TokenIssuer::bridge_arguments()).await;
    bed.set_token(issuer.long_lived_token());
    let site = StaticSite::start().await;
    let browser = Browser::open().await;
    browser.goto(&site.app_with_issuer(&bed, &issuer)).await;
    browser.wait_for("journey.ready").await;
    let client = McpClient::connect(&bed, Transport::Http, Era::Initialize).await;

    let call = client.start_call("held", json!({})).await;
    browser.wait_for("journey.release").await;
    // The first token, and two renewals on the open socket.
    browser.wait_for(&fetched_condition(&issuer, 3)).await;
    let states = browser.eval("return journey.states", json!(null)).await;
    let states = states.as_array().unwrap();
    assert_eq!(states.last(), Some(&json!("connected")), "{states:?}");
    let reconnecting = json!("reconnecting");
    assert!(
        !states.contains(&reconnecting),
        "the socket closed: {states:?}"
    );
    browser.eval("journey.release()", json!(null)).await;
    let result = with_deadline("the answer", call.result()).await.unwrap();
    let caller = json!({ "caller": { "via": "mcp", "sub": "alice", "roles": ["editor"] } });
    assert_eq!(result.structured_content, Some(caller));

    issuer.set_rejecting(true);
    browser
        .wait_for("journey.mcpWeb.status.state === 'reconnecting'")
        .await;
    issuer.set_rejecting(false);
    browser
        .wait_for("journey.mcpWeb.status.state === 'connected'")
        .await;
    let echo = with_deadline("the answer", client.call("echo", json!({ "id": 4 }))).await;
    assert_eq!(echo.unwrap().structured_content, Some(json!({ "id": 4 })));
}

/// Returns a condition for the page: the issuer has issued this many tokens.
fn fetched_condition(issuer: &TokenIssuer, times: usize) -> String {
    let url = issuer.url().replace("/token", "/issued");
    format!("Number(await (await fetch({url:?})).text()) >= {times}")
}
