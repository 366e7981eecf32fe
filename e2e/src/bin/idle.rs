//! `idle`: what pages that do nothing cost, and what they cost others.

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use e2e::idle::{
    DefinitionSets, PageDistribution, Target, measure_idle_cost, measure_neighbour_cost,
    measure_registration, raise_open_file_limit,
};
use serde::Serialize;

/// Starts bridges, opens pages at them, and prints what both cost.
#[derive(Parser)]
struct Arguments {
    /// What is measured
    #[arg(value_enum, default_value = "all")]
    what: Measurement,

    /// How many pages do nothing
    #[arg(default_value_t = 10_000)]
    pages: usize,

    /// How long they are watched, in seconds
    #[arg(default_value_t = 60)]
    rest: u64,

    /// Only pages that register these
    #[arg(long, value_enum)]
    sets: Option<DefinitionSets>,

    /// Only pages of which so many have one token
    #[arg(long)]
    per_token: Option<usize>,

    /// How often the bridge looks after pages at rest, in seconds
    #[arg(long, default_value_t = 25)]
    heartbeat: u64,

    /// How many pages of one token register 100 tools each
    #[arg(long, default_value_t = 300)]
    registering: usize,

    /// Print lines of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Measurement {
    /// Memory and heartbeats of pages that do nothing
    Resting,
    /// Calls and lists of one token beside those of others, and the same at the floor
    Beside,
    /// Many pages of one token, one after the other
    Registering,
    /// One after the other
    All,
}

impl Arguments {
    async fn run(&self) -> Result<()> {
        raise_open_file_limit(self.pages.max(self.registering))?;
        let wanted = |part| self.what == Measurement::All || self.what == part;
        if wanted(Measurement::Resting) {
            self.resting().await;
        }
        if wanted(Measurement::Beside) {
            for target in [Target::Bridge, Target::Floor] {
                let others = [0, self.pages / 10, self.pages];
                measure_neighbour_cost(target, &others, |figures| self.print(&figures)).await;
            }
        }
        if wanted(Measurement::Registering) {
            for sets in self.sets() {
                self.print(&measure_registration(sets, self.registering, 100).await);
            }
        }
        Ok(())
    }

    async fn resting(&self) {
        let rest = Duration::from_secs(self.rest);
        let heartbeat = Duration::from_secs(self.heartbeat);
        for per_token in self.per_token.map_or(vec![1, 50], |it| vec![it]) {
            for sets in self.sets() {
                let spread = PageDistribution {
                    pages: self.pages,
                    per_token,
                    sets,
                    tools: 10,
                };
                self.print(&measure_idle_cost(spread, rest, heartbeat).await);
            }
        }
    }

    fn sets(&self) -> Vec<DefinitionSets> {
        let both = || vec![DefinitionSets::Identical, DefinitionSets::Distinct];
        self.sets.map_or_else(both, |sets| vec![sets])
    }

    fn print(&self, figures: &(impl Serialize + Display)) {
        match serde_json::to_string(figures) {
            Ok(line) if self.json => println!("{line}"),
            _ => println!("{figures}"),
        }
    }
}

/// One thread: the rest of the machine is the bridge's.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Arguments::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
