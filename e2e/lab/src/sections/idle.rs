//! Thousands of pages that do nothing: what each costs, and what a client beside them notices.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, sleep}; // sleep: the duration of what is measured

use crate::connection::Connection;
use crate::latency::Latencies;
use crate::page::{Page, PageAnswer, PageProtocol, session_of_page, token_of_page};
use crate::request::{Endpoint, Request};
use crate::server::{Server, raise_open_file_limit};
use crate::table::{Table, each, kib_each, ratio, thousands, time};
use crate::tools::{BOARD_TOOL, board_tools};

/// How many pages connect at the same time.
const CONNECTING: usize = 64;

/// The time between the calls of the client beside the pages, so that no call waits for another one.
const CALL_INTERVAL: Duration = Duration::from_millis(10);

/// The number of calls before those that are measured.
const WARM_UP_CALLS: usize = 200;

const CALLER_TOKEN: &str = "the-token-that-calls-0123456789abcdef";

/// How many pages there are, and for how long.
struct Plan {
    pages: usize,
    heartbeat: Duration,
    rest: Duration,
    /// How long the client calls, without the pages and beside them.
    calls: Duration,
}

/// Measures pages with identical and with distinct tools.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    let seconds = Duration::from_secs;
    let [heartbeat, rest, calls] = if quick { [2, 3, 3] } else { [25, 60, 20] }.map(seconds);
    let plan = Plan {
        pages: if quick { 500 } else { 10_000 },
        heartbeat,
        rest,
        calls,
    };
    raise_open_file_limit(plan.pages)?;
    let mut table = Table::new(&[
        "tools of the pages",
        "pages/s",
        "CPU of one that connects",
        "memory of a page",
        "CPU at rest, of a core",
        "p99 of a call alone",
        "beside them",
        "the slowest of all",
    ]);
    for (name, are_distinct) in [("identical", false), ("distinct", true)] {
        eprintln!("  {name} tools");
        let mut row = vec![name.to_owned()];
        row.extend(measure_pages(&plan, are_distinct).await?);
        table.row(&row);
    }
    let conditions = format!(
        "{} pages with 10 tools and a token each, watched for {} s; a heartbeat every {} s; 100 calls \
         a second for {} s alone, and as many beside the pages.",
        thousands(plan.pages as u64),
        plan.rest.as_secs(),
        plan.heartbeat.as_secs(),
        plan.calls.as_secs(),
    );
    Ok(table.section(&conditions))
}

async fn measure_pages(plan: &Plan, are_distinct: bool) -> Result<[String; 7]> {
    let server = start_bridge(plan).await?;
    let meter = server.meter();
    let alone = call_at_a_rate(server.address, plan.calls).await?;

    let (memory, cpu, begin) = (
        meter.exact_memory()?,
        meter.cpu_time_of_threads()?,
        Instant::now(),
    );
    let pages = connect_pages(server.address, plan.pages, are_distinct).await?;
    let connecting = begin.elapsed();
    let cpu_of_connecting = meter.cpu_time_of_threads()? - cpu;
    // Each page has had its first heartbeat by then: they start within one and a half intervals.
    sleep(plan.heartbeat * 3 / 2).await; // sleep: the pages rest
    let used = meter.exact_memory()?.saturating_sub(memory);
    let cpu = meter.cpu_time_of_threads()?;
    sleep(plan.rest).await; // sleep: the pages rest
    let cpu_of_rest = meter.cpu_time_of_threads()? - cpu;
    let beside = call_at_a_rate(server.address, plan.calls).await?;
    drop(pages);

    let slowest = alone.slowest().max(beside.slowest());
    let (alone, beside) = (alone.percentile(99), beside.percentile(99));
    Ok([
        thousands((plan.pages as f64 / connecting.as_secs_f64()) as u64),
        time(each(cpu_of_connecting, plan.pages)),
        kib_each(used, plan.pages),
        format!(
            "{:.2} %",
            100.0 * cpu_of_rest.as_secs_f64() / plan.rest.as_secs_f64()
        ),
        time(alone),
        ratio(beside, alone),
        time(slowest),
    ])
}

async fn start_bridge(plan: &Plan) -> Result<Server> {
    let tokens = (plan.pages + 16).to_string();
    let connections = (2 * plan.pages + 1_000).to_string();
    let heartbeat = format!("{}s", plan.heartbeat.as_secs());
    let mut arguments = vec![
        "--log=warn",
        "--max-realms",
        &tokens,
        "--max-sessions",
        &tokens,
    ];
    arguments.extend(["--max-connections", &connections, "--heartbeat", &heartbeat]);
    Server::bridge(&arguments).await
}

/// Connects the pages, which answer heartbeats until the result is dropped.
async fn connect_pages(
    address: SocketAddr,
    pages: usize,
    are_distinct: bool,
) -> Result<JoinSet<()>> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut connecting = JoinSet::new();
    for _ in 0..CONNECTING {
        let next = Arc::clone(&next);
        connecting.spawn(async move {
            let mut open = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= pages {
                    return anyhow::Ok(open);
                }
                let page = connect_page(address, number, are_distinct).await;
                open.push(page.with_context(|| format!("page {number}"))?);
            }
        });
    }
    let answer = Arc::new(PageAnswer::new(PageProtocol::Current, "null"));
    let mut serving = JoinSet::new();
    while let Some(open) = connecting.join_next().await {
        for page in open?? {
            let answer = Arc::clone(&answer);
            serving.spawn(async move { page.serve(&answer).await });
        }
    }
    Ok(serving)
}

async fn connect_page(address: SocketAddr, number: usize, is_distinct: bool) -> Result<Page> {
    let (token, session) = (token_of_page(number), session_of_page(number));
    let tools = board_tools(is_distinct.then_some(number));
    Page::open(address, PageProtocol::Current, &token, &session, &tools).await
}

/// Returns the latencies of calls at a constant rate. Page and caller have a separate thread,
/// which the thread with ten thousand pages does not affect.
async fn call_at_a_rate(address: SocketAddr, duration: Duration) -> Result<Latencies> {
    let calling = tokio::task::spawn_blocking(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build()?;
        runtime.block_on(time_calls(address, duration))
    });
    calling.await?
}

async fn time_calls(address: SocketAddr, duration: Duration) -> Result<Latencies> {
    let (current, tools) = (PageProtocol::Current, board_tools(None));
    let page = Page::open(address, current, CALLER_TOKEN, "callee", &tools).await?;
    let answer = PageAnswer::new(current, r#"{"ok":true}"#);
    tokio::spawn(async move { page.serve(&answer).await });
    let endpoint = Endpoint::new(address, CALLER_TOKEN);
    let body = json!({ "toolName": BOARD_TOOL, "toolInput": { "id": "7" } });
    let request = Request::new("POST /tool-call", &endpoint, &[], &body);
    let mut connection = Connection::open(&endpoint).await?;
    let mut call = async || -> Result<Duration> {
        let begin = Instant::now();
        let answer = connection.request(&request).await?;
        answer.require_status(200)?;
        let text = String::from_utf8_lossy(&answer.message);
        anyhow::ensure!(text.contains(r#"{"ok":true}"#), "{text}");
        Ok(begin.elapsed())
    };
    for _ in 0..WARM_UP_CALLS {
        call().await?;
    }
    let mut ticks = tokio::time::interval(CALL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut latencies = Vec::new();
    for _ in 0..duration.as_millis() / CALL_INTERVAL.as_millis() {
        ticks.tick().await;
        latencies.push(call().await?);
    }
    Ok(Latencies::new(latencies))
}
