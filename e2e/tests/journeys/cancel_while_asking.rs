//! A call is called off while its handler waits for the client's user or model: the handler's
//! `signal` fires in the page, and the place of the call is free again.

use e2e::{AbleClient, Browser, Era, Heard, Leg, Site, World};
use serde_json::json;

use crate::open_app;

#[tokio::test]
async fn elicitation_over_http_2025() {
    by_notification(Leg::Http, "elicit").await;
}

#[tokio::test]
async fn sampling_over_http_2025() {
    by_notification(Leg::Http, "sample").await;
}

#[tokio::test]
async fn elicitation_over_stdio_2025() {
    by_notification(Leg::Stdio, "elicit").await;
}

#[tokio::test]
async fn sampling_over_stdio_2025() {
    by_notification(Leg::Stdio, "sample").await;
}

#[tokio::test]
async fn a_parked_round_over_http_2026() {
    by_not_coming_back(Leg::Http).await;
}

#[tokio::test]
async fn a_parked_round_over_stdio_2026() {
    by_not_coming_back(Leg::Stdio).await;
}

async fn by_notification(leg: Leg, what: &str) {
    let (world, site) = (World::bridge_with(&ONE_CALL).await, Site::start().await);
    let browser = open_app(&site, &world).await;
    let client = AbleClient::undecided(&world, leg, Era::Initialize).await;
    let call = client.start_call("ask", json!({ "what": what })).await;
    assert_eq!(client.heard().await, Heard::Asked);

    call.cancel().await;

    ended(&browser, &client).await;
}

/// A client of 2026-07-28 cannot cancel between two rounds, when no request is open: its silence
/// ends the call.
async fn by_not_coming_back(leg: Leg) {
    let arguments = [ONE_CALL, ["--input-timeout", "200ms"]].concat();
    let (world, site) = (World::bridge_with(&arguments).await, Site::start().await);
    let browser = open_app(&site, &world).await;
    let client = AbleClient::undecided(&world, leg, Era::Discover).await;
    let call = client.start_call("ask", json!({ "what": "elicit" })).await;

    call.input_required().await;

    ended(&browser, &client).await;
}

const ONE_CALL: [&str; 2] = ["--max-calls", "1"];

async fn ended(browser: &Browser, client: &AbleClient) {
    browser.wait_for("journey.aborted === 1").await;
    let echo = client.call("echo", json!({ "id": 7 })).await.unwrap();
    assert_eq!(echo.structured_content, Some(json!({ "id": 7 })));
}
