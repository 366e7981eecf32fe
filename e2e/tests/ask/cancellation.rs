//! Cancelled queries: the connection to the provider closes within a second, and no tool runs
//! afterwards.

use std::time::Duration;

use bridge_protocol::QueryId;
use e2e::{BreakMode, Exchange, ExchangeOutcome, Format, PageTool, Script, Scripts, Turn};
use serde_json::json;

use crate::test_bed::{QueryEvents, QueryTestBed, query};

/// Cancels the query `q-1`, and returns the exchange that ends because of it.
async fn cancel_and_wait(bed: &QueryTestBed, page: &e2e::QueryPage, number: usize) -> Exchange {
    let now = std::time::Instant::now();
    page.cancel_query(&QueryId::from("q-1")).await;
    let exchange = bed.provider.wait_for_end(number).await;
    let (_, end) = exchange.end.unwrap();
    let after = end.saturating_duration_since(now);
    assert!(after < Duration::from_secs(1), "closed after {after:?}");
    exchange
}

/// Checks that the page received nothing more of the query and can send another one.
async fn assert_next_query_works(bed: &QueryTestBed, page: &e2e::QueryPage, format: Format) {
    bed.assert_idle_without_leaks().await;
    let events = QueryEvents::run(page, query("q-2", "Hello [[fine]]")).await;
    assert_eq!(events.last()["result"], "Fine.", "{format:?}: {events:?}");
    bed.assert_idle_without_leaks().await;
}

fn with_working_script(scripts: impl Into<Scripts>) -> Scripts {
    scripts.into().with("fine", Turn::from_text("Fine."))
}

const ONE_QUERY: [&str; 2] = ["--max-queries", "1"];

#[tokio::test]
async fn a_query_is_cancelled_before_the_first_token() {
    for format in Format::ALL {
        let scripts = with_working_script(Turn::silent());
        let bed = QueryTestBed::start_with(format, scripts, &[], &ONE_QUERY).await;
        let page = bed.page(vec![]).await;
        page.send_query(query("q-1", "Hello there")).await;
        bed.provider.wait_for_request(0).await;
        let exchange = cancel_and_wait(&bed, &page, 0).await;
        assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
        let (_, accepted) = page.next_query_message().await;
        assert!(accepted.encode().contains("query_accepted"));
        assert_next_query_works(&bed, &page, format).await;
    }
}

#[tokio::test]
async fn a_query_is_cancelled_while_the_model_streams() {
    for format in Format::ALL {
        let turn = Turn::from_text("I begin")
            .text("…")
            .broken(1, BreakMode::Hang);
        let bed =
            QueryTestBed::start_with(format, with_working_script(turn), &[], &ONE_QUERY).await;
        let page = bed.page(vec![]).await;
        page.send_query(query("q-1", "Hello there")).await;
        let mut events = QueryEvents::default();
        events.collect_until(&page, "q-1", "text").await;
        let exchange = cancel_and_wait(&bed, &page, 0).await;
        assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
        assert_next_query_works(&bed, &page, format).await;
    }
}

#[tokio::test]
async fn the_running_tools_of_a_query_are_cancelled() {
    let script = Script::new([
        Turn::from_call("hang", json!({})).call("hang", json!({})),
        Turn::from_text("never"),
    ]);
    let bed = QueryTestBed::start_with(Format::Anthropic, script, &[], &ONE_QUERY).await;
    let page = bed.page(vec![PageTool::hang()]).await;
    page.send_query(query("q-1", "Hello")).await;
    let calls = [page.next_call().await, page.next_call().await];
    let mut events = QueryEvents::default();
    events.collect_until(&page, "q-1", "tool-started").await;
    events.collect_until(&page, "q-1", "tool-started").await;
    page.cancel_query(&QueryId::from("q-1")).await;
    let mut cancelled = [page.next_cancel().await, page.next_cancel().await];
    cancelled.sort();
    let mut calls = calls;
    calls.sort();
    assert_eq!(cancelled, calls);
    bed.assert_idle_without_leaks().await;
    assert_eq!(
        bed.provider.exchanges().len(),
        1,
        "no other request is sent to the model"
    );
    assert!(
        page.try_next_query_message().await.is_none(),
        "the page receives nothing more"
    );
}

#[tokio::test]
async fn a_query_is_cancelled_while_the_model_processes_a_tool_result() {
    let script = Script::new([
        Turn::from_call("echo", json!({ "n": 1 })),
        Turn::from_call("echo", json!({ "n": 2 })).broken(1, BreakMode::Hang),
    ]);
    for format in Format::ALL {
        let bed = QueryTestBed::start_with(format, script.clone(), &[], &ONE_QUERY).await;
        let page = bed.page(vec![PageTool::echo()]).await;
        page.send_query(query("q-1", "Hello")).await;
        page.next_call().await;
        let mut events = QueryEvents::default();
        events.collect_until(&page, "q-1", "tool-finished").await;
        bed.provider.wait_for_request(1).await;
        let exchange = cancel_and_wait(&bed, &page, 1).await;
        assert_eq!(
            exchange.outcome(),
            Some(ExchangeOutcome::ClosedByClient),
            "{format:?}"
        );
        bed.assert_idle_without_leaks().await;
        assert!(
            page.try_next_query_message().await.is_none(),
            "the page receives nothing more"
        );
        assert_eq!(bed.provider.exchanges().len(), 2);
    }
}
