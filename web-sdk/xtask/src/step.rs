use std::time::Instant;

use anyhow::Result;

/// What a step has for the steps after it, and whether there was work.
pub(crate) enum Outcome<T = ()> {
    /// There was work, and it is done.
    Done(T),
    /// Nothing changed since the last run.
    UpToDate(T),
}

/// Says what is about to happen, does it, and says how long it took.
pub(crate) fn step<T>(what: &str, work: impl FnOnce() -> Result<Outcome<T>>) -> Result<T> {
    println!("==> {what}");
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
