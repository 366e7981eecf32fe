//! One run: who takes part, and what came of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::answers::{AnswerChecker, CALL_IDS};
use super::callers::{Caller, Phase, RunProgress};
use super::measure::{Latencies, Meter};
use super::pages::{Page, PageAnswer, PageSetup, default_dialect};
use super::route::Endpoint;
use super::{Dialect, Payload, Receipt, Route, TargetSelection};

/// How long the last calls of a run may take.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(60);

/// What is under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// A bridge.
    Bridge,
    /// `floor`.
    Floor,
    /// `floor --mcp`.
    FloorMcp,
}

/// Who takes part in a run, and for how long.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where the target listens.
    pub address: SocketAddr,
    /// What listens there.
    pub target: Target,
    /// The token of pages and callers.
    pub token: String,
    /// How many pages are connected.
    pub pages: usize,
    /// How many tools each of them has.
    pub tools: usize,
    /// Whether these have an input and an output schema.
    pub schemas: bool,
    /// How a call says which page it is for.
    pub pick: TargetSelection,
    /// How the pages say that they received a call.
    pub receipt: Receipt,
    /// What the pages speak; what goes with target and route if nothing is said.
    pub dialect: Option<Dialect>,
    /// How many callers there are, each with a connection of its own.
    pub callers: usize,
    /// Their way.
    pub route: Route,
    /// What the pages answer.
    pub payload: Payload,
    /// Calls before anything is measured go on for so long.
    pub warm_up: Duration,
    /// How long it is measured.
    pub duration: Duration,
    /// The process whose processor time is measured.
    pub meter: Option<Meter>,
}

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Calls that were answered, each of them right.
    pub calls: u64,
    /// How long it was measured, in seconds.
    pub seconds: f64,
    /// Processor time of the target for each call, in microseconds.
    pub cpu_us: Option<f64>,
    /// Half of the calls took at most so many microseconds.
    pub p50_us: f64,
    /// 99 of 100 calls took at most so many microseconds.
    pub p99_us: f64,
}

impl Load {
    /// Connects everybody, lets them warm up, and measures.
    ///
    /// # Errors
    /// When somebody cannot connect or is refused, or when an answer is not the right one: it says
    /// which, and what is wrong.
    pub async fn run(&self) -> Result<Figures> {
        let (pages, callers) = self.connect().await?;
        let course = RunProgress::new();
        let mut calling = JoinSet::new();
        for caller in callers {
            calling.spawn(caller.run(Arc::clone(&course)));
        }
        let outcome = tokio::select! {
            figures = self.measure(&course) => figures,
            Some(ended) = calling.join_next() => {
                ended?.and_then(|_| anyhow::bail!("a caller ended too early"))
            }
        };
        course.set_phase(Phase::Ended);
        let mut figures = outcome?;
        let mut times = Vec::new();
        let last = async {
            while let Some(ended) = calling.join_next().await {
                times.extend(ended??);
            }
            anyhow::Ok(())
        };
        let last = timeout(LAST_ANSWERS_TIMEOUT, last).await;
        last.context("calls that were under way in the end are not answered")??;
        ensure!(
            !pages.iter().any(Page::has_ended),
            "a page lost its connection"
        );
        let times = Latencies::from_micros(times);
        figures.p50_us = times.percentile(50);
        figures.p99_us = times.percentile(99);
        Ok(figures)
    }

    /// Connects everybody and returns the answer to one call.
    ///
    /// # Errors
    /// As [`Load::run`].
    pub async fn answer(&self) -> Result<Vec<u8>> {
        let (_pages, mut callers) = self.connect().await?;
        let caller = callers.first_mut().context("nobody calls")?;
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
        let peer = Endpoint {
            address: self.address,
            token: self.token.clone(),
            mcp_session: None,
        };
        let opens_session = self.route == Route::Mcp2025 && self.target == Target::Bridge;
        let mut callers = Vec::new();
        for number in 0..self.callers {
            let answers = AnswerChecker::new(self.route, dialect, json.clone());
            let peer = peer.clone();
            let caller = Caller::open(self.route, peer, &callees, answers, opens_session, number);
            callers.push(caller.await.with_context(|| format!("caller {number}"))?);
        }
        Ok((pages, callers))
    }

    fn dialect(&self) -> Dialect {
        self.dialect.unwrap_or(match self.target {
            Target::Bridge => default_dialect(self.route),
            Target::Floor => Dialect::Bytes,
            Target::FloorMcp => Dialect::Minimum,
        })
    }

    async fn measure(&self, course: &RunProgress) -> Result<Figures> {
        sleep_until(Instant::now() + self.warm_up).await;
        let cpu = || self.meter.map(Meter::cpu).transpose();
        let (begin, cpu_before) = (Instant::now(), cpu()?);
        course.set_phase(Phase::Measuring);
        sleep_until(begin + self.duration).await;
        // In this order: what is answered after the processor time was read does not count.
        let (calls, cpu_after) = (course.calls(), cpu()?);
        let seconds = begin.elapsed().as_secs_f64();
        course.set_phase(Phase::Ended);
        ensure!(calls > 0, "no call was answered in {seconds:.1} s");
        let used = cpu_before
            .zip(cpu_after)
            .map(|(before, after)| after.since(&before));
        Ok(Figures {
            calls,
            seconds,
            cpu_us: used.map(|used| used.as_secs_f64() * 1e6 / calls as f64),
            p50_us: 0.0,
            p99_us: 0.0,
        })
    }
}
