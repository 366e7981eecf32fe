//! Pages whose connections break, and that come back or do not.

use super::*;

#[test]
fn a_page_whose_connection_broke_keeps_tools_and_calls_for_the_grace() {
    let mut scene = Scene::with_page();
    scene.call("c").unwrap();
    scene.realm.call_received(&TAB.into(), FIRST, &"c".into());
    scene.end(FIRST, Parting::Broken);
    assert_eq!(scene.endings(), []);
    assert_eq!(scene.realm.published(Kind::Tool).len(), 1);
    scene.after(4.0);
    scene.connect(SECOND);
    scene.answer(SECOND, "c");
    assert_eq!(scene.endings(), [("c".to_owned(), None)]);
}

#[test]
fn a_page_that_does_not_come_back_ends_with_the_grace() {
    let mut scene = Scene::with_page();
    scene.call("c").unwrap();
    scene.realm.call_received(&TAB.into(), FIRST, &"c".into());
    scene.end(FIRST, Parting::Broken);
    scene.after(5.0);
    assert_eq!(
        scene.endings(),
        [("c".to_owned(), Some(ErrorCode::PageGone))]
    );
    assert!(scene.realm.is_only_remembered());
}

#[test]
fn a_call_made_while_the_page_is_away_is_sent_when_it_is_back() {
    let mut scene = Scene::with_page();
    scene.end(FIRST, Parting::Broken);
    scene.call("c").unwrap();
    assert!(scene.effects.is_empty());
    scene.connect(SECOND);
    assert_eq!(scene.sent(SECOND), ["clients", "tool-call"]);
}

#[test]
fn a_newer_connection_takes_over_and_the_older_changes_nothing() {
    let mut scene = Scene::with_page();
    scene.call("c").unwrap();
    scene.connect(SECOND);
    assert_eq!(scene.sent(FIRST), ["session-closed"]);
    assert!(scene.effects.iter().any(|effect| matches!(
        effect,
        Effect::Close {
            connection: FIRST,
            code: CloseCode::Superseded,
            ..
        }
    )));
    scene.answer(FIRST, "c");
    assert_eq!(scene.endings(), []);
    scene.end(FIRST, Parting::Gone);
    assert!(!scene.realm.is_empty());
    scene.answer(SECOND, "c");
    assert_eq!(scene.endings(), [("c".to_owned(), None)]);
}

#[test]
fn a_page_that_is_back_with_the_same_tools_changes_no_list() {
    let mut scene = Scene::with_page();
    scene.end(FIRST, Parting::Broken);
    scene.connect(SECOND);
    scene.register(SECOND, &["echo"]);
    assert!(!scene.tools_changed());
    scene.register(SECOND, &["more"]);
    assert!(scene.tools_changed());
    let names: Vec<_> = scene
        .realm
        .published(Kind::Tool)
        .iter()
        .map(|tool| tool.name().to_owned())
        .collect();
    assert_eq!(names, ["echo", "more"]);
}

#[test]
fn tools_that_a_page_lost_while_away_are_gone_after_its_registration() {
    let mut scene = Scene::with_page();
    scene.end(FIRST, Parting::Broken);
    scene.connect(SECOND);
    scene.register(SECOND, &["other"]);
    assert!(scene.tools_changed());
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
    let mut scene = Scene::with_page();
    scene.after(20.0);
    assert_eq!(scene.sent(FIRST), ["heartbeat"]);
    scene.after(40.0);
    assert!(scene.sent(FIRST).is_empty());
    scene.realm.heartbeat_answered(
        &TAB.into(),
        FIRST,
        Heartbeat {
            sequence: 1,
            answers: 0,
        },
    );
    scene.after(60.0);
    assert_eq!(scene.sent(FIRST), ["heartbeat"]);
}
