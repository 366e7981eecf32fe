//! Cancelled queries free their slot of the server.

use std::time::Instant;

use bridge_protocol::QueryId;
use e2e::{LlamaCpp, QueryPage};

use super::{Arguments, LlamaCppTestBed, TEXT};
use crate::test_bed::{QueryEvents, query};

/// Arguments for answers that take longer than a test, one at a time.
const LONG_ANSWERS: Arguments<'_> = Arguments {
    server: &["--slots", "1", "--context", "131072"],
    agent: &["--max-output-tokens", "100000"],
    bridge: &[],
};

/// The limit in these arguments. The model repeats a word until it is reached.
const MAX_OUTPUT_TOKENS: u64 = 100_000;

/// Receives the messages that the bridge sent before it read the cancel.
pub(super) async fn drain(page: &QueryPage) {
    while page.try_next_query_message().await.is_some() {}
}

#[tokio::test]
async fn a_query_is_cancelled_while_the_server_streams() {
    for format in LlamaCpp::FORMATS {
        // The limit is one query: a cancelled one that still counted would prevent the next.
        let arguments = Arguments {
            bridge: &["--max-queries", "1"],
            ..LONG_ANSWERS
        };
        let bed = LlamaCppTestBed::start_with(format, arguments).await;
        let page = bed.page(vec![]).await;
        page.send_query(query("q-1", "Go on [[endless]]")).await;
        let mut events = QueryEvents::default();
        events.collect_until(&page, "q-1", "text").await;
        assert_eq!(bed.server.busy_slots().await, 1);
        let cancelled = Instant::now();
        page.cancel_query(&QueryId::from("q-1")).await;
        bed.server.wait_for_busy_slots(0).await;
        let duration = cancelled.elapsed();
        let tokens = bed.server.metric("tokens_predicted_total").await;
        println!("{format:?}: the slot is idle {duration:?} after the cancel and {tokens} tokens");
        assert!(tokens < MAX_OUTPUT_TOKENS, "{tokens} tokens");
        bed.assert_idle_without_leaks().await;
        drain(&page).await;
        let events = QueryEvents::run(&page, query("q-2", "Is anything late?")).await;
        assert_eq!(events.last()["result"], TEXT, "{format:?}: {events:?}");
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_query_is_cancelled_while_it_waits_for_a_slot() {
    for format in LlamaCpp::FORMATS {
        let bed = LlamaCppTestBed::start_with(format, LONG_ANSWERS).await;
        let page = bed.page(vec![]).await;
        page.send_query(query("q-1", "Go on [[endless]]")).await;
        QueryEvents::default()
            .collect_until(&page, "q-1", "text")
            .await;
        let other = QueryPage::open(&bed.bridge, "other", vec![]).await;
        other.send_query(query("q-2", "Go on [[endless]]")).await;
        bed.server.wait_for_waiting_requests(1).await;
        // The server reads that a connection is closed only when its request has a slot.
        other.cancel_query(&QueryId::from("q-2")).await;
        bed.agent.wait_for_active_queries(1).await;
        page.cancel_query(&QueryId::from("q-1")).await;
        bed.assert_idle_without_leaks().await;
        let tokens = bed.server.metric("tokens_predicted_total").await;
        assert!(tokens < MAX_OUTPUT_TOKENS, "{tokens} tokens");
        drain(&other).await;
        let events = QueryEvents::run(&other, query("q-3", "Is anything late?")).await;
        assert_eq!(events.last()["result"], TEXT, "{format:?}: {events:?}");
    }
}
