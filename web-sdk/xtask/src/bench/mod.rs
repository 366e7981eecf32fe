//! `cargo xtask bench`: what a call costs, as ratios to the least that it could cost.
//!
//! The bridge, the two floors and the load generator are built once. Then each row of the tables
//! ([`plan`]) is measured in turn, several times over ([`measure`]): a server is started, pinned to one
//! core with the generator ([`server`]), and put under load. What came of it is printed, and written
//! where the docs show it ([`tables`], [`document`]).

mod document;
mod measure;
mod plan;
mod server;
mod tables;

use anyhow::Result;
use clap::Args;

use crate::process::{cargo, run as run_command};
use crate::step::{Outcome, step};
use crate::{Workspace, sdk};
use measure::{Figures, measure};
use plan::{Cell, Plan};

/// What to measure.
#[derive(Debug, Args)]
pub struct Options {
    /// Take less than a minute, and leave docs/benchmarks.md as it is
    #[arg(long)]
    quick: bool,
    /// The profile of cargo to build with: `profiling` is built faster
    #[arg(long, default_value = "release")]
    profile: String,
    /// The core for server and generator; the last one if nothing is said
    #[arg(long)]
    core: Option<usize>,
}

/// Builds what is measured, measures it, prints the tables and writes them into the docs.
///
/// # Errors
///
/// When something cannot be built or started, or when an answer is wrong.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    sdk::ensure(workspace)?;
    build(workspace, &options.profile)?;
    let plan = if options.quick {
        Plan::quick()
    } else {
        Plan::full()
    };
    let programs = workspace.path("target").join(&options.profile);
    let core = options.core.unwrap_or_else(document::last_core);
    let mut measured = Vec::new();
    for round in 1..=plan.rounds {
        let what = format!("measuring, round {round} of {}", plan.rounds);
        step(&what, || {
            for cell in plan.cells() {
                let figures = measure(&programs, core, &plan, &cell)?;
                println!("    {cell}: {figures}");
                measured.push((cell, figures));
            }
            Ok(Outcome::Done(()))
        })?;
    }
    let tables = tables::tables(&plan, |cell: &Cell| {
        let of_cell = measured.iter().filter(|(other, _)| other == cell);
        Figures::median(of_cell.map(|(_, figures)| *figures).collect())
    });
    let text = format!("{}\n{tables}", document::setting(&plan, &options.profile));
    println!("\n{text}");
    if !options.quick {
        document::write(workspace, &text)?;
    }
    Ok(())
}

/// One call, because cargo unites the features of what it builds together.
fn build(workspace: &Workspace, profile: &str) -> Result<()> {
    step(
        "building the bridge, the floors and the load generator",
        || {
            let mut build = cargo(workspace);
            build.args([
                "build",
                "--profile",
                profile,
                "--package",
                "bridge",
                "--package",
                "e2e",
            ]);
            build.args(["--bin", "mcp-web-bridge", "--bin", "floor", "--bin", "load"]);
            run_command(&mut build, "fix the errors above")?;
            Ok(Outcome::Done(()))
        },
    )
}
