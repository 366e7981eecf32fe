//! The steps of a command, with their output.

use std::time::Instant;

use anyhow::Result;

/// The result of a step's work, and whether there was any work.
pub(crate) enum Outcome<T = ()> {
    /// The step did its work.
    Done(T),
    /// Nothing changed since the last run.
    UpToDate(T),
}

/// Runs one step of a command: prints its name, does its work, and prints how long it took.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> Result<Outcome<T>>) -> Result<T> {
    println!("==> {name}");
    let started = Instant::now();
    let outcome = work()?;
    let seconds = started.elapsed().as_secs_f64();
    match outcome {
        Outcome::Done(result) => {
            println!("    done in {seconds:.1} s");
            Ok(result)
        }
        Outcome::UpToDate(result) => {
            println!("    nothing to do ({seconds:.1} s)");
            Ok(result)
        }
    }
}
