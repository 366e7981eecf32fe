//! Sources are started when they are first needed, once for all waiting calls.

use std::sync::atomic::Ordering;

use tokio::time::{Instant, advance};

use super::*;
use crate::testing::Start;

const PROFILE: &str = "[profiles.staff]\nroles = ['staff']\nallow = ['*']\ngrant = ['read']\n";

fn with_starts(starts: &[Start]) -> (Arc<FakeSource>, SourceAccess) {
    let source = Arc::new(FakeSource::new("s"));
    source.starts.lock().unwrap().extend(starts.iter().rev());
    let sources = sources(PROFILE, vec![Arc::clone(&source) as _]);
    let access = query(&sources);
    (source, access)
}

/// Begins a query.
fn query(sources: &Arc<Sources>) -> SourceAccess {
    let access = sources.access("default", Some(&staff("ada")), None, &"q".into());
    access.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_source_starts_once_for_all_who_wait() {
    let (source, access) = with_starts(&[]);
    assert_eq!(source.start_count.load(Ordering::SeqCst), 0);
    let other = query(&access.sources);
    let (first, second) = tokio::join!(access.tools(), other.tools());
    assert_eq!((first.len(), second.len()), (1, 1));
    access.tools().await;
    assert_eq!(source.start_count.load(Ordering::SeqCst), 1);
    access.sources.stop().await;
    assert_eq!(source.stop_count.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_query_without_a_profile_starts_nothing() {
    let (source, access) = with_starts(&[]);
    let nobody = access
        .sources
        .access("default", None, None, &"q".into())
        .unwrap();
    assert!(nobody.tools().await.is_empty());
    assert_eq!(source.start_count.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_to_start_is_tried_again_later_and_later() {
    let (source, access) = with_starts(&[Start::Fail; 4]);
    let count = || source.start_count.load(Ordering::SeqCst);
    for (attempts, pause) in [(1, 1), (2, 2), (3, 4), (4, 8)] {
        let access = query(&access.sources);
        assert!(access.tools().await.is_empty());
        advance(Duration::from_millis(pause * 1000 - 1)).await;
        query(&access.sources).tools().await;
        assert_eq!(count(), attempts, "it is not tried again before {pause} s");
        let failed = call(&access, "s-read", json!({})).await;
        assert_eq!(failed.outcome, CallStatus::Unavailable);
        assert!(
            failed
                .text
                .contains("`s` cannot be used at the moment: it is broken")
        );
        advance(Duration::from_millis(1)).await;
    }
    assert_eq!(query(&access.sources).tools().await.len(), 1);
    assert_eq!(count(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_slow_delays_a_query_by_two_seconds_and_fails_after_twenty() {
    let (source, access) = with_starts(&[Start::Hang]);
    let started = Instant::now();
    assert!(access.tools().await.is_empty());
    assert_eq!(started.elapsed(), Duration::from_secs(2));
    // Later turns do not wait again.
    assert!(access.tools().await.is_empty());
    assert_eq!(started.elapsed(), Duration::from_secs(2));
    let output = call(&access, "s-read", json!({})).await;
    assert_eq!(output.outcome, CallStatus::Unavailable);
    assert!(
        output.text.contains("not started within 20s"),
        "{}",
        output.text
    );
    assert_eq!(started.elapsed(), Duration::from_millis(20_100));
    assert_eq!(source.start_count.load(Ordering::SeqCst), 1);
}

/// Returns the states of the metrics that are current, by source.
fn states(sources: &Sources) -> Vec<String> {
    sources.update_metrics();
    let text = sources.records.metrics.encode(0);
    let lines = text
        .lines()
        .filter(|line| line.starts_with("mcp_web_agent_source_state{"));
    let current = lines.filter_map(|line| line.strip_suffix(" 1"));
    let mut states: Vec<_> = current
        .map(|line| {
            line.split('"')
                .skip(1)
                .step_by(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    states.sort();
    states
}

#[tokio::test(start_paused = true)]
async fn the_metrics_have_one_state_for_each_source() {
    let (_, access) = with_starts(&[Start::Fail]);
    assert_eq!(states(&access.sources), ["s idle"]);
    access.tools().await;
    assert_eq!(states(&access.sources), ["s failed"]);
    advance(Duration::from_secs(1)).await;
    query(&access.sources).tools().await;
    assert_eq!(states(&access.sources), ["s running"]);

    let unused = [
        ("mcp-old", None),
        ("mcp-wrong", Some("it is wrong".to_owned())),
    ];
    let unused = unused.map(|(name, problem)| UnusedSource {
        name: name.to_owned(),
        problem,
    });
    let limits = SourceLimits {
        max_calls: 1,
        max_calls_per_user: 1,
    };
    let records = Records {
        audit: AuditLog::default(),
        metrics: Arc::new(Metrics::new()),
        secrets: None,
    };
    let sources = Sources::new(Vec::new(), unused.into(), Vec::new(), limits, records).unwrap();
    assert_eq!(states(&sources), ["mcp-old off", "mcp-wrong off"]);
}
