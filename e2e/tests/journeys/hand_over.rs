//! Calls that outlive their document, in a real browser.

use std::time::{Duration, Instant};

use e2e::{Browser, Era, McpClient, PlainHttp, StaticSite, TestBed, Transport, with_deadline};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::TRANSPORTS_AND_ERAS;

/// How long the bridge waits for the next document, with its default configuration.
const PAGE_RETURN: Duration = Duration::from_secs(15);

/// A page that hands calls over, and its bridge.
struct Journey {
    browser: Browser,
    bed: TestBed,
    site: StaticSite,
}

impl Journey {
    async fn start(arguments: &[&str]) -> Self {
        let (bed, site) = (
            TestBed::bridge_with(arguments).await,
            StaticSite::start().await,
        );
        let browser = Browser::open().await;
        browser.goto(&site.hand_over_page(&bed, "first")).await;
        browser.wait_for("journey.ready").await;
        Self { browser, bed, site }
    }

    /// Starts a call of `leave`. The page ends its documents in these ways, one after the other.
    fn call(&self, ways: &[&str], to: &str) -> JoinHandle<Value> {
        let script = PlainHttp::new(&self.bed);
        let input = json!({ "ways": ways, "to": to });
        tokio::spawn(async move { script.call("leave", input).await.unwrap() })
    }

    async fn visited(&self, ways: &[&str], to: &str) -> Value {
        let answer = with_deadline("the answer", self.call(ways, to))
            .await
            .unwrap();
        assert_ne!(answer["isError"], true, "{answer}");
        answer["structuredContent"]["visited"].clone()
    }

    async fn wait_for_title(&self, title: &str) {
        let shown = format!("document.title === {title:?} && journey.ready");
        self.browser.wait_for(&shown).await;
    }
}

fn error_of(answer: &Value) -> &str {
    assert_eq!(answer["isError"], true, "{answer}");
    assert_eq!(answer["_meta"]["mcp-web/error"]["code"], "PageGone");
    answer["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn a_link_is_followed_and_the_next_document_answers() {
    let journey = Journey::start(&[]).await;
    let visited = journey.visited(&["link"], "second").await;
    assert_eq!(visited, json!(["first", "second"]));
    journey.wait_for_title("second").await;
    let started = journey.browser.eval("return journey.started", json!(null));
    assert_eq!(started.await, 1);
}

#[tokio::test]
async fn a_form_is_posted_and_the_next_document_answers() {
    let journey = Journey::start(&[]).await;
    let visited = journey.visited(&["form"], "second").await;
    assert_eq!(visited, json!(["first", "second"]));
}

#[tokio::test]
async fn the_page_is_reloaded_and_answers() {
    let journey = Journey::start(&[]).await;
    let visited = journey.visited(&["reload"], "").await;
    assert_eq!(visited, json!(["first", "first"]));
}

#[tokio::test]
async fn each_client_gets_one_answer() {
    let journey = Journey::start(&[]).await;
    for (transport, era) in TRANSPORTS_AND_ERAS {
        let client = McpClient::connect(&journey.bed, transport, era).await;
        let calling = client.call("leave", json!({ "ways": ["reload"] }));
        let result = with_deadline("the answer", calling).await.unwrap();
        let result = serde_json::to_value(result).unwrap();
        assert_eq!(
            result["structuredContent"],
            json!({ "visited": ["first", "first"] }),
            "{transport:?}, {era:?}"
        );
        journey.wait_for_title("first").await;
    }
}

#[tokio::test]
async fn a_call_is_handed_over_five_times_and_no_sixth_time() {
    let journey = Journey::start(&[]).await;
    let visited = journey.visited(&["reload"; 5], "").await;
    assert_eq!(visited, json!(vec!["first"; 6]));
    journey.wait_for_title("first").await;
    let answer = with_deadline("the error", journey.call(&["reload"; 6], "")).await;
    let answer = answer.unwrap();
    assert!(
        error_of(&answer).contains("handed over 5 times"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_page_without_the_tool_is_waited_for_and_named() {
    let journey = Journey::start(&[]).await;
    let since = Instant::now();
    let answer = with_deadline("the error", journey.call(&["link"], "bare"));
    let answer = answer.await.unwrap();
    let took = since.elapsed();
    let error = error_of(&answer);
    println!("after {took:?}: {error}");
    assert!(
        error.contains("\"bare\"") && error.contains("list_active_sessions"),
        "{error}"
    );
    assert!(
        took >= PAGE_RETURN && took < PAGE_RETURN + Duration::from_secs(5),
        "{took:?}"
    );
}

#[tokio::test]
async fn a_page_that_does_not_come_back_fails_after_page_return() {
    let journey = Journey::start(&["--page-return", "1s"]).await;
    let call = journey.call(&["stay"], "");
    journey.browser.wait_for("journey.started === 1").await;
    journey.browser.goto("about:blank").await;
    let answer = with_deadline("the error", call).await.unwrap();
    assert!(
        error_of(&answer).contains("has not come back within 1 s"),
        "{answer}"
    );
}

#[tokio::test]
async fn without_hand_over_a_call_ends_with_its_document() {
    let journey = Journey::start(&["--page-return", "0s"]).await;
    let answer = with_deadline("the error", journey.call(&["reload"], "")).await;
    let answer = answer.unwrap();
    assert!(error_of(&answer).contains("the page was"), "{answer}");
}

/// A killed process reports nothing, and the system closes its socket without a close frame.
#[tokio::test]
async fn a_killed_renderer_fails_the_call_at_once() {
    let journey = Journey::start(&[]).await;
    let call = journey.call(&["stay"], "");
    journey.browser.wait_for("journey.started === 1").await;
    let since = Instant::now();
    journey.browser.kill_pages();
    let answer = with_deadline("the error", call).await.unwrap();
    let took = since.elapsed();
    println!("after {took:?}: {}", error_of(&answer));
    assert!(took < Duration::from_secs(1), "{took:?}");
}

/// The first document is put into the back/forward cache, and continues its own call.
#[tokio::test]
async fn a_document_that_comes_back_from_the_cache_continues_its_call() {
    let journey = Journey::start(&[]).await;
    let call = journey.call(&["link"], "bare");
    // A script that waits in the former document would not end.
    assert_eq!(journey.site.beacon().await, "first");
    journey.wait_for_title("bare").await;
    journey.browser.back().await;
    let answer = with_deadline("the answer", call).await.unwrap();
    let visited = &answer["structuredContent"]["visited"];
    assert_eq!(*visited, json!(["first", "first"]), "{answer}");
    journey.wait_for_title("first").await;
    let state = journey
        .browser
        .eval(
            "return [journey.restored, journey.started, journey.aborted]",
            json!(null),
        )
        .await;
    assert_eq!(state, json!([true, 2, 1]));
}

#[tokio::test]
async fn a_page_without_its_own_session_has_no_hand_over() {
    let (bed, site) = (
        TestBed::bridge_with(&["--page-return", "1s"]).await,
        StaticSite::start().await,
    );
    let browser = Browser::open().await;
    let page = format!("{}&storage=none", site.hand_over_page(&bed, "first"));
    browser.goto(&page).await;
    browser.wait_for("journey.ready").await;
    let client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    let calling = client.call("leave", json!({ "ways": ["reload"] }));
    let result = with_deadline("the error", calling).await.unwrap();
    let result = serde_json::to_value(result).unwrap();
    assert!(error_of(&result).contains("has not come back"), "{result}");
}
