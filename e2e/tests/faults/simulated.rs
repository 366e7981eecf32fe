//! 10,000 schedules of faults over the pure state machines of both sides.

use std::any::Any;
use std::env;
use std::ops::Range;
use std::panic::catch_unwind;
use std::thread;

use e2e::simulation::{self, Summary};

const SCHEDULES: u64 = 10_000;

/// The maximum number of failures in the panic message.
const MAX_REPORTED: usize = 20;

#[test]
fn guarantees_hold_over_pure_state() {
    if let Ok(seed) = env::var("MCP_WEB_FAULT_SEED") {
        println!("{:?}", simulation::run(seed.parse().unwrap(), true));
        return;
    }
    let count = env::var("MCP_WEB_FAULT_SCHEDULES");
    let count = count.map_or(SCHEDULES, |count| count.parse().unwrap());
    let outcome = run_all(count);
    if let Some((seed, _)) = outcome.failures.first() {
        println!("the schedule of seed {seed}:");
        let _ = catch_unwind(|| simulation::run(*seed, true));
        let reported: Vec<_> = outcome.failures.iter().take(MAX_REPORTED).collect();
        panic!(
            "the guarantees do not hold in {} of {count} schedules. To repeat: \
             `MCP_WEB_FAULT_SEED={seed} cargo test -p e2e --test faults simulated`. Seeds and \
             reasons:\n{reported:#?}",
            outcome.failures.len()
        );
    }
    let sum = outcome.sum;
    assert_eq!(sum.schedules, count);
    assert!(sum.continued > 0, "no call was handed over");
    let figures = format!(
        "{count} simulated schedules with {} faults, {} connections and {} frames: of {} \
calls {} were executed and {} answered, none twice, {} were continued by another document, each \
ended once, and nothing was left",
        sum.faults,
        sum.connections,
        sum.frames,
        sum.calls,
        sum.executed,
        sum.answered,
        sum.continued
    );
    e2e::print_figures(&figures);
}

#[derive(Default)]
struct Outcome {
    sum: Summary,
    failures: Vec<(u64, String)>,
}

/// Runs the schedules of all seeds, on as many threads as the machine has.
fn run_all(count: u64) -> Outcome {
    let workers = thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let share = move |worker| worker * count / workers..(worker + 1) * count / workers;
    let running: Vec<_> = (0..workers)
        .map(|worker| thread::spawn(move || run(share(worker))))
        .collect();
    let mut all = Outcome::default();
    for worker in running {
        let outcome = worker.join().expect("failures are caught");
        all.sum += outcome.sum;
        all.failures.extend(outcome.failures);
    }
    all
}

fn run(seeds: Range<u64>) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in seeds {
        match catch_unwind(|| simulation::run(seed, false)) {
            Ok(summary) => outcome.sum += summary,
            Err(panic) => outcome.failures.push((seed, panic_message(&*panic))),
        }
    }
    outcome
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
