//! Many queries at once.

use std::io::Write;
use std::time::Instant;

use bridge_protocol::{BridgeToPage, QueryComplete};
use e2e::{LlamaCpp, QueryPage};
use futures_util::future::join_all;
use serde_json::json;

use super::{ANSWER, Arguments, LlamaCppTestBed};
use crate::test_bed::{adding_tool, query};

const QUERIES: usize = 100;
const PAGES: usize = 10;

#[tokio::test]
async fn a_hundred_queries_at_once_are_all_answered() {
    for format in LlamaCpp::FORMATS {
        let limits = ["--max-queries", "100"];
        let arguments = Arguments {
            agent: &limits,
            bridge: &limits,
            ..Arguments::default()
        };
        let bed = LlamaCppTestBed::start_with(format, arguments).await;
        let start = Instant::now();
        let pages = (0..PAGES).map(|page| answered_queries(&bed, page));
        let answered: usize = join_all(pages).await.into_iter().sum();
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(answered, QUERIES, "{format:?}");
        bed.assert_idle_without_leaks().await;
        let figures = format!(
            "figures: llama.cpp with the API of {} answers {answered} queries at once in {seconds:.1} s\n",
            format.name()
        );
        // The test harness captures `print!`, but this time should always be visible.
        std::io::stdout().write_all(figures.as_bytes()).unwrap();
    }
}

/// Opens a page, sends its share of the queries, and returns how many are answered.
async fn answered_queries(bed: &LlamaCppTestBed, page: usize) -> usize {
    let session = format!("board-{page}");
    let page = QueryPage::open(&bed.bridge, &session, vec![adding_tool(1)]).await;
    for number in 0..QUERIES / PAGES {
        let uuid = format!("{session}-{number}");
        page.send_query(query(&uuid, "Add a card")).await;
    }
    let (mut ended, mut answered) = (0, 0);
    while ended < QUERIES / PAGES {
        match page.next_query_message().await.1 {
            BridgeToPage::QueryComplete(complete) => {
                ended += 1;
                answered += usize::from(is_expected(&complete));
            }
            BridgeToPage::QueryAccepted(_) | BridgeToPage::QueryProgress(_) => {}
            other => panic!("{other:?}"),
        }
    }
    answered
}

/// Returns whether a query has its answer, after one call.
fn is_expected(complete: &QueryComplete) -> bool {
    let result = complete.result.as_ref().map(|result| result.get());
    result == Some(&json!(ANSWER).to_string()) && complete.tool_calls.len() == 1
}
