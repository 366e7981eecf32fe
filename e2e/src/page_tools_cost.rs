//! What page tools cost: the texts of public pages, whose tokens are counted elsewhere, and how long
//! calls take.
//!
//! The program `pages` prints the figures of `docs/benchmarks.md`.

use std::fmt::{self, Display};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    Browser, ColorScheme, Era, McpClient, PageToolsSite, TestBed, Transport, VirtualDisplay,
};

/// The pages that all texts are of, with what must be there before.
const PUBLIC_PAGES: &str = include_str!("../page-tools/public-pages.json");

/// The page on which actions are measured.
const LIBRARIES: &str = "libraries/index.html";

/// Leaves 400 elements of the page of 10,001.
const KEEP_400: &str = "for (const button of [...document.querySelectorAll('main > button')].slice(400)) button.remove()";

/// How long calls of a kind took, with a page.
#[derive(Debug, Serialize)]
pub struct CallTimes {
    call: &'static str,
    tab: &'static str,
    p50_ms: f64,
    p95_ms: f64,
    /// The longest task of the page meanwhile: none has less than 50 ms.
    longest_task_ms: f64,
}

impl Display for CallTimes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            call,
            tab,
            p50_ms,
            p95_ms,
            longest_task_ms,
        } = self;
        write!(
            out,
            "{call}, {tab}: p50 {p50_ms:.1} ms, p95 {p95_ms:.1} ms, longest task {longest_task_ms:.0} ms"
        )
    }
}

/// A bridge, the pages, and a browser.
struct Setup {
    client: McpClient,
    browser: Browser,
    site: PageToolsSite,
    tab: &'static str,
    _bed: TestBed,
}

impl Setup {
    async fn start(browser: Browser, tab: &'static str) -> Self {
        let bed = TestBed::bridge().await;
        let site = PageToolsSite::start(&bed, "").await;
        browser.goto(&site.page(LIBRARIES)).await;
        browser.wait_for("window.pageToolsReady").await;
        let client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
        Self {
            client,
            browser,
            site,
            tab,
            _bed: bed,
        }
    }

    async fn open(&self, path: &str) {
        self.browser.goto(&self.site.page(path)).await;
        self.browser.wait_for("window.pageToolsReady").await;
    }

    async fn text(&self, tool: &str, arguments: Value) -> String {
        let result = self
            .client
            .call(tool, arguments)
            .await
            .expect("the call succeeds");
        let result = serde_json::to_value(result).expect("results are JSON");
        assert_ne!(result["isError"], true, "{result}");
        let blocks = result["content"].as_array().into_iter().flatten();
        let texts: Vec<_> = blocks.filter_map(|block| block["text"].as_str()).collect();
        texts.join("\n")
    }

    async fn evaluate(&self, code: &str) -> Value {
        let result = self.client.call("evaluate", json!({ "code": code })).await;
        let result =
            serde_json::to_value(result.expect("the code runs")).expect("results are JSON");
        result["structuredContent"]["value"].clone()
    }

    async fn measure(
        &self,
        call: &'static str,
        times: usize,
        arguments: impl Fn(usize) -> (&'static str, Value),
    ) -> CallTimes {
        self.evaluate(
            "window.longestTask = 0;
             window.taskObserver ??= new PerformanceObserver((list) => {
               for (const { duration } of list.getEntries()) window.longestTask = Math.max(window.longestTask, duration);
             });
             window.taskObserver.observe({ type: 'longtask' });",
        )
        .await;
        let mut durations = Vec::new();
        for turn in 0..times {
            let (tool, arguments) = arguments(turn);
            let started = Instant::now();
            let text = self.text(tool, arguments).await;
            durations.push(started.elapsed());
            assert!(!text.contains(" failed "), "{text}");
        }
        durations.sort_unstable();
        let quantile = |share: f64| {
            let index = ((times as f64 * share).ceil() as usize).clamp(1, times) - 1;
            milliseconds(durations[index])
        };
        let longest = self.evaluate("return window.longestTask").await;
        CallTimes {
            call,
            tab: self.tab,
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
            longest_task_ms: longest.as_f64().unwrap_or_default(),
        }
    }
}

fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10_000.0).round() / 10.0
}

/// Writes the outline and the markdown of each public page into a folder.
///
/// # Panics
///
/// Panics if a page cannot be opened, or a file cannot be written.
pub async fn write_texts(folder: &Path) {
    let pages: Value = serde_json::from_str(PUBLIC_PAGES).expect("public-pages.json is JSON");
    for page in pages.as_array().into_iter().flatten() {
        let path = page["path"].as_str().unwrap_or_default();
        // Each page is the first one of a browser, as it is for the others.
        let setup = Setup::start(Browser::open().await, "shown").await;
        let store =
            "for (const [key, value] of Object.entries(args)) localStorage.setItem(key, value)";
        setup.browser.emulate(ColorScheme::Light, 1280, 720).await;
        setup.browser.eval(store, page["storage"].clone()).await;
        setup.open(path).await;
        let wait =
            json!({ "actions": [{ "type": "waitFor", "text": page["ready"] }], "view": "none" });
        setup.text("interact", wait).await;
        for format in ["outline", "markdown"] {
            let text = setup
                .text("page_snapshot", json!({ "format": format }))
                .await;
            let name = page["name"].as_str().unwrap_or_default();
            let file = folder.join(format!("{name}.{format}.txt"));
            std::fs::write(
                &file,
                text.replace(&setup.site.page(""), "http://127.0.0.1:8080/"),
            )
            .unwrap_or_else(|error| panic!("make {} writable: {error}", file.display()));
        }
    }
}

/// Measures calls in a tab that is shown, and in a hidden one.
///
/// # Panics
///
/// Panics if a call fails.
pub async fn measure_calls(times: usize) -> Vec<CallTimes> {
    let mut figures = Vec::new();
    let shown = Setup::start(Browser::open().await, "shown").await;
    figures.push(shown.measure("set a value", times, set_value).await);
    figures.push(shown.measure("click", times, click).await);
    shown.open("pages/elements-10001.html").await;
    let text = "text of 200 of 10,001 elements";
    figures.push(shown.measure(text, times, snapshot).await);
    shown.evaluate(KEEP_400).await;
    let text = "text of 200 of 400 elements";
    figures.push(shown.measure(text, times, snapshot).await);
    drop(shown);

    let display = VirtualDisplay::start().await;
    let hidden = Setup::start(Browser::open_in_window(&display).await, "hidden").await;
    hidden.browser.open_tab().await;
    figures.push(hidden.measure("set a value", times, set_value).await);
    figures.push(hidden.measure("click", times, click).await);
    figures
}

fn set_value(turn: usize) -> (&'static str, Value) {
    let find = json!({ "role": "textbox", "name": "React name" });
    let action = json!({ "type": "setValue", "find": find, "value": format!("name {turn}") });
    ("interact", json!({ "actions": [action] }))
}

fn click(_: usize) -> (&'static str, Value) {
    let find = json!({ "role": "button", "name": "React count" });
    let action = json!({ "type": "triggerEvent", "find": find, "event": "onClick" });
    ("interact", json!({ "actions": [action] }))
}

fn snapshot(_: usize) -> (&'static str, Value) {
    ("page_snapshot", json!({}))
}
