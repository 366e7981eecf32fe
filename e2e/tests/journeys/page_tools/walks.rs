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
    let wait = json!([{ "type": "waitFor", "text": "Shipping" }]);
    assert_ok(&page.interact(wait).await);

    let answer = page
        .interact(json!([
            set("Full name", "Ada Lovelace"),
            set("Email", "ada@"),
            set("Postcode", "12"),
            click("button", "Next"),
        ]))
        .await;
    assert_ok(&answer);
    let text = answer.text();
    let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
    assert!(line("textbox \"Street").contains("[error=\"Response required.\"]"));
    assert!(line("textbox \"Postcode").contains("[error=\"A postcode has five digits\"]"));
    assert!(line("textbox \"Email").contains("[error="), "{text}");
    assert!(!line("textbox \"Full name").contains("[error="), "{text}");

    let refused = page.interact(json!([set("Country", "France")])).await;
    assert_eq!(*refused.code(0), "TargetReadOnly", "{refused:?}");
    let answer = page
        .interact(json!([
            set("Email", "ada@example.com"),
            set("Street and number", "Lime Street 12"),
            set("Postcode", "12345"),
            click("combobox", "Country"),
            click("option", "France"),
            click("radio", "Express"),
            click("button", "Next"),
            { "type": "waitFor", "text": "Payment method" },
        ]))
        .await;
    assert_ok(&answer);

    let answer = page
        .interact(json!([
            click("combobox", "Payment method"),
            click("option", "Card"),
            set("Card number", "4111 1111"),
            click("checkbox", "Gift wrap"),
            { "type": "setValue", "find": { "name": "I accept the terms" }, "value": true },
            set("Note for the courier", "Ring twice"),
            click("button", "Place order"),
        ]))
        .await;
    assert_ok(&answer);
    let sent = page
        .browser
        .eval("return window.appState.sent", json!(null))
        .await;
    let expected = json!({
        "name": "Ada Lovelace", "email": "ada@example.com", "street": "Lime Street 12",
        "postcode": "12345", "country": "France", "shipping": "Express", "method": "Card",
        "card": "4111 1111", "extras": ["Gift wrap"], "terms": true, "note": "Ring twice",
    });
    assert_eq!(sent, expected, "{}", answer.text());
}

#[tokio::test]
async fn a_grid_of_a_thousand_rows() {
    let page = ToolsPage::open("apps/data-grid/index.html").await;
    let state = async |name: &str| {
        let code = format!("return window.appState.{name}");
        page.browser.eval(&code, json!(null)).await
    };

    // Sorted twice: the dearest first.
    let price = click("columnheader", "Price");
    assert_ok(&page.interact(json!([price, price])).await);
    assert_eq!(state("shown[0]").await, 70);

    let filter =
        json!([set("Article Filter Input", "hinge"), { "type": "waitFor", "gone": "spring 70" }]);
    assert_ok(&page.interact(filter).await);
    assert_eq!(state("count").await, 143);
    let text = page.snapshot().await;
    assert!(text.contains("| hinge "), "{text}");
    assert!(!text.contains("| bolt "), "{text}");

    let first = state("shown[0]").await.as_u64().unwrap();
    let cell = format!("hinge {first}");
    let answer = page
        .interact(json!([
            { "type": "triggerEvent", "find": { "text": cell }, "event": "onDoubleClick" },
            { "type": "setValue", "find": { "role": "textbox", "name": "Input Editor" }, "value": "hinge of brass" },
            { "type": "pressKey", "key": "Enter" },
        ]))
        .await;
    assert_ok(&answer);
    assert_eq!(state("edited.article").await, "hinge of brass");
    assert_eq!(state("edited.id").await, first);

    // Rows that are not drawn yet come when the grid is scrolled.
    let last_drawn = page.snapshot().await;
    let scroll = json!([{ "type": "scroll", "find": { "role": "grid" }, "deltaY": 3000 }]);
    assert_ok(&page.interact(scroll).await);
    let scrolled = page.snapshot().await;
    let row = scrolled.lines().rfind(|line| line.contains("| hinge "));
    let row = row.unwrap_or_else(|| panic!("{scrolled}"));
    let name = row.split('"').nth(1).unwrap();
    assert!(!last_drawn.contains(name), "{name} was there: {last_drawn}");
}

fn set(name: &str, value: &str) -> Value {
    json!({ "type": "setValue", "find": { "name": name }, "value": value })
}
