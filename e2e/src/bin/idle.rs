//! `idle`: what pages that do nothing cost. `idle [resting|beside|registering] [pages] [rest seconds]`.

use std::time::Duration;

use e2e::idle::{Sets, Spread, beside, registering, resting};

/// One thread: the rest of the machine is the bridge's.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "all".to_owned());
    let mut number = |default| arguments.next().map_or(default, |it| it.parse().unwrap());
    let pages = number(10_000);
    let rest = Duration::from_secs(number(60) as u64);
    if ["all", "resting"].contains(&what.as_str()) {
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
    if ["all", "beside"].contains(&what.as_str()) {
        beside(&[0, pages / 10, pages]).await;
    }
    if ["all", "registering"].contains(&what.as_str()) {
        for sets in [Sets::Identical, Sets::Distinct] {
            registering(sets, 300, 100).await;
        }
    }
}
