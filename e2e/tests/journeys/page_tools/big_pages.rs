//! Pages that are bad in one way: large, restless, with dialogs, with hidden and private parts.

use serde_json::json;

use super::{Answer, ToolsPage, ref_of};

/// The longest time that page tools may block the page, in milliseconds, whatever else the machine
/// does. It is 200 where nothing else runs.
const MAX_BLOCK_MS: f64 = 3000.0;
/// Counts the long tasks of the page from now on.
const WATCH: &str = "window.longestTask = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longestTask = Math.max(window.longestTask, duration);
    }).observe({ type: 'longtask' });";

#[tokio::test]
async fn a_large_page_is_cut_honestly() {
    let page = ToolsPage::open("pages/elements-10001.html").await;
    for path in [
        "pages/elements-10001.html",
        "pages/table-5000-rows.html",
        "pages/text-1-mib.html",
        "pages/shadow-roots-500.html",
    ] {
        page.goto(path).await;
        page.browser.eval(WATCH, json!(null)).await;
        let answer = page.call("page_snapshot", json!({})).await;
        let query = json!({ "role": "button", "limit": 200 });
        assert!(!page.call("page_query", query).await.is_error(), "{path}");
        // Long tasks are reported a task later.
        page.interact(json!([{ "type": "waitFor", "ms": 100 }]))
            .await;
        let longest = page.browser.eval("return longestTask", json!(null)).await;
        assert!(
            longest.as_f64().unwrap() <= MAX_BLOCK_MS,
            "{path}: a task of {longest} ms"
        );
        let (facts, text) = (answer.facts(), answer.text());
        assert!(text.len() <= 65_536, "{path}: {} bytes", text.len());
        let [elements, shown] = ["elements", "shown"].map(|field| facts[field].as_u64().unwrap());
        if facts["truncated"] == true {
            let more = format!("({} more element", elements - shown);
            assert!(
                text.contains(&more),
                "{path}: {}",
                &text[text.len() - 200..]
            );
        }
        println!(
            "{path}: {elements} elements, {shown} shown, {} bytes, the longest task {longest} ms",
            text.len()
        );
    }
}

#[tokio::test]
async fn a_restless_page_is_used() {
    for path in ["pages/always-mutating.html", "pages/endless-request.html"] {
        let page = ToolsPage::open(path).await;
        let text = page.snapshot().await;
        let button = ref_of(&text, "- button");
        let answer = page
            .interact(json!([{ "type": "triggerEvent", "ref": button, "event": "onClick" }]))
            .await;
        let entry = &answer.facts()["log"][0];
        assert_eq!(entry["ok"], true, "{path}: {answer:?}");
        assert!(entry["ms"].as_f64().unwrap() < 6500.0, "{path}: {entry}");
        assert!(entry["warnings"].is_array(), "{path}: {entry}");
    }
}

#[tokio::test]
async fn what_is_private_or_hidden_is_not_shown() {
    let page = ToolsPage::open("pages/private.html").await;
    let text = page.snapshot().await;
    assert!(text.contains("- private"), "{text}");
    page.browser.screenshot("page-tools-private").await;
    let find = |name: &str| json!({ "name": name });
    let answers = [
        page.interact(json!([
            { "type": "setValue", "find": find("User"), "value": "eve" },
            { "type": "setValue", "find": find("Password"), "value": "secret-new-8" },
            { "type": "triggerEvent", "find": find("Sign in"), "event": "onClick" },
        ]))
        .await,
        page.call("get_state", json!({})).await,
        page.call("page_query", json!({ "text": "secret" })).await,
        page.call("page_snapshot", json!({ "format": "markdown" }))
            .await,
    ];
    for answer in [vec![Answer(json!(text))], answers.into()].concat() {
        assert!(
            !answer.is_error() && !answer.0.to_string().contains("secret-"),
            "{answer:?}"
        );
    }
    let state = page.browser.eval("return appState", json!(null)).await;
    let signed_in =
        json!({ "privateClicks": 0, "signedIn": { "user": "eve", "passwordLength": 12 } });
    assert_eq!(state, signed_in);
    page.goto("pages/hidden-content.html").await;
    let text = page.snapshot().await;
    assert!(!text.contains("hidden: "), "{text}");
    for shown in [
        "paragraph",
        "button",
        "visible again",
        "summary",
        "after scrolling the box",
        "after scrolling the page",
        "covered button",
        "takes no clicks",
    ] {
        assert!(text.contains(&format!("shown: {shown}")), "{shown}: {text}");
    }
    assert!(text.contains("screen reader: visually hidden"), "{text}");
}

#[tokio::test]
async fn dialogs_of_the_browser_do_not_stop_the_page() {
    let page = ToolsPage::open("pages/dialogs.html").await;
    for (name, dialog, log, shown) in [
        (
            "Show alert",
            json!(null),
            r#"alert "The order was saved""#,
            "alert: undefined",
        ),
        (
            "Show confirm",
            json!(null),
            r#"confirm "Remove the order?" false"#,
            "confirm: false",
        ),
        (
            "Show confirm",
            json!(true),
            r#"confirm "Remove the order?" true"#,
            "confirm: true",
        ),
        (
            "Show prompt",
            json!(null),
            r#"prompt "What is the new name?" null"#,
            "prompt: null",
        ),
        (
            "Show prompt",
            json!("order 2"),
            r#"prompt "What is the new name?" "order 2""#,
            "prompt: order 2",
        ),
        (
            "Show two",
            json!(true),
            r#"confirm "Are you sure?" true; confirm "Are you really sure?" true"#,
            "two: true",
        ),
    ] {
        let mut action =
            json!({ "type": "triggerEvent", "find": { "name": name }, "event": "onClick" });
        if !dialog.is_null() {
            action["dialog"] = dialog;
        }
        let answer = page
            .call("interact", json!({ "actions": [action], "view": "page" }))
            .await;
        assert_eq!(answer.facts()["log"][0]["dialog"], log, "{answer:?}");
        let text = answer.text();
        assert!(
            text.contains(&format!("dialog {log}")) && text.contains(shown),
            "{text}"
        );
    }
    // The browser asks before it leaves; the call does not wait for an answer.
    let leave = json!([
        { "type": "setValue", "find": { "name": "Ask before leaving" }, "value": true },
        { "type": "triggerEvent", "find": { "name": "Leave" }, "event": "onClick" },
    ]);
    let answer = page.interact(leave).await;
    assert!(!answer.is_error(), "{answer:?}");
    println!(
        "{}",
        answer.text().lines().take(3).collect::<Vec<_>>().join("\n")
    );
}
