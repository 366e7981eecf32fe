//! `cargo xtask test`: every test of the project, from a fresh checkout.
//!
//! First the tools are made sure of ([`tools`]), then formatting and clippy are checked, then everything is
//! built by one call of cargo ([`build`]), so that no crate is compiled twice with different features, and
//! the test programs that it names are run one by one ([`run`](runs)), after them the documentation's
//! examples and the SDK's own tests in a browser. What each printed is counted ([`counts`]) and the sums are
//! the last line.

mod build;
mod counts;
mod report;
mod runner;
mod tools;

use std::path::Path;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{Workspace, clients, lint, sdk};
use build::TestProgram;
use report::Report;

pub(crate) use counts::Counts;
pub(crate) use tools::{ClientPackages, Tools};

/// What to run.
#[derive(Debug, Args)]
pub struct Options {
    /// Run only tests whose names contain this, and no lints
    filter: Option<String>,
    /// Run only this suite; may be given several times
    #[arg(long, value_name = "SUITE")]
    only: Vec<Suite>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Formatting and clippy
    Lint,
    /// Tests of the Rust crates, with the examples in their documentation
    Rust,
    /// Tests of the SDK, compiled to wasm, in headless Chromium
    Wasm,
    /// Journeys through the whole system in a real browser
    Journeys,
    /// MCP clients that nobody here wrote, against a page in a real browser
    Clients,
}

impl Options {
    fn wants(&self, suite: Suite) -> bool {
        if self.only.is_empty() {
            return suite != Suite::Lint || self.filter.is_none();
        }
        self.only.contains(&suite)
    }

    fn wants_programs(&self) -> bool {
        [Suite::Rust, Suite::Wasm, Suite::Journeys, Suite::Clients]
            .iter()
            .any(|suite| self.wants(*suite))
    }

    fn wants_program(&self, program: &TestProgram) -> bool {
        self.wants(if is_client_test(program) {
            Suite::Clients
        } else if program.crate_folder == Path::new("e2e") {
            Suite::Journeys
        } else {
            Suite::Rust
        })
    }
}

/// Runs the tests, prints the sums, and says whether all is well.
pub fn run(workspace: &Workspace, options: &Options) -> bool {
    let mut report = Report::default();
    if let Err(error) = run_suites(workspace, options, &mut report) {
        report.add_error(&error);
    }
    print!("{report}");
    report.all_is_well()
}

fn run_suites(workspace: &Workspace, options: &Options, report: &mut Report) -> Result<()> {
    if options.wants(Suite::Lint) {
        report.add_lint(lint::format(workspace));
    }
    sdk::ensure(workspace)?;
    let tools = Tools::ensure(workspace, options)?;
    if options.wants(Suite::Lint) {
        report.add_lint(lint::clippy(workspace));
    }
    if !options.wants_programs() {
        return Ok(());
    }
    let mut programs = build::build_tests(workspace)?;
    programs.retain(|program| options.wants_program(program));
    let filter = options.filter.as_deref();
    let (journeys, rust): (Vec<_>, Vec<_>) = programs
        .iter()
        .partition(|program| program.crate_folder == Path::new("e2e"));
    for program in rust {
        report.add_suite(runner::run_program(workspace, program, &tools, filter)?);
    }
    if options.wants(Suite::Rust) {
        report.add_suite(runner::run_doc_tests(workspace, filter)?);
    }
    if options.wants(Suite::Wasm) {
        report.add_suite(runner::run_sdk_tests(workspace, &tools, filter)?);
    }
    for program in journeys {
        let run = runner::run_program(workspace, program, &tools, filter)?;
        let is_whole = is_client_test(program) && filter.is_none() && run.counts.failed == 0;
        report.add_suite(run);
        if is_whole {
            report.add_lint(clients::check_document(workspace));
        }
    }
    Ok(())
}

/// The tests that run MCP clients.
fn is_client_test(program: &TestProgram) -> bool {
    program.crate_folder == Path::new("e2e") && program.target == clients::TARGET
}

/// Runs the MCP clients, whose packages `tools` has, and counts the tests.
pub(crate) fn run_clients(
    workspace: &Workspace,
    change: impl FnOnce(&mut Tools),
) -> Result<Counts> {
    let options = Options {
        filter: None,
        only: vec![Suite::Clients],
    };
    sdk::ensure(workspace)?;
    let mut tools = Tools::ensure(workspace, &options)?;
    change(&mut tools);
    let mut counts = Counts::default();
    for program in build::build_tests(workspace)?
        .iter()
        .filter(|it| is_client_test(it))
    {
        counts += runner::run_program(workspace, program, &tools, None)?.counts;
    }
    Ok(counts)
}
