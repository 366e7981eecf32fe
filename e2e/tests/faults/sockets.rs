//! 200 schedules of faults over real sockets.

use std::env;
use std::sync::Arc;

use e2e::socket_faults::{self, SocketSummary};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const SCHEDULES: u64 = 200;

/// The number of schedules that run at the same time. They wait more than they compute.
const CONCURRENCY: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn guarantees_hold_over_real_sockets() {
    let only = env::var("MCP_WEB_SOCKET_FAULT_SEED").ok();
    let only: Option<u64> = only.map(|seed| seed.parse().unwrap());
    let count = env::var("MCP_WEB_SOCKET_FAULT_SCHEDULES");
    let count = count.map_or(SCHEDULES, |count| count.parse().unwrap());
    let seeds: Vec<u64> = only.map_or_else(|| (0..count).collect(), |seed| vec![seed]);
    let permits = Arc::new(Semaphore::new(CONCURRENCY));
    let mut running = JoinSet::new();
    for &seed in &seeds {
        let permits = Arc::clone(&permits);
        running.spawn(async move {
            let _permit = permits.acquire_owned().await.unwrap();
            (seed, tokio::spawn(socket_faults::run(seed)).await)
        });
    }
    let (mut sum, mut failed) = (SocketSummary::default(), Vec::new());
    while let Some(finished) = running.join_next().await {
        match finished.unwrap() {
            (_, Ok(summary)) => sum += summary,
            (seed, Err(_)) => failed.push(seed),
        }
    }
    assert!(
        failed.is_empty(),
        "guarantees do not hold, see above, for the seeds {failed:?}. To repeat: \
         `MCP_WEB_SOCKET_FAULT_SEED={} cargo test -p e2e --test faults sockets`",
        failed[0]
    );
    assert_eq!(sum.schedules, seeds.len() as u64);
    let figures = format!(
        "{} schedules over real sockets with {} faults, {} of them restarts and {} \
         pauses of the bridge: of {} calls {} were executed and {} answered, none twice, {} were \
         continued by another document, each ended once, and nothing was left",
        sum.schedules,
        sum.faults,
        sum.restarts,
        sum.pauses,
        sum.calls,
        sum.executed,
        sum.answered,
        sum.continued
    );
    e2e::print_figures(&figures);
}
