//! Pages that lose their connection, and reconnect or not.

use super::*;

#[test]
fn a_disconnected_page_keeps_tools_and_calls_for_the_grace() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    scene
        .realm
        .call_received(&TAB.into(), FIRST_CONNECTION, &"c".into());
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    assert_eq!(scene.call_outcomes(), []);
    assert_eq!(scene.realm.published(Kind::Tool).len(), 1);
    scene.advance_to(4.0);
    scene.connect(SECOND_CONNECTION);
    scene.answer(SECOND_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);
}

#[test]
fn a_page_that_does_not_reconnect_ends_with_the_grace() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    scene
        .realm
        .call_received(&TAB.into(), FIRST_CONNECTION, &"c".into());
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.advance_to(5.0);
    assert_eq!(
        scene.call_outcomes(),
        [("c".to_owned(), Some(ErrorCode::PageGone))]
    );
    assert!(scene.realm.is_inactive());
}

#[test]
fn a_call_to_a_disconnected_page_is_sent_on_reconnect() {
    let mut scene = Harness::with_page();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.call("c").unwrap();
    assert!(scene.effects.is_empty());
    scene.connect(SECOND_CONNECTION);
    assert_eq!(
        scene.sent_types(SECOND_CONNECTION),
        ["clients", "tool-call"]
    );
}

#[test]
fn a_newer_connection_supersedes_and_the_older_changes_nothing() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    scene.connect(SECOND_CONNECTION);
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["session-closed"]);
    assert!(scene.effects.iter().any(|effect| matches!(
        effect,
        Effect::Close {
            connection: FIRST_CONNECTION,
            code: CloseCode::Superseded,
            ..
        }
    )));
    scene.answer(FIRST_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), []);
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    assert!(!scene.realm.is_empty());
    scene.answer(SECOND_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);
}

#[test]
fn reregistering_the_same_tools_after_reconnect_changes_no_list() {
    let mut scene = Harness::with_page();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.connect(SECOND_CONNECTION);
    scene.register(SECOND_CONNECTION, &["echo"]);
    assert!(!scene.tool_list_changed());
    scene.register(SECOND_CONNECTION, &["more"]);
    assert!(scene.tool_list_changed());
    let names: Vec<_> = scene
        .realm
        .published(Kind::Tool)
        .iter()
        .map(|tool| tool.name().to_owned())
        .collect();
    assert_eq!(names, ["echo", "more"]);
}

#[test]
fn tools_missing_after_reconnect_are_removed_on_registration() {
    let mut scene = Harness::with_page();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.connect(SECOND_CONNECTION);
    scene.register(SECOND_CONNECTION, &["other"]);
    assert!(scene.tool_list_changed());
    let names: Vec<_> = scene
        .realm
        .published(Kind::Tool)
        .iter()
        .map(|tool| tool.name().to_owned())
        .collect();
    assert_eq!(names, ["other"]);
}

#[test]
fn heartbeats_do_not_pile_up_in_a_page_that_does_not_answer() {
    let mut scene = Harness::with_page();
    scene.advance_to(20.0);
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["heartbeat"]);
    scene.advance_to(40.0);
    assert!(scene.sent_types(FIRST_CONNECTION).is_empty());
    scene.realm.heartbeat_answered(
        &TAB.into(),
        FIRST_CONNECTION,
        Heartbeat {
            sequence: 1,
            answers: 0,
        },
    );
    scene.advance_to(60.0);
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["heartbeat"]);
}
