//! A page that goes away during a call: every caller has its error within 100 ms.
//!
//! Measured from the page's own `pagehide` event (its time travels in a beacon; page and test read
//! the same clock) to the moment at which the caller holds the answer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use e2e::{Browser, Era, McpClient, PlainHttp, StaticSite, TestBed, Transport, with_deadline};
use serde_json::json;

use crate::{EVERY_WAY, open_app};

const ERROR_DEADLINE: Duration = Duration::from_millis(100);

#[tokio::test]
async fn by_closing_the_tab() {
    callers_have_their_error(async |browser| browser.close_tab().await).await;
}

#[tokio::test]
async fn by_reloading() {
    callers_have_their_error(async |browser| browser.reload().await).await;
}

#[tokio::test]
async fn by_navigating_elsewhere() {
    callers_have_their_error(async |browser| browser.goto("about:blank").await).await;
}

/// A browser may keep the page that one left and show it again as it was.
#[tokio::test]
async fn and_shown_again_it_answers_again() {
    let (world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &world).await;
    let script = PlainHttp::new(&world);

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

async fn callers_have_their_error(unload: impl AsyncFnOnce(&Browser)) {
    let (world, site) = (TestBed::bridge_exclusive().await, StaticSite::start().await);
    let browser = Browser::open().await;
    // The browser ends with its last tab: the app is in the second.
    browser.open_tab().await;
    browser.goto(&site.app(&world)).await;
    browser.wait_for("journey.ready").await;

    let mut callers = vec![tokio::spawn(by_plain_http(PlainHttp::new(&world)))];
    for (leg, era) in EVERY_WAY {
        let client = McpClient::connect(&world, leg, era).await;
        callers.push(tokio::spawn(by_mcp(client, leg, era)));
    }
    let all = format!("journey.started === {}", callers.len());
    browser.wait_for(&all).await;

    unload(&browser).await;

    let left = beacon_time(&site.beacon().await);
    for caller in callers {
        let outcome = with_deadline("a caller to have its error", caller)
            .await
            .unwrap();
        assert!(
            outcome.error.contains("page") || outcome.error.contains("PageGone"),
            "{}: the error says why: {}",
            outcome.caller,
            outcome.error
        );
        let took = outcome.at.duration_since(left).unwrap_or_default();
        println!("{}: {took:?} after pagehide", outcome.caller);
        assert!(took < ERROR_DEADLINE, "{}: {took:?}", outcome.caller);
    }
}

/// What a caller had to show, and when.
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

async fn by_mcp(client: McpClient, leg: Transport, era: Era) -> Outcome {
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
        caller: format!("{leg:?}, {era:?}"),
        error,
        at,
    }
}

/// The time in a beacon: milliseconds since the Unix epoch.
fn beacon_time(beacon: &str) -> SystemTime {
    let milliseconds: f64 = beacon.parse().unwrap();
    UNIX_EPOCH + Duration::from_secs_f64(milliseconds / 1000.0)
}
