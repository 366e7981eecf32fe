//! The cost of a query: how soon a page receives the model's first token, and what an agent with
//! hundreds of concurrent queries uses.
//!
//! The program `ask` prints the figures of `docs/benchmarks.md`. Bridge and agent are processes of
//! their own; page and provider are in this one, so that they share a clock.

use std::fmt;
use std::time::{Duration, Instant};

use bridge_protocol::{BridgeToPage, Query};
use futures_util::future::join_all;
use serde::Serialize;
use serde_json::json;

use crate::latencies::Latencies;
use crate::{
    AgentEndpoint, AgentService, Format, MockProvider, NativeItem, NativePage, Script, TestBed,
    Turn,
};

/// How soon the page receives the first token of the model.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FirstTokenLatency {
    /// The format of the provider.
    pub provider: Format,
    /// The number of queries, one after the other.
    pub queries: usize,
    /// The median from the provider's first byte to the page's first progress event, in
    /// microseconds.
    pub p50_us: f64,
    /// The 99th percentile of the same time, in microseconds.
    pub p99_us: f64,
    /// The median from the page's query to its arrival at the provider, in microseconds.
    pub asking_p50_us: f64,
}

/// The cost of many concurrent queries.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ConcurrentQueries {
    /// The number of concurrent queries, each with an answer that the model has half sent.
    pub queries: usize,
    /// The number of completed queries, with their tool call and the right answer.
    pub completed: usize,
    /// From the first query to the first half of the last answer, in seconds.
    pub asked_s: f64,
    /// From there to the end of the last answer, in seconds.
    pub answered_s: f64,
    /// Resident memory of the agent before, when it had answered one query, in MiB.
    pub before_mib: f64,
    /// Resident memory of the agent with all queries in flight, in MiB.
    pub during_mib: f64,
    /// Resident memory of the agent when all queries were answered, in MiB.
    pub after_mib: f64,
    /// Processor time of the agent per query, in microseconds.
    pub cpu_us: f64,
}

/// How the model writes what [`measure_writing`] measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writing {
    /// Nothing is written in pieces: the arguments of a call arrive at once.
    AtOnce,
    /// A text in pieces, before a call whose arguments arrive at once.
    Text,
    /// The arguments of a call in pieces.
    Arguments,
}

/// The cost of what the model writes in pieces.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WritingCost {
    /// What is written in pieces.
    pub writing: Writing,
    /// The number of pieces, of 4 bytes each, one every 2 ms.
    pub pieces: usize,
    /// The number of concurrent queries.
    pub queries: usize,
    /// The number of progress events for each query.
    pub events: f64,
    /// Processor time of the agent per query, in microseconds.
    pub agent_cpu_us: f64,
    /// Processor time of the bridge per query, in microseconds.
    pub bridge_cpu_us: f64,
}

/// A bridge, an agent and a provider whose limits allow a number of queries.
struct QuerySetup {
    provider: MockProvider,
    bed: TestBed,
    agent: AgentService,
}

impl QuerySetup {
    async fn start(format: Format, script: Script, queries: usize) -> Self {
        let provider = MockProvider::start(script).await;
        let endpoint = AgentEndpoint::reserve();
        let max = (queries + 1).to_string();
        let arguments = ["--max-queries", &max, "--max-calls", &max, "--log", "warn"];
        let bed = endpoint.start_bridge(&arguments).await;
        let arguments = ["--max-queries", &max];
        let agent = AgentService::start(&endpoint, &bed, &provider, format, &arguments).await;
        Self {
            provider,
            bed,
            agent,
        }
    }

    async fn page(&self, session: &str) -> NativePage {
        NativePage::open(&self.bed, session, vec![NativeItem::echo()]).await
    }
}

fn query(uuid: String) -> Query {
    Query::new(uuid, "What is on my board?".to_owned())
}

/// Sends queries one after the other, and measures the latency of each first token.
pub async fn measure_first_token(format: Format, queries: usize) -> FirstTokenLatency {
    let script = Script::new([Turn::from_text("Two cards").text(": milk and bread.")]);
    let setup = QuerySetup::start(format, script, 1).await;
    let page = setup.page("board").await;
    let (mut first_tokens, mut requests) = (Vec::new(), Vec::new());
    // The first queries open connections and warm up the programs.
    let warm_up = queries.div_ceil(10);
    for number in 0..warm_up + queries {
        let sent = Instant::now();
        page.send_query(query(format!("q-{number}"))).await;
        let first_progress = first_progress(&page).await;
        final_message(&page).await;
        let exchange = setup.provider.wait_for_end(number).await;
        if number >= warm_up {
            first_tokens.push(first_progress - exchange.first_byte.unwrap());
            requests.push(exchange.arrived - sent);
        }
    }
    let (first_tokens, requests) = (Latencies::new(first_tokens), Latencies::new(requests));
    FirstTokenLatency {
        provider: format,
        queries,
        p50_us: first_tokens.permille_us(500),
        p99_us: first_tokens.permille_us(990),
        asking_p50_us: requests.permille_us(500),
    }
}

async fn first_progress(page: &NativePage) -> Instant {
    loop {
        let (at, message) = page.next_query_message().await;
        match message {
            BridgeToPage::QueryAccepted(_) => {}
            BridgeToPage::QueryProgress(_) => return at,
            other => panic!("{other:?} before any progress"),
        }
    }
}

async fn final_message(page: &NativePage) -> BridgeToPage {
    loop {
        let (_, message) = page.next_query_message().await;
        match message {
            BridgeToPage::QueryAccepted(_) | BridgeToPage::QueryProgress(_) => {}
            last => return last,
        }
    }
}

const MIB: f64 = 1024.0 * 1024.0;

/// Sends all queries, waits until the model has begun to answer each, and then lets it continue.
pub async fn measure_concurrent_queries(queries: usize) -> ConcurrentQueries {
    const PAGES: usize = 10;
    let script = Script::new([
        Turn::from_text("Let me look.")
            .call("echo", json!({ "n": 1 }))
            .pause_after(1),
        Turn::from_text("Two cards."),
    ]);
    let setup = QuerySetup::start(Format::Anthropic, script, queries).await;
    let opening = (0..PAGES).map(|number| {
        let session = format!("board-{number}");
        let setup = &setup;
        async move { setup.page(&session).await }
    });
    let pages = join_all(opening).await;
    pages[0].send_query(query("q-first".to_owned())).await;
    setup.provider.resume_one();
    assert!(
        is_expected_end(&final_message(&pages[0]).await),
        "the first query is answered"
    );
    setup.agent.wait_until_idle().await;
    let meter = setup.agent.process().meter();
    let memory = || meter.exact_memory().unwrap() as f64 / MIB;
    let (before, cpu) = (memory(), meter.cpu_time_of_threads().unwrap());

    let start = Instant::now();
    for number in 0..queries {
        let page = &pages[number % PAGES];
        page.send_query(query(format!("q-{number}"))).await;
    }
    setup.provider.wait_for_pauses(queries).await;
    let sending_time = start.elapsed();
    let during = memory();
    let start = Instant::now();
    for _ in 0..queries {
        setup.provider.resume_one();
    }
    let answers = pages.iter().enumerate().map(|(number, page)| async move {
        let expected = (queries + PAGES - 1 - number) / PAGES;
        let mut completed = 0;
        for _ in 0..expected {
            completed += usize::from(is_expected_end(&final_message(page).await));
        }
        completed
    });
    let completed = join_all(answers).await.into_iter().sum();
    let answering_time = start.elapsed();
    setup.agent.wait_until_idle().await;
    let used = meter.cpu_time_of_threads().unwrap().saturating_sub(cpu);
    ConcurrentQueries {
        queries,
        completed,
        asked_s: sending_time.as_secs_f64(),
        answered_s: answering_time.as_secs_f64(),
        before_mib: before,
        during_mib: during,
        after_mib: memory(),
        cpu_us: used.as_secs_f64() * 1e6 / queries as f64,
    }
}

/// Sends queries whose model writes this many pieces, and measures what they cost agent and bridge.
/// The arguments of their calls are the same, whichever way they are written.
pub async fn measure_writing(writing: Writing, pieces: usize, queries: usize) -> WritingCost {
    const PIECE: &str = "word";
    let arguments = json!({ "text": PIECE.repeat(pieces) });
    let call = |turn: Turn| turn.call("echo", arguments.clone()).pace(PACE);
    let turn = match writing {
        Writing::AtOnce => call(Turn::default()).argument_pieces(1),
        Writing::Text => {
            let text = (0..pieces).fold(Turn::default(), |turn, _| turn.text(PIECE));
            call(text).argument_pieces(1)
        }
        Writing::Arguments => call(Turn::default()).argument_pieces(pieces),
    };
    let script = Script::new([turn, Turn::from_text("Two cards.")]);
    let setup = QuerySetup::start(Format::Anthropic, script, queries).await;
    let page = setup.page("board").await;
    page.send_query(query("q-first".to_owned())).await;
    assert!(is_expected_end(&count_events(&page).await.1));
    setup.agent.wait_until_idle().await;
    let agent_cpu = || setup.agent.process().meter().cpu_time_of_threads().unwrap();
    let before = (agent_cpu(), setup.bed.cpu_time());
    for number in 0..queries {
        page.send_query(query(format!("q-{number}"))).await;
    }
    let mut events = 0;
    for _ in 0..queries {
        let (count, last) = count_events(&page).await;
        assert!(is_expected_end(&last), "a query was not answered");
        events += count;
    }
    setup.agent.wait_until_idle().await;
    let after = (agent_cpu(), setup.bed.cpu_time());
    let per_query =
        |before, after: Duration| after.saturating_sub(before).as_secs_f64() * 1e6 / queries as f64;
    WritingCost {
        writing,
        pieces,
        queries,
        events: events as f64 / queries as f64,
        agent_cpu_us: per_query(before.0, after.0),
        bridge_cpu_us: per_query(before.1, after.1),
    }
}

/// The time between two pieces: a fast model writes some hundred tokens in a second.
const PACE: Duration = Duration::from_millis(2);

/// Returns the number of progress events until the end of a query, and that end.
async fn count_events(page: &NativePage) -> (usize, BridgeToPage) {
    let mut count = 0;
    loop {
        match page.next_query_message().await.1 {
            BridgeToPage::QueryAccepted(_) => {}
            BridgeToPage::QueryProgress(_) => count += 1,
            last => return (count, last),
        }
    }
}

/// Returns whether a query ended as the script specifies.
fn is_expected_end(last: &BridgeToPage) -> bool {
    let BridgeToPage::QueryComplete(complete) = last else {
        eprintln!("lost: {last:?}");
        return false;
    };
    let text = complete.result.as_ref().map(|result| result.get());
    text == Some(r#""Two cards.""#) && complete.tool_calls.len() == 1
}

impl fmt::Display for FirstTokenLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: of {} queries, the first token reaches the page after {:.0} µs (p50), {:.0} µs \
             (p99); a query reaches the provider after {:.0} µs",
            self.provider.name(),
            self.queries,
            self.p50_us,
            self.p99_us,
            self.asking_p50_us
        )
    }
}

impl fmt::Display for WritingCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?}, {} pieces, {} queries: {:.0} events, {:.0} µs of the agent and {:.0} µs of the \
             bridge for each query",
            self.writing,
            self.pieces,
            self.queries,
            self.events,
            self.agent_cpu_us,
            self.bridge_cpu_us
        )
    }
}

impl fmt::Display for ConcurrentQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} concurrent queries: {} completed; sent within {:.2} s, answered within {:.2} s; the \
             agent uses {:.1} MiB before, {:.1} MiB meanwhile, {:.1} MiB afterwards, and {:.0} µs of \
             processor time per query",
            self.queries,
            self.completed,
            self.asked_s,
            self.answered_s,
            self.before_mib,
            self.during_mib,
            self.after_mib,
            self.cpu_us
        )
    }
}
