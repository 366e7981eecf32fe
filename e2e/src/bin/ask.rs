//! `ask`: how soon a page hears a model, and what hundreds of queries at once take.

use std::fmt::Display;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use e2e::Format;
use e2e::idle::raise_open_file_limit;
use e2e::query_cost::{measure_concurrent_queries, measure_first_token};
use serde::Serialize;

/// Starts a bridge, an agent and a provider, asks queries, and prints what they took.
#[derive(Parser)]
struct Arguments {
    /// How many queries are asked on each wire, one after the other
    #[arg(long, default_value_t = 500)]
    queries: usize,

    /// How many queries are asked at once
    #[arg(long, default_value_t = 500)]
    at_once: usize,

    /// Print lines of JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    async fn run(&self) -> Result<()> {
        // In the bridge, in the agent and here each query has several connections.
        raise_open_file_limit(4 * self.at_once)?;
        for format in Format::AGENT_FORMATS {
            self.print(&measure_first_token(format, self.queries).await);
        }
        let many = measure_concurrent_queries(self.at_once).await;
        self.print(&many);
        ensure!(many.completed == many.queries, "queries were lost");
        Ok(())
    }

    fn print(&self, figures: &(impl Serialize + Display)) {
        match serde_json::to_string(figures) {
            Ok(line) if self.json => println!("{line}"),
            _ => println!("{figures}"),
        }
    }
}

/// One thread: the rest of the machine is for bridge and agent.
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
