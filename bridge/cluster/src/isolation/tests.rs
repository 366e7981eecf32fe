mod model;
mod schedules;

use super::*;

const OWN: NodeId = NodeId::from_bytes([5; 16]);
const SMALLER: NodeId = NodeId::from_bytes([1; 16]);
const GREATER: NodeId = NodeId::from_bytes([9; 16]);

/// A serving node that reaches these, and whose answer says whether it reaches this one.
fn seen(id: NodeId, reaches: &[NodeId], says: Option<bool>) -> SeenPeer {
    SeenPeer {
        id,
        is_serving: true,
        reaches: reaches.to_vec(),
        answer: says.map(|is_reached| PingAnswer { is_reached }),
    }
}

fn with_lease(peers: &[SeenPeer]) -> Sight {
    Sight {
        has_lease: true,
        is_connected: true,
        peers: peers.to_vec(),
    }
}

fn without_lease(peers: &[SeenPeer]) -> Sight {
    Sight {
        has_lease: false,
        is_connected: false,
        peers: peers.to_vec(),
    }
}

/// A node that sees one thing for some time after another, once every second.
struct Observer {
    isolation: Isolation,
    now: Instant,
}

impl Observer {
    /// Has a lease, and is reached by the other node.
    fn beside(peer: NodeId) -> Self {
        let mut this = Self {
            isolation: Isolation::new(OWN),
            now: Instant::now(),
        };
        assert_eq!(
            this.sees(1, &with_lease(&[seen(peer, &[OWN], Some(true))])),
            []
        );
        this
    }

    /// Returns the changes during this many seconds, with the second of each.
    fn sees(&mut self, seconds: u64, sight: &Sight) -> Vec<(u64, IsolationChange)> {
        let mut changes = Vec::new();
        for second in 1..=seconds {
            self.now += Duration::from_secs(1);
            let change = self.isolation.observe(sight, self.now);
            changes.extend(change.map(|change| (second, change)));
        }
        changes
    }
}

fn isolated(second: u64, cause: IsolationCause) -> Vec<(u64, IsolationChange)> {
    vec![(second, IsolationChange::Isolated(cause))]
}

fn returned(second: u64, cause: ReturnCause) -> Vec<(u64, IsolationChange)> {
    vec![(second, IsolationChange::Returned(cause))]
}

#[test]
fn a_node_with_a_lease_gives_way_if_only_others_are_reached() {
    let cut = with_lease(&[
        seen(SMALLER, &[GREATER], None),
        seen(GREATER, &[SMALLER], None),
    ]);
    let mut node = Observer::beside(SMALLER);
    assert_eq!(node.sees(30, &cut), isolated(10, IsolationCause::Unreached));
    // One node that reaches it suffices to remain, whether its record or its answer says so.
    for reaching in [
        seen(GREATER, &[OWN], None),
        seen(GREATER, &[SMALLER], Some(true)),
    ] {
        let sight = with_lease(&[seen(SMALLER, &[GREATER], None), reaching]);
        assert_eq!(Observer::beside(SMALLER).sees(30, &sight), []);
    }
}

/// Otherwise realms would be given away while the last nodes that serve stop.
#[test]
fn a_node_does_not_give_way_to_nodes_that_take_no_realms() {
    let mut draining = [
        seen(SMALLER, &[GREATER], None),
        seen(GREATER, &[SMALLER], None),
    ];
    for peer in &mut draining {
        peer.is_serving = false;
    }
    assert_eq!(
        Observer::beside(SMALLER).sees(30, &with_lease(&draining)),
        []
    );
}

#[test]
fn of_two_nodes_that_do_not_reach_each_other_the_greater_gives_way() {
    for (other, expected) in [
        (SMALLER, isolated(10, IsolationCause::Pair)),
        (GREATER, Vec::new()),
    ] {
        let sight = with_lease(&[seen(other, &[], None)]);
        assert_eq!(Observer::beside(other).sees(30, &sight), expected);
        // It reaches the other one, which then passes nothing to it, but has what it passes on.
        let one_way = with_lease(&[seen(other, &[], Some(false))]);
        assert_eq!(Observer::beside(other).sees(30, &one_way), []);
    }
    // A third one that takes no realms does not count.
    let mut third = seen(GREATER, &[], None);
    third.is_serving = false;
    let sight = with_lease(&[seen(SMALLER, &[], None), third]);
    let changes = Observer::beside(SMALLER).sees(30, &sight);
    assert_eq!(changes, isolated(10, IsolationCause::Pair));
}

#[test]
fn none_of_three_gives_way_if_no_node_reaches_any_other() {
    let blind = with_lease(&[seen(SMALLER, &[], None), seen(GREATER, &[], None)]);
    let mut node = Observer::beside(SMALLER);
    let reported = vec![(10, IsolationChange::NoneReached)];
    assert_eq!(node.sees(60, &blind), reported);
    let healed = with_lease(&[seen(SMALLER, &[OWN], Some(true))]);
    assert_eq!(node.sees(1, &healed), []);
    assert_eq!(node.sees(60, &blind), reported);
}

#[test]
fn without_a_lease_a_node_continues_while_another_says_that_it_reaches_it() {
    for (says, expected) in [
        (Some(true), Vec::new()),
        (Some(false), isolated(5, IsolationCause::LeaseLost)),
        (None, isolated(5, IsolationCause::LeaseLost)),
    ] {
        // The record is as old as the lease.
        let sight = without_lease(&[seen(SMALLER, &[OWN], says)]);
        assert_eq!(Observer::beside(SMALLER).sees(600, &sight), expected);
    }
}

#[test]
fn a_node_that_was_cut_off_from_all_gives_way_as_soon_as_its_lease_is_over() {
    let mut node = Observer::beside(SMALLER);
    let silent = [seen(SMALLER, &[OWN], None)];
    // The other node is silent, and its record still lasts.
    assert_eq!(node.sees(8, &with_lease(&silent)), []);
    let cut = seen(SMALLER, &[], None);
    assert_eq!(node.sees(5, &with_lease(&[cut])), []);
    assert_eq!(
        node.sees(1, &without_lease(&silent)),
        isolated(1, IsolationCause::LeaseLost)
    );
}

#[test]
fn a_lone_node_and_the_last_of_a_deploy_continue_without_a_lease() {
    let mut node = Observer::beside(SMALLER);
    node.sees(60, &with_lease(&[]));
    assert_eq!(node.sees(600, &without_lease(&[])), []);
    let mut draining = seen(SMALLER, &[OWN], Some(true));
    draining.is_serving = false;
    let mut node = Observer::beside(SMALLER);
    node.sees(5, &with_lease(&[draining.clone()]));
    draining.answer = None;
    assert_eq!(node.sees(600, &without_lease(&[draining])), []);
    // A node that never had a lease has given nothing to anybody.
    let mut new = Observer {
        isolation: Isolation::new(OWN),
        now: Instant::now(),
    };
    assert_eq!(
        new.sees(600, &without_lease(&[seen(SMALLER, &[], None)])),
        []
    );
}

#[test]
fn an_isolated_node_returns_when_it_was_reached_for_ten_seconds_with_a_lease() {
    let cut = with_lease(&[seen(SMALLER, &[], None)]);
    let healed = [seen(SMALLER, &[OWN], Some(true))];
    let mut node = Observer::beside(SMALLER);
    node.sees(10, &cut);
    assert!(node.isolation.is_isolated());
    assert_eq!(node.sees(10, &with_lease(&healed)), []);
    // A gap restarts the time.
    assert_eq!(node.sees(1, &cut), []);
    assert_eq!(
        node.sees(30, &with_lease(&healed)),
        returned(11, ReturnCause::Reached)
    );
    assert!(!node.isolation.is_isolated());

    node.sees(10, &cut);
    assert_eq!(node.sees(60, &without_lease(&healed)), []);
    assert_eq!(
        node.sees(1, &with_lease(&healed)),
        returned(1, ReturnCause::Reached)
    );
}

#[test]
fn an_isolated_node_returns_at_once_when_no_other_one_serves() {
    let mut node = Observer::beside(SMALLER);
    node.sees(10, &with_lease(&[seen(SMALLER, &[], None)]));
    assert_eq!(node.sees(60, &without_lease(&[])), []);
    assert_eq!(
        node.sees(1, &with_lease(&[])),
        returned(1, ReturnCause::Alone)
    );
}

#[test]
fn a_stall_restarts_the_time_without_an_answer() {
    let mut node = Observer::beside(SMALLER);
    let silent = [seen(SMALLER, &[], None)];
    node.sees(9, &with_lease(&silent));
    node.isolation.restart(node.now);
    assert_eq!(node.sees(9, &with_lease(&silent)), []);
    node.now += Duration::from_secs(60);
    node.isolation.restart(node.now);
    // The end of its lease alone does not suffice.
    assert_eq!(
        node.sees(10, &without_lease(&silent)),
        isolated(5, IsolationCause::LeaseLost)
    );
}

/// The record of the other node lasts as long as the directory is away, and the node may be dead.
#[test]
fn a_node_gives_way_to_no_record_that_may_be_old() {
    let mut node = Observer::beside(SMALLER);
    let mut away = with_lease(&[seen(SMALLER, &[], None)]);
    away.is_connected = false;
    assert_eq!(node.sees(30, &away), []);
    let mut blind = with_lease(&[seen(SMALLER, &[], None), seen(GREATER, &[], None)]);
    blind.is_connected = false;
    assert_eq!(node.sees(30, &blind), []);
}

#[test]
fn a_new_lease_restarts_the_time_for_which_records_may_be_old() {
    let mut node = Observer::beside(SMALLER);
    let answers = without_lease(&[seen(SMALLER, &[], Some(true))]);
    node.sees(60, &answers);
    let cut = with_lease(&[seen(SMALLER, &[], None)]);
    assert_eq!(node.sees(30, &cut), isolated(11, IsolationCause::Pair));
}
