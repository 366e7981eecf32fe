//! `cargo xtask bench`: the cost of calls and pages, compared with the least that they could cost.
//!
//! Bridge, agent, the two floors (servers that do the least possible) and the load generators are
//! built once. Then each section of docs/benchmarks.md is measured: calls row by row (`plan`),
//! several times (`measure`), with a server that is pinned to one core together with the load
//! generator (`server`); idle pages, queries, attacks and the start of a page by programs of their
//! own (`idle`, `ask`, `attacks`, `start`, `pages` and `apps`, with `json_lines`). The results are printed (`tables`,
//! with the `machine`) and written into the document.

mod apps;
mod ask;
mod attacks;
mod idle;
mod json_lines;
mod machine;
mod measure;
mod pages;
mod plan;
mod server;
mod start;
mod tables;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::process::{cargo, run as run_command};
use crate::step::{Outcome, step};
use crate::{Workspace, apt, document, sdk};
use measure::{Figures, measure};
use plan::{Cell, PAGES, Plan};
use start::StartPlan;

const DOCUMENT: &str = "docs/benchmarks.md";

/// What to measure.
#[derive(Debug, Args)]
pub struct Options {
    /// Take a few minutes with few pages, and leave docs/benchmarks.md as it is
    #[arg(long)]
    quick: bool,
    /// Only these sections of docs/benchmarks.md, as in `--only resting,beside` (all by default)
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Section>,
    /// The cargo profile to build with: `profiling` builds faster
    #[arg(long, default_value = "release")]
    profile: String,
    /// The core for server and load generator (the last one by default)
    #[arg(long)]
    core: Option<usize>,
    /// The number of idle pages (10,000, or 500 with --quick)
    #[arg(long)]
    pages: Option<usize>,
    /// How long idle pages are watched, in seconds (60, or 3 with --quick)
    #[arg(long)]
    rest: Option<u64>,
    /// The machine has other work: attacks are measured with priority over it (as root)
    #[arg(long)]
    busy: bool,
}

/// A section of docs/benchmarks.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Section {
    /// Calls with small results
    Calls,
    /// Calls with large results
    Large,
    /// Idle pages
    Resting,
    /// Calls and lists beside other sessions
    Beside,
    /// Many pages of one token that register many tools
    Registering,
    /// Queries from pages to an agent
    Ask,
    /// What a client notices of attacks from another address
    Attacks,
    /// What the SDK and other packages cost a page that starts
    Start,
    /// What page tools cost in tokens and time
    Pages,
    /// Apps without a browser: Node, Lowdefy and native programs
    Apps,
}

impl Section {
    /// Returns the command that measures this section and writes it into the document.
    fn command(self) -> String {
        let value = self.to_possible_value();
        let name = value.as_ref().map_or("", |value| value.get_name());
        format!("cargo xtask bench --only {name}")
    }
}

/// The settings that all sections are measured with.
struct Bench {
    /// The folder of the programs that were built.
    programs: PathBuf,
    core: usize,
    profile: String,
    /// Whether the machine has other work.
    is_busy: bool,
    plan: Plan,
    start: StartPlan,
    /// How often each call of page tools is measured.
    times: usize,
}

/// Builds the programs, measures each section, prints its tables and writes them into the document.
///
/// # Errors
///
/// Returns an error if a program cannot be built or started, or if a call returns a wrong answer.
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
        core: options.core.unwrap_or_else(machine::last_core),
        profile: options.profile.clone(),
        is_busy: options.busy,
        plan,
        start: StartPlan::new(options.quick),
        times: if options.quick { 5 } else { 50 },
    };
    for &section in Section::value_variants() {
        if !options.only.is_empty() && !options.only.contains(&section) {
            continue;
        }
        let text = bench.measure(workspace, section)?;
        println!("\n{text}");
        if !options.quick {
            document::write_section(workspace, DOCUMENT, &section.command(), &text)?;
        }
    }
    Ok(())
}

impl Bench {
    /// Measures a section and returns its text.
    fn measure(&self, workspace: &Workspace, section: Section) -> Result<String> {
        let Self {
            programs,
            core,
            plan,
            ..
        } = self;
        let machine = machine::description(&self.profile);
        match section {
            Section::Calls => {
                let figures = self.measure_cells(&plan.small_cells())?;
                let conditions = format!(
                    "{machine}; {PAGES} pages with 10 tools each; {} s each time after {} s of warming \
                     up, the median of {}.",
                    plan.seconds, plan.warm_up, plan.rounds
                );
                Ok(format!("{conditions}\n\n{}", tables::calls(plan, figures)))
            }
            Section::Large => {
                let figures = self.measure_cells(&plan.large_cells())?;
                let conditions = format!(
                    "{machine}; {} s each time ({} s with 10 MB) after {} s of warming up, the median \
                     of {}.",
                    plan.seconds, plan.seconds_for_largest, plan.warm_up, plan.rounds
                );
                Ok(format!("{conditions}\n\n{}", tables::large(plan, figures)))
            }
            Section::Resting => {
                let text = idle::resting(programs, &plan.idle)?;
                Ok(format!("{machine}.\n\n{text}"))
            }
            Section::Beside => {
                let text = idle::beside(programs, *core, &plan.idle)?;
                Ok(format!("{machine}.\n\n{text}"))
            }
            Section::Registering => {
                let text = idle::registering(programs, *core, &plan.idle)?;
                Ok(format!("{machine}.\n\n{text}"))
            }
            Section::Ask => {
                let text = ask::ask(programs, &plan.ask)?;
                Ok(format!("{machine}.\n\n{text}"))
            }
            Section::Attacks => {
                let text = attacks::attacks(programs, &plan.attacks, self.is_busy)?;
                Ok(format!("{machine}. {text}"))
            }
            Section::Start => {
                let text = start::start(workspace, programs, &self.start)?;
                Ok(format!("{machine}. {text}"))
            }
            Section::Pages => {
                let text = pages::pages(workspace, programs, self.times)?;
                Ok(format!("{machine}. {text}"))
            }
            Section::Apps => {
                let text = apps::apps(workspace, programs, self.times * 4)?;
                Ok(format!("{machine}. {text}"))
            }
        }
    }

    /// Measures each cell in each round, and returns a function from a cell to its median.
    fn measure_cells(&self, cells: &[Cell]) -> Result<impl Fn(&Cell) -> Figures + use<>> {
        let rounds = self.plan.rounds;
        let mut measurements = Vec::new();
        for round in 1..=rounds {
            step(&format!("measuring, round {round} of {rounds}"), || {
                for &cell in cells {
                    let figures = measure(&self.programs, self.core, &self.plan, &cell)?;
                    println!("    {cell}: {figures}");
                    measurements.push((cell, figures));
                }
                Ok(Outcome::Done(()))
            })?;
        }
        Ok(move |cell: &Cell| {
            let of_cell = measurements.iter().filter(|(other, _)| other == cell);
            Figures::median(of_cell.map(|(_, figures)| *figures).collect())
        })
    }
}

/// Builds all programs with one call, because cargo unites the features of what it builds together.
fn build(workspace: &Workspace, profile: &str) -> Result<()> {
    apt::ensure_program("make")?;
    step("building bridge, agent, floors and load generators", || {
        let mut build = cargo(workspace);
        build.args(["build", "--profile", profile]);
        for package in ["bridge", "agent", "e2e"] {
            build.args(["--package", package]);
        }
        for program in [
            "mcp-web-bridge",
            "mcp-web-agent",
            "floor",
            "load",
            "idle",
            "ask",
            "attack",
            "start",
            "pages",
            "native-app",
        ] {
            build.args(["--bin", program]);
        }
        run_command(&mut build, "fix the errors above")?;
        Ok(Outcome::Done(()))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_document_has_a_section_for_each_command() {
        let text = fs::read_to_string(Workspace::here().path(DOCUMENT)).unwrap();
        for section in Section::value_variants() {
            let command = section.command();
            assert!(
                document::replace_section(&text, &command, "").is_some(),
                "{command}"
            );
        }
    }
}
