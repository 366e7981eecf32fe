//! The end of a bridge that serves thousands of tokens: when their pages are back at the others, and what
//! callers notice.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout}; // sleep: until bridges trust NATS

use crate::connection::Connection;
use crate::latency::Latencies;
use crate::nodes::Nodes;
use crate::page::token_of_page;
use crate::page_group::{PageAddresses, PageGroup, RESULT};
use crate::request::{Endpoint, Request};
use crate::server::{Server, raise_open_file_limit, use_all_cores};
use crate::table::{Table, thousands, time};
use crate::tools::BOARD_TOOL;

const BRIDGES: usize = 3;

/// The number of callers, and the time between two calls of each.
const CALLERS: usize = 8;
const CALL_INTERVAL: Duration = Duration::from_millis(20);

/// How long bridges are connected to NATS before they believe it that another one has ended: for a lease.
const LEASE: Duration = Duration::from_secs(10);

/// How long all pages may take to answer a call at another bridge.
const BACK_TIMEOUT: Duration = Duration::from_secs(120);

/// How a bridge ends.
#[derive(Clone, Copy)]
enum End {
    Killed,
    Drained,
}

/// When a page was back, since the signal.
#[derive(Clone, Copy)]
struct Return {
    registered: Duration,
    /// When the first call that began after that was answered.
    answered: Duration,
}

/// The calls from the signal until all pages are back.
#[derive(Default)]
struct Calls {
    is_over: AtomicBool,
    next_page: AtomicUsize,
    answered: AtomicUsize,
    failed: AtomicUsize,
}

/// Measures both ends with the same number of pages.
pub(super) async fn measure(quick: bool) -> Result<String> {
    let pages = if quick { 500 } else { 5_000 };
    // The pages, their callers, and the sockets of a bridge that passes on all of them.
    raise_open_file_limit(3 * pages)?;
    use_all_cores()?;
    let mut table = Table::new(&[
        "the bridge gets",
        "half of the pages back",
        "99 %",
        "all",
        "a call to each answered",
        "the process has ended",
        "calls answered",
        "failed",
    ]);
    for (name, end) in [("SIGKILL", End::Killed), ("SIGTERM", End::Drained)] {
        eprintln!("  {name} for {} pages", thousands(pages as u64));
        let mut row = vec![name.to_owned()];
        row.extend(measure_end(end, pages).await?);
        table.row(&row);
    }
    let conditions = format!(
        "The end of a bridge: {BRIDGES} bridges on all cores, {} pages with 10 tools, a token and an \
         address each at one of them. Times count from the signal. Pages wait as the SDK does, and connect \
         to the other two in turn. Each page is called once it is back, and {CALLERS} callers at the other \
         two call page after page, each every {} ms.",
        thousands(pages as u64),
        CALL_INTERVAL.as_millis(),
    );
    Ok(table.with_conditions(&conditions))
}

async fn measure_end(end: End, pages: usize) -> Result<[String; 7]> {
    let mut nodes = start_nodes(pages).await?;
    let others = nodes.edge_addresses();
    let addresses = PageAddresses {
        first: nodes.owner().address,
        later: others.clone(),
        are_distinct: true,
    };
    let mut group = PageGroup::start(pages, addresses);
    group.wait_for_all().await?;
    sleep(LEASE).await; // sleep: until bridges trust NATS

    let calls = Arc::new(Calls::default());
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let mut caller = PageCaller::open(others[number % others.len()]).await?;
        caller.call(number).await?;
        let calls = Arc::clone(&calls);
        callers.spawn(async move { caller.call_page_after_page(pages, &calls).await });
    }
    let begin = Instant::now();
    let ended = end_server(nodes.take_owner(), end, begin);
    let back = wait_for_returns(&mut group, pages, &others, &calls, begin);
    let (ended, back) = tokio::join!(ended, timeout(BACK_TIMEOUT, back));
    let back = back.context("some pages are not back")??;
    calls.is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = callers.join_next().await {
        ended??;
    }

    let registered = Latencies::new(back.iter().map(|it| it.registered).collect());
    let answered = Latencies::new(back.iter().map(|it| it.answered).collect());
    let count = |calls: &AtomicUsize| thousands(calls.load(Ordering::Relaxed) as u64);
    Ok([
        time(registered.percentile(50)),
        time(registered.percentile(99)),
        time(registered.slowest()),
        time(answered.slowest()),
        time(ended),
        count(&calls.answered),
        count(&calls.failed),
    ])
}

async fn start_nodes(pages: usize) -> Result<Nodes> {
    let connections = format!("--max-connections={}", 3 * pages + 1_000);
    let pending = format!("--max-pending-pages={}", 2 * pages);
    let realms = format!("--max-realms={}", 2 * pages);
    let settings = ["--log=error", &connections, &pending, &realms];
    Nodes::start(BRIDGES, &settings, false).await
}

/// Ends the bridge, and returns after which time its process has ended.
async fn end_server(mut server: Server, end: End, begin: Instant) -> Duration {
    match end {
        End::Killed => server.kill().await,
        End::Drained => server.drain().await,
    }
    begin.elapsed()
}

/// Waits until each page is back and has answered a call, at a bridge that need not be its own.
async fn wait_for_returns(
    group: &mut PageGroup,
    pages: usize,
    addresses: &[SocketAddr],
    calls: &Arc<Calls>,
    begin: Instant,
) -> Result<Vec<Return>> {
    let mut calling = JoinSet::new();
    let mut are_back = vec![false; pages];
    let mut returns = Vec::new();
    while returns.len() < pages {
        tokio::select! {
            page = group.recv() => {
                let page = page?;
                if !std::mem::replace(&mut are_back[page.number], true) {
                    let address = addresses[page.number / 2 % addresses.len()];
                    let registered = page.at.saturating_duration_since(begin);
                    let calls = Arc::clone(calls);
                    calling.spawn(async move {
                        let mut caller = PageCaller::open(address).await?;
                        while !calls.count(caller.call(page.number).await) {
                            caller = PageCaller::open(address).await?;
                        }
                        anyhow::Ok(Return { registered, answered: begin.elapsed() })
                    });
                }
            }
            Some(called) = calling.join_next() => returns.push(called??),
        }
    }
    Ok(returns)
}

impl Calls {
    /// Counts a call, and returns whether it was answered.
    fn count(&self, called: Result<()>) -> bool {
        let is_answered = called.is_ok();
        match called {
            Ok(()) => self.answered.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                let before = self.failed.fetch_add(1, Ordering::Relaxed);
                if before == 0 {
                    eprintln!("    the first call that failed: {error:#}");
                }
                before
            }
        };
        is_answered
    }
}

/// A client with a connection to a bridge, which calls pages of any token.
struct PageCaller {
    address: SocketAddr,
    connection: Connection,
}

impl PageCaller {
    async fn open(address: SocketAddr) -> Result<Self> {
        let connection = Connection::open(&Endpoint::new(address, "")).await?;
        Ok(Self {
            address,
            connection,
        })
    }

    /// Calls a page. Returns an error unless its answer arrives.
    async fn call(&mut self, page: usize) -> Result<()> {
        let body = json!({ "toolName": BOARD_TOOL, "toolInput": { "id": "7" } });
        let endpoint = Endpoint::new(self.address, &token_of_page(page));
        let request = Request::new("POST /tool-call", &endpoint, &[], &body);
        let answer = self.connection.request(&request).await?;
        answer.require_status(200)?;
        let text = String::from_utf8_lossy(&answer.message);
        ensure!(text.contains(RESULT), "{text}");
        Ok(())
    }

    /// Calls page after page until it is over.
    async fn call_page_after_page(&mut self, pages: usize, calls: &Calls) -> Result<()> {
        let mut ticks = interval(CALL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !calls.is_over.load(Ordering::Relaxed) {
            ticks.tick().await;
            let page = calls.next_page.fetch_add(1, Ordering::Relaxed) % pages;
            if !calls.count(self.call(page).await) {
                *self = Self::open(self.address).await?;
            }
        }
        Ok(())
    }
}
