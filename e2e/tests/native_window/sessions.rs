//! Each window is a session, and leaves when it is closed.

use std::time::Instant;

use e2e::TestBed;
use serde_json::json;

use crate::program::{Program, click, text};

/// Starts the program with a bridge that keeps the session of a window that is lost longer than any test
/// waits: one that goes has left by itself.
async fn start() -> Program {
    let bridge = TestBed::bridge_with(&["--page-grace", "1h"]).await;
    Program::start_with(bridge, &[]).await
}

#[tokio::test]
async fn a_window_that_is_closed_leaves_and_the_other_stays() {
    let mut program = start().await;
    assert_eq!(program.sessions().await, ["main"]);
    for _ in 0..2 {
        program.act(click("Open second")).await;
        program.wait_for_sessions(&["main", "second"]).await;
        let close = json!({ "session_id": "second", "view": "none", "actions": [click("Close")] });
        let started = Instant::now();
        // It may leave before it has answered.
        let _ = program.client.call("interact", close).await;
        program.wait_for_sessions(&["main"]).await;
        println!(
            "figures: a window that was closed left in {:.1?}",
            started.elapsed()
        );
    }
    program.act(click("Count up")).await;
    program.wait_for("Count: 1").await;
}

#[tokio::test]
async fn the_first_window_leaves_too_and_the_program_ends_with_the_last() {
    let mut program = start().await;
    program.act(click("Open second")).await;
    program.wait_for_sessions(&["main", "second"]).await;
    // It may leave before it has answered.
    let close = json!({ "session_id": "main" });
    let _ = program.client.call("close", close).await;
    program.wait_for_sessions(&["second"]).await;
    let snapshot = program.snapshot().await;
    assert!(snapshot.contains("Another window"), "{snapshot}");
    let _ = program
        .client
        .call(
            "interact",
            json!({ "actions": [click("Close")], "view": "none" }),
        )
        .await;
    program.process.wait_for_line("ended").await;
    program.wait_for_sessions(&[]).await;
}

#[tokio::test]
async fn two_windows_are_two_sessions_each_with_its_own_window() {
    let mut program = start().await;
    program.act(click("Open second")).await;
    program.wait_for_sessions(&["main", "second"]).await;
    let snapshot = |session: &str| program.call("page_snapshot", json!({ "session_id": session }));
    let main = snapshot("main").await;
    assert!(text(&main, 0).starts_with("page \"Windows\""), "{main}");
    let second = snapshot("second").await;
    assert!(text(&second, 0).starts_with("page \"Second\""), "{second}");
    assert!(text(&second, 0).contains("Another window"), "{second}");
    assert!(!text(&second, 0).contains("Count"), "{second}");
    let answer = program.call("page_screenshot", json!({ "session_id": "second" }));
    assert_eq!(answer.await["content"][0]["type"], "image");
}

/// The handler of the button closes its window in the middle of a list of actions.
#[tokio::test]
async fn a_window_closed_in_the_middle_of_a_call_ends_the_call() {
    let mut program = start().await;
    program.act(click("Open second")).await;
    program.wait_for_sessions(&["main", "second"]).await;
    let actions = json!([click("Close"), { "type": "waitFor", "text": "never", "ms": 10_000 }]);
    let input = json!({ "session_id": "second", "actions": actions });
    let answer = program.client.call("interact", input).await;
    // The answer is that of the list, or that the session is gone.
    if let Ok(answer) = answer {
        let answer = serde_json::to_value(answer).unwrap();
        let log = text(&answer, 0);
        assert!(
            log.contains("the window is closed") || log.contains("PageGone"),
            "{answer}"
        );
    }
    program.wait_for_sessions(&["main"]).await;
}
