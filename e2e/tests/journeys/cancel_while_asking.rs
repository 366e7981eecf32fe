//! A call is cancelled while its handler waits for the client's user or model: the handler's
//! `signal` fires in the page, and the call no longer counts against the limit.

use e2e::{Browser, ClientEvent, Era, FullClient, StaticSite, TestBed, Transport};
use serde_json::json;

use crate::open_app;

#[tokio::test]
async fn elicitation_over_http_2025() {
    check_cancel(Transport::Http, "elicit").await;
}

#[tokio::test]
async fn sampling_over_http_2025() {
    check_cancel(Transport::Http, "sample").await;
}

#[tokio::test]
async fn elicitation_over_stdio_2025() {
    check_cancel(Transport::Stdio, "elicit").await;
}

#[tokio::test]
async fn sampling_over_stdio_2025() {
    check_cancel(Transport::Stdio, "sample").await;
}

#[tokio::test]
async fn a_parked_round_over_http_2026() {
    check_input_timeout(Transport::Http).await;
}

#[tokio::test]
async fn a_parked_round_over_stdio_2026() {
    check_input_timeout(Transport::Stdio).await;
}

async fn check_cancel(transport: Transport, request: &str) {
    let (bed, site) = (
        TestBed::bridge_with(&ONE_CALL).await,
        StaticSite::start().await,
    );
    let browser = open_app(&site, &bed).await;
    let client = FullClient::connect_undecided(&bed, transport, Era::Initialize).await;
    let call = client.start_call("ask", json!({ "what": request })).await;
    assert_eq!(client.next_event().await, ClientEvent::InputRequested);

    call.cancel().await;

    assert_call_ended(&browser, &client).await;
}

/// Checks that a call ends when the client sends no answer in time. A client of 2026-07-28 cannot
/// cancel a call between two rounds, when no request is open.
async fn check_input_timeout(transport: Transport) {
    let arguments = [ONE_CALL, ["--input-timeout", "200ms"]].concat();
    let (bed, site) = (
        TestBed::bridge_with(&arguments).await,
        StaticSite::start().await,
    );
    let browser = open_app(&site, &bed).await;
    let client = FullClient::connect_undecided(&bed, transport, Era::Discover).await;
    let call = client.start_call("ask", json!({ "what": "elicit" })).await;

    call.input_required().await;

    assert_call_ended(&browser, &client).await;
}

const ONE_CALL: [&str; 2] = ["--max-calls", "1"];

async fn assert_call_ended(browser: &Browser, client: &FullClient) {
    browser.wait_for("journey.aborted === 1").await;
    let echo = client.call("echo", json!({ "id": 7 })).await.unwrap();
    assert_eq!(echo.structured_content, Some(json!({ "id": 7 })));
}
