//! Runs jobs side by side: most tests wait for sockets, browsers and timers rather than compute.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::job::Job;
use super::reuse::GreenResult;
use super::runner::{Output, SuiteRun, run_and_count};
use crate::Workspace;

/// Jobs that run at a time, besides one for each core.
const MORE_JOBS_THAN_CORES: usize = 1;

/// How long jobs took when they ran last: the longest begins first, so that none is left over at the end.
pub(super) struct Durations {
    path: PathBuf,
    seconds: HashMap<String, f64>,
}

impl Durations {
    pub(super) fn load(workspace: &Workspace) -> Self {
        let path = workspace.path("target/test-durations.tsv");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let parse = |line: &str| {
            let (name, seconds) = line.split_once('\t')?;
            Some((name.to_owned(), seconds.parse().ok()?))
        };
        let seconds = text.lines().filter_map(parse).collect();
        Self { path, seconds }
    }

    /// Returns the last duration of a job, or none if it never ran.
    pub(super) fn of(&self, name: &str) -> Option<Duration> {
        self.seconds
            .get(name)
            .map(|seconds| Duration::from_secs_f64(*seconds))
    }

    pub(super) fn store<'a>(&mut self, runs: impl Iterator<Item = &'a SuiteRun>) -> Result<()> {
        for run in runs {
            self.seconds
                .insert(run.name.clone(), run.duration.as_secs_f64());
        }
        let lines = self
            .seconds
            .iter()
            .map(|(name, seconds)| format!("{name}\t{seconds:.1}\n"));
        fs::write(&self.path, lines.collect::<String>())
            .with_context(|| format!("make {} writable", self.path.display()))
    }

    /// Puts those that took longest, and those that never ran, first.
    fn sort(&self, jobs: &mut [Job]) {
        let never = Duration::MAX;
        jobs.sort_by_key(|job| self.of(&job.name).unwrap_or(never));
        jobs.reverse();
    }
}

/// Runs all jobs, and hands on the result of each when it has ended.
pub(super) fn run_all(
    mut jobs: Vec<Job>,
    durations: &Durations,
    ended: impl FnMut(SuiteRun, Option<GreenResult>) + Send,
) -> Result<()> {
    durations.sort(&mut jobs);
    let (alone, beside): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.is_alone);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let ended = Mutex::new(ended);
    run_beside(beside, cores + MORE_JOBS_THAN_CORES, &ended)?;
    run_beside(alone, 1, &ended)
}

/// Runs jobs, at most so many at a time.
fn run_beside(
    jobs: Vec<Job>,
    limit: usize,
    ended: &Mutex<impl FnMut(SuiteRun, Option<GreenResult>) + Send>,
) -> Result<()> {
    let shown = match jobs.len().min(limit) {
        0 | 1 => Output::Live,
        _ => Output::AtEnd,
    };
    let waiting = Mutex::new(jobs.into_iter());
    let next = || lock(&waiting).next();
    let work = || {
        while let Some(job) = next() {
            let run = run_and_count(&job.name, job.command, shown)?;
            lock(ended)(run, job.green);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..limit).map(|_| scope.spawn(work)).collect();
        let results = workers.into_iter().map(|worker| {
            let result = worker.join();
            result.unwrap_or_else(|_| bail!("a worker has panicked: look at its message above"))
        });
        results.collect()
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn job(name: &str, script: &str) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Job::new(name, command)
    }

    fn durations(seconds: &[(&str, f64)]) -> Durations {
        let seconds = seconds
            .iter()
            .map(|(name, seconds)| ((*name).to_owned(), *seconds));
        Durations {
            path: PathBuf::new(),
            seconds: seconds.collect(),
        }
    }

    #[test]
    fn the_longest_job_begins_first_after_those_that_never_ran() {
        let mut jobs = Vec::from(["short", "long", "new"].map(|name| job(name, "")));
        durations(&[("short", 1.0), ("long", 2.0)]).sort(&mut jobs);
        let names: Vec<_> = jobs.iter().map(|job| &*job.name).collect();
        assert_eq!(names, ["new", "long", "short"]);
    }

    /// Each of the two waits for the other one.
    #[test]
    fn jobs_run_side_by_side_and_those_that_are_alone_after_them() {
        let folder = tempfile::tempdir().unwrap();
        let meet = |own: &str, other: &str| {
            let path = |name: &str| folder.path().join(name).display().to_string();
            let (own, other) = (path(own), path(other));
            format!("touch {own}; until test -e {other}; do :; done")
        };
        let alone = format!("test -e {0}/a && test -e {0}/b", folder.path().display());
        let mut last = job("alone", &alone);
        last.is_alone = true;
        let jobs = vec![last, job("a", &meet("a", "b")), job("b", &meet("b", "a"))];
        let mut names = Vec::new();
        run_all(jobs, &durations(&[]), |run, _| {
            assert_eq!(run.counts.failed, 0, "{}", run.name);
            names.push(run.name);
        })
        .unwrap();
        assert_eq!(names.len(), 3);
        assert_eq!(names.last().unwrap(), "alone");
    }
}
