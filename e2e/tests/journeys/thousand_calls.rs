//! 1,000 calls of one page, 16 at a time: each is answered with its own result.

use std::time::Instant;

use e2e::{Era, McpClient, StaticSite, TestBed, Transport, echo_program};
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::json;

use crate::open_app;

const CALLS: u64 = 1000;
const CONCURRENCY: usize = 16;

#[tokio::test]
async fn over_http_2025_to_a_native_page() {
    check_native_page(Transport::Http, Era::Initialize).await;
}

#[tokio::test]
async fn over_http_2026_to_a_native_page() {
    check_native_page(Transport::Http, Era::Discover).await;
}

#[tokio::test]
async fn over_stdio_2025_to_a_native_page() {
    check_native_page(Transport::Stdio, Era::Initialize).await;
}

#[tokio::test]
async fn over_stdio_2026_to_a_native_page() {
    check_native_page(Transport::Stdio, Era::Discover).await;
}

#[tokio::test]
async fn over_http_2026_to_a_page_in_chromium() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let _browser = open_app(&site, &bed).await;
    assert_echoes(&McpClient::connect(&bed, Transport::Http, Era::Discover).await).await;
}

async fn check_native_page(transport: Transport, era: Era) {
    let bed = TestBed::bridge().await;
    let _page = echo_program(&bed, "one-page").await;
    assert_echoes(&McpClient::connect(&bed, transport, era).await).await;
}

async fn assert_echoes(client: &McpClient) {
    let start = Instant::now();
    let answers: Vec<(u64, _)> = stream::iter(0..CALLS)
        .map(async |id| (id, client.call("echo", json!({ "id": id })).await))
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    let took = start.elapsed();

    assert_eq!(answers.len() as u64, CALLS);
    for (id, answer) in answers {
        let answer = answer.unwrap_or_else(|error| panic!("call {id}: {error}"));
        let echo = answer.structured_content.as_ref();
        assert_eq!(echo, Some(&json!({ "id": id })), "call {id}: {answer:?}");
    }
    println!("{CALLS} calls, {CONCURRENCY} at a time: {took:?}");
}
