//! `cargo xtask fuzz`: runs the targets in `e2e/fuzz` with libFuzzer, which searches for inputs that
//! reach more code, and keeps the most valuable of them in the corpora that the tests replay.

mod corpus_selection;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use crate::process::{cargo, run};
use crate::step::{Outcome, step};
use crate::{Workspace, folder, install};

/// The version of cargo-bolero, which builds and runs the targets.
const CARGO_BOLERO: &str = "cargo-bolero@0.13.5";

/// The most inputs in the corpus of one target. Each run of the tests replays all of them, and a
/// search on the same machine begins with all inputs that were ever found there.
const MAX_INPUTS: usize = 20;

/// The longest input, in bytes: short ones run faster and are easier to understand.
const MAX_INPUT_BYTES: &str = "2048";

/// The targets to run, and how.
#[derive(Debug, Args)]
pub struct Options {
    /// Run only targets whose names contain this
    filter: Option<String>,
    /// How long each target runs
    #[arg(long, value_name = "N", default_value_t = 5)]
    minutes: u64,
    /// Compare this many texts with the `jsonschema` crate instead
    #[arg(long, value_name = "N", conflicts_with_all = ["filter", "minutes"])]
    schema_texts: Option<u64>,
    /// The seed of the texts, which determines them
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        requires = "schema_texts"
    )]
    seed: u64,
}

/// Runs the selected targets one by one, or compares texts with the crate. An input that breaks a target ends the run, and is in the
/// target's folder `crashes`.
///
/// # Errors
///
/// Returns an error if a target fails, or if there is none with this name.
pub fn start(workspace: &Workspace, options: &Options) -> Result<()> {
    if let Some(texts) = options.schema_texts {
        return compare_schema_texts(workspace, texts, options.seed);
    }
    let targets = targets(workspace, options.filter.as_deref())?;
    if targets.is_empty() {
        bail!("no target has this name: the targets are in e2e/fuzz/targets/__fuzz__");
    }
    let features = ["--no-default-features", "--features", "libfuzzer"];
    let program = install::ensure_cargo_program(workspace, CARGO_BOLERO, &features)?;
    for target in targets {
        step(&format!("fuzzing {}", target.test), || {
            target.search(workspace, &program, options.minutes)?;
            target.merge(workspace, &program)?;
            Ok(Outcome::Done(()))
        })?;
    }
    Ok(())
}

/// Validates random texts without parsing them, and by the crate.
fn compare_schema_texts(workspace: &Workspace, texts: u64, seed: u64) -> Result<()> {
    let mut test = cargo(workspace);
    test.args(["test", "--release", "--package", "bridge-schema"])
        .args(["--test", "texts", "differential", "--", "--nocapture"])
        .env("MCP_WEB_SCHEMA_CASES", texts.to_string())
        .env("MCP_WEB_SCHEMA_SEED", seed.to_string());
    run(&mut test, "the text and its schema are in the output")
}

/// A target, and the folder that bolero uses for it.
struct Target {
    /// Module and function.
    test: String,
    /// The folder with the inputs that the test replays.
    folder: PathBuf,
    /// The folder with all inputs that were ever found on this machine.
    found: PathBuf,
}

fn targets(workspace: &Workspace, filter: Option<&str>) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for entry in fs::read_dir(workspace.path("e2e/fuzz/targets/__fuzz__"))? {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let test = name.replacen("__", "::", 1);
        if filter.is_none_or(|filter| test.contains(filter)) {
            let found = workspace.path("target/fuzz/corpus").join(&*name);
            targets.push(Target {
                test,
                found,
                folder: folder.clone(),
            });
        }
    }
    targets.sort_by(|a, b| a.test.cmp(&b.test));
    Ok(targets)
}

impl Target {
    fn corpus(&self) -> PathBuf {
        self.folder.join("corpus")
    }

    /// Searches for inputs, beginning with those that are known.
    fn search(&self, workspace: &Workspace, program: &Path, minutes: u64) -> Result<()> {
        folder::create(&self.found)?;
        folder::create(&self.corpus())?;
        let mut bolero = self.bolero(workspace, program, &self.found);
        bolero
            .args(["-T", &format!("{minutes}m")])
            .args(["--max-input-length", MAX_INPUT_BYTES])
            .arg(engine_argument(&self.corpus().display().to_string()));
        run(&mut bolero, "the input is the newest file in its `crashes`")
    }

    /// Replaces the corpus by those known inputs that together reach most of the code.
    fn merge(&self, workspace: &Workspace, program: &Path) -> Result<()> {
        let scratch = workspace.path("target/fuzz/merge");
        folder::remove(&scratch)?;
        let merged = scratch.join("inputs");
        folder::create(&merged)?;
        let report = scratch.join("report");
        let mut bolero = self.bolero(workspace, program, &merged);
        bolero
            // Inputs that only repeat the same code more often are not kept.
            .args(["-set_cover_merge=1", "-use_counters=0"].map(engine_argument))
            .arg(engine_argument(&format!(
                "-merge_control_file={}",
                report.display()
            )));
        for inputs in [&self.corpus(), &self.found] {
            bolero.arg(engine_argument(&inputs.display().to_string()));
        }
        run(&mut bolero, "read the output above")?;
        let selected = corpus_selection::most_valuable(&fs::read_to_string(report)?, MAX_INPUTS)?;
        self.replace_corpus(&selected)
    }

    fn replace_corpus(&self, selected: &[PathBuf]) -> Result<()> {
        let inputs: Vec<_> = selected
            .iter()
            .map(|path| Ok((path.file_name(), fs::read(path)?)))
            .collect::<Result<_>>()?;
        folder::remove(&self.corpus())?;
        folder::create(&self.corpus())?;
        for (name, input) in inputs {
            let name = name.unwrap_or_default();
            fs::write(self.corpus().join(name), input)?;
        }
        Ok(())
    }

    /// The command that runs the target with libFuzzer, and without a sanitizer: those need an
    /// unstable compiler, and the project has no unsafe code.
    fn bolero(&self, workspace: &Workspace, program: &Path, corpus: &Path) -> Command {
        let mut bolero = Command::new(program);
        bolero
            .current_dir(workspace.root())
            .args(["bolero", "test", &self.test, "--package", "fuzz"])
            .args(["--sanitizer", "NONE", "--corpus-dir"])
            .arg(corpus);
        bolero
    }
}

fn engine_argument(argument: &str) -> String {
    format!("--engine-args={argument}")
}
