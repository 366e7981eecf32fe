//! A window that is blocked fails its calls, and not the connection.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::program::{Program, click, text};

/// So long a call waits for the window.
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
    // What needs no window is answered meanwhile.
    let answer = program.call("ping", json!({})).await;
    assert_eq!(text(&answer, 0), "pong");
    let snapshot = program.call("page_snapshot", json!({}));
    let (snapshot, ping) = tokio::join!(snapshot, program.call("ping", json!({})));
    assert_eq!(text(&ping, 0), "pong");
    println!("{snapshot}");
    let elapsed = started.elapsed();
    println!(
        "figures: a window that is blocked for 10 s failed its call after 5 s, and was asked again after {elapsed:.1?}"
    );
    // It has only one session, and still the same.
    assert_eq!(program.sessions().await, ["main"]);
    program.wait_for("Count: 0").await;
    let log = program.log(json!([click("Count up")])).await;
    assert!(log[0].contains(" ok"), "{log:?}");
    program.wait_for("Count: 1").await;
}

/// Work that has not begun when its time is over never begins.
#[tokio::test]
async fn what_was_asked_of_a_blocked_window_is_not_done_later() {
    let program = Program::start().await;
    let log = program
        .log(json!([click("Block"), click("Count up")]))
        .await;
    assert!(log[0].contains("failed ActionTimeout"), "{log:?}");
    println!("{log:?}");
    program.wait_for("Count: ").await;
    let is_counted = log[1].contains(" ok");
    program
        .wait_for(if is_counted { "Count: 1" } else { "Count: 0" })
        .await;
}
