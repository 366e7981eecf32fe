//! A page is unloaded during a call: every caller has an error at once, not only after the call's time
//! of 30 s.
//!
//! The time is measured from the page's own `pagehide` event (a beacon contains its time; page and
//! test use the same clock) to the moment at which the caller has the answer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use e2e::{Browser, Era, McpClient, PlainHttp, StaticSite, TestBed, Transport, with_deadline};
use serde_json::json;

use crate::{TRANSPORTS_AND_ERAS, open_app};

const ERROR_DEADLINE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn by_closing_the_tab() {
    check_callers(async |browser| browser.close_tab().await).await;
}

#[tokio::test]
async fn by_reloading() {
    check_callers(async |browser| browser.reload().await).await;
}

#[tokio::test]
async fn by_navigating_elsewhere() {
    check_callers(async |browser| browser.goto("about:blank").await).await;
}

/// A browser may store a page on navigation and restore it from its cache.
#[tokio::test]
async fn a_restored_page_answers_again() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let script = PlainHttp::new(&bed);

    browser.goto("about:blank").await;
    site.beacon().await;
    browser.back().await;

    browser.wait_for("journey.ready").await;
    browser
        .wait_for("journey.mcpWeb.status.state === 'connected'")
        .await;
    let answer = with_deadline("the answer", script.call("echo", json!({ "id": 9 }))).await;
    assert_eq!(answer.unwrap()["structuredContent"], json!({ "id": 9 }));
}

async fn check_callers(unload: impl AsyncFnOnce(&Browser)) {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;
    // The browser stops with its last tab, so the app is in a second one.
    browser.open_tab().await;
    browser.goto(&site.app(&bed)).await;
    browser.wait_for("journey.ready").await;

    let mut callers = vec![tokio::spawn(by_plain_http(PlainHttp::new(&bed)))];
    for (transport, era) in TRANSPORTS_AND_ERAS {
        let client = McpClient::connect(&bed, transport, era).await;
        callers.push(tokio::spawn(by_mcp(client, transport, era)));
    }
    let all = format!("journey.started === {}", callers.len());
    browser.wait_for(&all).await;

    unload(&browser).await;

    let unloaded_at = beacon_time(&site.beacon().await);
    for caller in callers {
        let outcome = with_deadline("a caller to get its error", caller)
            .await
            .unwrap();
        assert!(
            outcome.error.contains("page") || outcome.error.contains("PageGone"),
            "{}: the error says why: {}",
            outcome.caller,
            outcome.error
        );
        let took = outcome.at.duration_since(unloaded_at).unwrap_or_default();
        println!("{}: {took:?} after pagehide", outcome.caller);
        assert!(took < ERROR_DEADLINE, "{}: {took:?}", outcome.caller);
    }
}

/// The error that a caller got, and when.
struct Outcome {
    caller: String,
    error: String,
    at: SystemTime,
}

async fn by_plain_http(script: PlainHttp) -> Outcome {
    let answer = script.call("hang", json!({})).await;
    let at = SystemTime::now();
    let answer = answer.unwrap();
    assert_eq!(answer["isError"], true, "{answer}");
    Outcome {
        caller: "plain HTTP".to_owned(),
        error: answer.to_string(),
        at,
    }
}

async fn by_mcp(client: McpClient, transport: Transport, era: Era) -> Outcome {
    let answer = client.call("hang", json!({})).await;
    let at = SystemTime::now();
    let error = match answer {
        Ok(result) => {
            assert_eq!(result.is_error, Some(true), "{result:?}");
            serde_json::to_string(&result).unwrap()
        }
        Err(error) => error.to_string(),
    };
    Outcome {
        caller: format!("{transport:?}, {era:?}"),
        error,
        at,
    }
}

/// Returns the time in a beacon: milliseconds since the Unix epoch.
fn beacon_time(beacon: &str) -> SystemTime {
    let milliseconds: f64 = beacon.parse().unwrap();
    UNIX_EPOCH + Duration::from_secs_f64(milliseconds / 1000.0)
}
