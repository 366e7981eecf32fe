//! SmolLM2-135M-Instruct, a small trained model. It writes short English that is often wrong, so that no
//! test compares its words. Its chat template drops tools: the server ignores that a call is required.

use std::io::Write;
use std::ops::Deref;
use std::time::Instant;

use e2e::{Format, LlamaCpp, RequestTap};
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{Arguments, LlamaCppTestBed};
use crate::test_bed::{QueryEvents, query};

mod cancellation;
mod ignored_requests;
mod limits;
mod plans;

/// The APIs of the server.
const APIS: [Format; 3] = [Format::OpenAi, Format::Anthropic, Format::OpenAiResponses];

/// A prompt whose answer is short.
const SHORT: &str = "Say hello in one short sentence.";

/// Ends answers after their first word, because this model may repeat itself without an end.
const ONE_WORD: [&str; 8] = ["--stop", " ", "--stop", ".", "--stop", "!", "--stop", "?"];

/// The maximum number of test beds at a time: each server uses up to 0.5 GB and one core.
static BEDS: Semaphore = Semaphore::const_new(2);

/// A test bed whose server has the trained model.
struct TrainedTestBed {
    bed: LlamaCppTestBed,
    _permit: SemaphorePermit<'static>,
}

impl TrainedTestBed {
    async fn start(format: Format, arguments: Arguments<'_>) -> Self {
        let (permit, server) = start_server(arguments.server).await;
        let url = server.base_url(format);
        Self::start_at(permit, server, &url, format, arguments).await
    }

    /// Starts a test bed that records what the agent sends to the server.
    async fn start_with_tap(format: Format, arguments: Arguments<'_>) -> (Self, RequestTap) {
        let (permit, server) = start_server(arguments.server).await;
        let tap = RequestTap::start(server.address()).await;
        let url = format!("http://{}/v1/", tap.address());
        let bed = Self::start_at(permit, server, &url, format, arguments).await;
        (bed, tap)
    }

    async fn start_at(
        permit: SemaphorePermit<'static>,
        server: LlamaCpp,
        url: &str,
        format: Format,
        arguments: Arguments<'_>,
    ) -> Self {
        Self {
            bed: LlamaCppTestBed::start_at(server, url, format, arguments).await,
            _permit: permit,
        }
    }
}

impl Deref for TrainedTestBed {
    type Target = LlamaCppTestBed;

    fn deref(&self) -> &LlamaCppTestBed {
        &self.bed
    }
}

/// Starts a server when there is room for one.
async fn start_server(arguments: &[&str]) -> (SemaphorePermit<'static>, LlamaCpp) {
    let permit = BEDS.acquire().await.unwrap();
    let arguments = [&["--model", "smollm2"], arguments].concat();
    (permit, LlamaCpp::start(&arguments).await)
}

/// Returns the pieces of the text that a page has received.
fn texts(events: &QueryEvents) -> Vec<&str> {
    pieces(events, "text", "text")
}

/// Returns a field of all contents of a kind.
fn pieces<'a>(events: &'a QueryEvents, kind: &str, field: &str) -> Vec<&'a str> {
    let contents = events.0.iter().map(|event| &event["content"]);
    let contents = contents.filter(|content| content["type"] == kind);
    contents
        .map(|content| content[field].as_str().unwrap())
        .collect()
}

/// Returns the tokens that a query has used: input and output.
fn tokens(events: &QueryEvents) -> (u64, u64) {
    let contents = events.0.iter().rev().map(|event| &event["content"]);
    let mut usages = contents.filter(|content| content["type"] == "usage");
    let usage = usages
        .next()
        .unwrap_or_else(|| panic!("no usage: {events:?}"));
    let models = usage["usage"]["models"].as_object().unwrap();
    let count = |field: &str| {
        let counts = models.values().map(|model| model[field].as_u64().unwrap());
        counts.sum()
    };
    (count("input"), count("output"))
}

/// Returns the answer of a query that is complete.
fn result(events: &QueryEvents) -> &Value {
    let last = events.last();
    assert_eq!(last["type"], "query_complete", "{events:?}");
    &last["result"]
}

/// Prints figures that should always be visible: the test harness captures `print!`.
fn print_figures(figures: &str) {
    let line = format!("figures: SmolLM2-135M-Instruct {figures}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

#[tokio::test]
async fn a_trained_model_answers_with_text() {
    for format in APIS {
        let arguments = Arguments {
            server: &ONE_WORD,
            ..Arguments::default()
        };
        let bed = TrainedTestBed::start(format, arguments).await;
        let page = bed.page(vec![]).await;
        let events = QueryEvents::run(&page, query("q-1", SHORT)).await;
        let text = result(&events).as_str().unwrap();
        assert!(!text.trim().is_empty(), "{format:?}: {events:?}");
        let pieces = texts(&events);
        assert_eq!(pieces.concat(), text, "{format:?}");
        // The agent reports the counts of the server.
        let input = bed.server.metric("prompt_tokens_total").await;
        let output = bed.server.metric("tokens_predicted_total").await;
        assert_eq!(tokens(&events), (input, output), "{format:?}");
        bed.assert_idle_without_leaks().await;
        let log = bed.agent.log();
        assert!(log.contains("end=\"complete\""), "{format:?}: {log}");
    }
}

#[tokio::test]
async fn a_trained_model_needs_little() {
    let permit = BEDS.acquire().await.unwrap();
    let started = Instant::now();
    let server = LlamaCpp::start(&[&["--model", "smollm2"], &ONE_WORD[..]].concat()).await;
    let seconds = started.elapsed().as_secs_f64();
    let url = server.base_url(Format::OpenAi);
    let arguments = Arguments::default();
    let bed = TrainedTestBed::start_at(permit, server, &url, Format::OpenAi, arguments).await;
    let page = bed.page(vec![]).await;
    // About 600 tokens.
    let long = format!("{}\n\n{SHORT}", "Look! ".repeat(300));
    let events = QueryEvents::run(&page, query("q-1", &long)).await;
    result(&events);
    let memory = bed.server.meter().peak_memory().unwrap();
    let megabytes = memory / 1_000_000;
    print_figures(&format!(
        "serves after {seconds:.1} s and needs {megabytes} MB"
    ));
    assert!(megabytes < 1000, "{megabytes} MB");
}
