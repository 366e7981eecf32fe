//! Pages that the browser has suspended, and pages that are busy.

use bridge_protocol::CallsCheck;

use super::*;

#[test]
fn a_frozen_page_is_not_called_until_it_sends_again() {
    let mut scene = Harness::with_page();
    scene.call("taken").unwrap();
    scene
        .realm
        .call_received(&TAB.into(), FIRST_CONNECTION, &"taken".into());
    scene.call("waiting").unwrap();
    let id = TAB.into();
    let effects =
        scene
            .realm
            .page_state_changed(&id, FIRST_CONNECTION, page_state(false, true), scene.now);
    scene.apply(effects);
    let suspended = Some(ErrorCode::PageSuspended);
    assert_eq!(scene.call_outcomes(), [("waiting".to_owned(), suspended)]);
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["call-cancel"]);
    let refused = scene.call("later").unwrap_err();
    assert_eq!(refused.code, ErrorCode::PageSuspended);
    assert!(refused.message.contains("front"), "{}", refused.message);
    assert_eq!(summary_json(&scene)["suspended"], true);
    scene.realm.page_message_received(&id, FIRST_CONNECTION);
    scene.call("again").unwrap();
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["tool-call"]);
    assert_eq!(summary_json(&scene).get("suspended"), None);
}

fn summary_json(scene: &Harness) -> serde_json::Value {
    serde_json::to_value(&scene.realm.session_summaries()[0]).unwrap()
}

#[test]
fn a_page_with_a_running_call_is_busy_rather_than_suspended() {
    let mut scene = Harness::with_page();
    scene.call("long").unwrap();
    scene
        .realm
        .call_received(&TAB.into(), FIRST_CONNECTION, &"long".into());
    scene.advance_to(1.0);
    scene.call("c").unwrap();
    scene.advance_to(6.0);
    assert_eq!(
        scene.call_outcomes(),
        [("c".to_owned(), Some(ErrorCode::PageBusy))]
    );
    assert_eq!(summary_json(&scene)["suspended"], true);
    scene.answer(FIRST_CONNECTION, "long");
    assert_eq!(scene.call_outcomes(), [("long".to_owned(), None)]);
}

#[test]
fn a_page_that_sends_something_large_is_not_suspended() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    scene.advance_to(4.0);
    scene
        .realm
        .part_arrived(&TAB.into(), FIRST_CONNECTION, scene.now);
    scene.advance_to(8.9);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(9.0);
    let suspended = Some(ErrorCode::PageSuspended);
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), suspended)]);
}

#[test]
fn a_resumed_page_is_sent_which_calls_have_ended() {
    let mut scene = Harness::with_page();
    scene.call("over").unwrap();
    scene.advance_to(4.0);
    scene.call("alive").unwrap();
    scene.advance_to(5.0);
    let asked = CallsCheck {
        check: 7,
        request_ids: vec!["over".into(), "alive".into(), "never".into()],
    };
    let effects = scene
        .realm
        .calls_checked(&TAB.into(), FIRST_CONNECTION, asked.clone());
    scene.apply(effects);
    assert!(matches!(
        &scene.effects[..],
        [Effect::Send { message: BridgeToPage::CallsAlive(alive), .. }]
            if alive.check == 7
                && alive.request_ids == ["alive".into()] && alive.ended == ["over".into(), "never".into()]
    ));
    let foreign = scene
        .realm
        .calls_checked(&"other".into(), FIRST_CONNECTION, asked);
    assert!(foreign.is_empty());
}
