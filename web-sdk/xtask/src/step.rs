use std::time::Instant;

use anyhow::Result;

/// What a step found.
pub(crate) enum Outcome {
    /// There was work, and it is done.
    Done,
    /// Nothing changed since the last run.
    UpToDate,
}

/// Says what is about to happen, does it, and says how long it took.
pub(crate) fn step(what: &str, work: impl FnOnce() -> Result<Outcome>) -> Result<()> {
    println!("==> {what}");
    let started = Instant::now();
    let outcome = work()?;
    let seconds = started.elapsed().as_secs_f64();
    match outcome {
        Outcome::Done => println!("    done in {seconds:.1} s"),
        Outcome::UpToDate => println!("    nothing to do ({seconds:.1} s)"),
    }
    Ok(())
}
