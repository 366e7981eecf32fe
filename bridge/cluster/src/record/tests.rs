use bridge_settings::Secret;
use proptest::prelude::*;

use super::*;

const REALM: RealmKey = RealmKey::from_bytes([9; 20]);
const NODE: NodeId = NodeId::from_bytes([1; 16]);

fn keys(text: &str) -> ClusterKeys {
    ClusterKeys::new(&[Secret::from_trusted(text.repeat(32))], None)
}

fn claim() -> ClaimRecord {
    ClaimRecord::Owned {
        node: NODE,
        address: "10.0.0.1:9000".to_owned(),
    }
}

fn node(reaches: Vec<NodeId>) -> NodeRecord {
    NodeRecord {
        id: NODE,
        address: "[2001:db8::1]:9000".to_owned(),
        state: NodeState::Draining,
        reaches,
        version: "1.2.3".to_owned(),
        settings: SettingsFingerprint {
            strict: [1; 8],
            reloadable: [2; 8],
        },
    }
}

fn denial() -> DenialRecord {
    DenialRecord {
        realm: [7; 32],
        version: 1_800_000_000_000,
        until: 1_800_000_100,
    }
}

#[test]
fn returns_the_records_that_were_written() {
    let keys = keys("a");
    let decoded = DenialRecord::decode(
        &denial().encode(&keys),
        &keys,
        &keys.denial_key(&denial().realm),
    );
    assert_eq!(decoded, Ok(denial()));
    for claim in [claim(), ClaimRecord::Moved] {
        let text = claim.encode(&keys, &REALM);
        assert_eq!(ClaimRecord::decode(&text, &keys, &REALM), Ok(claim));
    }
    for record in [
        node(Vec::new()),
        node(vec![NODE, NodeId::from_bytes([2; 16])]),
    ] {
        assert_eq!(
            NodeRecord::decode(&record.encode(&keys), &keys, NODE),
            Ok(record)
        );
    }
}

#[test]
fn writes_the_format_of_version_1() {
    let without_mac = |text: String| text.rsplit_once(' ').unwrap().0.to_owned();
    let keys = keys("a");
    assert_eq!(
        without_mac(claim().encode(&keys, &REALM)),
        "v1 AEAQCAIBAEAQCAIBAEAQCAIBAE 10.0.0.1:9000"
    );
    assert_eq!(
        without_mac(ClaimRecord::Moved.encode(&keys, &REALM)),
        "v1 moved -"
    );
    assert_eq!(
        without_mac(denial().encode(&keys)),
        "v1 1800000000000 1800000100 aoHo5Zi10XzbMmV3udSFSPtwCXKV8DzwDJDtiwzeZhY"
    );
    assert_eq!(
        without_mac(node(Vec::new()).encode(&keys)),
        "v1 [2001:db8::1]:9000 draining - 1.2.3 0101010101010101.0202020202020202"
    );
}

#[test]
fn rejects_a_record_with_another_secret_or_of_another_key() {
    let wrong = Err(InvalidRecord::WrongMac);
    let text = claim().encode(&keys("a"), &REALM);
    assert_eq!(ClaimRecord::decode(&text, &keys("b"), &REALM), wrong);
    let other_realm = RealmKey::from_bytes([8; 20]);
    assert_eq!(ClaimRecord::decode(&text, &keys("a"), &other_realm), wrong);
    let changed = text.replacen("10.0.0.1", "10.0.0.2", 1);
    assert_eq!(ClaimRecord::decode(&changed, &keys("a"), &REALM), wrong);
    let text = node(Vec::new()).encode(&keys("a"));
    let other_node = NodeId::from_bytes([2; 16]);
    let decoded = NodeRecord::decode(&text, &keys("a"), other_node);
    assert_eq!(decoded, Err(InvalidRecord::WrongMac));
}

/// A realm whose denial was copied to another name would be denied too.
#[test]
fn rejects_the_denial_of_another_realm() {
    let keys = keys("a");
    let key = keys.denial_key(&[8; 32]);
    let decoded = DenialRecord::decode(&denial().encode(&keys), &keys, &key);
    assert_eq!(decoded, Err(InvalidRecord::WrongMac));
    let masked = URL_SAFE_NO_PAD.encode([7; 32]);
    for value in [format!("v1 1 2 {masked}"), "v1 1 2 x".to_owned()] {
        let text = sign(&keys, DENIALS, &key.to_string(), value);
        let decoded = DenialRecord::decode(&text, &keys, &key);
        assert_eq!(decoded, Err(InvalidRecord::Malformed));
    }
}

#[test]
fn shows_a_realm_only_to_who_has_the_key() {
    let text = denial().encode(&keys("a"));
    for realm in [HEXLOWER.encode(&[7; 32]), URL_SAFE_NO_PAD.encode([7; 32])] {
        assert!(!text.contains(&realm), "{text}");
    }
}

#[test]
fn reports_a_newer_version_as_unknown() {
    for text in ["v2 anything", "v10", "v3 a b c"] {
        let claim = ClaimRecord::decode(text, &keys("a"), &REALM);
        assert_eq!(claim, Err(InvalidRecord::UnknownVersion), "{text}");
        let node = NodeRecord::decode(text, &keys("a"), NODE);
        assert_eq!(node, Err(InvalidRecord::UnknownVersion), "{text}");
    }
}

#[test]
fn rejects_a_signed_record_of_another_format() {
    let keys = keys("a");
    let node_id = NODE.to_string();
    for value in [
        "v1".to_owned(),
        "v1 moved".to_owned(),
        "v1 gone -".to_owned(),
        format!("v1 {node_id}"),
        format!("v1 {node_id} "),
        format!("v1 {node_id} address more"),
    ] {
        let text = sign(&keys, REALMS, &REALM.to_string(), value.clone());
        let decoded = ClaimRecord::decode(&text, &keys, &REALM);
        assert_eq!(decoded, Err(InvalidRecord::Malformed), "{value}");
    }
    for value in [
        "v1 address sleeping - 1 0101010101010101.0202020202020202",
        "v1 address serving x 1 0101010101010101.0202020202020202",
        "v1 address serving - 1 01.02",
        "v1 address serving - 1 0101010101010101",
    ] {
        let text = sign(&keys, NODES, &node_id, value.to_owned());
        let decoded = NodeRecord::decode(&text, &keys, NODE);
        assert_eq!(decoded, Err(InvalidRecord::Malformed), "{value}");
    }
}

#[test]
fn rejects_a_record_that_is_too_long() {
    let keys = keys("a");
    let address = "a".repeat(MAX_CLAIM_BYTES);
    let text = ClaimRecord::Owned {
        node: NODE,
        address,
    }
    .encode(&keys, &REALM);
    let decoded = ClaimRecord::decode(&text, &keys, &REALM);
    assert_eq!(decoded, Err(InvalidRecord::Malformed));
    let many: Vec<_> = (0..200).map(|n| NodeId::from_bytes([n; 16])).collect();
    let decoded = NodeRecord::decode(&node(many).encode(&keys), &keys, NODE);
    assert_eq!(decoded, Err(InvalidRecord::Malformed));
}

#[test]
fn has_room_for_a_hundred_nodes() {
    let keys = keys("a");
    let many: Vec<_> = (0..100).map(|n| NodeId::from_bytes([n; 16])).collect();
    let record = node(many);
    assert_eq!(
        NodeRecord::decode(&record.encode(&keys), &keys, NODE),
        Ok(record)
    );
}

proptest! {
    #[test]
    fn accepts_no_text_that_no_node_has_signed(text in "(v[0-9]{1,2} )?[ -~]{0,80}") {
        prop_assert!(ClaimRecord::decode(&text, &keys("a"), &REALM).is_err());
        prop_assert!(NodeRecord::decode(&text, &keys("a"), NODE).is_err());
    }
}
