//! Public apps, walked by a client that only uses page tools.

use serde_json::{Value, json};

use super::{Answer, ToolsPage, ref_of};

fn find(role: &str, name: &str) -> Value {
    json!({ "role": role, "name": name })
}

fn click(role: &str, name: &str) -> Value {
    json!({ "type": "triggerEvent", "find": find(role, name), "event": "onClick" })
}

fn assert_ok(answer: &Answer) {
    let log = answer.facts()["log"].as_array().unwrap();
    assert!(
        log.iter().all(|entry| entry["ok"] == true),
        "{}",
        answer.text()
    );
}

/// Adds, completes, renames, filters and deletes in TodoMVC.
async fn walk_todos(path: &str) {
    let page = ToolsPage::open(path).await;
    let input = ref_of(&page.snapshot().await, "- textbox");
    let mut actions = Vec::new();
    for todo in ["Buy milk", "Bake bread", "Sleep"] {
        actions.push(json!({ "type": "setValue", "ref": input, "value": todo }));
        actions.push(json!({ "type": "pressKey", "ref": input, "key": "Enter" }));
    }
    let answer = page.interact(json!(actions)).await;
    assert_ok(&answer);
    let text = answer.text();
    assert!(
        text.contains("Buy milk") && text.contains("Bake bread") && text.contains("Sleep"),
        "{text}"
    );

    // The check of the second one, which is before its text.
    let before: Vec<_> = text
        .lines()
        .take_while(|line| !line.contains("Bake bread"))
        .collect();
    let check = before
        .iter()
        .rev()
        .find(|line| line.contains("- checkbox"))
        .copied();
    let check = check.or_else(|| {
        text.lines()
            .find(|line| line.contains("- checkbox") && line.contains("Bake bread"))
    });
    let check = ref_of(check.unwrap(), "- checkbox");
    let answer = page
        .interact(json!([{ "type": "setValue", "ref": check, "value": true }]))
        .await;
    assert_ok(&answer);
    assert!(answer.text().contains("[checked]"), "{}", answer.text());

    let answer = page
        .interact(json!([
            { "type": "triggerEvent", "find": { "text": "Sleep" }, "event": "onDoubleClick" },
        ]))
        .await;
    assert_ok(&answer);
    let text = answer.text();
    let editor = text
        .lines()
        .find(|line| line.contains("- textbox") && line.contains("Sleep"));
    let editor = ref_of(editor.unwrap_or_else(|| panic!("{text}")), "- textbox");
    let answer = page
        .interact(json!([
            { "type": "setValue", "ref": editor, "value": "Sleep well" },
            { "type": "pressKey", "ref": editor, "key": "Enter" },
        ]))
        .await;
    assert!(answer.text().contains("Sleep well"), "{}", answer.text());

    let answer = page.interact(json!([click("link", "Completed")])).await;
    let text = answer.text();
    assert!(
        text.contains("Bake bread") && !text.contains("Sleep well"),
        "{text}"
    );
    let answer = page.interact(json!([click("link", "All")])).await;
    assert!(answer.text().contains("Sleep well"), "{}", answer.text());
    let answer = page
        .interact(json!([click("button", "Clear completed")]))
        .await;
    let text = answer.text();
    assert!(
        !text.contains("Bake bread\"") && text.contains("Buy milk"),
        "{text}"
    );
}

#[tokio::test]
async fn todos_of_react() {
    walk_todos("apps/todomvc-react/index.html").await;
}

#[tokio::test]
async fn todos_of_vue() {
    walk_todos("apps/todomvc-vue/index.html").await;
}

#[tokio::test]
async fn an_operation_of_swagger_ui() {
    let page = ToolsPage::open("apps/swagger-ui/index.html").await;
    let wait = json!([{ "type": "waitFor", "text": "Find a pet by its id" }]);
    assert_ok(&page.interact(wait).await);
    let operation = page
        .call("page_query", json!({ "text": "/pets/{id}" }))
        .await
        .text();
    let handle = ref_of(&operation, "- button");
    let answer = page
        .interact(json!([
            { "type": "triggerEvent", "ref": handle, "event": "onClick" },
            click("button", "Try it out"),
        ]))
        .await;
    assert_ok(&answer);
    let field = page
        .call("page_query", json!({ "role": "textbox" }))
        .await
        .text();
    let field = ref_of(&field, "- textbox");
    let answer = page
        .interact(json!([
            { "type": "setValue", "ref": field, "value": "7" },
            click("button", "Execute"),
            { "type": "waitFor", "text": "Rex" },
        ]))
        .await;
    assert_ok(&answer);
}

#[tokio::test]
async fn a_checkout_with_errors() {
    let page = ToolsPage::open("apps/checkout/index.html").await;
    assert_ok(
        &page
            .interact(json!([{ "type": "waitFor", "text": "Shipping" }]))
            .await,
    );
    let text = page.snapshot().await;
    println!("{text}");
}
