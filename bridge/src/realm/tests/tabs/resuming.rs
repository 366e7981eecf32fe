//! What a page that comes back hears of its calls.

use super::*;

#[test]
fn a_page_that_comes_back_hears_which_of_its_calls_are_awaited() {
    let mut scene = Scene::with_page();
    for call in ["received", "answered", "lost", "cancelled"] {
        scene.call(call).unwrap();
    }
    for call in ["received", "answered", "cancelled"] {
        scene.realm.call_received(&TAB.into(), FIRST, &call.into());
    }
    scene.answer(FIRST, "answered");
    scene.end(FIRST, Parting::Broken);
    let cancelled = scene
        .realm
        .call_cancelled(&"cancelled".into(), "no", scene.now);
    scene.then(cancelled);
    let welcome = connect(&mut scene, 2, hello(TAB)).unwrap();
    assert_eq!(welcome.awaited, ["received".into()]);
    assert_eq!(scene.sent(SECOND), ["clients", "tool-call"]);
    assert_eq!(scene.realm.calls.len(), 2);
}

#[test]
fn a_call_that_is_sent_again_has_as_long_to_be_received_as_at_first() {
    let mut scene = Scene::with_page();
    scene.call("lost").unwrap();
    scene.after(2.0);
    scene.end(FIRST, Parting::Broken);
    scene.after(4.0);
    connect(&mut scene, 2, hello(TAB)).unwrap();
    assert_eq!(scene.sent(SECOND), ["clients", "tool-call"]);
    scene.after(8.9);
    assert_eq!(scene.realm.calls.len(), 1, "it may be on its way");
    scene.after(9.0);
    assert_eq!(scene.realm.calls.len(), 0);
}

#[test]
fn a_connection_that_the_page_has_given_up_takes_nothing_over_when_it_comes_late() {
    let written = |written_ms| PageHello {
        written_ms: Some(written_ms),
        ..page("tab", None)
    };
    let mut scene = Scene::new();
    connect(&mut scene, 1, written(100_000)).unwrap();
    let refusal = connect(&mut scene, 2, written(99_999)).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::SessionSuperseded);
    scene.realm.check_invariants();

    // Newer, as late as no line is, or after the other one broke: it is the page.
    connect(&mut scene, 3, written(100_001)).unwrap();
    assert_eq!(closes(&scene), [(1, CloseCode::Superseded)]);
    connect(&mut scene, 4, written(40_000)).unwrap();
    assert_eq!(closes(&scene), [(3, CloseCode::Superseded)]);
    let id = SessionId::from("tab");
    let (connection, now) = (ConnectionId(4), scene.now);
    let effects = scene
        .realm
        .connection_ended(&id, connection, Parting::Broken, now);
    scene.then(effects);
    connect(&mut scene, 5, written(39_999)).unwrap();
    assert_eq!(closes(&scene), []);
}

#[test]
fn another_document_begins_nothing_anew_that_the_former_may_have_begun() {
    for document in [None, Some("another".to_owned())] {
        let mut scene = Scene::with_page();
        scene.call("sent").unwrap();
        scene.call("received").unwrap();
        let received = "received".into();
        scene.realm.call_received(&TAB.into(), FIRST, &received);
        scene.end(FIRST, Parting::Broken);
        scene.call("held back").unwrap();
        let reloaded = PageHello {
            document,
            ..hello(TAB)
        };
        let welcome = connect(&mut scene, 2, reloaded).unwrap();
        let gone = Some(ErrorCode::PageGone);
        let ended = ["sent", "received"].map(|call| (call.to_owned(), gone));
        assert_eq!(scene.endings(), ended);
        assert_eq!(welcome.awaited, []);
        assert_eq!(scene.sent(SECOND), ["clients", "tool-call"]);
        scene.answer(SECOND, "held back");
        assert_eq!(scene.endings(), [("held back".to_owned(), None)]);
    }
}

#[test]
fn an_endless_document_id_is_not_kept_and_names_no_document() {
    let endless = || PageHello {
        document: Some("x".repeat(limits::MAX_SESSION_ID_BYTES + 1)),
        ..hello(TAB)
    };
    let mut scene = Scene::new();
    connect(&mut scene, 1, endless()).unwrap();
    scene.register(FIRST, &["echo"]);
    scene.call("c").unwrap();
    connect(&mut scene, 2, endless()).unwrap();
    let gone = Some(ErrorCode::PageGone);
    assert_eq!(scene.endings(), [("c".to_owned(), gone)]);
}

#[test]
fn heartbeats_count_the_answers_of_their_connection() {
    let answers = |scene: &Scene| {
        scene.effects.iter().find_map(|effect| match effect {
            Effect::Send {
                message: BridgeToPage::Heartbeat(heartbeat),
                ..
            } => Some(heartbeat.answers),
            _ => None,
        })
    };
    let mut scene = Scene::with_page();
    scene.call("c").unwrap();
    scene.answer(FIRST, "c");
    scene.answer(FIRST, "unknown");
    scene.after(20.0);
    assert_eq!(answers(&scene), Some(2));
    scene.connect(SECOND);
    scene.after(40.0);
    assert_eq!(answers(&scene), Some(0));
}
