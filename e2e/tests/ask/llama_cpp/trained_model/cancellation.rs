//! Cancelled queries free their slot of the server.

use std::time::Instant;

use bridge_protocol::QueryId;
use e2e::{Format, LlamaCpp};

use super::{Arguments, SHORT, TrainedTestBed, print_figures};
use crate::llama_cpp::cancellation::drain;
use crate::test_bed::{QueryEvents, query};

#[tokio::test]
async fn a_cancelled_answer_frees_the_slot() {
    for format in LlamaCpp::FORMATS {
        let arguments = Arguments {
            server: &["--endless", "--slots", "1"],
            ..Arguments::default()
        };
        let bed = TrainedTestBed::start(format, arguments).await;
        let page = bed.page(vec![]).await;
        // The second query gets an answer only if the first has ended.
        for uuid in ["q-1", "q-2"] {
            page.send_query(query(uuid, SHORT)).await;
            let mut events = QueryEvents::default();
            events.collect_until(&page, uuid, "text").await;
            let cancelled = Instant::now();
            page.cancel_query(&QueryId::from(uuid)).await;
            bed.server.wait_for_busy_slots(0).await;
            let milliseconds = cancelled.elapsed().as_millis();
            print_figures(&format!(
                "({format:?}) is idle {milliseconds} ms after a cancel in the answer"
            ));
            bed.assert_idle_without_leaks().await;
            drain(&page).await;
        }
    }
}

/// The server notices a closed connection only when it has read the whole prompt. It answers `/slots`
/// after each batch.
#[tokio::test]
async fn a_query_cancelled_while_its_prompt_is_read_gets_no_answer() {
    let arguments = Arguments {
        server: &["--batch", "64", "--slots", "1", "--endless"],
        ..Arguments::default()
    };
    let bed = TrainedTestBed::start(Format::OpenAi, arguments).await;
    let page = bed.page(vec![]).await;
    // About 1,100 tokens with those of the agent.
    let long = query("q-1", &"Look! ".repeat(400));
    page.send_query(long).await;
    bed.server.wait_for_busy_slots(1).await;
    let cancelled = Instant::now();
    page.cancel_query(&QueryId::from("q-1")).await;
    bed.agent.wait_until_idle().await;
    let agent = cancelled.elapsed().as_millis();
    bed.server.wait_for_busy_slots(0).await;
    let server = cancelled.elapsed().as_millis();
    print_figures(&format!(
        "is idle {server} ms after a cancel while it reads, and its agent {agent} ms"
    ));
    // It would fill the context.
    let written = bed.server.metric("tokens_predicted_total").await;
    assert!(written < 100, "{written} tokens");
    bed.assert_idle_without_leaks().await;
}
