//! A window that is blocked fails its calls, and not the connection.

use std::time::{Duration, Instant};

use e2e::TestBed;
use serde_json::json;

use crate::program::{Program, click, text, trigger};

/// How long a call waits for the window.
const WINDOW_TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_handler_that_blocks_the_window_fails_the_calls_that_need_it() {
    let program = Program::start().await;
    let started = Instant::now();
    let log = program.log(json!([click("Block")])).await;
    assert!(log[0].contains("failed ActionTimeout"), "{log:?}");
    assert!(
        log[0].contains("the window has not answered for 5 s"),
        "{log:?}"
    );
    assert!(started.elapsed() >= WINDOW_TIMEOUT);
    // Calls that need no window are answered meanwhile.
    let answer = program.call("ping", json!({})).await;
    assert_eq!(text(&answer, 0), "pong");
    // The tool of the app waits for the window as long as it likes.
    let answer = program.call("increment", json!({ "by": 1 })).await;
    assert_eq!(answer["structuredContent"]["now"], 1);
    let elapsed = started.elapsed();
    println!("figures: a window was blocked for {elapsed:.1?}, and its call failed after 5 s");
    // It has only one session, and still the same.
    assert_eq!(program.sessions().await, ["main"]);
    program.act(click("Count up")).await;
    program.wait_for("Count: 2").await;
}

/// With a limit of 1 s, the window is still blocked for all that follows.
async fn start_with_short_limit() -> Program {
    let variables = [("WINDOW_TIMEOUT_MS", "1000")];
    Program::start_with(TestBed::bridge().await, &variables).await
}

#[tokio::test]
async fn a_blocked_window_cannot_be_read_and_says_so() {
    let program = start_with_short_limit().await;
    // The actions that were done are reported, though the window cannot be read afterwards.
    let actions = json!([click("Block")]);
    let answer = program
        .call("interact", json!({ "actions": actions }))
        .await;
    assert!(
        text(&answer, 0).contains("failed ActionTimeout"),
        "{answer}"
    );
    assert!(
        text(&answer, 1).contains("has not answered for 1 s"),
        "{answer}"
    );
    for tool in ["page_snapshot", "page_screenshot"] {
        let answer = program.call(tool, json!({})).await;
        let error = &answer["_meta"]["mcp-web/error"];
        assert_eq!(error["data"]["reason"], "ActionTimeout", "{answer}");
        assert!(text(&answer, 0).contains("the program is busy"), "{answer}");
    }
    // Each action of a list fails by itself, whether it has a handle or is looked for.
    let log = program
        .log_of_all(json!([click("Count up"), trigger("e1", "onClick")]))
        .await;
    for line in &log {
        assert!(
            line.contains("failed ActionTimeout: the window has not"),
            "{log:?}"
        );
    }
}

/// Work that has not begun when its time is over never begins.
#[tokio::test]
async fn what_was_asked_of_a_blocked_window_is_not_done_later() {
    let program = start_with_short_limit().await;
    let plus = program.handle("button", "Count up").await;
    let log = program.log_of_all(json!([
        click("Block"),
        trigger(&plus, "onClick"),
        trigger(&plus, "onPointerClick"),
        { "type": "pressKey", "key": "Enter" },
    ]));
    let log = log.await;
    assert!(
        log.iter().all(|line| line.contains("failed ActionTimeout")),
        "{log:?}"
    );
    let answer = program.call("increment", json!({ "by": 0 })).await;
    assert_eq!(answer["structuredContent"]["now"], 0, "the window is free");
    program.wait_for("Count: 0").await;
}
