//! What becomes of a query when the page, the bridge or the agent goes away.

use std::time::{Duration, Instant};

use e2e::{Break, Ending, Format, NativePage, Turn};

use crate::asking::{Asking, Heard, query};

fn hanging() -> Turn {
    Turn::saying("I begin").text("…").broken(1, Break::Hang)
}

#[tokio::test]
async fn a_page_that_is_gone_for_good_ends_its_query() {
    let bridge = ["--query-attach", "200ms"];
    let asking = Asking::start_with(Format::Anthropic, hanging(), &[], &bridge).await;
    let page = asking.page(vec![]).await;
    page.ask(query("q-1", "Hello")).await;
    Heard::default().until(&page, "q-1", "text").await;
    page.close(1001).await;
    let exchange = asking.provider.ended(0).await;
    assert_eq!(exchange.ending(), Some(Ending::ClosedByClient));
    asking.at_rest().await;
}

#[tokio::test]
async fn a_connection_that_breaks_is_no_end() {
    let turn = Turn::saying("one ").pausing(1).text("two");
    let asking = Asking::start(Format::Gemini, turn).await;
    let mut page = asking.page(vec![]).await;
    page.ask(query("q-1", "Hello")).await;
    let mut heard = Heard::default();
    heard.until(&page, "q-1", "text").await;
    page.reconnect(&asking.world).await;
    asking.provider.go_on();
    let rest = Heard::listen(&page, "q-1").await;
    heard.0.extend(rest.0);
    let story = heard.story();
    assert_eq!(
        story,
        ["accepted", "says one two", r#"completes "one two""#]
    );
    asking.at_rest().await;
}

#[tokio::test]
async fn an_agent_that_dies_fails_its_queries_at_once() {
    let mut asking = Asking::start(Format::Ollama, hanging()).await;
    let page = asking.page(vec![]).await;
    page.ask(query("q-1", "Hello")).await;
    let mut heard = Heard::default();
    heard.until(&page, "q-1", "text").await;
    let now = Instant::now();
    asking.agent.crash().await;
    heard.until(&page, "q-1", "query_failure").await;
    assert!(
        now.elapsed() < Duration::from_secs(2),
        "{:?}",
        now.elapsed()
    );
    assert_eq!(heard.last()["code"], "AgentUnavailable", "{heard:?}");
    let exchange = asking.provider.ended(0).await;
    assert_eq!(exchange.ending(), Some(Ending::ClosedByClient));
    let heard = Heard::of(&page, query("q-2", "Hello")).await;
    assert_eq!(heard.last()["code"], "AgentUnavailable", "{heard:?}");
}

#[tokio::test]
async fn a_bridge_that_dies_ends_what_the_agent_does_for_it() {
    let mut asking = Asking::start(Format::Anthropic, hanging()).await;
    let page = asking.page(vec![]).await;
    page.ask(query("q-1", "Hello")).await;
    Heard::default().until(&page, "q-1", "text").await;
    let now = Instant::now();
    asking.world.crash().await;
    let exchange = asking.provider.ended(0).await;
    assert_eq!(exchange.ending(), Some(Ending::ClosedByClient));
    assert!(
        now.elapsed() < Duration::from_secs(2),
        "{:?}",
        now.elapsed()
    );
    asking.agent.at_rest().await;
}

#[tokio::test]
async fn a_uuid_is_asked_once() {
    let turn = Turn::saying("one ").pausing(1).text("two");
    let asking = Asking::start(Format::OpenAi, turn).await;
    let page = asking.page(vec![]).await;
    let other = NativePage::open(&asking.world, "other", vec![]).await;
    page.ask(query("q-1", "Hello")).await;
    let mut heard = Heard::default();
    heard.until(&page, "q-1", "text").await;
    // From the same page it asks nothing, from another it fails.
    page.ask(query("q-1", "Something else")).await;
    let refused = Heard::of(&other, query("q-1", "Hello")).await;
    assert_eq!(refused.last()["code"], "QueryCompleted", "{refused:?}");
    asking.provider.go_on();
    heard.until(&page, "q-1", "query_complete").await;
    assert_eq!(heard.last()["result"], "one two");
    // The page hears once more what has come of it.
    let again = Heard::of(&page, query("q-1", "Hello")).await;
    assert_eq!(again.last()["result"], "one two", "{again:?}");
    asking.at_rest().await;
    assert_eq!(asking.provider.exchanges().len(), 1);
}
