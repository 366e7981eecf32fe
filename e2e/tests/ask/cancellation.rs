//! A page that no longer wants to know: the provider's connection closes within a second, and no
//! tool runs afterwards.

use std::time::Duration;

use bridge_protocol::QueryId;
use e2e::{BreakMode, Exchange, ExchangeOutcome, Format, NativeItem, Script, Scripts, Turn};
use serde_json::json;

use crate::test_bed::{QueryEvents, QueryTestBed, query};

/// The page cancels `q-1`; returns the exchange that this ended.
async fn cancel_and_wait(asking: &QueryTestBed, page: &e2e::NativePage, number: usize) -> Exchange {
    let now = std::time::Instant::now();
    page.cancel_query(&QueryId::from("q-1")).await;
    let exchange = asking.provider.wait_for_end(number).await;
    let (_, end) = exchange.end.unwrap();
    let after = end.saturating_duration_since(now);
    assert!(after < Duration::from_secs(1), "closed after {after:?}");
    exchange
}

/// The same page is free to ask again, and heard nothing more of the query.
async fn can_ask_again(asking: &QueryTestBed, page: &e2e::NativePage, format: Format) {
    asking.assert_idle_without_leaks().await;
    let heard = QueryEvents::run(page, query("q-2", "Hello [[fine]]")).await;
    assert_eq!(heard.last()["result"], "Fine.", "{format:?}: {heard:?}");
    asking.assert_idle_without_leaks().await;
}

fn with_working_script(scripts: impl Into<Scripts>) -> Scripts {
    scripts.into().with("fine", Turn::from_text("Fine."))
}

const ONE_QUERY: [&str; 2] = ["--max-queries", "1"];

#[tokio::test]
async fn before_the_model_says_anything() {
    for format in Format::AGENT_FORMATS {
        let scripts = with_working_script(Turn::silent());
        let asking = QueryTestBed::start_with(format, scripts, &[], &ONE_QUERY).await;
        let page = asking.page(vec![]).await;
        page.send_query(query("q-1", "Hello there")).await;
        asking.provider.wait_for_request(0).await;
        let exchange = cancel_and_wait(&asking, &page, 0).await;
        assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
        let (_, accepted) = page.next_query_message().await;
        assert!(accepted.encode().contains("query_accepted"));
        can_ask_again(&asking, &page, format).await;
    }
}

#[tokio::test]
async fn while_the_model_speaks() {
    for format in Format::AGENT_FORMATS {
        let turn = Turn::from_text("I begin")
            .text("…")
            .broken(1, BreakMode::Hang);
        let asking =
            QueryTestBed::start_with(format, with_working_script(turn), &[], &ONE_QUERY).await;
        let page = asking.page(vec![]).await;
        page.send_query(query("q-1", "Hello there")).await;
        let mut heard = QueryEvents::default();
        heard.collect_until(&page, "q-1", "text").await;
        let exchange = cancel_and_wait(&asking, &page, 0).await;
        assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
        can_ask_again(&asking, &page, format).await;
    }
}

#[tokio::test]
async fn while_a_tool_runs_which_is_cancelled_too() {
    let script = Script::new([
        Turn::from_call("hang", json!({})).call("hang", json!({})),
        Turn::from_text("never"),
    ]);
    let asking = QueryTestBed::start_with(Format::Anthropic, script, &[], &ONE_QUERY).await;
    let page = asking.page(vec![NativeItem::hang()]).await;
    page.send_query(query("q-1", "Hello")).await;
    let calls = [page.next_call().await, page.next_call().await];
    let mut heard = QueryEvents::default();
    heard.collect_until(&page, "q-1", "tool-started").await;
    heard.collect_until(&page, "q-1", "tool-started").await;
    page.cancel_query(&QueryId::from("q-1")).await;
    let mut ended = [page.next_cancel().await.0, page.next_cancel().await.0];
    ended.sort();
    let mut calls = calls;
    calls.sort();
    assert_eq!(ended, calls);
    asking.assert_idle_without_leaks().await;
    assert_eq!(
        asking.provider.exchanges().len(),
        1,
        "the model is not asked again"
    );
    assert!(
        page.try_next_query_message().await.is_none(),
        "the page hears nothing more"
    );
}

#[tokio::test]
async fn after_a_tool_while_the_model_thinks_about_its_result() {
    let script = Script::new([
        Turn::from_call("echo", json!({ "n": 1 })),
        Turn::from_call("echo", json!({ "n": 2 })).broken(1, BreakMode::Hang),
    ]);
    for format in Format::AGENT_FORMATS {
        let asking = QueryTestBed::start_with(format, script.clone(), &[], &ONE_QUERY).await;
        let page = asking.page(vec![NativeItem::echo()]).await;
        page.send_query(query("q-1", "Hello")).await;
        page.next_call().await;
        let mut heard = QueryEvents::default();
        heard.collect_until(&page, "q-1", "tool-finished").await;
        asking.provider.wait_for_request(1).await;
        let exchange = cancel_and_wait(&asking, &page, 1).await;
        assert_eq!(
            exchange.outcome(),
            Some(ExchangeOutcome::ClosedByClient),
            "{format:?}"
        );
        asking.assert_idle_without_leaks().await;
        assert!(
            page.try_next_query_message().await.is_none(),
            "no tool, and no word"
        );
        assert_eq!(asking.provider.exchanges().len(), 2);
    }
}
