//! Each action has its effect in a real window.

use serde_json::{Value, json};

use crate::program::{Program, click, text, trigger};

#[tokio::test]
async fn a_window_joins_and_is_read_as_text() {
    let program = Program::start().await;
    let tools = program.client.tools().await;
    for tool in ["interact", "page_query", "page_screenshot", "increment"] {
        assert!(tools.iter().any(|name| name == tool), "{tools:?}");
    }
    let snapshot = program.snapshot().await;
    assert!(snapshot.starts_with("page \"Windows\""), "{snapshot}");
    for part in [
        "text: \"Count: 0\"",
        "button \"Count up\" [ref=e",
        "[disabled]",
        "textbox \"Name\" [ref=e",
        "slider \"Volume\" [ref=e",
        "combobox [ref=e",
        "checkbox \"Loud\" [ref=e",
        "listbox \"Rows\" [ref=e",
        " of 1000]",
        "option \"Row 1\" [ref=e",
    ] {
        assert!(snapshot.contains(part), "{part}: {snapshot}");
    }
    let found = program.call("page_query", json!({ "id": "Main::plus" }));
    assert_eq!(text(&found.await, 0), "1 element matches");
    let state = program.call("get_state", json!({})).await;
    let state = &state["structuredContent"]["state"];
    assert_eq!(state["Main::volume"], "20", "{state}");
}

#[tokio::test]
async fn the_count_goes_up_by_pointer_by_accessible_action_and_by_the_tool_of_the_app() {
    let program = Program::start().await;
    let plus = program.handle("button", "Count up").await;
    program.act(trigger(&plus, "onPointerClick")).await;
    program.wait_for("Count: 1").await;
    program.act(trigger(&plus, "onClick")).await;
    program.wait_for("Count: 2").await;
    let answer = program.call("increment", json!({ "by": 3 })).await;
    assert_eq!(answer["structuredContent"]["now"], 5);
    program.wait_for("Count: 5").await;
    // This one offers no action, so the pointer clicks it.
    let tile = program.handle("button", "Tile").await;
    program.act(trigger(&tile, "onClick")).await;
    program.wait_for("Count: 6").await;
    let log = program.act(json!({ "type": "hover", "ref": tile })).await;
    assert!(log.ends_with("ok") || log.ends_with(&format!("changed {tile}")));
    program
        .wait_for_text("button \"Tile\"", "[description=\"under the pointer\"]")
        .await;
    // Enter presses the button that has the focus.
    program.act(trigger(&plus, "onFocus")).await;
    program
        .act(json!({ "type": "pressKey", "key": "Enter" }))
        .await;
    program.wait_for("Count: 7").await;
}

#[tokio::test]
async fn text_is_set_and_typed() {
    let program = Program::start().await;
    let name = program.handle("textbox", "Name").await;
    let log = program
        .act(json!({ "type": "setValue", "ref": name, "value": "Ada" }))
        .await;
    assert_eq!(log, format!("1 setValue {name} ok, changed {name}"));
    let keys = ["End", " ", "L", "x", "Backspace", "."];
    let keys = keys.map(|key| json!({ "type": "pressKey", "ref": name, "key": key }));
    let log = program.log(json!(keys)).await;
    assert!(log.iter().all(|line| line.contains(" ok")), "{log:?}");
    let snapshot = program.snapshot().await;
    assert!(snapshot.contains("\"Ada L.\""), "{snapshot}");
    // The marked text is replaced.
    let select = json!({ "type": "pressKey", "ref": name, "key": "a", "modifiers": ["Control"] });
    let typed = json!({ "type": "pressKey", "key": "Z" });
    program.log(json!([select, typed])).await;
    let snapshot = program.snapshot().await;
    assert!(snapshot.contains("[focused]: \"Z\""), "{snapshot}");
    // A password is set, and not read.
    let password = program.handle("textbox", "Password").await;
    program
        .act(json!({ "type": "setValue", "ref": password, "value": "s3cret-word" }))
        .await;
    for tool in ["page_snapshot", "get_state"] {
        let answer = program.call(tool, json!({})).await;
        assert!(!answer.to_string().contains("s3cret-word"), "{answer}");
    }
}

#[tokio::test]
async fn a_slider_is_dragged_set_and_stepped() {
    let program = Program::start().await;
    let slider = program.handle("slider", "Volume").await;
    let to = json!({ "text": "Volume: 20" });
    program
        .act(json!({ "type": "drag", "ref": slider, "to": { "find": to }, "steps": 12 }))
        .await;
    let snapshot = program.snapshot().await;
    assert!(
        snapshot.contains(&format!(
            "slider \"Volume\" [ref={slider}] [focused]: \"100\""
        )),
        "{snapshot}"
    );
    program
        .act(json!({ "type": "setValue", "ref": slider, "value": 30 }))
        .await;
    program.wait_for("Volume: 30").await;
    for method in ["increment", "increment", "decrement"] {
        program
            .act(json!({ "type": "callMethod", "ref": slider, "method": method }))
            .await;
    }
    program.wait_for("Volume: 31").await;
    program
        .act(json!({ "type": "pressKey", "ref": slider, "key": "ArrowRight" }))
        .await;
    program.wait_for("Volume: 32").await;
}

#[tokio::test]
async fn a_list_of_a_thousand_rows_scrolls() {
    let program = Program::start().await;
    let list = program.handle("listbox", "Rows").await;
    let rows = |snapshot: &str| snapshot.matches("- option \"Row ").count();
    let snapshot = program.snapshot().await;
    // Slint creates only those that are in view.
    assert!((2..=30).contains(&rows(&snapshot)), "{snapshot}");
    let scroll = |y: i64| json!({ "type": "scroll", "ref": list, "deltaY": y });
    program.act(scroll(16_000)).await;
    let snapshot = program.snapshot().await;
    assert!(snapshot.contains("option \"Row 501\""), "{snapshot}");
    assert!(!snapshot.contains("option \"Row 1\""), "{snapshot}");
    program.act(scroll(1_000_000)).await;
    let snapshot = program.snapshot().await;
    assert!(snapshot.contains("option \"Row 1000\""), "{snapshot}");
    program.act(scroll(-1_000_000)).await;
    assert!(program.snapshot().await.contains("option \"Row 1\""));
    let find = json!({ "name": "Count up" });
    let nothing = json!([{ "type": "scroll", "find": find, "deltaY": 10 }]);
    let log = program.log(nothing).await;
    assert!(log[1].contains("nothing scrolls there"), "{log:?}");
}

/// The wheel brings all of the button into view before the pointer clicks it.
#[tokio::test]
async fn what_is_partly_out_of_view_is_scrolled_to() {
    let program = Program::start().await;
    let list = program.handle("listbox", "Rows").await;
    let half_a_row = json!({ "type": "scroll", "ref": list, "deltaY": 16 });
    program.act(half_a_row).await;
    let snapshot = program.snapshot().await;
    assert!(snapshot.contains("option \"Row 1\""), "{snapshot}");
    let remove = program.handle("button", "Remove Row 13").await;
    program.act(trigger(&remove, "onPointerClick")).await;
    let snapshot = program.snapshot().await;
    assert!(!snapshot.contains("option \"Row 1\""), "{snapshot}");
    assert!(!snapshot.contains("\"Row 13\""), "{snapshot}");
    assert!(snapshot.contains("option \"Row 14\""), "{snapshot}");
}

#[tokio::test]
async fn choices_are_made() {
    let program = Program::start().await;
    let loud = program.handle("checkbox", "Loud").await;
    let set = |value: bool| json!({ "type": "setValue", "ref": loud, "value": value });
    program.log(json!([set(true), set(true)])).await;
    let snapshot = program.snapshot().await;
    let checked = format!("checkbox \"Loud\" [ref={loud}] [checked]");
    assert!(snapshot.contains(&checked), "{snapshot}");
    let find = json!({ "role": "combobox" });
    program
        .act(json!({ "type": "triggerEvent", "find": find, "event": "onClick" }))
        .await;
    let snapshot = program.snapshot().await;
    assert!(snapshot.contains("option \"Water\""), "{snapshot}");
    let water = program.handle("option", "Water").await;
    program.act(trigger(&water, "onClick")).await;
    let snapshot = program.snapshot().await;
    let combobox = snapshot.lines().find(|line| line.contains("combobox"));
    assert!(
        combobox.is_some_and(|line| line.contains("Water")),
        "{snapshot}"
    );
    assert!(!snapshot.contains("option \"Water\""), "{snapshot}");
}

#[tokio::test]
async fn two_calls_at_once_do_not_interleave() {
    let program = Program::start().await;
    let plus = program.handle("button", "Count up").await;
    let list = json!(
        (0..10)
            .map(|_| trigger(&plus, "onPointerClick"))
            .collect::<Vec<_>>()
    );
    let (left, right) = tokio::join!(program.log(list.clone()), program.log(list));
    let all_ok = |log: &[String]| log.len() == 10 && log.iter().all(|line| line.contains(" ok"));
    assert!(all_ok(&left) && all_ok(&right), "{left:?} {right:?}");
    program.wait_for("Count: 20").await;
}

#[tokio::test]
async fn an_interaction_shows_what_it_changed() {
    let program = Program::start().await;
    let actions = json!([click("Count up")]);
    let answer = program
        .call("interact", json!({ "actions": actions }))
        .await;
    assert!(text(&answer, 1).contains("Count: 1"), "{answer}");
    let about: &Value = &answer["_meta"]["mcp-web/page"];
    assert_eq!(about["pageId"], "window", "{about}");
    assert_eq!(about["log"][0]["ok"], true, "{about}");
}

impl Program {
    /// Waits until a line of the window's text contains both parts.
    async fn wait_for_text(&self, line: &str, part: &str) {
        let looks = async {
            loop {
                let snapshot = self.snapshot().await;
                let mut lines = snapshot.lines().filter(|it| it.contains(line));
                if lines.any(|it| it.contains(part)) {
                    return;
                }
            }
        };
        e2e::with_deadline(part, looks).await;
    }
}
