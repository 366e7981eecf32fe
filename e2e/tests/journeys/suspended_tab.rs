//! A suspended tab looks alive to the network: its callers get an error in time, and their calls do
//! not run later.

use std::time::{Duration, Instant};

use e2e::{Era, McpClient, PlainHttp, StaticSite, TestBed, Transport, with_deadline};
use futures_util::future::join_all;
use rmcp::model::CallToolResult;
use serde_json::json;

use crate::{TRANSPORTS_AND_ERAS, open_app};

/// The bridge waits 5 s for the page's receipt; the rest is for slow machines.
const CALLER_ERROR_TIMEOUT: Duration = Duration::from_secs(7);

fn text(result: &CallToolResult) -> String {
    serde_json::to_string(&result.content).unwrap()
}

#[tokio::test]
async fn a_suspended_tab_fails_calls_in_time_and_never_runs_them_later() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let script = PlainHttp::new(&bed);
    let mut clients = Vec::new();
    for (transport, era) in TRANSPORTS_AND_ERAS {
        clients.push(McpClient::connect(&bed, transport, era).await);
    }
    script.call("echo", json!({ "id": 1 })).await.unwrap();

    let suspended = browser.suspend_pages();
    let calls = clients.iter().map(async |client| {
        loop {
            let called = Instant::now();
            let result = client.call("echo", json!({ "id": 2 })).await.unwrap();
            // The browser of a busy machine may not answer the bridge's pings in time.
            if !text(&result).contains("it may have run") {
                return (result, called.elapsed());
            }
        }
    });
    for (result, took) in with_deadline("the calls to fail", join_all(calls)).await {
        assert_eq!(result.is_error, Some(true), "{result:?}");
        let text = text(&result);
        println!("failed after {took:?}: {text}");
        assert!(text.contains("tab is suspended"), "{text}");
        assert!(text.contains("ring it to the front"), "{text}");
        assert!(took < CALLER_ERROR_TIMEOUT, "{took:?}");
    }
    drop(suspended);

    let answer = with_deadline("the answer", script.call("echo", json!({ "id": 3 }))).await;
    assert_eq!(answer.unwrap()["structuredContent"], json!({ "id": 3 }));
    let echoed = browser.eval("return journey.echoed", json!(null)).await;
    assert_eq!(echoed, json!([1, 3]), "calls that had failed did not run");
}

/// How long a page is blocked: longer than the bridge waits for a receipt, and longer than a page
/// may be silent.
const BLOCKED_MS: u64 = 8_000;

#[tokio::test]
async fn a_handler_that_blocks_the_page_is_not_mistaken_for_a_suspended_tab() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let client = McpClient::connect(&bed, Transport::Http, Era::Initialize).await;
    let script = PlainHttp::new(&bed);

    let long = client
        .start_call("block", json!({ "ms": BLOCKED_MS }))
        .await;
    assert_eq!(site.beacon().await, "blocked");
    let busy = with_deadline("the other call", script.call("echo", json!({ "id": 7 }))).await;
    let busy = busy.unwrap();
    assert_eq!(busy["_meta"]["mcp-web/error"]["code"], "PageBusy", "{busy}");
    let text_block = busy["content"][0]["text"].as_str().unwrap();
    assert!(text_block.contains("busy with `block`"), "{text_block}");
    let result = with_deadline("the long call", long.result()).await.unwrap();
    assert_eq!(result.is_error, Some(false), "{result:?}");
    assert!(text(&result).contains("done"), "{result:?}");

    let answer = with_deadline("the answer", script.call("echo", json!({ "id": 9 }))).await;
    assert_eq!(answer.unwrap()["structuredContent"], json!({ "id": 9 }));
    let started = browser.eval("return journey.started", json!(null)).await;
    assert_eq!(started, 1);
    let echoed = browser.eval("return journey.echoed", json!(null)).await;
    assert_eq!(echoed, json!([9]), "the call that had failed did not run");
}
