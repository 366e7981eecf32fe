//! Actions that load another document: the next document of the tab answers.

use serde_json::{Value, json};

use super::{Answer, ToolsPage};

fn click(role: &str, name: &str) -> Value {
    json!({ "type": "triggerEvent", "find": { "role": role, "name": name }, "event": "onClick" })
}

fn log(answer: &Answer) -> &Vec<Value> {
    answer.facts()["log"].as_array().unwrap()
}

fn assert_went_to(answer: &Answer, page: &str, text: &str) {
    assert_ne!(answer.0["isError"], true, "{}", answer.text());
    let facts = answer.facts();
    let navigated = facts["navigated"].as_str().unwrap_or_default();
    assert!(navigated.contains(page), "{facts}");
    assert!(answer.text().contains(text), "{}", answer.text());
}

#[tokio::test]
async fn a_link_that_loads_another_document() {
    let page = ToolsPage::open("pages/navigation.html").await;
    let answer = page
        .interact(json!([
            { "type": "setValue", "find": { "name": "Note" }, "value": "before" },
            click("link", "Link to the second page"),
            click("button", "Reload"),
        ]))
        .await;
    assert_went_to(&answer, "second.html", "- heading \"Second page\"");
    let log = log(&answer);
    assert_eq!(log.len(), 2, "{}", answer.text());
    assert_eq!(log[0]["ok"], true);
    assert_eq!(answer.facts()["skipped"], 1);
    assert!(
        answer.text().contains("1 action skipped"),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn a_form_that_is_posted() {
    let page = ToolsPage::open("pages/post-form.html").await;
    let answer = page
        .interact(json!([
            { "type": "setValue", "find": { "name": "Name" }, "value": "Ada" },
            click("button", "Post order"),
        ]))
        .await;
    assert_went_to(&answer, "posted", "Thank you, Ada");
}

#[tokio::test]
async fn a_reload() {
    let page = ToolsPage::open("pages/navigation.html").await;
    let answer = page.interact(json!([click("button", "Reload")])).await;
    assert_went_to(&answer, "navigation.html", "Visit 2");
}

#[tokio::test]
async fn a_script_that_goes_to_another_page() {
    let page = ToolsPage::open("pages/navigation.html").await;
    for button in ["Go by script", "Go after a request"] {
        let answer = page.interact(json!([click("button", button)])).await;
        assert_went_to(&answer, "second.html", "- heading \"Second page\"");
        page.goto("pages/navigation.html").await;
    }
}

#[tokio::test]
async fn navigate_opens_another_document() {
    let page = ToolsPage::open("pages/navigation.html").await;
    let target = json!({ "pageId": page.site.page("pages/second.html") });
    let answer = page.call("navigate", target).await;
    assert_went_to(&answer, "second.html", "- heading \"Second page\"");
}

#[tokio::test]
async fn a_document_of_which_the_app_shows_nothing_answers_and_is_not_named() {
    let options = "root: () => location.pathname.includes('second') ? null : document.body";
    let page = ToolsPage::open_with("pages/navigation.html", options).await;
    let answer = page
        .interact(json!([click("link", "Link to the second page")]))
        .await;
    let text = format!("{answer:?}");
    assert_eq!(answer.facts()["navigated"], "another page", "{text}");
    let is_named = text.contains("second.html") || text.contains("Second page");
    assert!(!is_named, "{text}");
}

/// A call that waits for its turn is also handed over to the next document, and runs there.
#[tokio::test]
async fn a_call_that_waits_runs_in_the_next_document() {
    let page = ToolsPage::open("pages/navigation.html").await;
    let first = page.interact(json!([
        { "type": "setValue", "find": { "name": "Note" }, "value": "begun" },
        { "type": "waitFor", "text": "Go on", "ms": 10_000 },
        click("link", "Link to the second page"),
    ]));
    let second = async {
        page.browser
            .wait_for("window.appState.note === 'begun'")
            .await;
        // The first call has its turn now, and it leaves the page while the second one waits.
        let go_on = "document.querySelector('main').append('Go on')";
        let second = page.interact(json!([
            { "type": "setValue", "find": { "name": "Second field" }, "value": "after" },
        ]));
        tokio::join!(second, page.browser.eval(go_on, json!(null))).0
    };
    let (first, second) = tokio::join!(first, second);
    assert_went_to(&first, "second.html", "Second page");
    assert_eq!(log(&second)[0]["ok"], true, "{}", second.text());
    let field = page.call("app_state", json!({ "key": "field" })).await;
    assert_eq!(field.0["structuredContent"]["value"], "after");
}

#[tokio::test]
async fn a_failure_is_known_in_the_next_document() {
    let page = ToolsPage::open("pages/navigation.html").await;
    let answer = page
        .interact_all(json!([
            click("button", "Nothing"),
            click("link", "Link to the second page"),
            click("button", "Reload"),
        ]))
        .await;
    assert!(answer.is_error(), "{answer:?}");
    assert_eq!(answer.code(0), "TargetNotFound");
    assert_eq!(answer.facts()["skipped"], 1);
    let text = answer.text();
    assert!(text.contains("second.html\", 1 action skipped"), "{text}");
    assert!(text.contains("- heading \"Second page\""), "{text}");
}

/// The document goes after the failure, and before another action begins.
#[tokio::test]
async fn a_failure_is_known_in_a_document_that_comes_during_a_wait() {
    let page = ToolsPage::open("pages/navigation.html").await;
    let script = "document.querySelector('main').insertAdjacentHTML('beforeend',
        '<button id=later>Leave later</button><button disabled>Off</button>');
      document.querySelector('#later').addEventListener('click', () => {
        setTimeout(() => location.assign('second.html'), 500); // sleep: the page goes when the action has ended
      });";
    page.browser.eval(script, json!(null)).await;
    let answer = page
        .interact_all(json!([
            click("button", "Leave later"),
            click("button", "Off"),
            { "type": "waitFor", "text": "Never there", "ms": 10_000 },
        ]))
        .await;
    assert!(answer.is_error(), "{answer:?}");
    assert_eq!(
        [answer.code(0), answer.code(1)],
        [&Value::Null, &json!("TargetDisabled")]
    );
    assert_eq!(answer.facts()["skipped"], 1);
    let text = answer.text();
    assert!(text.contains("- heading \"Second page\""), "{text}");
}

#[tokio::test]
async fn a_failure_keeps_the_document() {
    let page = ToolsPage::open("pages/navigation.html").await;
    let answer = page
        .interact(json!([
            click("button", "Nothing"),
            click("link", "Link to the second page"),
        ]))
        .await;
    assert!(answer.is_error(), "{answer:?}");
    let text = answer.text();
    assert!(
        text.contains("stopped because action 1 failed, 1 action skipped"),
        "{text}"
    );
    assert!(text.contains("Link to the second page"), "{text}");
}
