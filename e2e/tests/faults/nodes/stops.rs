//! The process of a node stops for a while.

use e2e::node_faults::{Entry, FaultSetup, NodeFaultRun};

/// The stop is shorter than the lease.
#[tokio::test]
async fn a_short_stop_of_an_owner_fails_no_call() {
    let mut run = NodeFaultRun::start(FaultSetup::default()).await;
    run.begin_fault(|call| call.owner == 0).await;
    run.bed.suspend(0);
    run.let_pass(2).await;
    run.bed.resume(0);
    run.end_fault();
    run.finish("SIGSTOP of an owner, 2 s", |_, _| &[]).await;
}

/// Others take its users over. On waking, it closes what was taken.
#[tokio::test]
async fn a_long_stop_of_an_owner_fails_only_calls_that_need_it() {
    let mut run = NodeFaultRun::start(FaultSetup::default()).await;
    run.begin_fault(|call| call.owner == 0).await;
    run.bed.suspend(0);
    run.let_pass(8).await;
    run.bed.resume(0);
    run.end_fault();
    run.finish("SIGSTOP of an owner, 8 s", |call, _| match call.owner {
        0 => &OWNER_STOPPED,
        // The page is connected through the node that has stopped.
        _ => &["200 CallMayHaveRun"],
    })
    .await;
}

const OWNER_STOPPED: [&str; 5] = [
    "200 CallMayHaveRun",
    "200 ClusterUnavailable",
    "503 ClusterUnavailable",
    "504 NodeLost",
    "stream ended",
];

#[tokio::test]
async fn a_stop_of_a_node_without_users_fails_only_calls_of_pages_connected_through_it() {
    let setup = FaultSetup {
        owners: &[0, 1],
        ..FaultSetup::default()
    };
    let mut run = NodeFaultRun::start(setup).await;
    run.begin_fault(|call| call.entry == Entry::Node(2)).await;
    run.bed.suspend(2);
    run.let_pass(8).await;
    run.bed.resume(2);
    run.end_fault();
    run.finish("SIGSTOP of an edge, 8 s", |_, is_after| {
        if is_after {
            &[]
        } else {
            &["200 CallMayHaveRun"]
        }
    })
    .await;
}
