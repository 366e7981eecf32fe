//! Handles stay with their element, and never name another.

use serde_json::{Value, json};

use crate::program::{Program, text, trigger};

/// Returns the handles of the rows, by their names.
fn rows(snapshot: &str) -> Vec<(String, String)> {
    let options = snapshot.split("- option \"").skip(1);
    let rows = options.filter_map(|option| {
        let (name, rest) = option.split_once("\" [ref=")?;
        Some((name.to_owned(), rest.split_once(']')?.0.to_owned()))
    });
    rows.collect()
}

#[tokio::test]
async fn handles_stay_over_a_hundred_updates() {
    let program = Program::start().await;
    let before = rows(&program.snapshot().await);
    assert!(before.len() > 2, "{before:?}");
    let plus = program.handle("button", "Count up").await;
    program.call("update_rows", json!({ "times": 100 })).await;
    program.wait_for("Count: 100").await;
    assert_eq!(rows(&program.snapshot().await), before);
    assert_eq!(program.handle("button", "Count up").await, plus);
    program.act(trigger(&plus, "onClick")).await;
    program.wait_for("Count: 101").await;
}

#[tokio::test]
async fn a_handle_goes_stale_with_its_row_and_the_others_stay() {
    let program = Program::start().await;
    let before = rows(&program.snapshot().await);
    let remove = program.handle("button", "Remove Row 2").await;
    program.act(trigger(&remove, "onClick")).await;
    let after = rows(&program.snapshot().await);
    assert_eq!(after[0], before[0]);
    assert_eq!(after[1], before[2], "each handle stays with its row");
    assert!(after.iter().all(|(name, _)| name != "Row 2"), "{after:?}");
    // The row that moved up is not the one that is gone.
    let log = program.log_of_all(json!([
        trigger(&remove, "onClick"),
        trigger(&before[1].1, "onClick"),
        trigger("e99999", "onClick"),
    ]));
    let log = log.await;
    assert!(log[0].contains("failed TargetStale"), "{log:?}");
    assert!(log[1].contains("failed TargetStale"), "{log:?}");
    assert!(log[2].contains("failed TargetNotFound"), "{log:?}");
    assert_eq!(rows(&program.snapshot().await), after);
    for tool in ["page_snapshot", "page_screenshot"] {
        let field = if tool == "page_snapshot" {
            "within"
        } else {
            "ref"
        };
        let answer = program.call(tool, json!({ field: remove })).await;
        let error: &Value = &answer["_meta"]["mcp-web/error"];
        assert_eq!(error["data"]["reason"], "RefUnknown", "{answer}");
    }
}

#[tokio::test]
async fn a_row_that_is_scrolled_away_is_stale_and_comes_back_with_a_new_handle() {
    let program = Program::start().await;
    let first = rows(&program.snapshot().await).remove(0);
    let list = program.handle("listbox", "Rows").await;
    let scroll = |y: i64| json!({ "type": "scroll", "ref": list, "deltaY": y });
    program.act(scroll(16_000)).await;
    let log = program.log(json!([trigger(&first.1, "onClick")])).await;
    assert!(log[0].contains("failed TargetStale"), "{log:?}");
    program.act(scroll(-16_000)).await;
    let again = rows(&program.snapshot().await).remove(0);
    assert_eq!(again.0, first.0);
    assert_ne!(again.1, first.1, "a number is never used twice");
}

/// The row that the second action means is removed by the first.
#[tokio::test]
async fn an_element_that_vanishes_during_a_call_fails_its_action_only() {
    let program = Program::start().await;
    let remove = program.handle("button", "Remove Row 1").await;
    let plus = program.handle("button", "Count up").await;
    let log = program.log_of_all(json!([
        trigger(&remove, "onClick"),
        trigger(&remove, "onClick"),
        trigger(&plus, "onClick"),
    ]));
    let log = log.await;
    assert!(log[0].contains(" ok"), "{log:?}");
    assert!(log[1].contains("failed TargetStale"), "{log:?}");
    assert!(log[2].contains(" ok"), "{log:?}");
    let answer = program.call("page_query", json!({ "name": "Row 1" })).await;
    assert!(!text(&answer, 1).contains("\"Row 1\""), "{answer}");
}

/// The program removes rows while a client clicks their buttons: each click is for its own row, or for
/// none.
#[tokio::test]
async fn a_click_never_reaches_another_row_than_its_own() {
    let program = Program::start().await;
    let names = (1..=10).map(|number| format!("Row {number}"));
    let names: Vec<_> = names.collect();
    let snapshot = program.snapshot().await;
    let shown = rows(&snapshot);
    let mut clicks = Vec::new();
    for name in &names {
        let button = format!("Remove {name}");
        let start = format!("- button \"{button}\" [ref=");
        let rest = snapshot.split(&start).nth(1).unwrap();
        let handle = rest.split(']').next().unwrap();
        // By both ways: each looks for its element when it acts.
        let event = if clicks.len() % 2 == 0 {
            "onClick"
        } else {
            "onPointerClick"
        };
        clicks.push(trigger(handle, event));
    }
    assert!(shown.len() >= names.len());
    let (log, _) = tokio::join!(
        program.log_of_all(json!(clicks)),
        program.call("remove_first_rows", json!({ "times": 6 })),
    );
    let hits = names
        .iter()
        .zip(&log)
        .filter(|(_, line)| line.contains(" ok"));
    let hits: Vec<_> = hits.map(|(name, _)| name.clone()).collect();
    let answer = program.call("clicked_rows", json!({})).await;
    let clicked = &answer["structuredContent"]["rows"];
    assert_eq!(clicked, &json!(hits), "{log:?}");
    let gone = |line: &String| line.contains("failed TargetStale");
    assert!(
        log.iter().all(|line| line.contains(" ok") || gone(line)),
        "{log:?}"
    );
    println!(
        "figures: of 10 clicks during removals, {} hit their row",
        hits.len()
    );
}

#[tokio::test]
async fn a_limit_of_elements_says_how_many_more_there_are() {
    let program = Program::start().await;
    let answer = program
        .call("page_snapshot", json!({ "maxElements": 5 }))
        .await;
    let snapshot = text(&answer, 0);
    assert!(
        snapshot.contains(" more elements: page_query"),
        "{snapshot}"
    );
    let about = &answer["_meta"]["mcp-web/page"];
    assert_eq!(about["shown"], 5, "{about}");
    assert!(
        about["elements"].as_u64().is_some_and(|it| it > 20),
        "{about}"
    );
}
