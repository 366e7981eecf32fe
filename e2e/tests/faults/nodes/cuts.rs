//! Hosts are cut from each other.

use e2e::node_faults::{ENTRIES, FaultSetup, NodeFaultRun};
use e2e::{Network, NetworkHost};

/// The three nodes and NATS.
const HOSTS: u8 = 4;

/// The endings of calls while nodes are cut from each other, and when one gives its users away. The next
/// owner knows only the tabs that are back and the tools that they have offered, and waits 3 s for the
/// others.
const CUT: [&str; 11] = [
    "200 -32602",
    "200 CallMayHaveRun",
    "200 ClusterUnavailable",
    "200 PageGone",
    "200 SessionNotFound",
    "404 ToolNotFound",
    "502 NodeLost",
    "503 ClusterUnavailable",
    "504 NodeLost",
    "reset",
    "stream ended",
];

/// Starts a run in a network. Without the right to create one, the row is not run, and says so.
async fn start(row: &str) -> Option<NodeFaultRun> {
    match Network::create(HOSTS) {
        Ok(network) => {
            let setup = FaultSetup {
                network: Some(network),
                ..FaultSetup::default()
            };
            Some(NodeFaultRun::start(setup).await)
        }
        Err(reason) => {
            e2e::print_figures(&format!("{row}: not run: {reason}"));
            None
        }
    }
}

fn cut(one: &NetworkHost, other: &NetworkHost) {
    one.cut(other);
    other.cut(one);
}

fn restore(one: &NetworkHost, other: &NetworkHost) {
    one.restore(other);
    other.restore(one);
}

async fn assert_ready(run: &NodeFaultRun, expected: [bool; 3]) {
    let mut ready = [false; 3];
    for (node, is_ready) in ready.iter_mut().enumerate() {
        *is_ready = run.bed.is_ready(node).await;
    }
    assert_eq!(ready, expected, "the nodes that are ready");
}

/// Lets nothing pass from one host to another for a while. Host 3 is NATS.
async fn cut_for(
    seconds: u64,
    links: &[(usize, usize)],
    ready: [bool; 3],
    row: &str,
    allowed: &[&str],
) {
    let Some(mut run) = start(row).await else {
        return;
    };
    run.begin_fault(|call| call.owner == 0).await;
    for &(from, to) in links {
        run.bed.host(from).cut(run.bed.host(to));
    }
    run.let_pass(seconds).await;
    assert_ready(&run, ready).await;
    for &(from, to) in links {
        run.bed.host(from).restore(run.bed.host(to));
    }
    run.end_fault();
    run.finish(row, |_, _| allowed).await;
}

#[tokio::test]
async fn an_owner_without_nats_serves_its_users() {
    let links = [(0, 3), (3, 0)];
    cut_for(12, &links, [true; 3], "owner cut from NATS, 12 s", &[]).await;
}

/// It gives its users away after 10 s.
#[tokio::test]
async fn an_owner_without_peers_leaves_its_users_to_them() {
    let (links, row) = (
        [(0, 1), (1, 0), (0, 2), (2, 0)],
        "owner cut from its peers, 20 s",
    );
    cut_for(20, &links, [false, true, true], row, &CUT).await;
}

#[tokio::test]
async fn an_owner_that_cannot_send_to_its_peers_leaves_its_users_to_them() {
    let row = "owner sends nothing to its peers, 20 s";
    cut_for(20, &[(0, 1), (0, 2)], [false, true, true], row, &CUT).await;
}

/// Both keep their users, because the third node reaches both.
#[tokio::test]
async fn a_pair_that_loses_sight_of_each_other_meets_again() {
    let row = "a pair without sight of each other, 20 s";
    cut_for(20, &[(0, 1), (1, 0)], [true; 3], row, &CUT).await;
}

/// Without a third node that reaches one of them, the one with the greater id gives its users away.
#[tokio::test]
async fn of_two_nodes_that_lose_sight_of_each_other_one_gives_way() {
    let row = "two nodes alone without sight of each other, 20 s";
    let Some(mut run) = start(row).await else {
        return;
    };
    run.bed.kill(2).await;
    run.wait_until_served(&ENTRIES[..3]).await;
    run.begin_fault(|call| call.owner == 0).await;
    cut(run.bed.host(0), run.bed.host(1));
    run.let_pass(20).await;
    let mut ready = [run.bed.is_ready(0).await, run.bed.is_ready(1).await];
    ready.sort_unstable();
    assert_eq!(ready, [false, true], "one of them is ready");
    restore(run.bed.host(0), run.bed.host(1));
    run.bed.restart(2).await;
    run.end_fault();
    run.finish(row, |_, _| &CUT).await;
}

/// It reaches neither peers nor NATS, and neither clients nor its own tabs reach it.
#[tokio::test]
async fn after_the_silence_of_an_owner_all_calls_succeed() {
    let row = "owner off the network, 15 s";
    let Some(mut run) = start(row).await else {
        return;
    };
    run.begin_fault(|call| call.owner == 0).await;
    run.bed.host(0).unplug();
    run.let_pass(15).await;
    run.bed.host(0).plug();
    run.end_fault();
    run.finish(row, |_, _| &CUT).await;
}

/// A tab at another node takes its user over, so that there are two owners for a while.
#[tokio::test]
async fn after_a_cut_one_of_two_owners_remains() {
    let row = "two owners after a cut, 15 s";
    let Some(mut run) = start(row).await else {
        return;
    };
    run.begin_fault(|call| call.owner == 0).await;
    let hosts = [1, 2, 3].map(|host| run.bed.host(host).clone());
    for other in &hosts {
        cut(run.bed.host(0), other);
    }
    run.bed.balancer().use_only(&[1]);
    run.open_tab_of_first_user().await;
    run.bed.balancer().use_all();
    run.let_pass(10).await;
    for other in &hosts {
        restore(run.bed.host(0), other);
    }
    run.end_fault();
    run.finish(row, |_, _| &CUT).await;
}
