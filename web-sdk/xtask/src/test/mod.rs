//! `cargo xtask test`: every test of the project but those of native windows, from a fresh checkout.
//!
//! First, the tools that the tests need are installed (`tools`), then formatting, clippy,
//! imports and reads are checked, then one call of cargo builds everything (`build`), so that no crate is
//! compiled twice with different features. The test programs of that build run one by one
//! (`runner`), after them the documentation's examples and the SDK's own tests in a browser. The
//! results in their output are counted (`counts`), what failed is repeated (`failures`), and the sums
//! are the last line of the output (`report`). Windows of Slint are a step of their own (`native_window`).

mod build;
mod counts;
mod failures;
mod native_window;
mod options;
mod report;
mod reuse;
mod runner;
mod tools;

use anyhow::Result;

use crate::{Workspace, client_table, lint, sdk};
use options::Suite;
use report::Report;
use reuse::GreenResult;

pub(crate) use counts::Counts;
pub use options::Options;
pub(crate) use tools::{ClientPackages, Tools};

/// Runs the selected tests, prints the sums, and returns whether everything passed.
pub fn run(workspace: &Workspace, options: &Options) -> bool {
    let mut report = Report::default();
    if let Err(error) = run_suites(workspace, options, &mut report) {
        report.add_error(&error);
    }
    print!("{report}");
    report.is_success()
}

fn run_suites(workspace: &Workspace, options: &Options, report: &mut Report) -> Result<()> {
    let is_linted = options.includes(Suite::Lint);
    if is_linted {
        report.add_check(lint::format(workspace));
    }
    sdk::ensure_package(workspace)?;
    let tools = Tools::ensure(workspace, options)?;
    if is_linted {
        report.add_check(lint::clippy(workspace));
        report.add_check(lint::imports::check(workspace));
        report.add_check(lint::clobbering::check(workspace));
    }
    if options.includes(Suite::NativeWindow) {
        return run_native_windows(workspace, options, &tools, report);
    }
    if !options.includes_tests() {
        return Ok(());
    }
    let mut programs = build::build_tests(workspace)?;
    programs.retain(|program| options.includes(Suite::from_program(program)));
    let filter = options.filter();
    let (rust, journeys): (Vec<_>, Vec<_>) = programs
        .iter()
        .partition(|program| Suite::from_program(program) == Suite::Rust);
    for program in rust {
        report.add_suite(runner::run_program(workspace, program, &tools, filter)?);
    }
    if options.includes(Suite::Rust) {
        report.add_suite(runner::run_doc_tests(workspace, filter)?);
    }
    if options.includes(Suite::Wasm) {
        report.add_suite(runner::run_sdk_tests(workspace, &tools, filter)?);
    }
    for program in journeys {
        let is_bundlers = Suite::from_program(program) == Suite::Bundlers;
        let green = (is_bundlers && filter.is_none())
            .then(|| GreenResult::of_bundlers(workspace))
            .transpose()?;
        if let Some(run) = green.as_ref().and_then(GreenResult::load) {
            report.add_suite(run);
            continue;
        }
        let run = runner::run_program(workspace, program, &tools, filter)?;
        let has_all_rows = Suite::from_program(program) == Suite::Clients
            && filter.is_none()
            && run.counts.failed == 0;
        if let Some(green) = green {
            green.store(&run)?;
        }
        report.add_suite(run);
        if has_all_rows {
            report.add_check(client_table::check_document(workspace));
        }
    }
    Ok(())
}

fn run_native_windows(
    workspace: &Workspace,
    options: &Options,
    tools: &Tools,
    report: &mut Report,
) -> Result<()> {
    let filter = options.filter();
    let green = native_window::green_result(workspace)?;
    if let Some(run) = green.load().filter(|_| filter.is_none()) {
        report.add_suite(run);
        return Ok(());
    }
    let linted = match filter {
        None => native_window::lint(workspace),
        Some(_) => Ok(()),
    };
    let is_clean = linted.is_ok();
    report.add_check(linted);
    native_window::build(workspace)?;
    let mut runs = vec![native_window::run_unit_tests(workspace, filter)?];
    for program in build::build_tests(workspace)? {
        if Suite::from_program(&program) == Suite::NativeWindow {
            runs.push(runner::run_program(workspace, &program, tools, filter)?);
        }
    }
    if is_clean && filter.is_none() {
        green.store_all(&runs)?;
    }
    for run in runs {
        report.add_suite(run);
    }
    Ok(())
}

/// Runs all MCP clients, and returns the counts of their tests. `change` may replace the packages
/// of the clients before they run.
pub(crate) fn run_clients(
    workspace: &Workspace,
    change: impl FnOnce(&mut Tools),
) -> Result<Counts> {
    sdk::ensure(workspace)?;
    let mut tools = Tools::ensure(workspace, &Options::for_suite(Suite::Clients))?;
    change(&mut tools);
    let mut counts = Counts::default();
    for program in build::build_tests(workspace)? {
        if Suite::from_program(&program) == Suite::Clients {
            counts += runner::run_program(workspace, &program, &tools, None)?.counts;
        }
    }
    Ok(counts)
}
