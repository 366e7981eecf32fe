//! `idle`: what pages that do nothing cost, and what they cost others.

use std::time::Duration;

use clap::{Parser, ValueEnum};
use e2e::idle::{Sets, Spread, beside, registering, resting};

/// Starts bridges, opens pages at them, and prints what both cost.
#[derive(Parser)]
struct Arguments {
    /// What is measured
    #[arg(value_enum, default_value = "all")]
    what: What,

    /// How many pages do nothing
    #[arg(default_value_t = 10_000)]
    pages: usize,

    /// How long they are watched, in seconds
    #[arg(default_value_t = 60)]
    rest: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Memory and heartbeats of pages that do nothing
    Resting,
    /// Calls and lists of one token beside those of others
    Beside,
    /// Many pages of one token, one after the other
    Registering,
    /// One after the other
    All,
}

/// One thread: the rest of the machine is the bridge's.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let Arguments { what, pages, rest } = Arguments::parse();
    let rest = Duration::from_secs(rest);
    let wanted = |part| what == What::All || what == part;
    if wanted(What::Resting) {
        for (sets, per_token) in [
            (Sets::Identical, 1),
            (Sets::Distinct, 1),
            (Sets::Identical, 50),
            (Sets::Distinct, 50),
        ] {
            let spread = Spread {
                pages,
                per_token,
                sets,
                tools: 10,
            };
            resting(spread, rest).await;
        }
    }
    if wanted(What::Beside) {
        beside(&[0, pages / 10, pages]).await;
    }
    if wanted(What::Registering) {
        for sets in [Sets::Identical, Sets::Distinct] {
            registering(sets, 300, 100).await;
        }
    }
}
