//! Queries: from a page over the bridge and the agent to a provider of language models, and back.
//!
//! Bridge and agent are processes of their own. Page and provider are in this one, so that they share
//! a clock.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bridge_protocol::{BridgeToPage, Query};
use e2e::{
    AgentEndpoint, AgentService, Format, MockProvider, NativeItem, NativePage, Script, TestBed,
    Turn,
};
use futures_util::future::join_all;
use serde_json::json;

use crate::latency::Latencies;
use crate::table::{Table, each, mib, time};

/// The number of pages that send concurrent queries.
const PAGES: usize = 10;

const FINAL_TEXT: &str = "Two cards.";

/// A bridge, an agent and a provider whose limits allow a number of queries.
struct Setup {
    provider: MockProvider,
    bed: TestBed,
    agent: AgentService,
}

/// Measures queries one after the other, and many at once.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    let (queries, at_once) = if quick { (50, 500) } else { (500, 500) };
    let mut table = Table::new(&["what", "figure"]);
    let mut rows = one_after_the_other(queries).await?;
    rows.extend(concurrent(at_once).await?);
    for (name, figure) in rows {
        table.row(&[name, figure]);
    }
    let conditions = format!(
        "{queries} queries one after the other, and then {at_once} at once, on the wire of Anthropic; \
         each calls a tool of its page and then answers."
    );
    Ok(table.section(&conditions))
}

async fn one_after_the_other(queries: usize) -> Result<Vec<(String, String)>> {
    let look = Turn::from_text("Let me look.").call("echo", json!({ "n": 1 }));
    let setup = Setup::start(Script::new([look, Turn::from_text(FINAL_TEXT)]), 1).await;
    let page = setup.page("board").await;
    let mut first_tokens = Vec::new();
    let mut wholes = Vec::new();
    // The first queries open connections and warm up the programs.
    let warm_up = queries.div_ceil(10);
    let mut before = setup.cpu()?;
    for number in 0..warm_up + queries {
        if number == warm_up {
            before = setup.cpu()?;
        }
        let sent = Instant::now();
        page.send_query(query(number)).await;
        let first = first_progress(&page).await;
        ensure!(
            is_expected(&final_message(&page).await),
            "query {number} failed"
        );
        // Each query has two exchanges with the provider, one for each turn.
        let exchange = setup.provider.wait_for_end(2 * number).await;
        if number >= warm_up {
            wholes.push(sent.elapsed());
            first_tokens.extend(
                exchange
                    .first_byte
                    .map(|at| first.saturating_duration_since(at)),
            );
        }
    }
    setup.agent.wait_until_idle().await;
    let [agent, bridge] = setup.cpu_since(before, queries)?;
    let [first_tokens, wholes] = [first_tokens, wholes].map(Latencies::new);
    ensure!(
        first_tokens.len() == queries,
        "an exchange has no first byte"
    );
    let percentiles = |latencies: &Latencies| {
        let [p50, p99] = [50, 99].map(|percent| time(latencies.percentile(percent)));
        format!("{p50} / {p99}")
    };
    Ok(rows([
        (
            "first token, from the provider to the page, p50 / p99",
            percentiles(&first_tokens),
        ),
        ("whole query with a call, p50 / p99", percentiles(&wholes)),
        ("CPU of the agent for a query", agent),
        ("CPU of the bridge for a query", bridge),
    ]))
}

/// Sends all queries, waits until the model has half answered each, and then lets it continue.
async fn concurrent(queries: usize) -> Result<Vec<(String, String)>> {
    let look = Turn::from_text("Let me look.")
        .call("echo", json!({ "n": 1 }))
        .pause_after(1);
    let setup = Setup::start(Script::new([look, Turn::from_text(FINAL_TEXT)]), queries).await;
    let sessions: Vec<_> = (0..PAGES).map(|number| format!("board-{number}")).collect();
    let pages = join_all(sessions.iter().map(|session| setup.page(session))).await;
    pages[0].send_query(query(queries)).await;
    setup.provider.resume_one();
    ensure!(
        is_expected(&final_message(&pages[0]).await),
        "the first query failed"
    );
    setup.agent.wait_until_idle().await;
    let meter = setup.agent.process().meter();
    let (memory, cpu) = (meter.exact_memory()?, setup.cpu()?);

    let begin = Instant::now();
    for number in 0..queries {
        pages[number % PAGES].send_query(query(number)).await;
    }
    setup.provider.wait_for_pauses(queries).await;
    let (sending, during) = (begin.elapsed(), meter.exact_memory()?);
    let begin = Instant::now();
    for _ in 0..queries {
        setup.provider.resume_one();
    }
    let answers = pages.iter().enumerate().map(|(number, page)| async move {
        let mut completed = 0;
        for _ in 0..(queries + PAGES - 1 - number) / PAGES {
            completed += usize::from(is_expected(&final_message(page).await));
        }
        completed
    });
    let completed: usize = join_all(answers).await.into_iter().sum();
    ensure!(
        completed == queries,
        "only {completed} of {queries} were answered"
    );
    let answering = begin.elapsed();
    setup.agent.wait_until_idle().await;
    let [agent, bridge] = setup.cpu_since(cpu, queries)?;
    let memories = [memory, during, meter.exact_memory()?].map(mib);
    Ok(rows([
        (
            "at once: all sent / all answered within",
            format!("{} / {}", time(sending), time(answering)),
        ),
        (
            "at once: memory of the agent before / meanwhile / afterwards",
            memories.join(" / "),
        ),
        ("at once: CPU of the agent for a query", agent),
        ("at once: CPU of the bridge for a query", bridge),
    ]))
}

fn rows<const N: usize>(rows: [(&str, String); N]) -> Vec<(String, String)> {
    rows.map(|(name, figure)| (name.to_owned(), figure)).into()
}

impl Setup {
    async fn start(script: Script, queries: usize) -> Self {
        let provider = MockProvider::start(script).await;
        let endpoint = AgentEndpoint::reserve();
        let max = (queries + 1).to_string();
        let arguments = ["--max-queries", &max, "--max-calls", &max, "--log", "warn"];
        let bed = endpoint.start_bridge(&arguments).await;
        let arguments = ["--max-queries", &max];
        let agent =
            AgentService::start(&endpoint, &bed, &provider, Format::Anthropic, &arguments).await;
        Self {
            provider,
            bed,
            agent,
        }
    }

    async fn page(&self, session: &str) -> NativePage {
        NativePage::open(&self.bed, session, vec![NativeItem::echo()]).await
    }

    /// Returns the processor time of agent and bridge so far.
    fn cpu(&self) -> Result<[Duration; 2]> {
        Ok([
            self.agent.process().meter().cpu_time_of_threads()?,
            self.bed.cpu_time(),
        ])
    }

    /// Formats the processor time of agent and bridge for each query.
    fn cpu_since(&self, before: [Duration; 2], queries: usize) -> Result<[String; 2]> {
        let [agent, bridge] = self.cpu()?;
        let used = [
            agent.saturating_sub(before[0]),
            bridge.saturating_sub(before[1]),
        ];
        Ok(used.map(|used| time(each(used, queries))))
    }
}

fn query(number: usize) -> Query {
    Query::new(format!("q-{number}"), "What is on my board?".to_owned())
}

/// Returns when the first progress event of a query arrived.
async fn first_progress(page: &NativePage) -> Instant {
    loop {
        let (at, message) = page.next_query_message().await;
        if !matches!(message, BridgeToPage::QueryAccepted(_)) {
            return at;
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

/// Returns whether a query ended as the script specifies.
fn is_expected(last: &BridgeToPage) -> bool {
    let BridgeToPage::QueryComplete(complete) = last else {
        eprintln!("  a query failed: {last:?}");
        return false;
    };
    let text = complete
        .result
        .as_ref()
        .map(|result| result.get().trim_matches('"'));
    text == Some(FINAL_TEXT) && complete.tool_calls.len() == 1
}
