//! Component libraries: the state of the app after the actions, and not its DOM.

use e2e::McpClient;
use serde_json::{Value, json};

use super::{ToolsPage, call};

/// The cases: actions, and the state that the app then has.
pub(super) fn rows() -> Vec<Value> {
    let rows = include_str!("../../../page-tools/libraries/rows.json");
    serde_json::from_str(rows).unwrap()
}

/// Runs the cases one after the other in the page that is open, and returns what went wrong.
pub(super) async fn run_rows(client: &McpClient) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in rows() {
        let arguments = json!({ "actions": row["actions"], "view": "none" });
        let answer = call(client, "interact", arguments).await;
        let state = call(client, "app_state", json!({ "key": row["key"] })).await;
        let state = &state.0["structuredContent"]["value"];
        if *state != row["expected"] {
            wrong.push(format!("{}: {state}\n{}", row["name"], answer.text()));
        }
    }
    wrong
}

#[tokio::test]
async fn each_component_gets_what_was_done() {
    let page = ToolsPage::open(rows()[0]["page"].as_str().unwrap()).await;
    let wrong = run_rows(&page.client).await;
    assert!(
        wrong.is_empty(),
        "{} of {} rows:\n{}",
        wrong.len(),
        rows().len(),
        wrong.join("\n")
    );
    page.browser.screenshot("page-tools-libraries").await;
}
