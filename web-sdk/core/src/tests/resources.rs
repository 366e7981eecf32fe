//! Subscriptions to resources, and changes of their content.

use super::*;
use crate::resource_updates::MAX_PENDING;

fn updated(uri: &str) -> Message {
    PageToBridge::ResourceUpdated { uri: uri.into() }
}

fn update(page: &mut TestPage, uri: &str) {
    page.dispatch(|page| page.resource_updated(uri.into()));
}

fn sent_updates(page: &TestPage) -> Vec<Message> {
    let is_update = |message: &&Message| matches!(message, PageToBridge::ResourceUpdated { .. });
    page.sent.iter().filter(is_update).cloned().collect()
}

fn reported_subscriptions(page: &TestPage) -> Vec<Option<String>> {
    let subscriptions = |report: &Report<String>| match report {
        Report::Subscriptions(uris) => Some(uris.clone()),
        _ => None,
    };
    page.reports.iter().filter_map(subscriptions).collect()
}

#[test]
fn changes_in_one_task_are_coalesced() {
    let mut page = TestPage::connected();
    update(&mut page, "a:1");
    update(&mut page, "a:2");
    update(&mut page, "a:1");
    assert_eq!(page.sent, []);
    page.flush();
    assert_eq!(page.sent, [updated("a:1"), updated("a:2")]);
    page.flush();
    assert_eq!(page.sent.len(), 2);
}

#[test]
fn a_resource_is_registered_before_it_changes() {
    let mut page = TestPage::connected();
    update(&mut page, "a:1");
    page.add(1, Kind::Resource, "a:1");
    page.flush();
    assert!(matches!(page.sent[0], PageToBridge::Register { .. }));
    assert_eq!(page.sent[1], updated("a:1"));
}

#[test]
fn offline_changes_are_sent_to_the_same_bridge_only() {
    for (bridge, count) in [("b-1", 1), ("b-2", 0)] {
        let mut page = TestPage::connected();
        page.close(1006);
        update(&mut page, "a:1");
        update(&mut page, "a:1");
        page.dispatch(|page| page.timer_fired(0.0));
        page.accept(bridge);
        assert_eq!(sent_updates(&page).len(), count, "{bridge}");
    }
}

#[test]
fn without_a_connection_the_newest_changes_are_remembered() {
    let mut page = TestPage::connected();
    page.close(1006);
    for number in 0..=MAX_PENDING {
        update(&mut page, &format!("a:{number}"));
    }
    page.dispatch(|page| page.timer_fired(0.0));
    page.accept("b-1");
    let updates = sent_updates(&page);
    assert_eq!(updates.len(), MAX_PENDING);
    assert_eq!(updates[0], updated("a:1"));
}

#[test]
fn subscriptions_survive_a_reconnect_but_not_another_bridge_or_a_disconnect() {
    let list = || BridgeToPage::Subscriptions("[uris]".to_owned());
    let mut page = TestPage::connected();
    page.receive(list());
    assert_eq!(reported_subscriptions(&page), [Some("[uris]".into())]);
    page.clear();
    page.break_and_retry();
    page.accept("b-1");
    assert_eq!(reported_subscriptions(&page), []);
    page.break_and_retry();
    page.accept("b-2");
    assert_eq!(reported_subscriptions(&page), [None]);
    page.receive(list());
    page.clear();
    page.dispatch(|page| page.disconnect());
    assert_eq!(reported_subscriptions(&page), [None]);
}
