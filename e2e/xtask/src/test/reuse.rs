//! Results of a suite that are used again, as long as nothing has changed that it depends on.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::counts::Counts;
use super::runner::SuiteRun;
use super::tools::Tools;
use crate::Workspace;
use crate::fingerprint::Fingerprint;

/// The inputs of every suite whose results are used again: the product, and what starts it.
const PRODUCT: [&str; 14] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "agent",
    "bridge",
    "client-stdio",
    "demo-app",
    "e2e/Cargo.toml",
    "e2e/node",
    "e2e/pages",
    "e2e/src",
    "e2e/tests/journeys/main.rs",
    "e2e/xtask",
    "web-sdk",
];

/// The fingerprint of the product and of the versions of the tools.
pub(super) struct ProductFingerprint(String);

impl ProductFingerprint {
    pub(super) fn new(workspace: &Workspace, tools: &Tools) -> Result<Self> {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add_text(&tools.versions());
        add_inputs(&mut fingerprint, workspace, &PRODUCT)?;
        Ok(Self(fingerprint.finish()))
    }
}

fn add_inputs(fingerprint: &mut Fingerprint, workspace: &Workspace, inputs: &[&str]) -> Result<()> {
    for input in inputs {
        let path = workspace.path(input);
        ensure!(
            path.exists(),
            "{input} does not exist: correct the inputs of the suites in e2e/xtask/src/test"
        );
        fingerprint.add_path(&path)?;
    }
    Ok(())
}

/// A result that is green while the fingerprint of the inputs is the same.
pub(super) struct GreenResult {
    name: String,
    path: PathBuf,
    fingerprint: String,
}

impl GreenResult {
    /// Returns that of tests with these inputs, besides the product. Inputs are read before the tests
    /// are built, so that what is edited meanwhile causes another run.
    pub(super) fn new(
        workspace: &Workspace,
        product: &ProductFingerprint,
        name: &str,
        inputs: &[&str],
    ) -> Result<Self> {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add_text(&product.0);
        add_inputs(&mut fingerprint, workspace, inputs)?;
        let file: String = name
            .chars()
            .map(|char| {
                if char.is_ascii_alphanumeric() {
                    char
                } else {
                    '-'
                }
            })
            .collect();
        Ok(Self {
            name: name.to_owned(),
            path: workspace.path("target/green").join(file),
            fingerprint: fingerprint.finish(),
        })
    }

    /// Returns the earlier run, with its duration, if all its tests passed with the same inputs.
    pub(super) fn load(&self) -> Option<SuiteRun> {
        let text = fs::read_to_string(&self.path).ok()?;
        let lines: Vec<_> = text.lines().collect();
        let [fingerprint, passed, seconds, figures @ ..] = &*lines else {
            return None;
        };
        let (passed, seconds) = (passed.parse().ok()?, seconds.parse().ok()?);
        (*fingerprint == self.fingerprint).then(|| SuiteRun {
            name: self.name.clone(),
            counts: Counts {
                passed,
                ..Counts::default()
            },
            figures: figures.iter().map(|it| (*it).to_owned()).collect(),
            failures: Vec::new(),
            duration: Duration::from_secs_f64(seconds),
            is_reused: true,
        })
    }

    /// Removes the earlier result before the tests run again: they may fail, or not end.
    pub(super) fn remove(&self) -> Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("make {} writable", self.path.display()))
            }
            _ => Ok(()),
        }
    }

    /// Keeps runs as one, if all tests passed.
    pub(super) fn store(&self, runs: &[SuiteRun]) -> Result<()> {
        let mut sum = Counts::default();
        for run in runs {
            sum += run.counts;
        }
        if sum.failed > 0 || sum.skipped > 0 {
            return Ok(());
        }
        ensure!(
            sum.passed > 0,
            "{} has no tests: correct its modules in e2e/xtask/src/test/jobs.rs",
            self.name
        );
        let duration: Duration = runs.iter().map(|run| run.duration).sum();
        let (passed, seconds) = (sum.passed, duration.as_secs_f64());
        let mut text = format!("{}\n{passed}\n{seconds:.1}\n", self.fingerprint);
        for figures in runs.iter().flat_map(|run| &run.figures) {
            text.extend([figures.as_str(), "\n"]);
        }
        let folder = self.path.parent().map_or(Ok(()), fs::create_dir_all);
        folder
            .and_then(|()| fs::write(&self.path, text))
            .with_context(|| format!("make {} writable", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(passed: u64, failed: u64) -> SuiteRun {
        SuiteRun {
            name: "e2e: bundlers".into(),
            counts: Counts {
                passed,
                failed,
                skipped: 0,
            },
            figures: vec![format!("{passed} checks")],
            failures: Vec::new(),
            duration: Duration::from_secs(7),
            is_reused: false,
        }
    }

    #[test]
    fn only_a_green_result_of_the_same_inputs_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let result = |fingerprint: &str| GreenResult {
            name: "e2e: bundlers".into(),
            path: folder.path().join("stamp"),
            fingerprint: fingerprint.into(),
        };
        assert!(result("a").load().is_none());
        result("a").store(&[run(3, 1)]).unwrap();
        assert!(result("a").load().is_none(), "a test failed");
        result("a").store(&[run(4, 0), run(1, 0)]).unwrap();
        assert!(result("b").load().is_none(), "the inputs have changed");
        let reused = result("a").load().unwrap();
        assert!(reused.is_reused);
        assert_eq!(reused.counts.passed, 5);
        assert_eq!(reused.figures, ["4 checks", "1 checks"]);
        assert_eq!(reused.duration, Duration::from_secs(14));
        result("a").remove().unwrap();
        assert!(result("a").load().is_none(), "the tests run again");
        result("a").remove().unwrap();
        assert!(result("a").store(&[run(0, 0)]).is_err(), "no test has run");
    }
}
