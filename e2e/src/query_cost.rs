//! What a query takes: how soon a page hears the model's first word, and what an agent holds that
//! answers hundreds of queries at once.
//!
//! The program `ask` prints the figures of `docs/benchmarks.md`. Bridge and agent are processes of
//! their own; page and provider are in this one, so that their clocks are the same.

use std::fmt;
use std::time::{Duration, Instant};

use bridge_protocol::{BridgeToPage, Query};
use futures_util::future::join_all;
use serde::Serialize;
use serde_json::json;

use crate::{
    AgentEndpoint, AgentService, Format, MockProvider, NativeItem, NativePage, Script, TestBed,
    Turn,
};

/// How soon the first word of the model is with the page.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FirstTokenLatency {
    /// On which wire.
    pub provider: Format,
    /// How many queries were asked, one after the other.
    pub queries: usize,
    /// From the provider's first byte to the page's first progress event, in microseconds.
    pub p50_us: f64,
    /// Of a hundred queries the slowest but one.
    pub p99_us: f64,
    /// From the page's question to the provider's hearing of it, in microseconds.
    pub asking_p50_us: f64,
}

/// What many queries at once take.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ConcurrentQueries {
    /// How many were in flight at the same time, each with an answer of the model half said.
    pub queries: usize,
    /// How many of them were completed, with their call of a tool and the right answer.
    pub completed: usize,
    /// From the question of the first to the first half of the answer to the last, in seconds.
    pub asked_s: f64,
    /// From there to the last word of the last, in seconds.
    pub answered_s: f64,
    /// Resident memory of the agent before, when it had answered one, in MiB.
    pub before_mib: f64,
    /// The same with all in flight.
    pub during_mib: f64,
    /// The same when all were answered.
    pub after_mib: f64,
    /// Processor time of the agent for one, in microseconds.
    pub cpu_us: f64,
}

/// A bridge, an agent and a provider with room for so many queries.
struct QuerySetup {
    provider: MockProvider,
    bed: TestBed,
    agent: AgentService,
}

impl QuerySetup {
    async fn start(format: Format, script: Script, queries: usize) -> Self {
        let provider = MockProvider::start(script).await;
        let place = AgentEndpoint::reserve();
        let most = (queries + 1).to_string();
        let arguments = place.bridge_arguments();
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.extend([
            "--max-queries",
            &most,
            "--max-calls",
            &most,
            "--log",
            "warn",
        ]);
        let world = TestBed::bridge_with(&arguments).await;
        let arguments = ["--max-queries", &most];
        let agent = AgentService::start(&place, &world, &provider, format, &arguments).await;
        Self {
            provider,
            bed: world,
            agent,
        }
    }

    async fn page(&self, session: &str) -> NativePage {
        NativePage::open(&self.bed, session, vec![NativeItem::echo()]).await
    }
}

fn query(uuid: String) -> Query {
    Query {
        uuid: uuid.into(),
        prompt: "What is on my board?".to_owned(),
        context: Vec::new(),
        response_tool: None,
        tools: None,
        restrict_tools: None,
        timeout: None,
    }
}

/// Asks one query after the other.
pub async fn measure_first_token(format: Format, queries: usize) -> FirstTokenLatency {
    let script = Script::new([Turn::from_text("Two cards").text(": milk and bread.")]);
    let setting = QuerySetup::start(format, script, 1).await;
    let page = setting.page("board").await;
    let (mut words, mut questions) = (Vec::new(), Vec::new());
    // The first ones open connections and warm everything up.
    let warming = queries.div_ceil(10);
    for number in 0..warming + queries {
        let asked = Instant::now();
        page.ask(query(format!("q-{number}"))).await;
        let heard = first_progress(&page).await;
        final_message(&page).await;
        let exchange = setting.provider.wait_for_end(number).await;
        if number >= warming {
            words.push(heard - exchange.first_byte.unwrap());
            questions.push(exchange.arrived - asked);
        }
    }
    FirstTokenLatency {
        provider: format,
        queries,
        p50_us: percentile(&mut words, 50),
        p99_us: percentile(&mut words, 99),
        asking_p50_us: percentile(&mut questions, 50),
    }
}

async fn first_progress(page: &NativePage) -> Instant {
    loop {
        let (at, message) = page.told().await;
        match message {
            BridgeToPage::QueryAccepted(_) => {}
            BridgeToPage::QueryProgress(_) => return at,
            other => panic!("{other:?} before any progress"),
        }
    }
}

async fn final_message(page: &NativePage) -> BridgeToPage {
    loop {
        let (_, message) = page.told().await;
        match message {
            BridgeToPage::QueryAccepted(_) | BridgeToPage::QueryProgress(_) => {}
            last => return last,
        }
    }
}

const MIB: f64 = 1024.0 * 1024.0;

/// Asks so many queries, waits until the model has begun to answer each, and lets it go on.
pub async fn measure_concurrent_queries(queries: usize) -> ConcurrentQueries {
    const PAGES: usize = 10;
    let script = Script::new([
        Turn::from_text("Let me look.")
            .call("echo", json!({ "n": 1 }))
            .pause_after(1),
        Turn::from_text("Two cards."),
    ]);
    let setting = QuerySetup::start(Format::Anthropic, script, queries).await;
    let opening = (0..PAGES).map(|number| {
        let session = format!("board-{number}");
        let setting = &setting;
        async move { setting.page(&session).await }
    });
    let pages = join_all(opening).await;
    pages[0].ask(query("q-first".to_owned())).await;
    setting.provider.resume_one();
    assert!(
        is_expected_end(&final_message(&pages[0]).await),
        "the first is answered"
    );
    setting.agent.wait_until_idle().await;
    let process = setting.agent.process();
    let (before, cpu) = (process.resident_memory(), process.cpu_of_threads());

    let start = Instant::now();
    for number in 0..queries {
        let page = &pages[number % PAGES];
        page.ask(query(format!("q-{number}"))).await;
    }
    setting.provider.wait_for_pauses(queries).await;
    let asked = start.elapsed();
    let during = process.resident_memory();
    let start = Instant::now();
    for _ in 0..queries {
        setting.provider.resume_one();
    }
    let answers = pages.iter().enumerate().map(|(number, page)| async move {
        let its = (queries + PAGES - 1 - number) / PAGES;
        let mut right = 0;
        for _ in 0..its {
            right += usize::from(is_expected_end(&final_message(page).await));
        }
        right
    });
    let completed = join_all(answers).await.into_iter().sum();
    let answered = start.elapsed();
    setting.agent.wait_until_idle().await;
    let used = process.cpu_of_threads().saturating_sub(cpu);
    ConcurrentQueries {
        queries,
        completed,
        asked_s: asked.as_secs_f64(),
        answered_s: answered.as_secs_f64(),
        before_mib: before as f64 / MIB,
        during_mib: during as f64 / MIB,
        after_mib: process.resident_memory() as f64 / MIB,
        cpu_us: micros(used) / queries as f64,
    }
}

/// Whether it is the end that the script leads to.
fn is_expected_end(last: &BridgeToPage) -> bool {
    let BridgeToPage::QueryComplete(complete) = last else {
        eprintln!("lost: {last:?}");
        return false;
    };
    let text = complete.result.as_ref().map(|result| result.get());
    text == Some(r#""Two cards.""#) && complete.tool_calls.len() == 1
}

fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort();
    let place = (times.len() * percent / 100).min(times.len() - 1);
    micros(times[place])
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

impl fmt::Display for FirstTokenLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: of {} queries, the first word is with the page after {:.0} µs (p50), {:.0} µs \
             (p99); a question is with the provider after {:.0} µs",
            self.provider.name(),
            self.queries,
            self.p50_us,
            self.p99_us,
            self.asking_p50_us
        )
    }
}

impl fmt::Display for ConcurrentQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} queries at once: {} completed; asked within {:.2} s, answered within {:.2} s; the \
             agent has {:.1} MiB before, {:.1} MiB meanwhile, {:.1} MiB afterwards, and takes \
             {:.0} µs of processor time for each",
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
