//! One run: its parameters, and its figures.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::answers::AnswerChecker;
use super::call_ids::CALL_IDS;
use super::callers::{Caller, Phase, RunProgress};
use super::dialect::{Dialect, Receipt};
use super::pages::{Page, PageAnswer, PageSetup};
use super::payload::Payload;
use super::route::{Endpoint, Route, TargetSelection};
use crate::latencies::Latencies;
use crate::meter::Meter;

/// How long the last calls of a run may take.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(60);

/// The kind of server under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// A bridge.
    Bridge,
    /// The program `floor`.
    Floor,
    /// The program `floor --mcp`.
    FloorMcp,
}

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Load {
    /// The address of the target.
    pub address: SocketAddr,
    /// The kind of server at that address.
    pub target: Target,
    /// The token of pages and callers.
    pub token: String,
    /// The number of pages.
    pub pages: usize,
    /// The number of tools of each page.
    pub tools: usize,
    /// Whether the tools have an input and an output schema.
    pub schemas: bool,
    /// How a call selects its page.
    pub pick: TargetSelection,
    /// How the pages acknowledge calls.
    pub receipt: Receipt,
    /// The dialect of the pages; by default the one for target and route.
    pub dialect: Option<Dialect>,
    /// The number of callers, each with a connection of its own.
    pub callers: usize,
    /// The route of the callers.
    pub route: Route,
    /// The result of the pages' tools.
    pub payload: Payload,
    /// The duration of the calls before the measured phase.
    pub warm_up: Duration,
    /// The duration of the measured phase.
    pub duration: Duration,
    /// The process whose processor time is measured.
    pub meter: Option<Meter>,
}

/// The figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The number of calls that were answered, all of them correctly.
    pub calls: u64,
    /// The duration of the measured phase in seconds.
    pub seconds: f64,
    /// Processor time of the target per call, in microseconds.
    pub cpu_us: Option<f64>,
    /// The part of it that was not spent in the kernel, in microseconds.
    pub user_us: Option<f64>,
    /// The median latency in microseconds.
    pub p50_us: f64,
    /// The 99th percentile of the latency in microseconds.
    pub p99_us: f64,
}

impl Load {
    /// Connects pages and callers, lets the callers warm up, and measures.
    ///
    /// # Errors
    /// Returns an error when a page or a caller cannot connect or is rejected, or when an answer is
    /// wrong; the error describes it.
    pub async fn run(&self) -> Result<Figures> {
        let (pages, callers) = self.connect().await?;
        let progress = RunProgress::new();
        let mut calling = JoinSet::new();
        for caller in callers {
            calling.spawn(caller.run(Arc::clone(&progress)));
        }
        let outcome = tokio::select! {
            figures = self.measure(&progress) => figures,
            Some(ended) = calling.join_next() => {
                ended?.and_then(|_| anyhow::bail!("a caller ended too early"))
            }
        };
        progress.set_phase(Phase::Ended);
        let mut figures = outcome?;
        let mut latencies = Vec::new();
        let last_answers = async {
            while let Some(ended) = calling.join_next().await {
                latencies.extend(ended??);
            }
            anyhow::Ok(())
        };
        let last_answers = timeout(LAST_ANSWERS_TIMEOUT, last_answers).await;
        last_answers.context("calls that were in flight at the end were not answered")??;
        ensure!(
            !pages.iter().any(Page::has_ended),
            "a page lost its connection"
        );
        let latencies = Latencies::new(latencies);
        figures.p50_us = latencies.permille_us(500);
        figures.p99_us = latencies.permille_us(990);
        Ok(figures)
    }

    /// Connects the pages, calls `opened`, and keeps the pages for as long as it is awaited.
    ///
    /// # Errors
    /// Returns an error when a page cannot connect.
    pub async fn keep_pages(&self, opened: impl FnOnce()) -> Result<()> {
        let (_pages, _) = self.connect().await?;
        opened();
        std::future::pending().await
    }

    /// Connects pages and callers, and returns the answer to one call.
    ///
    /// # Errors
    /// Returns an error in the cases in which [`Load::run`] does.
    pub async fn answer(&self) -> Result<Vec<u8>> {
        let (_pages, mut callers) = self.connect().await?;
        let caller = callers.first_mut().context("there are no callers")?;
        Ok(caller.call(CALL_IDS.start).await?.to_vec())
    }

    async fn connect(&self) -> Result<(Vec<Page>, Vec<Caller>)> {
        let dialect = self.dialect();
        let json = self.payload.json();
        let setup = PageSetup {
            address: self.address,
            token: self.token.clone(),
            dialect,
            receipt: self.receipt,
            tools: self.tools,
            schemas: self.schemas,
            pick: self.pick,
            answer: Arc::new(PageAnswer::new(dialect, &json)),
        };
        let mut pages = Vec::new();
        for number in 0..self.pages {
            let page = Page::open(&setup, number).await;
            pages.push(page.with_context(|| format!("page {number}"))?);
        }
        let callees: Vec<_> = (0..self.pages).map(|page| setup.callee(page)).collect();
        let endpoint = Endpoint {
            address: self.address,
            token: self.token.clone(),
            mcp_session: None,
        };
        let opens_session = self.route == Route::Mcp2025 && self.target == Target::Bridge;
        let mut callers = Vec::new();
        for number in 0..self.callers {
            let checker = AnswerChecker::new(self.route, dialect, json.clone());
            let endpoint = endpoint.clone();
            let caller = Caller::open(
                self.route,
                endpoint,
                &callees,
                checker,
                opens_session,
                number,
            );
            callers.push(caller.await.with_context(|| format!("caller {number}"))?);
        }
        Ok((pages, callers))
    }

    fn dialect(&self) -> Dialect {
        self.dialect.unwrap_or(match self.target {
            Target::Bridge => Dialect::for_route(self.route),
            Target::Floor => Dialect::Bytes,
            Target::FloorMcp => Dialect::Minimum,
        })
    }

    async fn measure(&self, progress: &RunProgress) -> Result<Figures> {
        sleep_until(Instant::now() + self.warm_up).await;
        let cpu = || self.meter.map(Meter::cpu).transpose();
        let (begin, cpu_before) = (Instant::now(), cpu()?);
        progress.set_phase(Phase::Measuring);
        sleep_until(begin + self.duration).await;
        // In this order, calls that are answered after the processor time was read do not count.
        let (calls, cpu_after) = (progress.calls(), cpu()?);
        let seconds = begin.elapsed().as_secs_f64();
        progress.set_phase(Phase::Ended);
        ensure!(calls > 0, "no call was answered in {seconds:.1} s");
        let used = cpu_before.zip(cpu_after).map(|(before, after)| {
            let cpu_us = after.since(&before).as_secs_f64() * 1e6 / calls as f64;
            (cpu_us, cpu_us * after.user_part_since(&before))
        });
        let (cpu_us, user_us) = used.unzip();
        Ok(Figures {
            calls,
            seconds,
            cpu_us,
            user_us,
            p50_us: 0.0,
            p99_us: 0.0,
        })
    }
}
