//! A mixed load over a long time, which shows whether memory and descriptors stay constant.
//!
//! Half of the pages stay; the others reload, close, lose their connection and reconnect, each time
//! with other tools. Callers of every route call small and large tools, cancel calls that take
//! long, open MCP sessions and end them or abandon them. Calls to pages that stay must be answered
//! correctly; those to other pages may fail, but must be answered. [`Soak::run`] reports at regular
//! intervals what the bridge uses.

mod callers;
mod pages;
mod samples;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at};

use self::callers::RandomCaller;
use self::pages::{MovingPage, ToolAnswers};
use self::samples::Counters;
pub use self::samples::{Sample, SampleSeries};

use super::route::Endpoint;
use crate::meter::Meter;
use crate::random::Random;

/// The participants of a soak, and its duration.
#[derive(Clone, Debug)]
pub struct Soak {
    /// The address of the bridge.
    pub address: SocketAddr,
    /// The token of pages and callers.
    pub token: String,
    /// The bridge's process.
    pub meter: Meter,
    /// The number of pages, half of which stay.
    pub pages: usize,
    /// The number of callers, a third of them for each route.
    pub callers: usize,
    /// The duration of the soak.
    pub duration: Duration,
    /// The time between two samples of what the bridge uses.
    pub sample_interval: Duration,
    /// The seed that determines what pages and callers do.
    pub seed: u64,
}

impl Soak {
    /// Runs to the end, calls `on_sample` with each sample, and returns them all.
    ///
    /// # Errors
    /// Returns an error when a call that must succeed has a wrong answer or none, or when a page is
    /// rejected.
    pub async fn run(&self, mut on_sample: impl FnMut(&Sample)) -> Result<SampleSeries> {
        let (counters, tools) = (Arc::new(Counters::default()), Arc::new(ToolAnswers::new()));
        let mut random = Random::new(self.seed);
        let mut participants = JoinSet::new();
        let staying = self.pages.div_ceil(2);
        for number in 0..self.pages {
            let page = MovingPage {
                address: self.address,
                token: self.token.clone(),
                number,
                tools: Arc::clone(&tools),
                counters: Arc::clone(&counters),
                random: Random::new(random.below(u64::MAX)),
            };
            if number < staying {
                let socket = page.connect(&format!("stays-{number}"), 0).await?;
                participants.spawn(page.serve(socket));
            } else {
                participants.spawn(page.reconnect_repeatedly());
            }
        }
        let endpoint = Endpoint {
            address: self.address,
            token: self.token.clone(),
            mcp_session: None,
        };
        for number in 0..self.callers {
            let caller = RandomCaller::new(
                number,
                endpoint.clone(),
                0..staying,
                staying..self.pages,
                Random::new(random.below(u64::MAX)),
                Arc::clone(&counters),
            );
            participants.spawn(caller.run());
        }
        let mut series = SampleSeries::default();
        let begin = Instant::now();
        let mut ticks = interval_at(begin + self.sample_interval, self.sample_interval);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    let sample = counters.sample(self.meter, begin.elapsed())?;
                    on_sample(&sample);
                    series.push(sample);
                }
                Some(ended) = participants.join_next() => match ended? {
                    Ok(()) => bail!("a page or caller stopped too early"),
                    Err(error) => return Err(error),
                },
            }
            if begin.elapsed() >= self.duration {
                return Ok(series);
            }
        }
    }
}
