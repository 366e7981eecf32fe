//! The program that measures queries does what it says. How fast anything is, is not asked here:
//! `cargo xtask bench --only ask` measures.

use e2e::Format;
use e2e::asking::{at_once, first_word};

#[tokio::test]
async fn first_words_are_timed_on_every_wire() {
    for format in Format::OF_OUR_AGENT {
        let figures = first_word(format, 5).await;
        assert!(
            figures.p50_us > 0.0 && figures.p50_us <= figures.p99_us,
            "{figures}"
        );
    }
}

#[tokio::test]
async fn queries_at_once_are_all_answered() {
    let figures = at_once(40).await;
    assert_eq!(figures.completed, 40, "{figures}");
    assert!(figures.during_mib > 0.0, "{figures}");
}
