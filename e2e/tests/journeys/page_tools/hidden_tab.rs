//! A tab in the background of a window without focus: the normal case, because the user looks at the AI
//! client.

use e2e::{Browser, Era, McpClient, PageToolsSite, TestBed, Transport, VirtualDisplay};
use serde_json::json;

use super::{call, libraries};

/// Waits until the browser slows the timers of the tab down, which it does some ten seconds after the
/// tab was hidden. Returns how long one of 50 ms then took, in milliseconds.
const SLOW_TIMER: &str = "for (;;) {
    const started = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 50)); // sleep: its length is what is measured
    const ms = performance.now() - started;
    if (ms > 500) return ms;
}";

#[tokio::test]
async fn each_component_gets_what_was_done_in_a_hidden_tab() {
    let display = VirtualDisplay::start().await;
    let bed = TestBed::bridge().await;
    let site = PageToolsSite::start(&bed, "").await;
    let browser = Browser::open_in_window(&display).await;
    let page = libraries::rows()[0]["page"].as_str().unwrap().to_owned();
    browser.goto(&site.page(&page)).await;
    browser.wait_for("window.pageToolsReady").await;
    let client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    let visible = std::time::Instant::now();
    let wrong = libraries::run_rows(&client).await;
    let visible = visible.elapsed();
    assert!(wrong.is_empty(), "visible: {}", wrong.join("\n"));

    browser.reload().await;
    browser.wait_for("window.pageToolsReady").await;
    browser.open_tab().await;
    let state = call(&client, "visibility", json!({})).await;
    let state = &state.0["structuredContent"];
    assert_eq!(*state, json!({ "hidden": true, "hasFocus": false }));
    let timer = call(&client, "evaluate", json!({ "code": SLOW_TIMER })).await;
    let timer = timer.0["structuredContent"]["value"].as_f64();
    assert!(timer.is_some_and(|ms| ms > 500.0), "{timer:?}");

    let hidden = std::time::Instant::now();
    let wrong = libraries::run_rows(&client).await;
    let hidden = hidden.elapsed();
    assert!(wrong.is_empty(), "hidden: {}", wrong.join("\n"));
    println!(
        "{} rows: visible {visible:?}, hidden {hidden:?}",
        libraries::rows().len()
    );
}
