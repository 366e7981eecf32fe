//! The calls that a page is sent when it reconnects.

use super::*;

#[test]
fn a_reconnected_page_is_sent_its_awaited_calls() {
    let mut scene = Harness::with_page();
    for call in ["received", "answered", "lost", "cancelled"] {
        scene.call(call).unwrap();
    }
    for call in ["received", "answered", "cancelled"] {
        scene
            .realm
            .call_received(&TAB.into(), FIRST_CONNECTION, &call.into());
    }
    scene.answer(FIRST_CONNECTION, "answered");
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    let cancelled = scene
        .realm
        .call_cancelled(&"cancelled".into(), "no", scene.now);
    scene.apply(cancelled);
    let welcome = try_connect(&mut scene, 2, page_hello(TAB)).unwrap();
    assert_eq!(welcome.awaited, ["received".into()]);
    assert_eq!(
        scene.sent_types(SECOND_CONNECTION),
        ["clients", "tool-call"]
    );
    assert_eq!(scene.realm.calls.len(), 2);
}

#[test]
fn a_resent_call_has_the_full_receipt_timeout() {
    let mut scene = Harness::with_page();
    scene.call("lost").unwrap();
    scene.advance_to(2.0);
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.advance_to(4.0);
    try_connect(&mut scene, 2, page_hello(TAB)).unwrap();
    assert_eq!(
        scene.sent_types(SECOND_CONNECTION),
        ["clients", "tool-call"]
    );
    scene.advance_to(8.9);
    assert_eq!(scene.realm.calls.len(), 1, "the receipt may still arrive");
    scene.advance_to(9.0);
    assert_eq!(scene.realm.calls.len(), 0);
}

#[test]
fn a_stale_connection_that_arrives_late_is_rejected() {
    let written = |written_ms| PageHello {
        written_ms: Some(written_ms),
        ..app_page("tab", None)
    };
    let mut scene = Harness::new();
    try_connect(&mut scene, 1, written(100_000)).unwrap();
    let refusal = try_connect(&mut scene, 2, written(99_999)).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::SessionSuperseded);
    scene.realm.check_invariants();

    // The page is accepted if its hello is newer, older than the window for late hellos, or if the
    // current connection is lost.
    try_connect(&mut scene, 3, written(100_001)).unwrap();
    assert_eq!(close_codes(&scene), [(1, CloseCode::Superseded)]);
    try_connect(&mut scene, 4, written(40_000)).unwrap();
    assert_eq!(close_codes(&scene), [(3, CloseCode::Superseded)]);
    let id = SessionId::from("tab");
    let (connection, now) = (ConnectionId(4), scene.now);
    let effects = scene
        .realm
        .connection_ended(&id, connection, Disconnect::ConnectionLost, now);
    scene.apply(effects);
    try_connect(&mut scene, 5, written(39_999)).unwrap();
    assert_eq!(close_codes(&scene), []);
}

#[test]
fn a_new_document_does_not_repeat_calls_of_the_former_one() {
    for document in [None, Some("another".to_owned())] {
        let mut scene = Harness::with_page();
        scene.call("sent").unwrap();
        scene.call("received").unwrap();
        let received = "received".into();
        scene
            .realm
            .call_received(&TAB.into(), FIRST_CONNECTION, &received);
        scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
        scene.call("held back").unwrap();
        let reloaded = PageHello {
            document,
            ..page_hello(TAB)
        };
        let welcome = try_connect(&mut scene, 2, reloaded).unwrap();
        let gone = Some(ErrorCode::PageGone);
        let ended = ["sent", "received"].map(|call| (call.to_owned(), gone));
        assert_eq!(scene.call_outcomes(), ended);
        assert_eq!(welcome.awaited, []);
        assert_eq!(
            scene.sent_types(SECOND_CONNECTION),
            ["clients", "tool-call"]
        );
        scene.answer(SECOND_CONNECTION, "held back");
        assert_eq!(scene.call_outcomes(), [("held back".to_owned(), None)]);
    }
}

#[test]
fn a_too_long_document_id_is_dropped() {
    let endless = || PageHello {
        document: Some("x".repeat(limits::MAX_SESSION_ID_BYTES + 1)),
        ..page_hello(TAB)
    };
    let mut scene = Harness::new();
    try_connect(&mut scene, 1, endless()).unwrap();
    scene.register(FIRST_CONNECTION, &["echo"]);
    scene.call("c").unwrap();
    try_connect(&mut scene, 2, endless()).unwrap();
    let gone = Some(ErrorCode::PageGone);
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), gone)]);
}

#[test]
fn heartbeats_count_the_answers_of_their_connection() {
    let answers = |scene: &Harness| {
        scene.effects.iter().find_map(|effect| match effect {
            Effect::Send {
                message: BridgeToPage::Heartbeat(heartbeat),
                ..
            } => Some(heartbeat.answers),
            _ => None,
        })
    };
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    scene.answer(FIRST_CONNECTION, "c");
    scene.answer(FIRST_CONNECTION, "unknown");
    scene.advance_to(20.0);
    assert_eq!(answers(&scene), Some(2));
    scene.connect(SECOND_CONNECTION);
    scene.advance_to(40.0);
    assert_eq!(answers(&scene), Some(0));
}
