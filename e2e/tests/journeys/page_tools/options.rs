//! The options of page tools: the part of the page, its limits, and whether an
//! action may be done.

use serde_json::{Value, json};

use super::ToolsPage;

fn click(name: &str) -> Value {
    json!({ "type": "triggerEvent", "find": { "name": name }, "event": "onClick" })
}

#[tokio::test]
async fn without_a_root_nothing_is_seen_or_used() {
    let options = "root: () => document.querySelector('#opened')";
    let page = ToolsPage::open_with("pages/second.html", options).await;
    let text = page.snapshot().await;
    assert!(!text.contains("Second field"), "{text}");
    page.browser
        .eval("document.querySelector('input').focus()", json!(null))
        .await;
    let actions = json!([click("Back to the first page"), { "type": "pressKey", "key": "x" }]);
    let answer = page.interact_all(actions).await;
    let codes = [answer.code(0), answer.code(1)];
    assert_eq!(codes, ["TargetNotFound", "Declined"], "{answer:?}");
    let value = "return document.querySelector('input').value";
    assert_eq!(page.browser.eval(value, json!(null)).await, "");
    assert_nothing_is_known(&page).await;
    page.browser
        .eval("document.querySelector('main').id = 'opened'", json!(null))
        .await;
    assert!(page.snapshot().await.contains("textbox \"Second field\""));
}

/// Asserts that no tool shows the title or the address of the page.
async fn assert_nothing_is_known(page: &ToolsPage) {
    for (tool, arguments) in [
        ("page_snapshot", json!({})),
        ("page_snapshot", json!({ "format": "markdown" })),
        ("page_query", json!({ "role": "textbox" })),
        ("get_state", json!({})),
        ("get_pages", json!({})),
        ("navigate", json!({ "pageId": "/pages/navigation.html" })),
        (
            "interact",
            json!({ "actions": [{ "type": "waitFor", "ms": 1 }] }),
        ),
        (
            "interact",
            json!({ "actions": [{ "type": "scroll" }], "view": "none" }),
        ),
    ] {
        let answer = page.call(tool, arguments).await;
        let text = format!("{answer:?}");
        let is_known = text.contains("Second page") || text.contains("second.html");
        assert!(!is_known, "{tool}: {text}");
        assert!(answer.facts()["pageId"].is_null(), "{tool}: {text}");
    }
}

#[tokio::test]
async fn the_app_decides_about_all_that_an_action_uses_and_the_target_is_looked_at_again() {
    let options = "confirm: async (action, { label, target }) => {
      (window.asked ??= []).push([action.type, label ?? '', target?.label ?? '']);
      if (label?.includes('Late')) document.querySelector('#late').disabled = true;
      return !/delete/i.test(label ?? '');
    }";
    let page = ToolsPage::open_with("pages/second.html", options).await;
    let script = "document.body.innerHTML = `<form><label>Code <input></label><button>Send</button></form>
        <button id=late>Late</button> <a href='/pages/navigation.html'>First page</a>
        <div tabindex=0 role=group aria-label='View item'><p id=delete>Delete item</p></div>`;
      document.querySelector('#delete').addEventListener('click', () => { window.wasClicked = true; });
      document.querySelector('form').addEventListener('submit', (event) => event.preventDefault());
      document.querySelector('#late').addEventListener('click', () => { window.wasClicked = true; });";
    page.browser.eval(script, json!(null)).await;
    let actions = json!([
        { "type": "pressKey", "find": { "name": "Code" }, "key": "Enter" },
        { "type": "pressKey", "key": "y" },
        click("Late"),
        click("View item"),
    ]);
    let arguments = json!({ "actions": actions, "onError": "continue" });
    let answer = page.call("interact", arguments).await;
    let codes = [0, 1, 2, 3].map(|index| answer.code(index).clone());
    let expected = [
        json!(null),
        json!(null),
        json!("TargetDisabled"),
        json!("Declined"),
    ];
    assert_eq!(codes, expected, "{answer:?}");
    let asked = page.browser.eval("return asked", json!(null)).await;
    let expected = json!([
        ["pressKey", "textbox \"Code\"", ""],
        ["pressKey", "button \"Send\"", "textbox \"Code\""],
        ["pressKey", "textbox \"Code\"", ""],
        ["triggerEvent", "button \"Late\"", ""],
        ["triggerEvent", "group \"View item\"", ""],
        [
            "triggerEvent",
            "paragraph \"Delete item\"",
            "group \"View item\""
        ],
    ]);
    assert_eq!(asked, expected);
    let was_clicked = "return window.wasClicked ?? false";
    assert_eq!(page.browser.eval(was_clicked, json!(null)).await, false);
}

#[tokio::test]
async fn each_limit_holds_at_its_edge() {
    let limits = "limits: { maxActionsPerCall: 2, maxElements: 3, maxValueBytes: 16, maxPageBytes: 1024, actionTimeoutMs: 300, callTimeoutMs: 500 }";
    let page = ToolsPage::open_with("pages/second.html", limits).await;
    let scroll = json!({ "type": "scroll", "deltaY": 1 });
    let two = page.interact(json!([scroll, scroll])).await;
    assert!(!two.is_error(), "{two:?}");
    let three = page.interact(json!([scroll, scroll, scroll])).await;
    let message = "there are 3 actions, and a call may have 2";
    assert!(
        three.is_error() && three.text().contains(message),
        "{three:?}"
    );

    let script = "document.body.innerHTML = '<input aria-label=Short><input aria-label=Long>' + `<p>${'text '.repeat(90)}</p>`
        + Array.from({ length: 40 }, (_, index) => `<button>Button ${index}</button>`).join('');
      document.querySelectorAll('input')[0].value = 's'.repeat(16);
      document.querySelectorAll('input')[1].value = 'l'.repeat(17);
      document.querySelector('button').addEventListener('click', () => fetch('/never'));";
    page.browser.eval(script, json!(null)).await;
    let answer = page.call("page_snapshot", json!({})).await;
    let text = answer.text();
    assert_eq!(answer.facts()["shown"], 3, "{text}");
    assert!(text.contains("more elements"), "{text}");
    assert!(text.contains(&format!("\"{}\"", "s".repeat(16))), "{text}");
    assert!(text.contains("(of 17 characters)"), "{text}");
    let wide = page
        .call("page_snapshot", json!({ "maxElements": 43 }))
        .await
        .text();
    assert!(wide.len() <= 1024, "{} bytes", wide.len());

    let actions = json!([{ "type": "waitFor", "text": "nowhere" }, click("Button 0")]);
    let answer = page.interact_all(actions).await;
    assert_eq!(answer.code(0), "ActionTimeout", "{answer:?}");
    let answer = page
        .interact(json!([{ "type": "waitFor", "ms": 290 }, { "type": "waitFor", "ms": 290 }]))
        .await;
    let codes = [answer.code(0), answer.code(1)];
    assert_eq!(codes, [&json!(null), &json!("ActionTimeout")], "{answer:?}");
}

#[tokio::test]
async fn a_list_of_react_keeps_its_handles_over_a_thousand_renders() {
    let page = ToolsPage::open("apps/react-list/index.html").await;
    let before = page.snapshot().await;
    let handle = super::ref_of(&before, "- button \"Item 7\"");
    let script = "const keys = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
      for (let turn = 0; turn < 1000; turn++) {
        keys.push(keys.shift());
        if (turn % 3) keys.reverse();
        showItems(turn === 999 ? keys.filter((key) => key !== 3) : [...keys]);
      }";
    let third = super::ref_of(&before, "- button \"Item 3\"");
    page.browser.eval(script, json!(null)).await;
    assert_eq!(
        super::ref_of(&page.snapshot().await, "- button \"Item 7\""),
        handle
    );
    let actions = json!([
        { "type": "triggerEvent", "ref": handle, "event": "onClick" },
        { "type": "triggerEvent", "ref": third, "event": "onClick" },
    ]);
    let answer = page.interact(actions).await;
    assert_eq!(
        [answer.code(0), answer.code(1)],
        [&json!(null), &json!("TargetStale")],
        "{answer:?}"
    );
    let clicked = page
        .browser
        .eval("return appState.clicked", json!(null))
        .await;
    assert_eq!(clicked, json!([7]));
}
