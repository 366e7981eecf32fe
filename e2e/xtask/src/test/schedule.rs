//! Runs jobs side by side: most tests wait for sockets, browsers and timers rather than compute.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::job::Job;
use super::reuse::GreenResult;
use super::runner::{Output, SuiteRun, run_and_count};

/// The jobs that take minutes. They begin first, in this order, so that none is left over at the end.
const LONGEST: [&str; 9] = [
    "e2e: journeys",
    "e2e: journeys: lowdefy:: lowdefy_guide::",
    "web-sdk/wasm: sdk",
    "e2e: clients",
    "e2e: bundlers",
    "e2e: ask",
    "e2e: faults",
    "e2e: deploy",
    "web-sdk/page-tools: texts",
];

/// The jobs that run when nothing else does: they compare times, or need a page that answers in time.
const ALONE: [&str; 2] = ["e2e/lab: lab", "e2e: journeys: lowdefy_attacks::"];

fn sort(jobs: &mut [Job]) {
    jobs.sort_by_key(|job| {
        let index = LONGEST.iter().position(|name| job.name == *name);
        index.unwrap_or(LONGEST.len())
    });
}

/// Runs all jobs, and hands on the result of each when it has ended.
pub(super) fn run_all(mut jobs: Vec<Job>, ended: impl FnMut(SuiteRun, Option<GreenResult>) + Send) {
    sort(&mut jobs);
    let (alone, beside): (Vec<_>, Vec<_>) = jobs
        .into_iter()
        .partition(|job| ALONE.contains(&&*job.name));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let ended = Mutex::new(ended);
    run_beside(beside, cores.max(2), &ended);
    run_beside(alone, 1, &ended);
}

/// Runs jobs, at most `limit` at a time.
fn run_beside(
    jobs: Vec<Job>,
    limit: usize,
    ended: &Mutex<impl FnMut(SuiteRun, Option<GreenResult>) + Send>,
) {
    let shown = match jobs.len().min(limit) {
        0 | 1 => Output::Live,
        _ => Output::AtEnd,
    };
    let waiting = Mutex::new(jobs.into_iter());
    let next = || lock(&waiting).next();
    let work = || {
        while let Some(job) = next() {
            let run = run_and_count(&job.name, job.command, shown);
            lock(ended)(run, job.green);
        }
    };
    thread::scope(|scope| {
        for _ in 0..limit {
            scope.spawn(work);
        }
    });
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

    #[test]
    fn the_longest_jobs_begin_first() {
        let mut jobs =
            Vec::from(["bridge: bridge", "e2e: ask", "e2e: journeys"].map(|it| job(it, "")));
        sort(&mut jobs);
        let names: Vec<_> = jobs.iter().map(|job| &*job.name).collect();
        assert_eq!(names, ["e2e: journeys", "e2e: ask", "bridge: bridge"]);
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
        let jobs = vec![
            job(ALONE[0], &alone),
            job("a", &meet("a", "b")),
            job("b", &meet("b", "a")),
        ];
        let mut names = Vec::new();
        run_all(jobs, |run, _| {
            assert_eq!(run.counts.failed, 0, "{}", run.name);
            names.push(run.name);
        });
        assert_eq!(names.len(), 3);
        assert_eq!(names.last().unwrap(), ALONE[0]);
    }
}
