//! A page that no longer wants to know: the provider's connection closes within a second, and no
//! tool runs afterwards.

use std::time::Duration;

use bridge_protocol::QueryId;
use e2e::{Break, Ending, Exchange, Format, NativeItem, Script, Scripts, Turn};
use serde_json::json;

use crate::asking::{Asking, Heard, query};

/// The page cancels `q-1`; returns the exchange that this ended.
async fn cancelled(asking: &Asking, page: &e2e::NativePage, number: usize) -> Exchange {
    let now = std::time::Instant::now();
    page.cancel(&QueryId::from("q-1")).await;
    let exchange = asking.provider.ended(number).await;
    let (_, end) = exchange.end.unwrap();
    let after = end.saturating_duration_since(now);
    assert!(after < Duration::from_secs(1), "closed after {after:?}");
    exchange
}

/// The same page is free to ask again, and heard nothing more of the query.
async fn goes_on(asking: &Asking, page: &e2e::NativePage, format: Format) {
    asking.at_rest().await;
    let heard = Heard::of(page, query("q-2", "Hello [[fine]]")).await;
    assert_eq!(heard.last()["result"], "Fine.", "{format:?}: {heard:?}");
    asking.at_rest().await;
}

fn with_a_fine_one(scripts: impl Into<Scripts>) -> Scripts {
    scripts.into().with("fine", Turn::saying("Fine."))
}

const ONE: [&str; 2] = ["--max-queries", "1"];

#[tokio::test]
async fn before_the_model_says_anything() {
    for format in Format::OF_OUR_AGENT {
        let scripts = with_a_fine_one(Turn::silent());
        let asking = Asking::start_with(format, scripts, &[], &ONE).await;
        let page = asking.page(vec![]).await;
        page.ask(query("q-1", "Hello there")).await;
        asking.provider.asked(0).await;
        let exchange = cancelled(&asking, &page, 0).await;
        assert_eq!(exchange.ending(), Some(Ending::ClosedByClient));
        let (_, accepted) = page.told().await;
        assert!(accepted.encode().contains("query_accepted"));
        goes_on(&asking, &page, format).await;
    }
}

#[tokio::test]
async fn while_the_model_speaks() {
    for format in Format::OF_OUR_AGENT {
        let turn = Turn::saying("I begin").text("…").broken(1, Break::Hang);
        let asking = Asking::start_with(format, with_a_fine_one(turn), &[], &ONE).await;
        let page = asking.page(vec![]).await;
        page.ask(query("q-1", "Hello there")).await;
        let mut heard = Heard::default();
        heard.until(&page, "q-1", "text").await;
        let exchange = cancelled(&asking, &page, 0).await;
        assert_eq!(exchange.ending(), Some(Ending::ClosedByClient));
        goes_on(&asking, &page, format).await;
    }
}

#[tokio::test]
async fn while_a_tool_runs_which_is_cancelled_too() {
    let script = Script::new([
        Turn::calling("hang", json!({})).call("hang", json!({})),
        Turn::saying("never"),
    ]);
    let asking = Asking::start_with(Format::Anthropic, script, &[], &ONE).await;
    let page = asking.page(vec![NativeItem::hang()]).await;
    page.ask(query("q-1", "Hello")).await;
    let calls = [page.called().await, page.called().await];
    let mut heard = Heard::default();
    heard.until(&page, "q-1", "tool-started").await;
    heard.until(&page, "q-1", "tool-started").await;
    page.cancel(&QueryId::from("q-1")).await;
    let mut ended = [page.cancelled().await.0, page.cancelled().await.0];
    ended.sort();
    let mut calls = calls;
    calls.sort();
    assert_eq!(ended, calls);
    asking.at_rest().await;
    assert_eq!(
        asking.provider.exchanges().len(),
        1,
        "the model is not asked again"
    );
    assert!(
        page.told_already().await.is_none(),
        "the page hears nothing more"
    );
}

#[tokio::test]
async fn after_a_tool_while_the_model_thinks_about_its_result() {
    let script = Script::new([
        Turn::calling("echo", json!({ "n": 1 })),
        Turn::calling("echo", json!({ "n": 2 })).broken(1, Break::Hang),
    ]);
    for format in Format::OF_OUR_AGENT {
        let asking = Asking::start_with(format, script.clone(), &[], &ONE).await;
        let page = asking.page(vec![NativeItem::echo()]).await;
        page.ask(query("q-1", "Hello")).await;
        page.called().await;
        let mut heard = Heard::default();
        heard.until(&page, "q-1", "tool-finished").await;
        asking.provider.asked(1).await;
        let exchange = cancelled(&asking, &page, 1).await;
        assert_eq!(
            exchange.ending(),
            Some(Ending::ClosedByClient),
            "{format:?}"
        );
        asking.at_rest().await;
        assert!(page.told_already().await.is_none(), "no tool, and no word");
        assert_eq!(asking.provider.exchanges().len(), 2);
    }
}
