//! The `start` program: what it costs a page to start, and what remains when it is idle.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::fmt::Display;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use e2e::page_start::{StartPage, StartSetup};
use serde::Serialize;

/// Starts a bridge, loads pages in Chromium, and prints what they cost
#[derive(Parser)]
struct Arguments {
    /// How often each page is loaded
    #[arg(long, default_value_t = 11)]
    loads: usize,

    /// How long idle pages are observed, in seconds, as in `--rest 10,60`
    #[arg(long, value_delimiter = ',', default_value = "10,60")]
    rest: Vec<u64>,

    /// Print lines of JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    async fn run(&self) -> Result<()> {
        ensure!(self.rest.is_sorted(), "--rest needs ascending durations");
        let setup = StartSetup::start().await;
        for cost in setup.measure_loads(self.loads).await {
            self.print(&cost);
        }
        for page in StartPage::ALL {
            self.print(&setup.measure_rest(page, &self.rest).await);
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

/// Runs on one thread, so that the rest of the machine is free for the browser.
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
