//! The measurements of queries work as described. These tests do not measure performance;
//! `cargo xtask bench --only ask` does.

use e2e::Format;
use e2e::query_cost::{measure_concurrent_queries, measure_first_token};

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
