//! The results of runs, in a file that later runs continue.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

use super::row::Row;

/// The result of one run of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunResult {
    pub(super) has_passed: bool,
    /// The sums that it has printed.
    pub(super) figures: String,
}

/// All results of one build of the product.
pub(super) struct Results {
    runs: Vec<(Row, RunResult)>,
    file: File,
}

impl Results {
    /// Loads the results in a folder, if they are of this build and are not to be forgotten.
    pub(super) fn open(folder: &Path, fingerprint: &str, is_new: bool) -> Result<Self> {
        let path = folder.join("results.tsv");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let earlier = text.strip_prefix(fingerprint).filter(|_| !is_new);
        let runs = earlier
            .into_iter()
            .flat_map(str::lines)
            .filter_map(parse)
            .collect();
        let context = || format!("make {} writable", path.display());
        if earlier.is_none() {
            fs::write(&path, format!("{fingerprint}\n")).with_context(context)?;
        }
        let file = OpenOptions::new().append(true).open(&path);
        let file = file.with_context(context)?;
        Ok(Self { runs, file })
    }

    /// Adds a result, also to the file.
    pub(super) fn add(&mut self, row: Row, result: RunResult) -> Result<()> {
        let Row { test, nats_servers } = &row;
        let RunResult {
            has_passed,
            figures,
        } = &result;
        writeln!(self.file, "{test}\t{nats_servers}\t{has_passed}\t{figures}")?;
        self.runs.push((row, result));
        Ok(())
    }

    /// Returns the results of a row.
    pub(super) fn of<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = &'a RunResult> {
        let runs = self.runs.iter().filter(move |(of, _)| of == row);
        runs.map(|(_, result)| result)
    }

    /// Returns how often a row has passed.
    pub(super) fn count(&self, row: &Row) -> usize {
        self.of(row).filter(|result| result.has_passed).count()
    }

    /// Returns how many runs have failed.
    pub(super) fn failed(&self) -> usize {
        let failed = self.runs.iter().filter(|(_, result)| !result.has_passed);
        failed.count()
    }
}

impl fmt::Display for RunResult {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.has_passed { "ok" } else { "FAILED" };
        write!(out, "{verdict}: {}", self.figures)
    }
}

fn parse(line: &str) -> Option<(Row, RunResult)> {
    let mut fields = line.splitn(4, '\t');
    let (test, servers) = (fields.next()?, fields.next()?);
    let (has_passed, figures) = (fields.next()?, fields.next()?);
    let row = Row {
        test: test.to_owned(),
        nats_servers: servers.parse().ok()?,
    };
    let result = RunResult {
        has_passed: has_passed.parse().ok()?,
        figures: figures.to_owned(),
    };
    Some((row, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_the_same_build_are_continued() {
        let folder = tempfile::tempdir().unwrap();
        let open = |build: &str, is_new| Results::open(folder.path(), build, is_new).unwrap();
        let row = Row {
            test: "nodes::kills::a".to_owned(),
            nats_servers: 3,
        };
        let result = |has_passed| RunResult {
            has_passed,
            figures: "a kill: 1 calls, 1 ok".to_owned(),
        };
        let mut results = open("build-1", false);
        for has_passed in [true, false, true] {
            results.add(row.clone(), result(has_passed)).unwrap();
        }
        let continued = open("build-1", false);
        assert_eq!((continued.count(&row), continued.failed()), (2, 1));
        assert_eq!(continued.of(&row).next(), Some(&result(true)));
        assert_eq!(open("build-1", true).count(&row), 0);
        open("build-1", false)
            .add(row.clone(), result(true))
            .unwrap();
        assert_eq!(open("build-2", false).count(&row), 0);
    }
}
