//! The `idle` program: what idle pages cost, and what they cost other clients.
#![allow(clippy::print_stderr, clippy::print_stdout)]

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

/// Starts bridges, connects idle pages, and prints their cost
#[derive(Parser)]
struct Arguments {
    /// What to measure
    #[arg(value_enum, default_value = "all")]
    what: Measurement,

    /// The number of idle pages
    #[arg(default_value_t = 10_000)]
    pages: usize,

    /// How long the pages are observed, in seconds
    #[arg(default_value_t = 60)]
    rest: u64,

    /// Measure only pages with these definitions
    #[arg(long, value_enum)]
    sets: Option<DefinitionSets>,

    /// Measure only this many pages per token
    #[arg(long)]
    per_token: Option<usize>,

    /// The bridge's interval between heartbeats of idle pages, in seconds
    #[arg(long, default_value_t = 25)]
    heartbeat: u64,

    /// The number of pages of one token that register 100 tools each
    #[arg(long, default_value_t = 300)]
    registering: usize,

    /// Print lines of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Measurement {
    /// Memory and heartbeats of idle pages
    Resting,
    /// Calls and lists of one token with many other sessions, and calls at the floor
    Beside,
    /// The registration of many pages of one token
    Registering,
    /// All of them, one after the other
    All,
}

impl Arguments {
    async fn run(&self) -> Result<()> {
        raise_open_file_limit(self.pages.max(self.registering))?;
        let includes = |part| self.what == Measurement::All || self.what == part;
        if includes(Measurement::Resting) {
            self.measure_idle_pages().await;
        }
        if includes(Measurement::Beside) {
            for target in [Target::Bridge, Target::Floor] {
                let others = [0, self.pages / 10, self.pages];
                measure_neighbour_cost(target, &others, |figures| self.print(&figures)).await;
            }
        }
        if includes(Measurement::Registering) {
            for sets in self.sets() {
                self.print(&measure_registration(sets, self.registering, 100).await);
            }
        }
        Ok(())
    }

    async fn measure_idle_pages(&self) {
        let rest = Duration::from_secs(self.rest);
        let heartbeat = Duration::from_secs(self.heartbeat);
        for per_token in self.per_token.map_or(vec![1, 50], |count| vec![count]) {
            for sets in self.sets() {
                let distribution = PageDistribution {
                    pages: self.pages,
                    per_token,
                    sets,
                    tools: 10,
                };
                self.print(&measure_idle_cost(distribution, rest, heartbeat).await);
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

/// Runs on one thread, so that the rest of the machine is free for the bridge.
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
