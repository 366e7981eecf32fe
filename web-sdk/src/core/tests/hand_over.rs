//! Hand-over: a page names the calls with which the next document goes on.

use super::*;

fn arm(call: &str, state: Option<&str>) -> Message {
    PageToBridge::CallHandOver {
        call: CallId::from(call),
        state: state.map(str::to_owned),
    }
}

impl TestPage {
    fn hand_over(&mut self, call: &str, state: Option<&str>) {
        let state = state.map(str::to_owned);
        self.dispatch(|page| page.hand_over_requested(CallId::from(call), state));
    }

    /// A page that runs the calls `c1` and `c2` of `echo`, with no recorded effects.
    fn with_two_calls() -> Self {
        let mut page = Self::with_echo();
        page.receive(tool_call("c1", "echo"));
        page.receive(tool_call("c2", "echo"));
        page.clear();
        page
    }
}

#[test]
fn a_page_that_is_left_names_the_armed_calls() {
    let mut page = TestPage::with_two_calls();
    page.hand_over("c1", Some("1"));
    page.hand_over("c2", Some("2"));
    page.hand_over("c1", Some("3"));
    page.hand_over("c2", None);
    let states = [
        arm("c1", Some("1")),
        arm("c2", Some("2")),
        arm("c1", Some("3")),
        arm("c2", None),
    ];
    assert_eq!(page.sent, states);
    page.clear();
    page.dispatch(|page| page.leaving());
    assert_eq!(page.sent, [leaving(&["c1"])]);
}

#[test]
fn a_call_that_has_ended_is_not_armed() {
    let mut page = TestPage::with_two_calls();
    page.hand_over("c1", Some("1"));
    page.finish("c1", returned("1"));
    page.clear();
    page.hand_over("c1", Some("2"));
    page.hand_over("unknown", Some("2"));
    page.dispatch(|page| page.leaving());
    assert_eq!(page.sent, [leaving(&[])]);
}

#[test]
fn a_call_is_acknowledged_before_it_is_armed() {
    let mut page = TestPage::connected();
    page.add_repeatable_tool(1, "read");
    page.flush();
    for number in 0..3 {
        let call = format!("p{number}");
        page.receive(tool_call(&call, "read"));
        page.finish(&call, returned("1"));
        page.end_task();
    }
    page.clear();
    page.receive(tool_call("c1", "read"));
    assert_eq!(page.sent, []);
    page.hand_over("c1", Some("1"));
    assert_eq!(page.sent, [call_received("c1"), arm("c1", Some("1"))]);
}

#[test]
fn the_latest_state_is_sent_again_on_the_next_connection() {
    let mut page = TestPage::with_two_calls();
    page.hand_over("c1", Some("1"));
    page.hand_over("c2", Some("2"));
    page.close(1006);
    page.clear();
    page.hand_over("c1", Some("3"));
    page.hand_over("c2", None);
    assert_eq!(page.sent, []);
    page.timer_fires(0.5);
    page.accept_with(authenticated_awaiting(&["c1", "c2"]));
    assert_eq!(page.sent[1..3], [arm("c1", Some("3")), arm("c2", None)]);
    page.clear();
    page.dispatch(|page| page.leaving());
    assert_eq!(page.sent, [leaving(&["c1"])]);
}

#[test]
fn a_page_that_comes_back_from_the_bfcache_continues_its_own_call() {
    let mut page = TestPage::with_two_calls();
    page.hand_over("c1", Some("1"));
    page.clear();
    page.dispatch(|page| page.entered_bfcache(0.5));
    assert_eq!(page.sent, [leaving(&["c1"])]);
    assert_eq!(page.call_outcomes().len(), 2, "both handlers are cancelled");
    page.clear();
    page.dispatch(|page| page.resumed());
    page.accept("b-1");
    page.clear();
    // What the former handlers return is dropped.
    page.finish("c1", returned("1"));
    page.finish("c2", returned("1"));
    assert_eq!(page.sent, []);
    page.receive(tool_call("c1", "echo"));
    assert_eq!(page.started, call_ids(&["c1"]));
    // The bridge has missed the receipt, and sends the call again: it runs once.
    page.receive(tool_call("c1", "echo"));
    assert_eq!(page.started, call_ids(&["c1"]));
    page.finish("c1", returned("2"));
    assert_eq!(page.sent.last(), Some(&response("c1", "2")));
}

#[test]
fn a_call_that_the_bridge_has_handed_over_comes_back_to_a_page_that_was_cut_off() {
    let mut page = TestPage::with_two_calls();
    page.hand_over("c1", Some("1"));
    page.close(1006);
    // Another document of the session was connected meanwhile.
    page.timer_fires(0.5);
    page.accept("b-1");
    page.clear();
    page.receive(calls_alive(&[], &["c1", "c2"]));
    assert_eq!(page.call_outcomes().len(), 2);
    page.receive(tool_call("c1", "echo"));
    assert_eq!(page.started, call_ids(&["c1"]));
    page.receive(tool_call("c2", "echo"));
    assert_eq!(page.started, call_ids(&["c1"]), "c2 was not armed");
}
