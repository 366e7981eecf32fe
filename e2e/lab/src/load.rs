//! Many callers at a server, and what a call costs it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::Meter;
use futures_util::future::try_join_all;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout_at}; // sleep: the duration of what is measured

use crate::caller::{Caller, Route, page_session};
use crate::latency::Latencies;
use crate::page::{Page, PageAnswer};
use crate::request::Endpoint;
use crate::server::Server;
use crate::table::each;
use crate::tools::LoadTools;

/// How long the last calls of a run may take.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(60);

/// The token of pages and callers.
pub(crate) const TOKEN: &str = "the-token-of-the-laboratory-0123456789";

/// The bridge's settings: limits so high that none of them affects the figures.
pub(crate) const SETTINGS: [&str; 7] = [
    "--log=warn",
    "--max-sessions=1000",
    "--max-clients=1000",
    "--max-mcp-sessions=1000",
    "--max-calls=1000",
    "--max-result-bytes=67108864",
    "--max-client-result-bytes=134217728",
];

/// How tools are called, and which ones.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// The name in tables.
    pub(crate) name: &'static str,
    pub(crate) route: Route,
    pub(crate) tools: LoadTools,
}

/// A number of callers that call a target for some time.
pub(crate) struct Load {
    pub(crate) target: Target,
    /// The result of the pages' tools, as JSON.
    pub(crate) payload: String,
    pub(crate) pages: usize,
    /// The number of callers, each with its own connection.
    pub(crate) callers: usize,
    /// The duration of the measured calls. A quarter of it passes before them.
    pub(crate) duration: Duration,
}

/// The processes that callers and pages connect to.
pub(crate) struct Setup {
    /// Where callers connect.
    pub(crate) callers: SocketAddr,
    /// Where pages connect.
    pub(crate) pages: SocketAddr,
    /// The process that serves the calls.
    pub(crate) server: Meter,
    /// The processes that only pass calls on.
    pub(crate) passing: Vec<Meter>,
}

/// The figures of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// Processor time of the server for a call.
    pub(crate) cpu: Duration,
    /// Processor time for a call of the processes that pass it on.
    pub(crate) passing_cpu: Duration,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Figures {
    /// Returns the measurement with the median processor time.
    pub(crate) fn median(mut measurements: Vec<Self>) -> Self {
        measurements.sort_by_key(|figures| figures.cpu);
        let middle = measurements.get(measurements.len() / 2);
        middle.copied().unwrap_or_default()
    }
}

impl Load {
    /// Starts a server, connects pages and callers, lets the callers warm up, and measures.
    ///
    /// # Errors
    /// Returns an error when a page or a caller cannot connect, or when an answer is wrong.
    pub(crate) async fn measure(&self) -> Result<Figures> {
        let server = self.start_server().await?;
        self.measure_at(&Setup::from(&server)).await
    }

    /// Measures as [`measure`](Self::measure) does, with processes that have started already.
    ///
    /// # Errors
    /// Returns an error when a page or a caller cannot connect, or when an answer is wrong.
    pub(crate) async fn measure_at(&self, setup: &Setup) -> Result<Figures> {
        let figures = self.run(setup).await;
        figures.with_context(|| format!("{}, {} callers", self.target.name, self.callers))
    }

    async fn start_server(&self) -> Result<Server> {
        match self.target.route {
            Route::Floor => Server::floor().await,
            Route::V1 => Server::bridge(&[&SETTINGS[..], &["--compat=mcp-web"]].concat()).await,
            Route::ToolCall | Route::Mcp(_) => Server::bridge(&SETTINGS).await,
        }
    }

    async fn run(&self, setup: &Setup) -> Result<Figures> {
        let mut pages = self.open_pages(setup.pages).await?;
        let endpoint = Endpoint::new(setup.callers, TOKEN);
        let mut callers = Vec::new();
        for number in 0..self.callers {
            let caller = Caller::open(
                self.target.route,
                &endpoint,
                self.pages,
                &self.payload,
                number,
            );
            callers.push(caller.await.with_context(|| format!("caller {number}"))?);
        }
        let begin = Instant::now() + self.duration / 4;
        let end = begin + self.duration;
        let callers = callers.into_iter().map(|caller| caller.run(end));
        let calls = timeout_at((end + LAST_ANSWERS_TIMEOUT).into(), try_join_all(callers));
        let (calls, cpu) = tokio::join!(calls, measure_cpu(setup, begin, end));
        let calls = calls.context("the last calls were not answered")??;
        let (cpu, passing_cpu) = cpu?;
        ensure!(
            pages.try_join_next().is_none(),
            "a page lost its connection"
        );
        let measured = calls
            .into_iter()
            .flatten()
            .filter(|(at, _)| (begin..end).contains(at));
        let latencies = Latencies::new(measured.map(|(_, latency)| latency).collect());
        ensure!(
            latencies.len() > 0,
            "no call was answered in {:?}",
            self.duration
        );
        Ok(Figures {
            cpu: each(cpu, latencies.len()),
            passing_cpu: each(passing_cpu, latencies.len()),
            p50: latencies.percentile(50),
            p99: latencies.percentile(99),
        })
    }

    /// Connects the pages, which answer until they are dropped.
    async fn open_pages(&self, address: SocketAddr) -> Result<JoinSet<()>> {
        let protocol = self.target.route.page_protocol();
        let answer = Arc::new(PageAnswer::new(protocol, &self.payload));
        let mut pages = JoinSet::new();
        for number in 0..self.pages {
            let (session, tools) = (page_session(number), self.target.tools.definitions(number));
            let page = Page::open(address, protocol, TOKEN, &session, &tools).await;
            let page = page.with_context(|| format!("page {number}"))?;
            let answer = Arc::clone(&answer);
            pages.spawn(async move { page.serve(&answer).await });
        }
        Ok(pages)
    }
}

impl From<&Server> for Setup {
    fn from(server: &Server) -> Self {
        Self {
            callers: server.address,
            pages: server.address,
            server: server.meter(),
            passing: Vec::new(),
        }
    }
}

/// Returns the processor times between two moments: of the server, and of the processes that pass calls
/// on.
async fn measure_cpu(setup: &Setup, begin: Instant, end: Instant) -> Result<(Duration, Duration)> {
    let meters = || {
        [setup.server]
            .into_iter()
            .chain(setup.passing.iter().copied())
    };
    let read = || meters().map(Meter::cpu).collect::<Result<Vec<_>>>();
    sleep_until(begin.into()).await; // sleep: the duration of what is measured
    let before = read()?;
    sleep_until(end.into()).await; // sleep: the duration of what is measured
    let after = read()?;
    let mut used = after
        .iter()
        .zip(&before)
        .map(|(after, before)| after.since(before));
    Ok((used.next().unwrap_or_default(), used.sum()))
}

#[cfg(test)]
mod tests {
    use e2e::LargeResult;

    use super::*;
    use crate::clients::{REAL_CLIENTS, STATELESS, WITHOUT_CAPABILITIES};
    use crate::request::CALL_IDS;
    use crate::tools::payload;

    #[tokio::test]
    async fn a_bridge_answers_every_call_of_every_client_and_route() {
        let clients = REAL_CLIENTS
            .into_iter()
            .chain([&WITHOUT_CAPABILITIES, &STATELESS]);
        let routes = clients.map(Route::Mcp).chain([Route::ToolCall, Route::V1]);
        for route in routes {
            let target = Target {
                name: "",
                route,
                tools: LoadTools::WITHOUT_SCHEMAS,
            };
            let load = Load {
                target,
                payload: payload(LargeResult::Rows, 1_000),
                pages: 2,
                callers: 1,
                duration: Duration::ZERO,
            };
            let server = load.start_server().await.unwrap();
            let _pages = load.open_pages(server.address).await.unwrap();
            let endpoint = Endpoint::new(server.address, TOKEN);
            let caller = Caller::open(route, &endpoint, load.pages, &load.payload, 0).await;
            let mut caller = caller.unwrap();
            for id in CALL_IDS.take(4) {
                caller.call(id).await.unwrap();
            }
        }
    }

    #[test]
    fn the_median_is_the_measurement_with_the_median_processor_time() {
        let figures = |cpu, p50| Figures {
            cpu: Duration::from_micros(cpu),
            p50: Duration::from_micros(p50),
            ..Figures::default()
        };
        let median = Figures::median(vec![figures(3, 1), figures(1, 2), figures(2, 3)]);
        assert_eq!(median.p50, Duration::from_micros(3));
    }
}
