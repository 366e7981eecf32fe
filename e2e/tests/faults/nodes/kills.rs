//! A node is killed.

use e2e::node_faults::{ENTRIES, Entry, FaultSetup, NodeFaultRun};

use super::LOST;

/// Calls in flight are lost. Later ones are held until the pages are back at another node.
#[tokio::test]
async fn after_an_owner_was_killed_all_calls_succeed() {
    let mut run = NodeFaultRun::start(FaultSetup::default()).await;
    run.begin_fault(|call| call.owner == 0).await;
    run.bed.kill(0).await;
    run.end_fault();
    run.wait_until_served(&[Entry::Balancer, Entry::Node(1), Entry::Node(2)])
        .await;
    run.bed.restart(0).await;
    run.finish("SIGKILL of an owner", |call, is_after| {
        match (call.owner, call.entry) {
            // A node that starts is not ready.
            (_, Entry::Node(0)) if is_after => &["503 ClusterUnavailable"],
            _ if is_after => &[],
            (0, _) => &LOST,
            (_, Entry::Balancer | Entry::Node(0)) => &["reset", "stream ended"],
            _ => &[],
        }
    })
    .await;
}

/// Pages that were connected through it return, and their running calls continue.
#[tokio::test]
async fn calls_continue_when_a_node_is_killed_that_owns_no_user() {
    let setup = FaultSetup {
        owners: &[0, 1],
        ..FaultSetup::default()
    };
    let mut run = NodeFaultRun::start(setup).await;
    run.begin_fault(|call| call.entry == Entry::Node(2)).await;
    run.bed.kill(2).await;
    run.end_fault();
    run.wait_until_served(&ENTRIES[..3]).await;
    run.bed.restart(2).await;
    run.finish("SIGKILL of an edge", |call, is_after| match call.entry {
        Entry::Node(2) if is_after => &["503 ClusterUnavailable"],
        Entry::Balancer | Entry::Node(2) if !is_after => &["reset", "stream ended"],
        _ => &[],
    })
    .await;
}
