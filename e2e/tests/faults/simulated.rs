//! 10,000 schedules over the pure state of both sides.

use std::any::Any;
use std::env;
use std::io::Write;
use std::ops::Range;
use std::panic::catch_unwind;
use std::thread;

use e2e::simulation::{self, Summary};

const SCHEDULES: u64 = 10_000;

/// So many failures are told.
const MAX_REPORTED: usize = 20;

#[test]
fn schedules_over_the_pure_state_keep_every_promise() {
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
        let told: Vec<_> = outcome.failures.iter().take(MAX_REPORTED).collect();
        panic!(
            "{} of {count} schedules break a promise. Again: `MCP_WEB_FAULT_SEED={seed} cargo test \
             -p e2e --test faults simulated`. Seeds and reasons:\n{told:#?}",
            outcome.failures.len()
        );
    }
    let sum = outcome.sum;
    assert_eq!(sum.schedules, count);
    let figures = format!(
        "figures: {count} simulated schedules with {} faults, {} connections and {} frames: of {} \
         calls {} were executed and {} answered, none twice, each with one ending, and nothing left\n",
        sum.faults, sum.connections, sum.frames, sum.calls, sum.executed, sum.answered
    );
    // `print!` is held back by the test harness, and the counts are to be seen.
    std::io::stdout().write_all(figures.as_bytes()).unwrap();
}

#[derive(Default)]
struct Outcome {
    sum: Summary,
    failures: Vec<(u64, String)>,
}

/// Every seed's schedule, on as many threads as there are.
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
    text.unwrap_or("no words").to_owned()
}
