//! The measurements of queries work as described. These tests do not measure performance;
//! `cargo xtask bench --only ask` does.

use e2e::Format;
use e2e::query_cost::{Writing, measure_concurrent_queries, measure_first_token, measure_writing};

#[tokio::test]
async fn first_tokens_are_timed_in_every_format() {
    for format in Format::AGENT_FORMATS {
        let figures = measure_first_token(format, 5).await;
        assert!(
            figures.p50_us > 0.0 && figures.p50_us <= figures.p99_us,
            "{figures}"
        );
    }
}

#[tokio::test]
async fn concurrent_queries_are_all_answered() {
    let figures = measure_concurrent_queries(40).await;
    assert_eq!(figures.completed, 40, "{figures}");
    assert!(figures.during_mib > 0.0, "{figures}");
}

#[tokio::test]
async fn the_cost_of_written_arguments_is_measured() {
    let at_once = measure_writing(Writing::AtOnce, 100, 3).await;
    let text = measure_writing(Writing::Text, 100, 3).await;
    let arguments = measure_writing(Writing::Arguments, 100, 3).await;
    // Each piece of a text is an event, but of those of arguments at most one in 50 ms is.
    assert!(text.events > at_once.events, "{text:?} {at_once:?}");
    assert!(arguments.events < text.events, "{arguments:?} {text:?}");
    assert!(arguments.agent_cpu_us > 0.0 && arguments.bridge_cpu_us > 0.0);
}
