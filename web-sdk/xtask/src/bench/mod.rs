//! `cargo xtask bench`: what calls and pages cost, beside the least that they could cost.
//!
//! Bridge, agent, the two floors and what puts load on them are built once. Then each section is measured:
//! calls, row by row ([`plan`]), several times over ([`measure`]) at a server that is pinned to one core
//! with the load generator ([`server`]); pages that do nothing and queries by programs of their own
//! ([`idle`], [`ask`]). What came of it is printed, and written where the docs show it ([`tables`], [`document`]).

mod ask;
mod document;
mod idle;
mod measure;
mod plan;
mod server;
mod tables;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::process::{cargo, run as run_command};
use crate::step::{Outcome, step};
use crate::{Workspace, sdk};
use measure::{Figures, measure};
use plan::{Cell, PAGES, Plan};

/// What to measure.
#[derive(Debug, Args)]
pub struct Options {
    /// Take a few minutes with few pages, and leave docs/benchmarks.md as it is
    #[arg(long)]
    quick: bool,
    /// Only these sections of docs/benchmarks.md, as in `--only resting,beside`; all if nothing is said
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Section>,
    /// The profile of cargo to build with: `profiling` is built faster
    #[arg(long, default_value = "release")]
    profile: String,
    /// The core for server and generator; the last one if nothing is said
    #[arg(long)]
    core: Option<usize>,
    /// How many pages do nothing (10,000, or 500 with --quick)
    #[arg(long)]
    pages: Option<usize>,
    /// How long they are watched, in seconds (60, or 3 with --quick)
    #[arg(long)]
    rest: Option<u64>,
}

/// A part of docs/benchmarks.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Section {
    /// Calls with small results
    Calls,
    /// Calls with large results
    Large,
    /// Pages that do nothing
    Resting,
    /// Calls and lists beside other sessions
    Beside,
    /// Many pages of one token that register many tools
    Registering,
    /// Queries that pages ask an agent
    Ask,
}

impl Section {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or(String::new(), |value| value.get_name().to_owned())
    }
}

/// How a section is measured.
struct Bench {
    programs: PathBuf,
    core: usize,
    profile: String,
    plan: Plan,
}

/// Builds what is measured, measures it, prints the tables and writes them into the docs.
///
/// # Errors
///
/// When something cannot be built or started, or when an answer is wrong.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    sdk::ensure(workspace)?;
    build(workspace, &options.profile)?;
    let mut plan = if options.quick {
        Plan::quick()
    } else {
        Plan::full()
    };
    plan.idle.pages = options.pages.unwrap_or(plan.idle.pages);
    plan.idle.rest = options.rest.unwrap_or(plan.idle.rest);
    let bench = Bench {
        programs: workspace.path("target").join(&options.profile),
        core: options.core.unwrap_or_else(document::last_core),
        profile: options.profile.clone(),
        plan,
    };
    let wanted = |section: &&Section| options.only.is_empty() || options.only.contains(section);
    for &section in Section::value_variants().iter().filter(wanted) {
        let text = bench.measure(section)?;
        println!("\n{text}");
        if !options.quick {
            document::write(workspace, &section.name(), &text)?;
        }
    }
    Ok(())
}

impl Bench {
    fn measure(&self, section: Section) -> Result<String> {
        let plan = &self.plan;
        let setting = document::machine(&self.profile);
        match section {
            Section::Calls => {
                let figures = self.measure_cells(&plan.small_cells())?;
                let setting = format!(
                    "{setting}; {PAGES} pages with 10 tools each; {} s each time after {} s of warming \
                     up, the median of {}.",
                    plan.seconds, plan.warm_up, plan.rounds
                );
                Ok(format!("{setting}\n\n{}", tables::calls(plan, figures)))
            }
            Section::Large => {
                let figures = self.measure_cells(&plan.large_cells())?;
                let setting = format!(
                    "{setting}; {} s each time ({} s with 10 MB) after {} s of warming up, the median \
                     of {}.",
                    plan.seconds, plan.seconds_for_largest, plan.warm_up, plan.rounds
                );
                Ok(format!("{setting}\n\n{}", tables::large(plan, figures)))
            }
            Section::Resting => Ok(format!("{setting}.\n\n{}", idle::resting(self)?)),
            Section::Beside => Ok(format!("{setting}.\n\n{}", idle::beside(self)?)),
            Section::Registering => Ok(format!("{setting}.\n\n{}", idle::registering(self)?)),
            Section::Ask => Ok(format!("{setting}.\n\n{}", ask::ask(self)?)),
        }
    }

    /// Measures each cell in each round, and gives the median of a cell.
    fn measure_cells(&self, cells: &[Cell]) -> Result<impl Fn(&Cell) -> Figures + use<>> {
        let rounds = self.plan.rounds;
        let mut measured = Vec::new();
        for round in 1..=rounds {
            let what = format!("measuring, round {round} of {rounds}");
            step(&what, || {
                for &cell in cells {
                    let figures = measure(&self.programs, self.core, &self.plan, &cell)?;
                    println!("    {cell}: {figures}");
                    measured.push((cell, figures));
                }
                Ok(Outcome::Done(()))
            })?;
        }
        Ok(move |cell: &Cell| {
            let of_cell = measured.iter().filter(|(other, _)| other == cell);
            Figures::median(of_cell.map(|(_, figures)| *figures).collect())
        })
    }
}

/// One call, because cargo unites the features of what it builds together.
fn build(workspace: &Workspace, profile: &str) -> Result<()> {
    let what = "building bridge, agent, the floors and what puts load on them";
    step(what, || {
        let mut build = cargo(workspace);
        build.args(["build", "--profile", profile]);
        for package in ["bridge", "agent", "e2e"] {
            build.args(["--package", package]);
        }
        let own = ["mcp-web-bridge", "mcp-web-agent"];
        for program in own.into_iter().chain(["floor", "load", "idle", "ask"]) {
            build.args(["--bin", program]);
        }
        run_command(&mut build, "fix the errors above")?;
        Ok(Outcome::Done(()))
    })
}
