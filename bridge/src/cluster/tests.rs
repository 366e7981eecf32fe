//! Nodes with a directory in memory, which pass nothing to each other.

mod held_requests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bridge_auth::{Denial, QueryToken, RealmId};
use bridge_cluster::{
    ClaimEvent, DenialRecord, Directory, InMemoryDirectory, MAX_MISSED_PINGS, NodeId,
    SettingsFingerprint, Verdict,
};
use bridge_settings::Secret;
use tokio_util::sync::CancellationToken;

use super::directory_events::DirectoryEvents;
use super::pause::PAUSE_TIME;
use super::*;
use crate::agent_queries::AgentQueries;
use crate::config::Config;
use crate::hub::{Hub, RealmOwnership};

const SAME: SettingsFingerprint = SettingsFingerprint {
    strict: [0; 8],
    reloadable: [0; 8],
};

/// A node, and what it needs.
struct Node {
    cluster: Arc<ClusterNode>,
    stopping: CancellationToken,
    hub: Arc<Hub>,
}

impl Node {
    /// Starts a node, and waits until it has a lease.
    async fn start(
        number: u8,
        directory: &InMemoryDirectory,
        settings: SettingsFingerprint,
    ) -> Self {
        let node = Self::begin(number, directory, settings);
        while !node.cluster.has_lease() {
            tokio::task::yield_now().await;
        }
        node
    }

    /// Starts a node that owns a realm.
    async fn start_owning(number: u8, directory: &InMemoryDirectory, realm: RealmId) -> Self {
        let node = Self::start(number, directory, SAME).await;
        assert_eq!(node.cluster.claim(realm).await, Verdict::Owned);
        node
    }

    /// Starts a node, which has no lease yet.
    fn begin(number: u8, directory: &InMemoryDirectory, settings: SettingsFingerprint) -> Self {
        let mut config = Config::default();
        let secret = Secret::from_trusted("0123456789abcdef0123456789abcdef".to_owned());
        config.cluster.cluster_secret = vec![secret];
        let hub = Hub::new(config, |_, _| Ok(()), Arc::<AgentQueries>::default());
        let own = NodeId::from_bytes([number; 16]);
        let address = NodeSettings {
            address: ([127, 0, 0, 1], u16::from(number)).into(),
            tls: None,
            fingerprint: settings,
        };
        let events = DirectoryEvents::default();
        let connection = directory.connect(own, Arc::new(events.clone()));
        let stopping = CancellationToken::new();
        let cluster = ClusterNode::start_with(
            &hub.config.cluster,
            &hub,
            address,
            stopping.clone(),
            own,
            connection,
            &events,
        );
        Self {
            cluster,
            stopping,
            hub,
        }
    }
}

#[tokio::test]
async fn a_realm_is_routed_to_the_node_that_has_claimed_it() {
    let directory = InMemoryDirectory::default();
    let first = Node::start(1, &directory, SAME).await;
    let second = Node::start(2, &directory, SAME).await;
    let realm = RealmId::from_token("token");
    assert_eq!(second.cluster.route(realm).await, Ok(Route::Unowned));
    assert_eq!(first.cluster.claim(realm).await, Verdict::Owned);
    assert_eq!(first.cluster.route(realm).await, Ok(Route::Here));
    assert!(second.cluster.known_route(realm).is_none());
    let Ok(Route::Node(_, owner)) = second.cluster.route(realm).await else {
        panic!("not routed");
    };
    assert_eq!(owner.id, first.cluster.own);
    assert!(second.cluster.known_route(realm).is_some());
    assert_eq!(second.cluster.claim(realm).await, Verdict::Elsewhere(owner));
}

#[tokio::test]
async fn nothing_is_passed_to_a_node_with_other_settings() {
    let directory = InMemoryDirectory::default();
    let first = Node::start(1, &directory, SAME).await;
    let other = SettingsFingerprint {
        strict: [1; 8],
        ..SAME
    };
    let second = Node::start(2, &directory, other).await;
    let realm = RealmId::from_token("token");
    assert_eq!(first.cluster.claim(realm).await, Verdict::Owned);
    assert_eq!(second.cluster.route(realm).await, Err(OwnerAway::Unknown));
    assert_eq!(second.cluster.claim(realm).await, Verdict::Away);
    assert!(second.cluster.known_route(realm).is_none());
}

#[tokio::test]
async fn an_event_that_comes_late_begins_no_claim() {
    let directory = InMemoryDirectory::default();
    let node = Node::start(1, &directory, SAME).await;
    let realm = RealmId::from_token("token");
    let key = node.cluster.key_of(realm);
    for event in [ClaimEvent::Tick, ClaimEvent::Vacant, ClaimEvent::CheckDue] {
        node.cluster.apply(key, realm, event, None);
    }
    assert!(node.cluster.claims.is_empty());
}

#[tokio::test]
async fn a_stall_restarts_the_count_of_missed_pings() {
    let directory = InMemoryDirectory::default();
    let first = Node::start(1, &directory, SAME).await;
    let second = Node::start(2, &directory, SAME).await;
    let reach = &first.cluster.reach;
    let miss = || {
        let other = second.cluster.own;
        for _ in 1..MAX_MISSED_PINGS {
            reach.state().pings.missed(other);
        }
        reach.is_unreachable(&other)
    };
    assert!(!miss());
    first.cluster.on_stall();
    assert!(!miss());
    // A new connection to the directory does the same.
    directory.cut(first.cluster.own);
    directory.restore(first.cluster.own);
    assert!(!miss());
    assert!(miss());
}

#[tokio::test]
async fn nothing_of_a_node_is_left_after_it_has_left() {
    let directory = InMemoryDirectory::default();
    let first = Node::start(1, &directory, SAME).await;
    let second = Node::start(2, &directory, SAME).await;
    let realm = RealmId::from_token("token");
    assert_eq!(first.cluster.claim(realm).await, Verdict::Owned);
    first.stopping.cancel();
    first.cluster.leave().await;
    assert!(!second.cluster.is_alive(&first.cluster.own));
    // No operation ends any more, so it does not wait for one.
    let unclaimed = RealmId::from_token("another");
    assert_eq!(first.cluster.claim(unclaimed).await, Verdict::Away);
    first.cluster.tasks.wait().await;
    let left = Arc::downgrade(&first.cluster);
    drop(first);
    assert!(left.upgrade().is_none());
}

/// The record of a node may come later than the first request with a token of its query.
#[tokio::test]
async fn only_the_queries_of_a_node_that_is_not_connected_have_ended() {
    let directory = InMemoryDirectory::default();
    let first = Node::start(1, &directory, SAME).await;
    let second = Node::start(2, &directory, SAME).await;
    let token = |node: NodeId| QueryToken::random(Some(&node.to_string()));
    let issuer = async |token: QueryToken| {
        let issuer = first.cluster.issuer_of_query(token.as_str()).await;
        issuer.map(|peer| peer.map(|peer| peer.id))
    };
    let other = second.cluster.own;
    assert_eq!(issuer(token(other)).await, Ok(Some(other)));
    assert_eq!(issuer(token(first.cluster.own)).await, Ok(None));
    assert_eq!(issuer(QueryToken::random(None)).await, Ok(None));

    let third = NodeId::from_bytes([3; 16]);
    assert_eq!(issuer(token(third)).await, Ok(None));
    let connection = directory.connect(third, Arc::new(DirectoryEvents::default()));
    assert_eq!(issuer(token(third)).await, Err(OwnerAway::Unknown));
    drop(connection);
    assert_eq!(issuer(token(third)).await, Ok(None));
    directory.cut(first.cluster.own);
    assert_eq!(issuer(token(third)).await, Err(OwnerAway::Unknown));
    assert_eq!(issuer(token(other)).await, Ok(Some(other)));
}

/// A writer to the directory without the secret can only repeat what a node has written.
#[tokio::test]
async fn a_denial_is_ended_only_by_a_later_decision_of_a_node() {
    let directory = InMemoryDirectory::default();
    let first = Node::start(1, &directory, SAME).await;
    let second = Node::start(2, &directory, SAME).await;
    let realm = RealmId::from_token("token");
    let denial = Denial::for_duration(Duration::from_secs(3600));
    let until = denial.until;
    let version = first.hub.denied.deny(realm, denial).unwrap();
    assert!(first.cluster.publish_denial(realm, version, until).await);
    assert_eq!(
        second.cluster.changed_denials().await,
        BTreeSet::from([realm])
    );
    assert!(second.hub.denied.check(realm).is_err());

    let keys = &first.cluster.keys;
    let allowed = |version| DenialRecord {
        realm: *realm.as_bytes(),
        version,
        until: 0,
    };
    let signed = |version| allowed(version).encode(keys);
    let forged = signed(version + 1).replacen(' ', "  ", 1);
    let other_realm = DenialRecord {
        realm: [1; 32],
        ..allowed(version + 1)
    };
    let tenant = directory.connect(
        NodeId::from_bytes([3; 16]),
        Arc::new(DirectoryEvents::default()),
    );
    let key = keys.denial_key(realm.as_bytes());
    for record in [forged, other_realm.encode(keys), signed(version - 1)] {
        tenant.deny(&key, record).await.unwrap();
        for node in [&first, &second] {
            assert!(node.hub.denied.check(realm).is_err());
        }
    }
    tenant.deny(&key, signed(version + 1)).await.unwrap();
    for node in [&first, &second] {
        assert_eq!(node.hub.denied.check(realm), Ok(()));
    }
}

#[tokio::test]
async fn a_realm_is_given_away_when_none_of_its_requests_runs() {
    let directory = InMemoryDirectory::default();
    let realm = RealmId::from_token("token");
    let first = Node::start_owning(1, &directory, realm).await;
    let second = Node::start(2, &directory, SAME).await;
    let key = first.cluster.key_of(realm);
    let begin = || first.cluster.begin_request(realm);
    let requests = [begin().await.unwrap(), begin().await.unwrap()];
    for request in requests {
        assert!(!first.cluster.give_away_if_quiet(key, realm));
        drop(request);
    }
    assert!(first.cluster.give_away_if_quiet(key, realm));
    assert!(begin().await.is_none());
    // It waits until the realm has left.
    assert_eq!(first.cluster.route(realm).await, Err(OwnerAway::Gone));
    assert_eq!(second.cluster.claim(realm).await, Verdict::Owned);
    assert!(matches!(
        first.cluster.route(realm).await,
        Ok(Route::Node(..))
    ));
}

#[tokio::test]
async fn a_request_soon_after_the_start_waits_for_the_first_lease() {
    let directory = InMemoryDirectory::default();
    let realm = RealmId::from_token("token");
    let _owner = Node::start_owning(1, &directory, realm).await;
    let node = Node::begin(2, &directory, SAME);
    assert!(!node.cluster.was_announced());
    let route = node.cluster.route(realm).await;
    assert!(matches!(route, Ok(Route::Node(..))), "{route:?}");
    assert!(node.cluster.was_announced());
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_paused_realm_wait_for_those_that_run() {
    let directory = InMemoryDirectory::default();
    let realm = RealmId::from_token("token");
    let node = Node::start_owning(1, &directory, realm).await;
    let _other = Node::start(2, &directory, SAME).await;
    let key = node.cluster.key_of(realm);
    let begin = async || {
        let begun = tokio::time::Instant::now();
        let request = node.cluster.begin_request(realm).await;
        (request, begun.elapsed())
    };
    let (running, waited) = begin().await;
    assert_eq!(waited, Duration::ZERO);
    let pause = node.cluster.claims.pause(&key).unwrap();
    let (too_long, waited) = begin().await;
    assert!(too_long.is_some());
    assert_eq!(waited, PAUSE_TIME);
    assert_eq!(begin().await.1, Duration::ZERO, "not longer");

    drop(pause);
    let pause = node.cluster.claims.pause(&key).unwrap();
    drop((running, too_long));
    let half = PAUSE_TIME / 2;
    let gives_away = async {
        tokio::time::sleep(half).await; // sleep: of paused time
        assert!(node.cluster.give_away_if_quiet(key, realm));
        drop(pause);
    };
    let ((request, waited), ()) = tokio::join!(begin(), gives_away);
    assert!(request.is_none(), "it is sent to the next owner");
    assert_eq!(waited, half);
}

#[tokio::test]
async fn a_node_that_drains_sends_newcomers_to_another_one_as_long_as_there_is_one() {
    let directory = InMemoryDirectory::default();
    let first = Node::start(1, &directory, SAME).await;
    let second = Node::start(2, &directory, SAME).await;
    while first.cluster.status().peers.serving == 0 {
        tokio::task::yield_now().await;
    }
    let realm = RealmId::from_token("token");
    first.cluster.begin_drain();
    let claimed = first.cluster.claim(realm).await;
    let successor = first.cluster.successor_of(realm).unwrap().1;
    assert_eq!(successor.id, second.cluster.own);
    assert_eq!(claimed, Verdict::Elsewhere(successor));

    second.stopping.cancel();
    second.cluster.leave().await;
    first.cluster.begin_drain();
    assert_eq!(first.cluster.claim(realm).await, Verdict::Owned);
}
