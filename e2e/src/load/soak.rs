//! Everything at once, for long: what shows whether memory and descriptors stay flat.
//!
//! Half of the pages stay; the others reload, go away, break off and come back, each time with other
//! tools. Callers of every route call small and large tools, give up calls that take long, open MCP
//! sessions and end them or forget them. Calls to pages that stay must be answered right; those to
//! others may fail, but must be answered. [`Soak::run`] says now and then what the bridge holds.

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
use super::measure::Meter;
use crate::random::Random;

/// Who takes part, and for how long.
#[derive(Clone, Debug)]
pub struct Soak {
    /// Where the bridge listens.
    pub address: SocketAddr,
    /// The token of pages and callers.
    pub token: String,
    /// The bridge's process.
    pub meter: Meter,
    /// Pages, half of which stay.
    pub pages: usize,
    /// Callers, a third of them for each route.
    pub callers: usize,
    /// How long it lasts.
    pub duration: Duration,
    /// How often it says what the bridge holds.
    pub sample_interval: Duration,
    /// What pages and callers do follows from it.
    pub seed: u64,
}

impl Soak {
    /// Runs to the end and returns what the bridge held in the meantime.
    ///
    /// # Errors
    /// When a call that must succeed is answered wrongly or not at all, or a page is refused.
    pub async fn run(&self, mut say: impl FnMut(&Sample)) -> Result<SampleSeries> {
        let (tally, tools) = (Arc::new(Counters::default()), Arc::new(ToolAnswers::new()));
        let mut random = Random::new(self.seed);
        let mut everyone = JoinSet::new();
        let staying = self.pages.div_ceil(2);
        for number in 0..self.pages {
            let page = MovingPage {
                address: self.address,
                token: self.token.clone(),
                number,
                tools: Arc::clone(&tools),
                tally: Arc::clone(&tally),
                random: Random::new(random.below(u64::MAX)),
            };
            if number < staying {
                let wire = page.connect(&format!("stays-{number}"), 0).await?;
                everyone.spawn(page.serve(wire));
            } else {
                everyone.spawn(page.reconnect_repeatedly());
            }
        }
        for number in 0..self.callers {
            let random = Random::new(random.below(u64::MAX));
            let caller = RandomCaller::new(self, number, staying, random, Arc::clone(&tally));
            everyone.spawn(caller.run());
        }
        let mut held = SampleSeries::default();
        let begin = Instant::now();
        let mut ticks = interval_at(begin + self.sample_interval, self.sample_interval);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    let sample = tally.sample(self.meter, begin.elapsed())?;
                    say(&sample);
                    held.push(sample);
                }
                Some(ended) = everyone.join_next() => match ended? {
                    Ok(()) => bail!("somebody stopped too early"),
                    Err(error) => return Err(error),
                },
            }
            if begin.elapsed() >= self.duration {
                return Ok(held);
            }
        }
    }
}
