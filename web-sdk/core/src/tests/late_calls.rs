//! A page that was suspended does not run calls that have ended.

use bridge_protocol::limits::MAX_BUFFERED_BYTES;

use super::*;

/// Returns a call that the bridge sent `ago_ms` ago, on the clock of `authenticated`.
fn call_sent_ago(page: &TestPage, ago_ms: u64, call: &str) -> BridgeToPage<String> {
    let BridgeToPage::CallRequested(mut request) = tool_call(call, "echo") else {
        panic!();
    };
    request.sent_ms = Some(page.now_ms - ago_ms);
    BridgeToPage::CallRequested(request)
}

/// Creates a page that has received the late call `c1`.
fn page_with_late_call() -> TestPage {
    let mut page = TestPage::with_echo();
    page.pass_time(60_000);
    let call = call_sent_ago(&page, 2_001, "c1");
    page.receive(call);
    assert_eq!(page.sent, [call_received("c1"), calls_check(&["c1"])]);
    assert_eq!(page.started, []);
    page.clear();
    page
}

#[test]
fn a_call_in_time_starts_at_once() {
    let mut page = TestPage::with_echo();
    page.pass_time(60_000);
    let call = call_sent_ago(&page, 2_000, "c1");
    page.receive(call);
    assert_eq!(page.sent, [call_received("c1")]);
    assert_eq!(page.started, call_ids(&["c1"]));
}

#[test]
fn a_late_call_starts_once_confirmed_alive() {
    let mut page = page_with_late_call();
    let call = call_sent_ago(&page, 10_000, "c2");
    page.receive(call);
    page.receive(calls_alive(&["c1"], &["c2"]));
    assert_eq!(page.started, call_ids(&["c1"]));
    page.receive(calls_alive(&["c1", "c2"], &[]));
    assert_eq!(
        page.started,
        call_ids(&["c1"]),
        "c1 does not start twice, and c2 not at all"
    );
    assert_eq!(page.call_outcomes(), [], "the app gets no report of c2");
    page.finish("c1", returned("1"));
    assert_eq!(page.sent.last(), Some(&response("c1", "1")));
}

#[test]
fn calls_sent_to_a_frozen_page_are_checked_however_short_the_freeze() {
    let mut page = TestPage::with_echo();
    page.pass_time(60_000);
    page.dispatch(|page| page.froze());
    page.dispatch(|page| page.visibility_changed(PageVisibility::default()));
    page.pass_time(10);
    let call = call_sent_ago(&page, 5, "c1");
    page.receive(call);
    assert_eq!(
        page.started,
        [],
        "the bridge may not have received `frozen`"
    );
    page.receive(calls_alive(&["c1"], &[]));
    let call = call_sent_ago(&page, 5, "c2");
    page.receive(call);
    assert_eq!(page.started, call_ids(&["c1", "c2"]));
}

#[test]
fn a_cancelled_late_call_is_forgotten() {
    let mut page = page_with_late_call();
    page.receive(cancel("c1"));
    page.receive(calls_alive(&["c1"], &[]));
    assert_eq!(page.effects, []);
}

#[test]
fn a_delayed_calls_alive_is_requested_again() {
    let mut page = page_with_late_call();
    page.pass_time(2_001);
    page.receive(calls_alive(&["c1"], &[]));
    assert_eq!(page.started, []);
    assert_eq!(page.sent, [calls_check(&["c1"])]);
    page.pass_time(4_000);
    page.receive(calls_alive(&["c1"], &[]));
    assert_eq!(
        page.started,
        call_ids(&["c1"]),
        "the second answer may take twice the time"
    );
}

#[test]
fn late_calls_are_checked_again_after_a_reconnect() {
    for awaited in [&["c1"][..], &[]] {
        let mut page = page_with_late_call();
        page.break_and_retry();
        page.clear();
        page.accept_with(authenticated_awaiting(awaited));
        assert!(page.sent.contains(&calls_check(&["c1"])));
        assert_eq!(page.started, []);
        page.receive(calls_alive(&["c1"], &[]));
        page.receive(calls_alive(&["c1"], &[]));
        assert_eq!(page.started, call_ids(&["c1"]), "exactly once");
    }
}

#[test]
fn a_resent_late_call_starts_if_it_comes_in_time() {
    let mut page = page_with_late_call();
    page.break_and_retry();
    page.accept("b-1");
    page.clear();
    let call = call_sent_ago(&page, 0, "c1");
    page.receive(call);
    page.receive(calls_alive(&["c1"], &[]));
    assert_eq!(page.sent, [call_received("c1")]);
    assert_eq!(page.started, call_ids(&["c1"]));
}

#[test]
fn a_restarted_bridge_drops_all_late_calls() {
    let mut page = page_with_late_call();
    page.break_and_retry();
    page.accept("b-2");
    page.clear();
    page.receive(calls_alive(&["c1"], &[]));
    assert_eq!(page.effects, []);
}

#[test]
fn a_delayed_authenticated_does_not_hide_late_calls() {
    let mut page = TestPage::with_echo();
    page.break_and_retry();
    page.open();
    let call = call_sent_ago(&page, 0, "c1");
    page.pass_time(3_600_000);
    page.receive(authenticated_at(page.now_ms - 3_600_000));
    page.receive(call);
    assert_eq!(page.started, []);
    assert!(page.sent.contains(&calls_check(&["c1"])));
}

/// Returns an `authenticated` with this time on the bridge's clock.
fn authenticated_at(ms: u64) -> BridgeToPage<String> {
    let mut message = authenticated("b-1");
    if let BridgeToPage::Authenticated { now_ms, .. } = &mut message {
        *now_ms = ms;
    }
    message
}

#[test]
fn clock_skew_is_compensated() {
    for bridge_ms in [0, NOW_MS - 86_400_000, NOW_MS + 86_400_000] {
        let mut page = TestPage::with_echo();
        page.break_and_retry();
        page.open();
        page.receive(authenticated_at(bridge_ms));
        page.flush();
        page.clear();
        page.pass_time(10_000);
        let mut call = call_sent_ago(&page, 0, "c1");
        if let BridgeToPage::CallRequested(request) = &mut call {
            request.sent_ms = Some(bridge_ms + 9_000);
        }
        page.receive(call);
        assert_eq!(page.started, call_ids(&["c1"]));
    }
}

#[test]
fn a_call_that_becomes_late_before_its_handler_starts_is_checked() {
    let mut page = TestPage::with_echo();
    page.pass_time(60_000);
    // The page is suspended after it has sent the acknowledgement.
    page.start_delay_ms = 2_000;
    let call = call_sent_ago(&page, 1, "c1");
    page.receive(call);
    assert_eq!(page.sent, [call_received("c1"), calls_check(&["c1"])]);
    assert_eq!(page.started, []);
    page.pass_time(2_000);
    page.receive(calls_alive(&["c1"], &[]));
    assert_eq!(page.started, call_ids(&["c1"]));
    page.finish("c1", returned("1"));
    assert_eq!(page.sent.last(), Some(&response("c1", "1")));
}

#[test]
fn a_call_that_arrives_while_much_is_buffered_is_checked() {
    let mut page = TestPage::with_echo();
    page.pass_time(60_000);
    page.dispatch(|page| page.set_buffered(MAX_BUFFERED_BYTES));
    let call = call_sent_ago(&page, 5, "c1");
    page.receive(call);
    assert_eq!(page.started, call_ids(&["c1"]));
    page.dispatch(|page| page.set_buffered(MAX_BUFFERED_BYTES + 1));
    let call = call_sent_ago(&page, 5, "c2");
    page.receive(call);
    assert_eq!(page.started, call_ids(&["c1"]));
    page.receive(calls_alive(&["c2"], &[]));
    assert_eq!(page.started, call_ids(&["c1", "c2"]));
}

#[test]
fn an_answer_to_a_check_before_the_freeze_does_not_confirm_the_freeze() {
    let mut page = page_with_late_call();
    page.dispatch(|page| page.froze());
    page.dispatch(|page| page.visibility_changed(PageVisibility::default()));
    page.receive(calls_alive_to(1, &["c1"], &[]));
    let call = call_sent_ago(&page, 5, "c2");
    page.receive(call);
    assert_eq!(
        page.started,
        call_ids(&["c1"]),
        "the bridge may have sent `c2` before it received `frozen`"
    );
    page.receive(calls_alive(&["c2"], &[]));
    let call = call_sent_ago(&page, 5, "c3");
    page.receive(call);
    assert_eq!(page.started, call_ids(&["c1", "c2", "c3"]));
}

#[test]
fn a_late_answer_does_not_count_for_the_repeated_check() {
    let mut page = page_with_late_call();
    page.pass_time(2_001);
    page.receive(calls_alive_to(1, &["c1"], &[]));
    page.receive(calls_alive_to(1, &["c1"], &[]));
    assert_eq!(page.sent, [calls_check(&["c1"])]);
    assert_eq!(page.started, []);
    page.receive(calls_alive_to(2, &["c1"], &[]));
    assert_eq!(page.started, call_ids(&["c1"]));
}
