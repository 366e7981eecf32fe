//! Nodes end in order, as in a deploy.

use e2e::node_faults::{FaultSetup, NodeFaultRun};

const DRAIN: FaultSetup<'static> = FaultSetup {
    owners: &[0, 1, 2],
    has_three_nats_servers: false,
    network: None,
    arguments: &["--drain-timeout", "10s"],
};

#[tokio::test]
async fn the_drain_of_an_owner_fails_no_call() {
    let mut run = NodeFaultRun::start(DRAIN).await;
    run.begin_fault(|call| call.owner == 0).await;
    run.bed.drain(0);
    run.bed.wait_until_ended(0).await;
    run.bed.restart(0).await;
    run.end_fault();
    run.finish("drain of an owner", |_, _| &[]).await;
}

#[tokio::test]
async fn a_rolling_deploy_fails_no_call() {
    let mut run = NodeFaultRun::start(DRAIN).await;
    run.begin_fault(|_| true).await;
    for node in 0..3 {
        run.bed.drain(node);
        run.bed.wait_until_ended(node).await;
        run.bed.restart(node).await;
    }
    run.end_fault();
    run.finish("rolling deploy of three nodes", |_, _| &[])
        .await;
}
