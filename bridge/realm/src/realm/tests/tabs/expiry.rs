//! State that expires at its own deadline, with or without heartbeats.

use super::*;
use crate::realm::expiry::FORMER_ITEMS_TTL;

/// The page of an app, with its first heartbeat after this time.
fn page_with_heartbeat(heartbeat_after: Duration) -> PageHello {
    PageHello {
        heartbeat_after: Some(heartbeat_after),
        ..app_page(TAB, None)
    }
}

/// A page whose app is in the catalogue (`DocumentGone`), or whose session has items of a former
/// connection (`ConnectionLost`), and that has connected again.
fn reconnected_page(parting: Disconnect, heartbeat_after: Duration) -> Harness {
    let mut scene = Harness::new();
    try_connect(&mut scene, 1, app_page(TAB, None)).unwrap();
    scene.register(FIRST_CONNECTION, &["echo"]);
    scene.disconnect(FIRST_CONNECTION, parting);
    try_connect(&mut scene, 2, page_with_heartbeat(heartbeat_after)).unwrap();
    assert_eq!(listed_tools(&scene), ["echo"]);
    scene
}

const PARTINGS: [Disconnect; 2] = [Disconnect::DocumentGone, Disconnect::ConnectionLost];

#[test]
fn former_items_expire_without_any_heartbeat() {
    for parting in PARTINGS {
        let mut scene = reconnected_page(parting, Duration::from_secs(3600));
        let ttl = FORMER_ITEMS_TTL.as_secs_f32();
        scene.advance_to(ttl - 0.1);
        assert_eq!(listed_tools(&scene), ["echo"]);
        scene.advance_to(ttl);
        assert!(scene.tool_list_changed());
        assert_eq!(listed_tools(&scene), Vec::<String>::new());
        assert!(scene.sent_types(SECOND_CONNECTION).is_empty());
        scene.advance_to(2.0 * ttl);
        assert!(scene.effects.is_empty());
    }
}

#[test]
fn a_heartbeat_expires_nothing() {
    for parting in PARTINGS {
        let mut scene = reconnected_page(parting, Duration::from_secs(1));
        scene.advance_to(1.0);
        assert_eq!(scene.sent_types(SECOND_CONNECTION), ["heartbeat"]);
        assert!(!scene.tool_list_changed());
        assert_eq!(listed_tools(&scene), ["echo"]);
    }
}

#[test]
fn registered_items_do_not_expire() {
    for parting in PARTINGS {
        let mut scene = reconnected_page(parting, Duration::from_secs(3600));
        scene.register(SECOND_CONNECTION, &["echo"]);
        scene.advance_to(2.0 * FORMER_ITEMS_TTL.as_secs_f32());
        assert!(scene.effects.is_empty());
        assert_eq!(listed_tools(&scene), ["echo"]);
    }
}

#[test]
fn each_page_of_an_app_has_its_own_time_to_register() {
    let mut scene = reconnected_page(Disconnect::DocumentGone, Duration::from_secs(3600));
    let ttl = FORMER_ITEMS_TTL.as_secs_f32();
    scene.advance_to(ttl - 1.0);
    try_connect(&mut scene, 3, app_page("other", None)).unwrap();
    scene.advance_to(2.0 * ttl - 1.5);
    assert_eq!(listed_tools(&scene), ["echo"]);
    scene.advance_to(2.0 * ttl - 1.0);
    assert_eq!(listed_tools(&scene), Vec::<String>::new());
}

#[test]
fn a_stall_of_the_bridge_extends_the_time_to_register() {
    let mut scene = reconnected_page(Disconnect::ConnectionLost, Duration::from_secs(3600));
    scene.realm.bridge_stalled(Duration::from_secs(10));
    let ttl = FORMER_ITEMS_TTL.as_secs_f32();
    scene.advance_to(ttl + 9.0);
    assert_eq!(listed_tools(&scene), ["echo"]);
    scene.advance_to(ttl + 10.0);
    assert_eq!(listed_tools(&scene), Vec::<String>::new());
}

#[test]
fn catalogue_entries_expire_and_are_bounded_in_number() {
    let mut scene = Harness::new();
    for number in 0..=catalogue::MAX_CATALOGUE_APPS as u64 {
        let hello = PageHello {
            app: Some(format!("app{number}")),
            ..page_hello(TAB)
        };
        try_connect(&mut scene, number, hello).unwrap();
        scene.register(ConnectionId(number), &[&format!("tool{number}")]);
        scene.disconnect(ConnectionId(number), Disconnect::DocumentGone);
    }
    assert_eq!(listed_tools(&scene).len(), catalogue::MAX_CATALOGUE_APPS);
    assert!(!listed_tools(&scene).contains(&"tool0".to_owned()));
    scene.advance_to(3599.0);
    assert_eq!(listed_tools(&scene).len(), catalogue::MAX_CATALOGUE_APPS);
    scene.advance_to(3600.0);
    assert!(scene.tool_list_changed());
    assert!(scene.realm.is_empty());
}

#[test]
fn former_sessions_are_known_until_ttl_and_bounded_in_number() {
    let mut scene = harness_with_limits(|limits| limits.catalogue_ttl = Duration::ZERO);
    let end = |scene: &mut Harness, number: u64, session: &str, name: Option<&str>| {
        try_connect(scene, number, app_page(session, name)).unwrap();
        let effects = scene.realm.connection_ended(
            &session.into(),
            ConnectionId(number),
            Disconnect::DocumentGone,
            scene.now,
        );
        scene.apply(effects);
    };
    assert!(!scene.realm.knows_session(&"first".into()));
    end(&mut scene, 1, "first", Some("board"));
    for called in ["first", "board"] {
        assert!(scene.realm.knows_session(&called.into()), "{called}");
    }
    for number in 0..600 {
        end(&mut scene, number + 2, &format!("s{number}"), None);
    }
    assert!(!scene.realm.knows_session(&"first".into()));
    let long_id = |number: u64| format!("{number:04096}");
    for number in 0..20 {
        end(&mut scene, number + 1000, &long_id(number), None);
    }
    assert!(!scene.realm.knows_session(&long_id(3).as_str().into()));
    assert!(scene.realm.knows_session(&long_id(4).as_str().into()));
    end(&mut scene, 2000, "s599", None);
    assert!(scene.realm.knows_session(&"s599".into()));
    assert!(!scene.realm.is_empty());
    scene.now.instant += Duration::from_secs(3600);
    let effects = scene.realm.deadline_passed(scene.now);
    scene.apply(effects);
    assert!(!scene.realm.knows_session(&"s599".into()));
    assert!(scene.realm.is_empty());
}
