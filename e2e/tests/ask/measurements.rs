//! The program that measures queries does what it says. How fast anything is, is not asked here:
//! `cargo xtask bench --only ask` measures.

use e2e::Format;
use e2e::query_cost::{measure_concurrent_queries, measure_first_token};

#[tokio::test]
async fn first_words_are_timed_on_every_wire() {
    for format in Format::AGENT_FORMATS {
        let figures = measure_first_token(format, 5).await;
        assert!(
            figures.p50_us > 0.0 && figures.p50_us <= figures.p99_us,
            "{figures}"
        );
    }
}

#[tokio::test]
async fn queries_at_once_are_all_answered() {
    let figures = measure_concurrent_queries(40).await;
    assert_eq!(figures.completed, 40, "{figures}");
    assert!(figures.during_mib > 0.0, "{figures}");
}
