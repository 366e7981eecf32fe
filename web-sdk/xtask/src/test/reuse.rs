//! Results of a suite that are used again, as long as nothing has changed that it depends on.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use super::counts::Counts;
use super::runner::SuiteRun;
use crate::Workspace;
use crate::fingerprint::Fingerprint;

/// What the suite `bundlers` depends on: the package, its projects and tests, and the programs that
/// take part.
const BUNDLERS_INPUTS: [&str; 13] = [
    "Cargo.lock",
    "agent/src",
    "bridge",
    "client-stdio/src",
    "docs/bundlers.md",
    "e2e/Cargo.toml",
    "e2e/bundlers",
    "e2e/node",
    "e2e/pages",
    "e2e/src",
    "e2e/tests/bundlers",
    "target/sdk",
    "web-sdk/xtask/src/chromium.rs",
];

/// A result that is green while the fingerprint of the inputs is the same.
pub(super) struct GreenResult {
    suite: &'static str,
    path: PathBuf,
    fingerprint: String,
}

impl GreenResult {
    /// Returns that of the suite `bundlers`.
    pub(super) fn of_bundlers(workspace: &Workspace) -> Result<Self> {
        let stamp = "target/bundlers.stamp";
        Self::new(workspace, "e2e: bundlers", stamp, &BUNDLERS_INPUTS)
    }

    /// Returns that of a suite with these inputs, which is kept in the file `stamp`.
    pub(super) fn new(
        workspace: &Workspace,
        suite: &'static str,
        stamp: &str,
        inputs: &[&str],
    ) -> Result<Self> {
        let mut fingerprint = Fingerprint::default();
        for input in inputs {
            fingerprint.add_path(&workspace.path(input))?;
        }
        Ok(Self {
            suite,
            path: workspace.path(stamp),
            fingerprint: fingerprint.finish(),
        })
    }

    /// Returns the earlier run if all its tests passed with the same inputs.
    pub(super) fn load(&self) -> Option<SuiteRun> {
        let text = fs::read_to_string(&self.path).ok()?;
        let (fingerprint, passed) = text.split_once('\n')?;
        let passed = passed.trim().parse().ok()?;
        (fingerprint == self.fingerprint).then(|| SuiteRun {
            name: self.suite.into(),
            counts: Counts {
                passed,
                ..Counts::default()
            },
            figures: Vec::new(),
            failures: Vec::new(),
            duration: Duration::ZERO,
            is_reused: true,
        })
    }

    /// Keeps a run of all tests, if all of them passed.
    pub(super) fn store(&self, run: &SuiteRun) -> Result<()> {
        self.store_counts(run.counts)
    }

    /// Keeps several runs as one, if all tests passed.
    pub(super) fn store_all(&self, runs: &[SuiteRun]) -> Result<()> {
        let mut sum = Counts::default();
        for run in runs {
            sum += run.counts;
        }
        self.store_counts(sum)
    }

    fn store_counts(&self, counts: Counts) -> Result<()> {
        let Counts {
            passed,
            failed,
            skipped,
        } = counts;
        if failed > 0 || skipped > 0 {
            return Ok(());
        }
        fs::write(&self.path, format!("{}\n{passed}\n", self.fingerprint))
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
            figures: Vec::new(),
            failures: Vec::new(),
            duration: Duration::ZERO,
            is_reused: false,
        }
    }

    #[test]
    fn only_a_green_result_of_the_same_inputs_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let result = |fingerprint: &str| GreenResult {
            suite: "e2e: bundlers",
            path: folder.path().join("stamp"),
            fingerprint: fingerprint.into(),
        };
        assert!(result("a").load().is_none());
        result("a").store(&run(3, 1)).unwrap();
        assert!(result("a").load().is_none(), "a test failed");
        result("a").store(&run(4, 0)).unwrap();
        assert!(result("b").load().is_none(), "the inputs have changed");
        let reused = result("a").load().unwrap();
        assert!(reused.is_reused);
        assert_eq!(reused.counts.passed, 4);
    }
}
