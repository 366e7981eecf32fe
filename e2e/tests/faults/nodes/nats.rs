//! NATS fails. Open pages and their users notice nothing, and newcomers wait.

use e2e::node_faults::{FaultSetup, NodeFaultRun};

#[tokio::test]
async fn a_restart_of_nats_fails_no_call() {
    let mut run = NodeFaultRun::start(FaultSetup::default()).await;
    run.begin_fault(|_| true).await;
    for server in run.bed.nats() {
        server.kill();
    }
    run.let_pass(3).await;
    restart_nats(&mut run);
    run.end_fault();
    run.open_newcomer().await;
    run.finish("NATS killed, back after 3 s", |_, _| &[]).await;
}

#[tokio::test]
async fn nats_may_lose_its_store() {
    let mut run = NodeFaultRun::start(FaultSetup::default()).await;
    run.begin_fault(|_| true).await;
    for server in run.bed.nats() {
        server.kill();
        server.remove_store();
    }
    restart_nats(&mut run);
    run.end_fault();
    run.open_newcomer().await;
    run.finish("NATS restarted with an empty store", |_, _| &[])
        .await;
}

#[tokio::test]
async fn known_users_are_served_while_nats_is_away() {
    let mut run = NodeFaultRun::start(FaultSetup::default()).await;
    run.begin_fault(|_| true).await;
    for server in run.bed.nats() {
        server.stop();
    }
    run.let_pass(20).await;
    for node in 0..3 {
        assert!(run.bed.is_ready(node).await, "node {node} without NATS");
    }
    restart_nats(&mut run);
    run.end_fault();
    run.open_newcomer().await;
    run.finish("NATS away, 20 s", |_, _| &[]).await;
}

#[tokio::test]
async fn a_stop_of_nats_fails_no_call() {
    let mut run = NodeFaultRun::start(FaultSetup::default()).await;
    run.begin_fault(|_| true).await;
    for server in run.bed.nats() {
        server.suspend();
    }
    run.let_pass(8).await;
    for server in run.bed.nats() {
        server.resume();
    }
    run.end_fault();
    run.open_newcomer().await;
    run.finish("NATS SIGSTOP, 8 s", |_, _| &[]).await;
}

/// Fault of the server that leads the stream of the claims.
#[derive(Clone, Copy, Debug)]
enum LeaderFault {
    Kill,
    Terminate,
    Suspend,
}

#[tokio::test]
async fn the_leader_of_three_servers_may_be_killed() {
    fail_leader("stream leader SIGKILL", LeaderFault::Kill).await;
}

#[tokio::test]
async fn the_leader_of_three_servers_may_end() {
    fail_leader("stream leader SIGTERM", LeaderFault::Terminate).await;
}

#[tokio::test]
async fn the_leader_of_three_servers_may_stop() {
    fail_leader("stream leader SIGSTOP, 12 s", LeaderFault::Suspend).await;
}

async fn fail_leader(name: &str, fault: LeaderFault) {
    let setup = FaultSetup {
        has_three_nats_servers: true,
        ..FaultSetup::default()
    };
    let mut run = NodeFaultRun::start(setup).await;
    let servers = run.bed.nats();
    let leader = servers[0].find_leader("KV_mcp-web-realms").await.unwrap();
    let leader = servers.iter().position(|server| server.name() == leader);
    let leader = leader.unwrap();
    run.begin_fault(|_| true).await;
    let server = &mut run.bed.nats()[leader];
    match fault {
        LeaderFault::Kill => server.kill(),
        LeaderFault::Terminate => server.stop(),
        LeaderFault::Suspend => server.suspend(),
    }
    run.open_newcomer().await;
    match fault {
        LeaderFault::Kill | LeaderFault::Terminate => run.bed.nats()[leader].restart(),
        LeaderFault::Suspend => {
            run.let_pass(12).await;
            run.bed.nats()[leader].resume();
        }
    }
    run.end_fault();
    run.finish(name, |_, _| &[]).await;
}

fn restart_nats(run: &mut NodeFaultRun) {
    for server in run.bed.nats() {
        server.restart();
    }
}
