//! A page that stood still does not run what is over.

use super::*;

/// A call that the bridge sent `ago_ms` ago, on its clock, which `authenticated` told.
fn sent(page: &TestPage, ago_ms: u64, call: &str) -> BridgeToPage<String> {
    let BridgeToPage::CallRequested(mut request) = tool_call(call, "echo") else {
        panic!();
    };
    request.sent_ms = Some(page.now_ms - ago_ms);
    BridgeToPage::CallRequested(request)
}

/// A page to which `c1` has come late.
fn page_with_doubt() -> TestPage {
    let mut page = TestPage::with_echo();
    page.wait(60_000);
    let call = sent(&page, 2_001, "c1");
    page.hear(call);
    assert_eq!(page.sent, [received("c1"), check(&["c1"])]);
    assert_eq!(page.started, []);
    page.forget();
    page
}

#[test]
fn what_comes_in_time_starts_at_once() {
    let mut page = TestPage::with_echo();
    page.wait(60_000);
    let call = sent(&page, 2_000, "c1");
    page.hear(call);
    assert_eq!(page.sent, [received("c1")]);
    assert_eq!(page.started, ids(&["c1"]));
}

#[test]
fn what_comes_late_starts_when_somebody_waits_for_it() {
    let mut page = page_with_doubt();
    let call = sent(&page, 10_000, "c2");
    page.hear(call);
    page.hear(alive(&["c1"], &["c2"]));
    assert_eq!(page.started, ids(&["c1"]));
    page.hear(alive(&["c1", "c2"], &[]));
    assert_eq!(
        page.started,
        ids(&["c1"]),
        "never twice, and never the other"
    );
    assert_eq!(page.endings(), [], "the app never heard of the other");
    page.finish("c1", returned("1"));
    assert_eq!(page.sent.last(), Some(&response("c1", "1")));
}

#[test]
fn what_was_on_its_way_to_a_frozen_page_is_doubtful_however_soon_it_goes_on() {
    let mut page = TestPage::with_echo();
    page.wait(60_000);
    page.tell(|page| page.froze());
    page.tell(|page| page.sight_changed(Sight::default()));
    page.wait(10);
    let call = sent(&page, 5, "c1");
    page.hear(call);
    assert_eq!(page.started, [], "`frozen` may be on its way still");
    page.hear(alive(&["c1"], &[]));
    let call = sent(&page, 5, "c2");
    page.hear(call);
    assert_eq!(page.started, ids(&["c1", "c2"]));
}

#[test]
fn a_cancelled_doubt_is_forgotten() {
    let mut page = page_with_doubt();
    page.hear(cancel("c1"));
    page.hear(alive(&["c1"], &[]));
    assert_eq!(page.all, []);
}

#[test]
fn an_answer_that_waited_itself_proves_nothing() {
    let mut page = page_with_doubt();
    page.wait(2_001);
    page.hear(alive(&["c1"], &[]));
    assert_eq!(page.started, []);
    assert_eq!(page.sent, [check(&["c1"])]);
    page.wait(4_000);
    page.hear(alive(&["c1"], &[]));
    assert_eq!(
        page.started,
        ids(&["c1"]),
        "a slow line gets twice the time"
    );
}

#[test]
fn after_a_break_the_page_asks_again() {
    for awaited in [&["c1"][..], &[]] {
        let mut page = page_with_doubt();
        page.break_and_retry();
        page.forget();
        page.accept_with(awaiting(awaited));
        assert!(page.sent.contains(&check(&["c1"])));
        assert_eq!(page.started, []);
        page.hear(alive(&["c1"], &[]));
        page.hear(alive(&["c1"], &[]));
        assert_eq!(page.started, ids(&["c1"]), "exactly once");
    }
}

#[test]
fn a_doubt_whose_receipt_was_lost_is_looked_at_anew() {
    let mut page = page_with_doubt();
    page.break_and_retry();
    page.accept("b-1");
    page.forget();
    let call = sent(&page, 0, "c1");
    page.hear(call);
    page.hear(alive(&["c1"], &[]));
    assert_eq!(page.sent, [received("c1")]);
    assert_eq!(page.started, ids(&["c1"]));
}

#[test]
fn another_bridge_ends_every_doubt() {
    let mut page = page_with_doubt();
    page.break_and_retry();
    page.accept("b-2");
    page.forget();
    page.hear(alive(&["c1"], &[]));
    assert_eq!(page.all, []);
}

#[test]
fn a_welcome_that_waited_does_not_make_late_calls_seem_in_time() {
    let mut page = TestPage::with_echo();
    page.break_and_retry();
    page.open();
    let call = sent(&page, 0, "c1");
    page.wait(3_600_000);
    page.hear(authenticated_at(page.now_ms - 3_600_000));
    page.hear(call);
    assert_eq!(page.started, []);
    assert!(page.sent.contains(&check(&["c1"])));
}

/// The bridge's clock said so when it accepted the page.
fn authenticated_at(ms: u64) -> BridgeToPage<String> {
    let mut welcome = authenticated("b-1");
    if let BridgeToPage::Authenticated { now_ms, .. } = &mut welcome {
        *now_ms = ms;
    }
    welcome
}

#[test]
fn clocks_that_differ_do_no_harm() {
    for bridge_ms in [0, NOW_MS - 86_400_000, NOW_MS + 86_400_000] {
        let mut page = TestPage::with_echo();
        page.break_and_retry();
        page.open();
        page.hear(authenticated_at(bridge_ms));
        page.flush();
        page.forget();
        page.wait(10_000);
        let mut call = sent(&page, 0, "c1");
        if let BridgeToPage::CallRequested(request) = &mut call {
            request.sent_ms = Some(bridge_ms + 9_000);
        }
        page.hear(call);
        assert_eq!(page.started, ids(&["c1"]));
    }
}
