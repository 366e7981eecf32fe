//! `cargo xtask test`: every test of the project but those of native windows, from a fresh checkout.
//!
//! First, the tools that the tests need are installed (`tools`), and the checks of `lint` run. Then
//! one call of cargo builds everything and runs clippy (`build`), so that no crate is compiled twice. The
//! test programs of that build, the documentation's examples and the SDK's own tests in
//! a browser (`jobs`) run side by side (`schedule`, `runner`), but those whose inputs have not changed
//! since they passed (`reuse`). The results in their output are counted (`counts`), what failed is
//! repeated (`failures`), and the sums are the last line of the output (`report`). `quick` selects what
//! runs before a commit. Windows of Slint (`native_window`), the packages of a release (`packages`) and
//! programs for other systems (`cross`) are separate steps.

mod build;
mod counts;
mod cross;
mod failures;
mod job;
mod jobs;
mod native_window;
mod options;
mod packages;
mod quick;
mod report;
mod reuse;
mod runner;
mod schedule;
mod tools;

use std::path::{Path, PathBuf};
use std::slice;

use anyhow::{Context, Result};

use crate::{Workspace, client_table, lint, sdk};
use job::Job;
use jobs::EarlierResults;
use report::Report;
use reuse::GreenResult;
use runner::{Output, SuiteRun};

pub(crate) use counts::Counts;
pub use options::Options;
pub(crate) use options::Suite;
pub(crate) use tools::{ClientPackages, Tools};

/// The job whose results docs/clients.md shows.
const CLIENTS: &str = "e2e: clients";

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
        report.add_check(lint::architecture::check(workspace));
        report.add_check(lint::reports::check(workspace));
        report.add_check(lint::english::check(workspace));
    }
    if options.includes(Suite::Packages) {
        report.add_suite(packages::run_tests(workspace, options.filter())?);
        return Ok(());
    }
    if options.includes(Suite::Cross) {
        report.add_suite(cross::run_tests(workspace, options.filter())?);
        return Ok(());
    }
    sdk::ensure_package(workspace)?;
    let tools = Tools::ensure(workspace, options)?;
    let earlier = EarlierResults::new(workspace, &tools)?;
    if is_linted {
        if !options.includes_tests() {
            report.add_check(lint::clippy(workspace));
        }
        report.add_check(lint::imports::check(workspace));
        report.add_check(lint::clobbering::check(workspace));
    }
    if options.includes(Suite::NativeWindow) {
        return run_native_windows(workspace, options, &tools, report);
    }
    if !options.includes_tests() {
        return Ok(());
    }
    let build = build::build_tests(workspace)?;
    if is_linted {
        report.add_check(build.check_warnings());
    }
    let mut to_run = Vec::new();
    for job in jobs::select(workspace, &build.programs, &tools, options, earlier) {
        match reused(job.green.as_ref(), options)? {
            Some(earlier) => report.add_suite(earlier),
            None => to_run.push(job),
        }
    }
    schedule::run_all(to_run, |run, green| {
        let is_table = run.name == CLIENTS && run.counts.failed == 0;
        let checked = if options.is_quick() {
            quick::check(&run)
        } else if is_table && options.filter().is_none() {
            client_table::check_document(workspace)
        } else {
            Ok(())
        };
        if let Some(green) = green.filter(|_| checked.is_ok()) {
            report.add_check(green.store(slice::from_ref(&run)));
        }
        report.add_suite(run);
        report.add_check(checked);
    });
    Ok(())
}

/// Returns the earlier run of tests that need not run again, and removes that of the others.
fn reused(green: Option<&GreenResult>, options: &Options) -> Result<Option<SuiteRun>> {
    let Some(green) = green else { return Ok(None) };
    if !options.runs_all_again()
        && let Some(earlier) = green.load()
    {
        return Ok(Some(earlier));
    }
    green.remove()?;
    Ok(None)
}

/// Builds everything, and returns the test program of a target.
pub(crate) fn build_program(
    workspace: &Workspace,
    crate_folder: &str,
    target: &str,
) -> Result<PathBuf> {
    sdk::ensure(workspace)?;
    let programs = build::build_tests(workspace)?.programs;
    let program = programs.into_iter().find(|program| {
        program.crate_folder == Path::new(crate_folder) && program.target == target
    });
    let program = program.with_context(|| format!("{crate_folder} has no tests {target}"))?;
    Ok(program.executable)
}

fn run_native_windows(
    workspace: &Workspace,
    options: &Options,
    tools: &Tools,
    report: &mut Report,
) -> Result<()> {
    let filter = options.filter();
    let green = native_window::green_result(workspace, tools)?;
    if filter.is_none()
        && let Some(earlier) = reused(Some(&green), options)?
    {
        report.add_suite(earlier);
        return Ok(());
    }
    let linted = match filter {
        None => native_window::lint(workspace),
        Some(_) => Ok(()),
    };
    let is_clean = linted.is_ok();
    report.add_check(linted);
    native_window::build(workspace)?;
    let mut runs = vec![native_window::run_unit_tests(workspace, filter)];
    for program in build::build_tests(workspace)?.programs {
        if Suite::from_program(&program) == Suite::NativeWindow {
            let job = Job::new_whole(workspace, &program, tools, filter);
            runs.push(runner::run_and_count(&job.name, job.command, Output::Live));
        }
    }
    if is_clean && filter.is_none() {
        green.store(&runs)?;
    }
    for run in runs {
        report.add_suite(run);
    }
    Ok(())
}

/// Runs the MCP clients of these suites, and returns the counts of their tests. `change` may replace the
/// packages of the clients before they run.
pub(crate) fn run_clients(
    workspace: &Workspace,
    suites: &[Suite],
    change: impl FnOnce(&mut Tools),
) -> Result<Counts> {
    sdk::ensure(workspace)?;
    let mut tools = Tools::ensure(workspace, &Options::for_suites(suites))?;
    change(&mut tools);
    let mut counts = Counts::default();
    for program in build::build_tests(workspace)?.programs {
        if suites.contains(&Suite::from_program(&program)) {
            let job = Job::new_whole(workspace, &program, &tools, None);
            counts += runner::run_and_count(&job.name, job.command, Output::Live).counts;
        }
    }
    Ok(counts)
}
