//! Hand-over: a page names the calls that the next document continues.

use super::*;

fn hand_over(call: &str, state: &str) -> Message {
    PageToBridge::CallHandOver {
        call: CallId::from(call),
        state: state.to_owned(),
    }
}

impl TestPage {
    fn arm(&mut self, call: &str, state: &str) {
        let call = CallId::from(call);
        self.dispatch(|page| page.hand_over_requested(call, state.to_owned(), true));
    }

    fn disarm(&mut self, call: &str) {
        let call = CallId::from(call);
        self.dispatch(|page| page.hand_over_requested(call, "null".to_owned(), false));
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
    page.arm("c1", "1");
    page.arm("c2", "2");
    page.arm("c1", "3");
    page.disarm("c2");
    let states = [
        hand_over("c1", "1"),
        hand_over("c2", "2"),
        hand_over("c1", "3"),
        hand_over("c2", "null"),
    ];
    assert_eq!(page.sent, states);
    page.clear();
    page.dispatch(|page| page.leaving());
    assert_eq!(page.sent, [leaving(&["c1"])]);
}

#[test]
fn a_call_that_has_ended_is_not_armed() {
    let mut page = TestPage::with_two_calls();
    page.arm("c1", "1");
    page.finish("c1", returned("1"));
    page.clear();
    page.arm("c1", "2");
    page.arm("unknown", "2");
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
    page.arm("c1", "1");
    assert_eq!(page.sent, [call_received("c1"), hand_over("c1", "1")]);
}

#[test]
fn the_latest_state_is_sent_again_on_the_next_connection() {
    let mut page = TestPage::with_two_calls();
    page.arm("c1", "1");
    page.arm("c2", "2");
    page.close(1006);
    page.clear();
    page.arm("c1", "3");
    page.disarm("c2");
    assert_eq!(page.sent, []);
    page.timer_fires(0.5);
    page.accept_with(authenticated_awaiting(&["c1", "c2"]));
    assert_eq!(
        page.sent[1..3],
        [hand_over("c1", "3"), hand_over("c2", "null")]
    );
    page.clear();
    page.dispatch(|page| page.leaving());
    assert_eq!(page.sent, [leaving(&["c1"])]);
}

#[test]
fn a_page_that_comes_back_from_the_bfcache_continues_its_own_call() {
    let mut page = TestPage::with_two_calls();
    page.arm("c1", "1");
    page.clear();
    page.dispatch(|page| page.entered_bfcache(0.5));
    assert_eq!(page.sent, [leaving(&["c1"])]);
    assert_eq!(page.call_outcomes().len(), 2, "both handlers are cancelled");
    page.clear();
    page.dispatch(|page| page.resumed());
    page.accept("b-1");
    page.clear();
    // The results of the former handlers are dropped.
    page.finish("c1", returned("1"));
    page.finish("c2", returned("1"));
    assert_eq!(page.sent, []);
    page.receive(continued_tool_call("c1", "echo", 1));
    assert_eq!(page.started, call_ids(&["c1"]));
    // The bridge has missed the receipt, and sends the call again: it runs once.
    page.receive(continued_tool_call("c1", "echo", 1));
    assert_eq!(page.started, call_ids(&["c1"]));
    page.finish("c1", returned("2"));
    assert_eq!(page.sent.last(), Some(&response("c1", "2")));
}

#[test]
fn a_call_comes_back_to_a_document_as_often_as_it_leaves() {
    let mut page = TestPage::with_two_calls();
    page.arm("c1", "1");
    for hand_overs in 1..4 {
        page.dispatch(|page| page.entered_bfcache(0.5));
        page.dispatch(|page| page.resumed());
        page.accept("b-1");
        page.clear();
        page.receive(continued_tool_call("c1", "echo", hand_overs));
        assert_eq!(page.started, call_ids(&["c1"]));
        page.arm("c1", "2");
    }
}

#[test]
fn a_call_runs_once_for_each_hand_over() {
    let mut page = TestPage::with_echo();
    page.receive(continued_tool_call("c1", "echo", 2));
    page.arm("c1", "1");
    page.dispatch(|page| page.entered_bfcache(0.5));
    page.dispatch(|page| page.resumed());
    page.accept("b-1");
    page.clear();
    // The bridge has received neither the receipt nor the message that the page was left.
    page.receive(continued_tool_call("c1", "echo", 2));
    assert_eq!(page.started, []);
}

#[test]
fn a_call_that_is_not_continued_runs_once_in_a_document_that_comes_back() {
    let mut page = TestPage::with_two_calls();
    page.arm("c1", "1");
    page.dispatch(|page| page.entered_bfcache(0.5));
    page.dispatch(|page| page.resumed());
    page.accept("b-1");
    page.clear();
    // The bridge has received neither the receipt nor the message that the page was left.
    page.receive(tool_call("c1", "echo"));
    assert_eq!(page.started, []);
    assert!(matches!(
        page.sent[..],
        [
            PageToBridge::CallReceived(_),
            PageToBridge::CallError { .. }
        ]
    ));
}

#[test]
fn a_call_that_the_bridge_has_handed_over_comes_back_to_a_page_that_was_cut_off() {
    let mut page = TestPage::with_two_calls();
    page.arm("c1", "1");
    // Another document of the session is connected meanwhile.
    page.break_and_retry();
    page.accept("b-1");
    page.receive(calls_alive(&[], &["c1", "c2"]));
    assert_eq!(page.call_outcomes().len(), 2);
    page.clear();
    page.receive(continued_tool_call("c1", "echo", 2));
    assert_eq!(page.started, call_ids(&["c1"]));
}
