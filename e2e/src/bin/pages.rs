//! The `pages` program: what page tools cost, in tokens and in time.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use e2e::page_tools_cost;

/// Writes the texts of public pages, and prints how long the calls of page tools take
#[derive(Parser)]
struct Arguments {
    /// The folder for the texts
    texts: PathBuf,

    /// How often each call is measured
    #[arg(long, default_value_t = 50)]
    times: usize,

    /// Print lines of JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    async fn run(&self) -> Result<()> {
        std::fs::create_dir_all(&self.texts)
            .with_context(|| format!("make {} writable", self.texts.display()))?;
        page_tools_cost::write_texts(&self.texts).await;
        for figures in page_tools_cost::measure_calls(self.times).await {
            match serde_json::to_string(&figures) {
                Ok(line) if self.json => println!("{line}"),
                _ => println!("{figures}"),
            }
        }
        Ok(())
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
