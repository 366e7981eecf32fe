//! The outcome of a query whose page, bridge or agent disconnects.

use std::time::{Duration, Instant};

use e2e::{BreakMode, ExchangeOutcome, Format, QueryPage, Turn};

use crate::test_bed::{QueryEvents, QueryTestBed, query};

fn hanging() -> Turn {
    Turn::from_text("I begin")
        .text("…")
        .broken(1, BreakMode::Hang)
}

#[tokio::test]
async fn a_query_ends_when_its_page_is_gone_for_good() {
    let bridge = ["--query-attach", "200ms"];
    let bed = QueryTestBed::start_with(Format::Anthropic, hanging(), &[], &bridge).await;
    let page = bed.page(vec![]).await;
    page.send_query(query("q-1", "Hello")).await;
    QueryEvents::default()
        .collect_until(&page, "q-1", "text")
        .await;
    page.close().await;
    let exchange = bed.provider.wait_for_end(0).await;
    assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
    bed.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn a_broken_connection_does_not_end_the_query() {
    let turn = Turn::from_text("one ").pause_after(1).text("two");
    let bed = QueryTestBed::start(Format::Gemini, turn).await;
    let page = bed.page(vec![]).await;
    page.send_query(query("q-1", "Hello")).await;
    let mut events = QueryEvents::default();
    events.collect_until(&page, "q-1", "text").await;
    page.cut().await;
    let page = bed.page(vec![]).await;
    bed.provider.resume_one();
    let rest = QueryEvents::collect_rest(&page, "q-1").await;
    events.0.extend(rest.0);
    assert_eq!(
        events.summary(),
        ["accepted", "says one two", r#"completes "one two""#]
    );
    bed.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn a_crash_of_the_agent_fails_its_queries_at_once() {
    let mut bed = QueryTestBed::start(Format::Gemini, hanging()).await;
    let page = bed.page(vec![]).await;
    page.send_query(query("q-1", "Hello")).await;
    let mut events = QueryEvents::default();
    events.collect_until(&page, "q-1", "text").await;
    let now = Instant::now();
    bed.agent.crash().await;
    events.collect_until(&page, "q-1", "query_failure").await;
    assert!(
        now.elapsed() < Duration::from_secs(2),
        "{:?}",
        now.elapsed()
    );
    assert_eq!(events.last()["code"], "AgentUnavailable", "{events:?}");
    let exchange = bed.provider.wait_for_end(0).await;
    assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
    let events = QueryEvents::run(&page, query("q-2", "Hello")).await;
    assert_eq!(events.last()["code"], "AgentUnavailable", "{events:?}");
}

#[tokio::test]
async fn a_crash_of_the_bridge_ends_the_work_of_its_agent() {
    let mut bed = QueryTestBed::start(Format::Anthropic, hanging()).await;
    let page = bed.page(vec![]).await;
    page.send_query(query("q-1", "Hello")).await;
    QueryEvents::default()
        .collect_until(&page, "q-1", "text")
        .await;
    let now = Instant::now();
    bed.bridge.crash().await;
    let exchange = bed.provider.wait_for_end(0).await;
    assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
    assert!(
        now.elapsed() < Duration::from_secs(2),
        "{:?}",
        now.elapsed()
    );
    bed.agent.wait_until_idle().await;
}

#[tokio::test]
async fn a_query_id_can_be_used_once() {
    let turn = Turn::from_text("one ").pause_after(1).text("two");
    let bed = QueryTestBed::start(Format::OpenAi, turn).await;
    let page = bed.page(vec![]).await;
    let other = QueryPage::open(&bed.bridge, "other", vec![]).await;
    page.send_query(query("q-1", "Hello")).await;
    let mut events = QueryEvents::default();
    events.collect_until(&page, "q-1", "text").await;
    // A repeated query is ignored if it is from the same page, and fails if it is from another
    // page.
    page.send_query(query("q-1", "Something else")).await;
    let rejected = QueryEvents::run(&other, query("q-1", "Hello")).await;
    assert_eq!(rejected.last()["code"], "QueryCompleted", "{rejected:?}");
    bed.provider.resume_one();
    events.collect_until(&page, "q-1", "query_complete").await;
    assert_eq!(events.last()["result"], "one two");
    // The page receives the result of the query once more.
    let again = QueryEvents::run(&page, query("q-1", "Hello")).await;
    assert_eq!(again.last()["result"], "one two", "{again:?}");
    bed.assert_idle_without_leaks().await;
    assert_eq!(bed.provider.exchanges().len(), 1);
}
