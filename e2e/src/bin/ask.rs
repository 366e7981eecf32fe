//! The `ask` program: how soon a page receives a model's answer, and the cost of concurrent
//! queries.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::fmt::Display;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use e2e::Format;
use e2e::idle::raise_open_file_limit;
use e2e::query_cost::{Writing, measure_concurrent_queries, measure_first_token, measure_writing};
use e2e::source_cost::measure_source_calls;
use serde::Serialize;

/// Starts a bridge, an agent and a mock provider, sends queries, and prints what they cost
#[derive(Parser)]
struct Arguments {
    /// How many queries are sent in each provider's format, one after the other
    #[arg(long, default_value_t = 500)]
    queries: usize,

    /// How many queries are sent at once
    #[arg(long, default_value_t = 500)]
    at_once: usize,

    /// In how many pieces a model writes the arguments of a call, or a text
    #[arg(long, default_value_t = 1000)]
    pieces: usize,

    /// How many queries whose model writes pieces are sent at once
    #[arg(long, default_value_t = 50)]
    writing: usize,

    /// How many queries each user sends that call tools of the agent
    #[arg(long, default_value_t = 50)]
    source_queries: usize,

    /// Print lines of JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    async fn run(&self) -> Result<()> {
        // Each query has several connections, in the bridge, in the agent and here.
        raise_open_file_limit(4 * self.at_once)?;
        for format in Format::AGENT_FORMATS {
            self.print(&measure_first_token(format, self.queries).await);
        }
        let figures = measure_concurrent_queries(self.at_once).await;
        self.print(&figures);
        ensure!(figures.completed == figures.queries, "queries were lost");
        for writing in [Writing::AtOnce, Writing::Text, Writing::Arguments] {
            self.print(&measure_writing(writing, self.pieces, self.writing).await);
        }
        for users in [1, 16] {
            for cost in measure_source_calls(users, self.source_queries).await {
                self.print(&cost);
            }
        }
        Ok(())
    }

    fn print(&self, figures: &(impl Serialize + Display)) {
        match serde_json::to_string(figures) {
            Ok(line) if self.json => println!("{line}"),
            _ => println!("{figures}"),
        }
    }
}

/// Runs on one thread, so that the rest of the machine is free for bridge and agent.
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
