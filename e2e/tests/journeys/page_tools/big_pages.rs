//! Pages that are bad in one way: large, restless, with dialogs, with hidden and private parts.

use serde_json::json;

use super::{ToolsPage, ref_of};

/// The longest time that a snapshot may block the page, in milliseconds.
const MAX_BLOCK_MS: f64 = 1000.0;

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
        let answer = page.call("page_snapshot", json!({})).await;
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
        let block =
            "const { pageTools } = window; return performance.getEntriesByType('longtask').length";
        page.browser.eval(block, json!(null)).await;
        println!(
            "{path}: {elements} elements, {shown} shown, {} bytes",
            text.len()
        );
    }
    page.goto("pages/elements-10001.html").await;
    let started = std::time::Instant::now();
    let answer = page
        .call("page_query", json!({ "role": "button", "limit": 200 }))
        .await;
    assert!(!answer.is_error(), "{answer:?}");
    assert!(started.elapsed().as_secs_f64() * 1000.0 < 10.0 * MAX_BLOCK_MS);
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
    page.goto("pages/hidden-content.html").await;
    println!("{}", page.snapshot().await);
}

#[tokio::test]
async fn dialogs_of_the_browser_do_not_stop_the_page() {
    let page = ToolsPage::open("pages/dialogs.html").await;
    let text = page.snapshot().await;
    let buttons: Vec<_> = text
        .lines()
        .filter(|line| line.contains("- button"))
        .map(|line| ref_of(line, "- button"))
        .collect();
    assert!(buttons.len() >= 3, "{text}");
    for button in buttons {
        let answer = page
            .interact(json!([{ "type": "triggerEvent", "ref": button, "event": "onClick" }]))
            .await;
        let text = answer.text();
        assert!(!answer.is_error(), "{text}");
        println!("{}", text.lines().take(2).collect::<Vec<_>>().join("\n"));
    }
}
