//! Pages that the browser lets stand still, and pages that are busy.

use super::*;

#[test]
fn a_frozen_page_is_not_called_until_it_is_heard_again() {
    let mut scene = Scene::with_page();
    scene.call("taken").unwrap();
    scene
        .realm
        .call_received(&TAB.into(), FIRST, &"taken".into());
    scene.call("waiting").unwrap();
    let id = TAB.into();
    let effects = scene
        .realm
        .page_state_changed(&id, FIRST, state(false, true), scene.now);
    scene.then(effects);
    let suspended = Some(ErrorCode::PageSuspended);
    assert_eq!(scene.endings(), [("waiting".to_owned(), suspended)]);
    assert_eq!(scene.sent(FIRST), ["call-cancel"]);
    let refused = scene.call("later").unwrap_err();
    assert_eq!(refused.code, ErrorCode::PageSuspended);
    assert!(refused.message.contains("front"), "{}", refused.message);
    assert_eq!(shown(&scene)["suspended"], true);
    scene.realm.page_heard(&id, FIRST);
    scene.call("again").unwrap();
    assert_eq!(scene.sent(FIRST), ["tool-call"]);
    assert_eq!(shown(&scene).get("suspended"), None);
}

fn shown(scene: &Scene) -> serde_json::Value {
    serde_json::to_value(&scene.realm.sessions()[0]).unwrap()
}

#[test]
fn a_page_with_a_call_in_hand_is_busy_rather_than_suspended() {
    let mut scene = Scene::with_page();
    scene.call("long").unwrap();
    scene
        .realm
        .call_received(&TAB.into(), FIRST, &"long".into());
    scene.after(1.0);
    scene.call("c").unwrap();
    scene.after(6.0);
    assert_eq!(
        scene.endings(),
        [("c".to_owned(), Some(ErrorCode::PageBusy))]
    );
    assert_eq!(shown(&scene)["suspended"], true);
    scene.answer(FIRST, "long");
    assert_eq!(scene.endings(), [("long".to_owned(), None)]);
}

#[test]
fn a_page_that_sends_something_large_is_not_suspended() {
    let mut scene = Scene::with_page();
    scene.call("c").unwrap();
    scene.after(4.0);
    scene.realm.part_arrived(&TAB.into(), FIRST, scene.now);
    scene.after(8.9);
    assert_eq!(scene.endings(), []);
    scene.after(9.0);
    let suspended = Some(ErrorCode::PageSuspended);
    assert_eq!(scene.endings(), [("c".to_owned(), suspended)]);
}

#[test]
fn a_page_that_stood_still_hears_which_calls_are_over() {
    let mut scene = Scene::with_page();
    scene.call("over").unwrap();
    scene.after(4.0);
    scene.call("alive").unwrap();
    scene.after(5.0);
    let asked = vec!["over".into(), "alive".into(), "never".into()];
    let effects = scene.realm.calls_checked(&TAB.into(), FIRST, asked.clone());
    scene.then(effects);
    assert!(matches!(
        &scene.effects[..],
        [Effect::Send { message: BridgeToPage::CallsAlive(alive), .. }]
            if alive.request_ids == ["alive".into()] && alive.ended == ["over".into(), "never".into()]
    ));
    let foreign = scene.realm.calls_checked(&"other".into(), FIRST, asked);
    assert!(foreign.is_empty());
}
