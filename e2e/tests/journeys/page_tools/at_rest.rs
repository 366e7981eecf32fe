//! Resources of page tools while no call runs: an observer of the types of fields and two listeners,
//! which find out which fields are passwords that the page shows. No timers or workers, and no memory that grows with
//! the calls.

use serde_json::{Value, json};

use super::ToolsPage;
use e2e::Browser;

/// Maximum growth of the heap in 100 calls, in bytes: the page is the same before and after them.
const MAX_GROWTH: u64 = 200_000;
/// Classes of which page tools use instances while a call runs.
const CLASSES: [&str; 6] = [
    "MutationObserver",
    "PerformanceObserver",
    "IntersectionObserver",
    "ResizeObserver",
    "Worker",
    "MessageChannel",
];
/// How many instances there are at rest: the observer of the types of fields.
const AT_REST: [u64; CLASSES.len()] = [1, 0, 0, 0, 0, 0];
/// The listeners of the window that note which fields are of secrets.
const SECRET_LISTENERS: [&str; 2] = ["focusin", "input"];
/// Functions of the browser that page tools replace while a call runs.
const NATIVES: &str = "return [
  fetch, XMLHttpRequest.prototype.open, XMLHttpRequest.prototype.send, alert, confirm, prompt, setTimeout, setInterval,
  requestAnimationFrame, history.pushState, history.replaceState, addEventListener, Element.prototype.setPointerCapture,
  Element.prototype.attachShadow, HTMLElement.prototype.focus, HTMLElement.prototype.click, HTMLFormElement.prototype.submit,
  Document.prototype.hasFocus, console.error, performance.now,
].filter((it) => !/native code/.test(Function.prototype.toString.call(it))).map((it) => it.name)";

/// Counts of the debugger in a page after a collection of garbage.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    instances: Vec<u64>,
    listeners: u64,
    /// The types of the listeners of the window and of the document.
    types: Vec<String>,
}

async fn evaluate(browser: &Browser, expression: &str) -> Value {
    let parameters = json!({ "expression": expression });
    browser.devtools("Runtime.evaluate", parameters).await["result"]["objectId"].clone()
}

async fn instances(browser: &Browser, class: &str) -> u64 {
    let prototype = evaluate(browser, &format!("{class}.prototype")).await;
    let query = json!({ "prototypeObjectId": prototype });
    let found = browser.devtools("Runtime.queryObjects", query).await;
    let count = json!({
        "objectId": found["objects"]["objectId"],
        "functionDeclaration": "function() { return this.length }",
        "returnByValue": true,
    });
    let counted = browser.devtools("Runtime.callFunctionOn", count).await;
    counted["result"]["value"].as_u64().unwrap()
}

async fn listener_types(browser: &Browser, target: &str) -> Vec<String> {
    let object = json!({ "objectId": evaluate(browser, target).await });
    let found = browser
        .devtools("DOMDebugger.getEventListeners", object)
        .await;
    let listeners = found["listeners"].as_array().unwrap();
    let kind = |listener: &Value| listener["type"].as_str().unwrap().to_owned();
    let mut types: Vec<_> = listeners.iter().map(kind).collect();
    types.sort();
    types
}

async fn metric(browser: &Browser, name: &str) -> u64 {
    let metrics = browser.devtools("Performance.getMetrics", json!({})).await;
    let metrics = metrics["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|metric| metric["name"] == name);
    found.unwrap()["value"].as_f64().unwrap() as u64
}

async fn counts(browser: &Browser) -> Counts {
    // Timers of a call linger for a second, and replace functions of the browser until then.
    browser
        .wait_for(&format!("(() => {{ {NATIVES} }})().length === 0"))
        .await;
    browser
        .devtools("HeapProfiler.collectGarbage", json!({}))
        .await;
    let mut found = Vec::new();
    for class in CLASSES {
        found.push(instances(browser, class).await);
    }
    let mut types = listener_types(browser, "window").await;
    types.extend(listener_types(browser, "document").await);
    let listeners = metric(browser, "JSEventListeners").await;
    Counts {
        instances: found,
        listeners,
        types,
    }
}

async fn heap(browser: &Browser) -> u64 {
    browser
        .devtools("HeapProfiler.collectGarbage", json!({}))
        .await;
    let usage = browser.devtools("Runtime.getHeapUsage", json!({})).await;
    usage["usedSize"].as_f64().unwrap() as u64
}

async fn use_the_page(page: &ToolsPage) {
    let answer = page
        .interact_all(json!([
            { "type": "setValue", "find": { "name": "Second field" }, "value": "x" },
            { "type": "pressKey", "key": "y" },
            { "type": "scroll", "deltaY": 5 },
            { "type": "hover", "find": { "name": "Second field" } },
            { "type": "waitFor", "ms": 5 },
            { "type": "waitFor", "text": "nowhere", "ms": 5 },
            { "type": "setValue", "find": { "name": "Second field" }, "value": "" },
        ]))
        .await;
    assert_eq!(answer.code(5), "ActionTimeout", "{answer:?}");
    assert_eq!(answer.code(6), &json!(null), "{answer:?}");
    page.snapshot().await;
}

#[tokio::test]
async fn page_tools_keep_only_the_watch_for_secrets_between_calls() {
    let page = ToolsPage::open("pages/second.html").await;
    let browser = &page.browser;
    browser.devtools("Performance.enable", json!({})).await;
    let before = counts(browser).await;
    assert_eq!(before.instances, AT_REST, "{CLASSES:?}");
    for _ in 0..20 {
        use_the_page(&page).await;
    }
    assert_eq!(counts(browser).await, before);
    let used = heap(browser).await;
    for _ in 0..100 {
        use_the_page(&page).await;
    }
    assert_eq!(counts(browser).await, before);
    let grown = heap(browser).await.saturating_sub(used);
    println!("the heap has {used} bytes, and {grown} more after 100 calls; {before:?}");
    assert!(grown <= MAX_GROWTH, "{grown} bytes more than {used}");
    browser.eval("await pageTools.remove()", json!(null)).await;
    // An observer that is disconnected may still be referenced by what the debugger has read.
    let after = counts(browser).await;
    let is_other = |kind: &&String| !SECRET_LISTENERS.contains(&kind.as_str());
    let others: Vec<_> = before.types.iter().filter(is_other).cloned().collect();
    assert_eq!(after.types, others);
    let removed = SECRET_LISTENERS.len() as u64;
    assert_eq!(after.listeners, before.listeners - removed);
    let tools = page.client.tools().await;
    assert!(!tools.iter().any(|name| name == "interact"), "{tools:?}");
}
