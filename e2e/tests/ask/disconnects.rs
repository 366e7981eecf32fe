//! What becomes of a query when the page, the bridge or the agent goes away.

use std::time::{Duration, Instant};

use e2e::{BreakMode, ExchangeOutcome, Format, NativePage, Turn};

use crate::test_bed::{QueryEvents, QueryTestBed, query};

fn hanging() -> Turn {
    Turn::from_text("I begin")
        .text("…")
        .broken(1, BreakMode::Hang)
}

#[tokio::test]
async fn a_page_that_is_gone_for_good_ends_its_query() {
    let bridge = ["--query-attach", "200ms"];
    let asking = QueryTestBed::start_with(Format::Anthropic, hanging(), &[], &bridge).await;
    let page = asking.page(vec![]).await;
    page.send_query(query("q-1", "Hello")).await;
    QueryEvents::default()
        .collect_until(&page, "q-1", "text")
        .await;
    page.close(1001).await;
    let exchange = asking.provider.wait_for_end(0).await;
    assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
    asking.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn a_broken_connection_does_not_end_the_query() {
    let turn = Turn::from_text("one ").pause_after(1).text("two");
    let asking = QueryTestBed::start(Format::Gemini, turn).await;
    let mut page = asking.page(vec![]).await;
    page.send_query(query("q-1", "Hello")).await;
    let mut heard = QueryEvents::default();
    heard.collect_until(&page, "q-1", "text").await;
    page.reconnect(&asking.world).await;
    asking.provider.resume_one();
    let rest = QueryEvents::collect_rest(&page, "q-1").await;
    heard.0.extend(rest.0);
    let story = heard.summary();
    assert_eq!(
        story,
        ["accepted", "says one two", r#"completes "one two""#]
    );
    asking.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn an_agent_that_dies_fails_its_queries_at_once() {
    let mut asking = QueryTestBed::start(Format::Ollama, hanging()).await;
    let page = asking.page(vec![]).await;
    page.send_query(query("q-1", "Hello")).await;
    let mut heard = QueryEvents::default();
    heard.collect_until(&page, "q-1", "text").await;
    let now = Instant::now();
    asking.agent.crash().await;
    heard.collect_until(&page, "q-1", "query_failure").await;
    assert!(
        now.elapsed() < Duration::from_secs(2),
        "{:?}",
        now.elapsed()
    );
    assert_eq!(heard.last()["code"], "AgentUnavailable", "{heard:?}");
    let exchange = asking.provider.wait_for_end(0).await;
    assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
    let heard = QueryEvents::run(&page, query("q-2", "Hello")).await;
    assert_eq!(heard.last()["code"], "AgentUnavailable", "{heard:?}");
}

#[tokio::test]
async fn a_bridge_that_dies_ends_what_the_agent_does_for_it() {
    let mut asking = QueryTestBed::start(Format::Anthropic, hanging()).await;
    let page = asking.page(vec![]).await;
    page.send_query(query("q-1", "Hello")).await;
    QueryEvents::default()
        .collect_until(&page, "q-1", "text")
        .await;
    let now = Instant::now();
    asking.world.crash().await;
    let exchange = asking.provider.wait_for_end(0).await;
    assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
    assert!(
        now.elapsed() < Duration::from_secs(2),
        "{:?}",
        now.elapsed()
    );
    asking.agent.wait_until_idle().await;
}

#[tokio::test]
async fn a_query_id_can_be_used_once() {
    let turn = Turn::from_text("one ").pause_after(1).text("two");
    let asking = QueryTestBed::start(Format::OpenAi, turn).await;
    let page = asking.page(vec![]).await;
    let other = NativePage::open(&asking.world, "other", vec![]).await;
    page.send_query(query("q-1", "Hello")).await;
    let mut heard = QueryEvents::default();
    heard.collect_until(&page, "q-1", "text").await;
    // From the same page it asks nothing, from another it fails.
    page.send_query(query("q-1", "Something else")).await;
    let refused = QueryEvents::run(&other, query("q-1", "Hello")).await;
    assert_eq!(refused.last()["code"], "QueryCompleted", "{refused:?}");
    asking.provider.resume_one();
    heard.collect_until(&page, "q-1", "query_complete").await;
    assert_eq!(heard.last()["result"], "one two");
    // The page hears once more what has come of it.
    let again = QueryEvents::run(&page, query("q-1", "Hello")).await;
    assert_eq!(again.last()["result"], "one two", "{again:?}");
    asking.assert_idle_without_leaks().await;
    assert_eq!(asking.provider.exchanges().len(), 1);
}
