//! Queries: from a page over the bridge and the agent to a provider of language models, and back.
//!
//! Bridge and agent are child processes. Page and provider are in this process, and share a clock.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bridge_protocol::{BridgeToPage, Query};
use e2e::{
    AgentEndpoint, AgentService, Format, MockProvider, PageTool, QueryPage, Script, TestBed, Turn,
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
    one_after_the_other(queries, &mut table).await?;
    concurrent(at_once, &mut table).await?;
    let conditions = format!(
        "{queries} queries one after the other, and then {at_once} at once, on the wire of Anthropic; \
         each calls a tool of its page and then answers."
    );
    Ok(table.section(&conditions))
}

async fn one_after_the_other(queries: usize, table: &mut Table) -> Result<()> {
    let setup = Setup::start(first_turn(), 1).await;
    let page = setup.page("board").await;
    let (mut first_tokens, mut wholes) = (Vec::new(), Vec::new());
    // The first queries open connections and warm up the programs.
    let warm_up = queries.div_ceil(10);
    let mut before = setup.cpu()?;
    for number in 0..warm_up + queries {
        if number == warm_up {
            before = setup.cpu()?;
        }
        let sent = Instant::now();
        page.send_query(query(number)).await;
        let first_progress = final_message(&page).await?.context("no progress")?;
        // Each query has two exchanges with the provider, one for each turn.
        let exchange = setup.provider.wait_for_end(2 * number).await;
        let first_byte = exchange.first_byte.context("no first byte")?;
        if number >= warm_up {
            wholes.push(sent.elapsed());
            first_tokens.push(first_progress.saturating_duration_since(first_byte));
        }
    }
    let [agent, bridge] = setup.cpu_since(before, queries).await?;
    let [first_token, whole] = [first_tokens, wholes].map(|latencies| {
        let latencies = Latencies::new(latencies);
        let [p50, p99] = [50, 99].map(|percent| time(latencies.percentile(percent)));
        format!("{p50} / {p99}")
    });
    table.row(&[
        "first token, from the provider to the page, p50 / p99",
        &first_token,
    ]);
    table.row(&["whole query with a call, p50 / p99", &whole]);
    table.row(&["CPU of the agent for a query", &agent]);
    table.row(&["CPU of the bridge for a query", &bridge]);
    Ok(())
}

/// Sends all queries, waits until the model has half answered each, and then lets it continue.
async fn concurrent(queries: usize, table: &mut Table) -> Result<()> {
    let setup = Setup::start(first_turn().pause_after(1), queries).await;
    let sessions: Vec<_> = (0..PAGES).map(|number| format!("board-{number}")).collect();
    let pages = join_all(sessions.iter().map(|session| setup.page(session))).await;
    pages[0].send_query(query(queries)).await;
    setup.provider.resume_one();
    final_message(&pages[0]).await?;
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
    for number in 0..queries {
        final_message(&pages[number % PAGES]).await?;
    }
    let answering = begin.elapsed();
    let [agent, bridge] = setup.cpu_since(cpu, queries).await?;
    let memories = [memory, during, meter.exact_memory()?].map(mib).join(" / ");
    let times = [sending, answering].map(time).join(" / ");
    table.row(&["at once: all sent / all answered within", &times]);
    table.row(&[
        "at once: memory of the agent before / meanwhile / afterwards",
        &memories,
    ]);
    table.row(&["at once: CPU of the agent for a query", &agent]);
    table.row(&["at once: CPU of the bridge for a query", &bridge]);
    Ok(())
}

/// Returns the turn in which the model calls a tool.
fn first_turn() -> Turn {
    Turn::from_text("Let me look.").call("echo", json!({ "n": 1 }))
}

impl Setup {
    async fn start(first_turn: Turn, queries: usize) -> Self {
        let script = Script::new([first_turn, Turn::from_text(FINAL_TEXT)]);
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

    async fn page(&self, session: &str) -> QueryPage {
        QueryPage::open(&self.bed, session, vec![PageTool::echo()]).await
    }

    /// Returns the processor time of agent and bridge so far.
    fn cpu(&self) -> Result<[Duration; 2]> {
        Ok([
            self.agent.process().meter().cpu_time_of_threads()?,
            self.bed.cpu_time(),
        ])
    }

    /// Waits until the agent is idle, and formats the processor time of agent and bridge for each
    /// query.
    async fn cpu_since(&self, before: [Duration; 2], queries: usize) -> Result<[String; 2]> {
        self.agent.wait_until_idle().await;
        let [agent, bridge] = self.cpu()?;
        Ok([agent - before[0], bridge - before[1]].map(|used| time(each(used, queries))))
    }
}

fn query(number: usize) -> Query {
    Query::new(format!("q-{number}"), "What is on my board?".to_owned())
}

/// Waits for the end of a query, and returns when its first progress event arrived.
async fn final_message(page: &QueryPage) -> Result<Option<Instant>> {
    let mut first_progress = None;
    loop {
        match page.next_query_message().await {
            (_, BridgeToPage::QueryAccepted(_)) => {}
            (at, BridgeToPage::QueryProgress(_)) => {
                first_progress.get_or_insert(at);
            }
            (_, BridgeToPage::QueryComplete(complete)) => {
                let text = complete
                    .result
                    .as_ref()
                    .map(|result| result.get().trim_matches('"'));
                let is_expected = text == Some(FINAL_TEXT) && complete.tool_calls.len() == 1;
                ensure!(is_expected, "another answer: {complete:?}");
                return Ok(first_progress);
            }
            (_, other) => bail!("a query failed: {other:?}"),
        }
    }
}
