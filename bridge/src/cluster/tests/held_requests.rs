//! Requests of realms whose owner is gone.

use std::net::IpAddr;
use std::time::Duration;

use bridge_cluster::RealmLoss;
use futures_util::future::join_all;
use tokio::time::Instant;

use super::*;
use crate::budget::Party;
use crate::cluster::claim_table::RealmCounts;
use crate::cluster::held_realms::MAX_HELD_PER_REALM;

const HOLD_TIME: Duration = Duration::from_secs(3);

/// Two nodes without the realm, and their directory. Another node has owned the realm, and is gone.
async fn nodes_without_owner() -> (InMemoryDirectory, [Node; 2], RealmId) {
    let directory = InMemoryDirectory::default();
    let realm = RealmId::from_token("token");
    let owner = Node::start_owning(1, &directory, realm).await;
    let nodes = [
        Node::start(2, &directory, SAME).await,
        Node::start(3, &directory, SAME).await,
    ];
    owner.stopping.cancel();
    owner.cluster.leave().await;
    (directory, nodes, realm)
}

fn party(realm: RealmId) -> Party<RealmId> {
    Party::new(IpAddr::from([192, 0, 2, 1]).into(), realm)
}

async fn hold(node: &Node, realm: RealmId) -> Result<Route, OwnerAway> {
    let cluster = &node.cluster;
    assert_eq!(cluster.route(realm).await, Err(OwnerAway::Gone));
    cluster.hold(party(realm), None, HoldEnd::from_now()).await
}

fn held(node: &Node, outcome: Held) -> u64 {
    node.cluster.counters.held(outcome)
}

/// Resolves when this number of requests is held.
async fn until_held(node: &Node, count: usize) {
    while node.cluster.held.count() != count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn all_requests_of_a_realm_wait_for_one_poll() {
    const REQUESTS: usize = 200;
    let (directory, [node, other], realm) = nodes_without_owner().await;
    let requests = join_all((0..REQUESTS).map(|_| hold(&node, realm)));
    let taken_over = async {
        until_held(&node, REQUESTS).await;
        let before = directory.find_count();
        tokio::time::sleep(HOLD_TIME / 3).await; // sleep: of paused time
        // One each 50 ms.
        let polls = directory.find_count() - before;
        assert!((18..=21).contains(&polls), "{polls}");
        assert_eq!(other.cluster.claim(realm).await, Verdict::Owned);
    };
    let (routes, ()) = tokio::join!(requests, taken_over);
    for route in routes {
        let Ok(Route::Node(_, owner)) = route else {
            panic!("{route:?}");
        };
        assert_eq!(owner.id, other.cluster.own);
    }
    assert_eq!(held(&node, Held::Served), REQUESTS as u64);
    assert_eq!(node.cluster.held.count(), 0);
    assert!(node.cluster.known_route(realm).is_some());
    let key = other.cluster.key_of(realm);
    assert!(other.cluster.claims.taken_over(&key).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_request_is_served_here_when_this_node_takes_the_realm_over() {
    let (_directory, [node, _], realm) = nodes_without_owner().await;
    let claim = async {
        until_held(&node, 1).await;
        node.cluster.claim(realm).await
    };
    let (route, verdict) = tokio::join!(hold(&node, realm), claim);
    assert_eq!((route, verdict), (Ok(Route::Here), Verdict::Owned));
    assert_eq!(node.cluster.counters.claims(Claim::TakenOver), 1);
}

#[tokio::test(start_paused = true)]
async fn the_record_of_a_dead_owner_is_removed_after_3_s() {
    let (directory, [node, _], realm) = nodes_without_owner().await;
    let begun = Instant::now();
    assert_eq!(hold(&node, realm).await, Ok(Route::Unowned));
    let waited = begun.elapsed();
    assert!(waited > HOLD_TIME - Duration::from_millis(250) && waited <= HOLD_TIME);
    assert!(directory.realms().is_empty());
    assert_eq!(node.cluster.route(realm).await, Ok(Route::Unowned));
}

#[tokio::test(start_paused = true)]
async fn a_realm_that_was_given_away_waits_for_a_new_owner() {
    let directory = InMemoryDirectory::default();
    let owner = Node::start(1, &directory, SAME).await;
    let node = Node::start(2, &directory, SAME).await;
    let [taken, left] = ["taken", "left"].map(RealmId::from_token);
    for realm in [taken, left] {
        assert_eq!(owner.cluster.claim(realm).await, Verdict::Owned);
    }
    owner.cluster.set_leaving(Some(RealmLoss::Drained));
    while owner.cluster.status().realms != RealmCounts::default() {
        tokio::task::yield_now().await;
    }
    let claim = async {
        until_held(&node, 2).await;
        node.cluster.claim(taken).await
    };
    let requests = join_all([taken, left].map(|realm| hold(&node, realm)));
    let (routes, verdict) = tokio::join!(requests, claim);
    assert_eq!(routes, [Ok(Route::Here), Ok(Route::Unowned)]);
    assert_eq!(verdict, Verdict::Owned);
    assert_eq!(directory.realms().len(), 1);
}

/// The directory still knows it, so its record stays.
#[tokio::test(start_paused = true)]
async fn a_living_owner_that_cannot_be_reached_is_waited_for() {
    let directory = InMemoryDirectory::default();
    let realm = RealmId::from_token("token");
    let owner = Node::start_owning(1, &directory, realm).await;
    let node = Node::start(2, &directory, SAME).await;
    node.cluster.connection_failed(&owner.cluster.own);
    let begun = Instant::now();
    assert_eq!(hold(&node, realm).await, Err(OwnerAway::Gone));
    assert_eq!(begun.elapsed(), HOLD_TIME);
    assert_eq!(held(&node, Held::GivenUp), 1);
    assert_eq!(directory.realms().len(), 1);
    let answers = async {
        until_held(&node, 1).await;
        node.cluster.peers().node_answered(&owner.cluster.own);
    };
    let (route, ()) = tokio::join!(hold(&node, realm), answers);
    assert!(matches!(route, Ok(Route::Node(..))), "{route:?}");
}

/// It does not own the realm, as far as it knows, although the record names it.
#[tokio::test(start_paused = true)]
async fn an_owner_that_has_refused_a_request_gets_it_again_after_half_a_second() {
    let directory = InMemoryDirectory::default();
    let realm = RealmId::from_token("token");
    let _owner = Node::start_owning(1, &directory, realm).await;
    let node = Node::start(2, &directory, SAME).await;
    let Ok(Route::Node(key, peer)) = node.cluster.route(realm).await else {
        panic!("not routed");
    };
    let begun = Instant::now();
    let end = HoldEnd::from_now();
    let route = node.cluster.hold(party(realm), Some(&peer), end).await;
    assert_eq!(route, Ok(Route::Node(key, peer)));
    assert_eq!(begun.elapsed(), Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn the_number_of_requests_that_wait_for_a_realm_is_limited() {
    let (_directory, [node, _], realm) = nodes_without_owner().await;
    let requests = join_all((0..MAX_HELD_PER_REALM).map(|_| hold(&node, realm)));
    let one_more = async {
        until_held(&node, MAX_HELD_PER_REALM).await;
        let begun = Instant::now();
        assert_eq!(hold(&node, realm).await, Err(OwnerAway::Gone));
        assert_eq!(begun.elapsed(), Duration::ZERO);
    };
    let (routes, ()) = tokio::join!(requests, one_more);
    assert!(routes.iter().all(Result::is_ok));
    assert_eq!(held(&node, Held::Served), MAX_HELD_PER_REALM as u64);
    assert_eq!(held(&node, Held::GivenUp), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_looked_up_when_no_request_waits() {
    let (directory, [node, _], realm) = nodes_without_owner().await;
    tokio::select! {
        _ = join_all([hold(&node, realm), hold(&node, realm)]) => panic!("not held"),
        () = until_held(&node, 2) => {}
    }
    assert_eq!(node.cluster.held.count(), 0);
    tokio::task::yield_now().await;
    let before = directory.find_count();
    tokio::time::sleep(HOLD_TIME).await; // sleep: of paused time
    assert_eq!(directory.find_count(), before);
    assert_eq!(directory.realms().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn held_requests_end_when_the_bridge_stops() {
    let (_directory, [node, _], realm) = nodes_without_owner().await;
    let begun = Instant::now();
    let requests = join_all((0..10).map(|_| hold(&node, realm)));
    let stop = async {
        until_held(&node, 10).await;
        assert!(node.cluster.counters.is_passing_on());
        node.stopping.cancel();
    };
    let (routes, ()) = tokio::join!(requests, stop);
    assert!(routes.iter().all(|route| *route == Err(OwnerAway::Gone)));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert!(!node.cluster.counters.is_passing_on());
    node.cluster.leave().await;
}
