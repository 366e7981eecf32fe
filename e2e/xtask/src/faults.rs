//! `cargo xtask faults`: runs each row of the faults of several bridges often, and prints a table.
//!
//! The rows are tests of `e2e/tests/faults/nodes`, which `cargo xtask test` runs once. A run that was stopped
//! continues where it was, unless the product has changed meanwhile.

mod results;
mod row;
mod table;

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::fingerprint::Fingerprint;
use crate::process::capture;
use crate::{Workspace, folder, nats_server, test};
use results::{Results, RunResult};
use row::Row;

/// The beginning of the names of the rows.
const ROWS: &str = "nodes::";

/// Marks the line with the sums of a run.
const FIGURES_MARKER: &str = "figures: ";

/// Tells a row how many servers of NATS to start.
const NATS_SERVERS: &str = "MCP_WEB_FAULT_NATS_SERVERS";

/// The rows to run, and how often.
#[derive(Debug, Args)]
pub struct Options {
    /// Run only rows whose names contain this
    filter: Option<String>,
    /// How often each row runs with one server of NATS
    #[arg(long, value_name = "N", default_value_t = 10)]
    one_server: usize,
    /// How often each row runs with three servers of NATS
    #[arg(long, value_name = "N", default_value_t = 3)]
    three_servers: usize,
    /// How many rows run at the same time
    #[arg(long, value_name = "N", default_value_t = 3)]
    jobs: usize,
    /// Forget the results of earlier runs
    #[arg(long)]
    again: bool,
}

/// Runs the rows that have not run often enough yet, and prints the table of all.
///
/// # Errors
///
/// Returns an error if the rows cannot be built, or if a run has failed.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let program = test::build_program(workspace, "e2e", "faults")?;
    let fault_runs = FaultRuns::new(workspace, program)?;
    let rows = fault_runs.rows(options)?;
    let mut results = Results::open(&fault_runs.folder, &fault_runs.fingerprint, options.again)?;
    let mut waiting = VecDeque::new();
    // All rows run once before one of them runs again.
    for round in 0..options.one_server.max(options.three_servers) {
        for row in &rows {
            let wanted = options.wanted(row);
            if results.count(row) <= round && round < wanted {
                waiting.push_back(row.clone());
            }
        }
    }
    println!("==> {} runs of {} rows", waiting.len(), rows.len());
    fault_runs.run_all(waiting, options.jobs.max(1), &mut results)?;
    println!("{}", table::of(&rows, &results));
    let failed = results.failed();
    ensure!(
        failed == 0,
        "{failed} runs failed: read their output in {}",
        fault_runs.folder.display()
    );
    Ok(())
}

impl Options {
    fn wanted(&self, row: &Row) -> usize {
        match row.nats_servers {
            1 => self.one_server,
            _ => self.three_servers,
        }
    }
}

/// Needs of all runs.
struct FaultRuns {
    program: PathBuf,
    nats: PathBuf,
    e2e: PathBuf,
    /// The folder with the results, and the output of runs that failed.
    folder: PathBuf,
    fingerprint: String,
}

impl FaultRuns {
    fn new(workspace: &Workspace, program: PathBuf) -> Result<Self> {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add_path(&program)?;
        fingerprint.add_path(&workspace.path("target/debug/mcp-web"))?;
        let folder = workspace.path("target/faults");
        folder::create(&folder)?;
        Ok(Self {
            program,
            nats: nats_server::ensure(workspace)?,
            e2e: workspace.path("e2e"),
            folder,
            fingerprint: fingerprint.finish(),
        })
    }

    /// Returns the selected rows.
    fn rows(&self, options: &Options) -> Result<Vec<Row>> {
        let mut list = Command::new(&self.program);
        list.args([ROWS, "--list", "--format", "terse"]);
        let list = capture(&mut list, "build the tests again")?;
        let tests = list.lines().filter_map(|line| line.strip_suffix(": test"));
        let filter = options.filter.as_deref().unwrap_or_default();
        let selected = tests.filter(|test| test.contains(filter));
        let rows: Vec<_> = selected
            .flat_map(|test| {
                [1, 3].map(|nats_servers| Row {
                    test: test.to_owned(),
                    nats_servers,
                })
            })
            .collect();
        if rows.is_empty() {
            bail!("no row has this name: the rows are in e2e/tests/faults/nodes");
        }
        Ok(rows)
    }

    fn run_all(&self, waiting: VecDeque<Row>, jobs: usize, results: &mut Results) -> Result<()> {
        let (waiting, results) = (Mutex::new(waiting), Mutex::new(results));
        let lock_next = || {
            waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front()
        };
        let work = || -> Result<()> {
            while let Some(row) = lock_next() {
                let result = self.run_once(&row)?;
                println!("{row}: {result}");
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                results.add(row, result)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                match worker.join() {
                    Ok(worked) => worked?,
                    Err(_) => bail!("a run panicked"),
                }
            }
            Ok(())
        })
    }

    /// Runs a row. The output of a run that fails is written into a file.
    fn run_once(&self, row: &Row) -> Result<RunResult> {
        let mut command = Command::new(&self.program);
        command
            .args(["--exact", "--include-ignored", &row.test])
            .env("CARGO_MANIFEST_DIR", &self.e2e)
            .env("MCP_WEB_NATS_SERVER", &self.nats)
            .env(NATS_SERVERS, row.nats_servers.to_string())
            .current_dir(&self.e2e);
        let output = command.output();
        let output =
            output.with_context(|| format!("{} does not start", self.program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let figures = text
            .lines()
            .find_map(|line| Some(line.split_once(FIGURES_MARKER)?.1));
        // A row that has no right to cut the network says so.
        let has_run = figures.is_some_and(|it| !it.contains(": not run: "));
        let has_passed = output.status.success() && has_run;
        if !has_passed {
            let name = format!("{}-{}.log", row.test.replace("::", "-"), row.nats_servers);
            let errors = String::from_utf8_lossy(&output.stderr);
            fs::write(self.folder.join(name), format!("{text}\n{errors}"))?;
        }
        Ok(RunResult {
            has_passed,
            figures: figures.unwrap_or_default().to_owned(),
        })
    }
}
