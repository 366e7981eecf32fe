use super::*;

const OWN: NodeId = NodeId::from_bytes([0; 16]);
const OTHER: NodeId = NodeId::from_bytes([1; 16]);
const UNSEEN: NodeId = NodeId::from_bytes([2; 16]);
const LEASE: Duration = Duration::from_secs(10);
const SETTINGS: SettingsFingerprint = SettingsFingerprint {
    strict: [1; 8],
    reloadable: [1; 8],
};

fn record(id: NodeId) -> NodeRecord {
    NodeRecord {
        id,
        address: "10.0.0.1:9000".to_owned(),
        state: NodeState::Serving,
        reaches: Vec::new(),
        version: "1".to_owned(),
        settings: SETTINGS,
    }
}

/// A node that has been connected for a long time, at its present time.
fn watching_peers() -> (Peers, Instant) {
    let start = Instant::now();
    let mut peers = Peers::new(OWN, LEASE);
    peers.connected(start);
    (peers, start + 10 * LEASE)
}

#[test]
fn a_node_lives_for_a_lease_and_half_a_second() {
    let (mut peers, now) = watching_peers();
    assert!(!peers.is_alive(&OTHER, now));
    peers.node_announced(record(OTHER), now);
    let end = now + LEASE + Duration::from_millis(500);
    assert!(peers.is_alive(&OTHER, end));
    assert_eq!(
        peers.living(end).map(|peer| peer.id).collect::<Vec<_>>(),
        [OTHER]
    );
    let later = end + Duration::from_millis(1);
    assert!(!peers.is_alive(&OTHER, later));
    assert_eq!(peers.living(later).count(), 0);
    peers.node_announced(record(OTHER), later);
    assert!(peers.is_alive(&OTHER, later));
}

#[test]
fn a_withdrawn_node_is_dead_until_it_announces_itself_again() {
    let (mut peers, now) = watching_peers();
    peers.node_announced(record(OTHER), now);
    peers.node_withdrawn(OTHER, now);
    assert!(!peers.is_alive(&OTHER, now));
    peers.node_announced(record(OTHER), now);
    assert!(peers.is_alive(&OTHER, now));
    peers.node_withdrawn(OTHER, now);
    peers.connected(now);
    assert!(!peers.is_alive(&OTHER, now));
    // It is remembered for as long as a node that was never seen counts as alive.
    let later = now + 2 * LEASE;
    peers.connected(later);
    peers.forget_dead(|_| false, later);
    assert!(!peers.is_alive(&OTHER, later));
    peers.forget_dead(|_| false, later + 2 * LEASE);
    assert!(peers.withdrawn.is_empty());
    assert!(!peers.is_alive(&OTHER, later + 2 * LEASE));
}

#[test]
fn no_node_is_dead_until_this_one_was_connected_for_a_lease() {
    let start = Instant::now();
    let mut peers = Peers::new(OWN, LEASE);
    peers.stalled(start);
    assert!(peers.is_alive(&UNSEEN, start + 100 * LEASE));
    let connected = start + 100 * LEASE;
    peers.connected(connected);
    assert!(peers.is_alive(&UNSEEN, connected + LEASE));
    assert!(!peers.is_alive(&UNSEEN, connected + 2 * LEASE));
}

#[test]
fn a_stall_or_a_new_connection_restarts_all_clocks() {
    let (mut peers, now) = watching_peers();
    peers.node_announced(record(OTHER), now);
    let stalled = now + 5 * LEASE;
    peers.stalled(stalled);
    assert!(peers.is_alive(&OTHER, stalled + LEASE) && peers.is_alive(&UNSEEN, stalled + LEASE));
    assert!(!peers.is_alive(&OTHER, stalled + 2 * LEASE));
    peers.connected(stalled + 2 * LEASE);
    assert!(peers.is_alive(&OTHER, stalled + 3 * LEASE));
}

#[test]
fn no_lease_ends_while_this_node_is_not_connected() {
    let (mut peers, now) = watching_peers();
    peers.node_announced(record(OTHER), now);
    peers.disconnected();
    let later = now + 100 * LEASE;
    assert!(peers.is_alive(&OTHER, later) && !peers.is_connected());
    assert_eq!(peers.forget_dead(|_| false, later), []);
    assert_eq!(
        (peers.living(later).count(), peers.counts(later).dead),
        (1, 0)
    );
    peers.stalled(later);
    assert!(!peers.is_connected());
    peers.connected(later);
    assert!(peers.is_alive(&OTHER, later + LEASE));
    assert_eq!(peers.forget_dead(|_| false, later + 2 * LEASE), [OTHER]);
}

#[test]
fn a_node_that_may_answer_is_known_after_its_lease() {
    let (mut peers, now) = watching_peers();
    peers.node_announced(record(OTHER), now);
    let later = now + 2 * LEASE;
    assert_eq!(peers.forget_dead(|id| *id == OTHER, later), []);
    assert!(!peers.is_alive(&OTHER, later) && peers.living(later).count() == 0);
    assert_eq!(peers.known().collect::<Vec<_>>(), [&record(OTHER)]);
    assert_eq!(peers.forget_dead(|id| *id != OTHER, later), [OTHER]);
}

#[test]
fn a_node_is_known_as_dead_from_the_end_of_its_lease_until_it_is_forgotten() {
    let (mut peers, now) = watching_peers();
    peers.node_announced(record(OTHER), now);
    let draining = NodeRecord {
        state: NodeState::Draining,
        ..record(UNSEEN)
    };
    peers.node_announced(draining, now + LEASE);
    let known = |peers: &Peers, now| -> Vec<_> {
        let known = peers.overview(now);
        known.map(|it| (it.record.id, it.state(), it.age)).collect()
    };
    let end = now + 2 * LEASE;
    let expected = [(OTHER, "dead", 2 * LEASE), (UNSEEN, "draining", LEASE)];
    assert_eq!(known(&peers, end), expected);
    peers.forget_dead(|_| false, end);
    assert_eq!(known(&peers, end), expected[1..]);
}

#[test]
fn this_node_is_alive_and_not_a_peer() {
    let (mut peers, now) = watching_peers();
    peers.node_announced(record(OWN), now);
    assert!(peers.is_alive(&OWN, now + 10 * LEASE));
    assert_eq!((peers.living(now).count(), peers.peer(&OWN)), (0, None));
}

#[test]
fn a_node_with_other_strict_settings_is_not_compatible() {
    let (mut peers, now) = watching_peers();
    peers.node_announced(record(OTHER), now);
    assert_eq!(
        peers.compatibility(&OTHER, &SETTINGS, now),
        PeerCompatibility::Same
    );
    assert_eq!(
        peers.compatibility(&UNSEEN, &SETTINGS, now),
        PeerCompatibility::Same
    );
    let own = SettingsFingerprint {
        strict: [2; 8],
        ..SETTINGS
    };
    let different = PeerCompatibility::Different(SettingsDifference::Strict);
    assert_eq!(peers.compatibility(&OTHER, &own, now), different);
}

#[test]
fn reloadable_settings_may_differ_for_ten_minutes() {
    let (mut peers, now) = watching_peers();
    peers.node_announced(record(OTHER), now);
    let own = SettingsFingerprint {
        reloadable: [2; 8],
        ..SETTINGS
    };
    let after = |seconds| now + Duration::from_secs(seconds);
    let differs_for = |seconds| PeerCompatibility::DiffersFor(Duration::from_secs(seconds));
    assert_eq!(peers.compatibility(&OTHER, &own, after(0)), differs_for(0));
    // The same node writes its record again meanwhile.
    peers.node_announced(record(OTHER), after(300));
    assert_eq!(
        peers.compatibility(&OTHER, &own, after(599)),
        differs_for(599)
    );
    let different = PeerCompatibility::Different(SettingsDifference::Reloadable);
    assert_eq!(peers.compatibility(&OTHER, &own, after(600)), different);
    assert_eq!(
        peers.compatibility(&OTHER, &SETTINGS, after(700)),
        PeerCompatibility::Same
    );
    assert_eq!(
        peers.compatibility(&OTHER, &own, after(701)),
        differs_for(0)
    );
}

#[test]
fn counts_nodes_by_state_and_forgets_the_dead() {
    let (mut peers, now) = watching_peers();
    peers.node_announced(record(UNSEEN), now);
    let later = now + 2 * LEASE;
    let draining = NodeRecord {
        state: NodeState::Draining,
        ..record(OTHER)
    };
    peers.node_announced(draining, later);
    peers.node_announced(record(NodeId::from_bytes([3; 16])), later);
    let counts = PeerCounts {
        serving: 1,
        draining: 1,
        dead: 1,
    };
    assert_eq!(peers.counts(later), counts);
    assert_eq!(peers.forget_dead(|_| false, later), [UNSEEN]);
    assert_eq!(peers.counts(later), PeerCounts { dead: 0, ..counts });
    assert!(peers.peer(&UNSEEN).is_none() && peers.peer(&OTHER).is_some());
}

#[test]
fn a_failed_connection_is_remembered_until_the_node_answers() {
    let (mut peers, now) = watching_peers();
    let time = Duration::from_secs(5);
    assert!(!peers.has_failed_within(time, &UNSEEN, now));
    // Also that of a node which this one has never seen.
    for node in [OTHER, UNSEEN] {
        peers.connection_failed(node, now);
    }
    peers.node_announced(record(OTHER), now);
    for node in [OTHER, UNSEEN] {
        assert!(peers.has_failed_within(time, &node, now + time / 2));
        assert!(!peers.has_failed_within(time, &node, now + time));
    }
    peers.node_answered(&OTHER);
    assert!(!peers.has_failed_within(time, &OTHER, now));
    peers.forget_dead(|_| false, now + 2 * LEASE);
    assert_eq!(peers.unreached.len(), 0);
}

#[test]
fn the_successors_of_a_realm_are_the_nodes_that_serve_with_the_same_settings() {
    let (mut peers, now) = watching_peers();
    let key = |number| RealmKey::from_bytes([number; 20]);
    assert_eq!(peers.successors(&key(0), &SETTINGS, now), []);
    let others = [1, 2, 3, 4].map(|number| NodeId::from_bytes([number; 16]));
    let [serving, also_serving, draining, different] = others;
    for id in others {
        peers.node_announced(record(id), now);
    }
    peers.node_announced(
        NodeRecord {
            state: NodeState::Draining,
            ..record(draining)
        },
        now,
    );
    let strict = [9; 8];
    let settings = SettingsFingerprint { strict, ..SETTINGS };
    peers.node_announced(
        NodeRecord {
            settings,
            ..record(different)
        },
        now,
    );
    let mut successors: Vec<_> = (0..=255)
        .filter_map(|number| {
            peers
                .successors(&key(number), &SETTINGS, now)
                .first()
                .cloned()
        })
        .map(|peer| peer.id)
        .collect();
    let of_first = successors.iter().filter(|id| **id == serving).count();
    assert!((64..192).contains(&of_first), "{of_first} of 256");
    successors.sort_unstable();
    successors.dedup();
    assert_eq!(successors, [serving, also_serving]);
    let later = now + LEASE + LEASE_GRACE + Duration::from_millis(1);
    assert_eq!(peers.successors(&key(0), &SETTINGS, later), []);
}

/// Only the realms of the node that is gone go elsewhere.
#[test]
fn the_successors_of_other_realms_stay_when_a_node_goes() {
    let (mut peers, now) = watching_peers();
    let ids = [1, 2, 3, 4].map(|number| NodeId::from_bytes([number; 16]));
    for id in ids {
        peers.node_announced(record(id), now);
    }
    let keys = (0..=255).map(|number| RealmKey::from_bytes([number; 20]));
    let of = |peers: &mut Peers, key| peers.successors(&key, &SETTINGS, now)[0].id;
    let before: Vec<_> = keys.map(|key| (key, of(&mut peers, key))).collect();
    peers.node_withdrawn(ids[0], now);
    for (key, former) in before {
        let successor = of(&mut peers, key);
        assert!(successor == former || former == ids[0]);
    }
}
