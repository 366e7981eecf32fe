//! After a reconnect, no answer is lost, and calls that are no longer awaited do not continue.

use super::*;

fn heartbeat(answers: u64) -> BridgeToPage<String> {
    BridgeToPage::Heartbeat {
        sequence: 1,
        answers,
    }
}

/// Returns the sent messages about calls.
fn call_messages(page: &TestPage) -> Vec<Message> {
    let is_call_message = |message: &&Message| {
        !matches!(
            message,
            PageToBridge::Authenticate(_)
                | PageToBridge::Register { .. }
                | PageToBridge::PageState { .. }
        )
    };
    page.sent.iter().filter(is_call_message).cloned().collect()
}

/// Breaks the connection and reconnects to the same bridge, which awaits these calls.
fn resume(page: &mut TestPage, awaited: &[&str]) {
    page.break_and_retry();
    page.clear();
    page.accept_with(authenticated_awaiting(awaited));
}

#[test]
fn an_offline_result_is_sent_on_reconnect() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.close(1006);
    page.finish("c1", returned("1"));
    page.timer_fires(0.0);
    page.clear();
    page.accept_with(authenticated_awaiting(&["c1"]));
    assert_eq!(call_messages(&page), [response("c1", "1")]);
}

#[test]
fn a_handler_that_outlives_a_connection_answers_on_the_next_one() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    resume(&mut page, &["c1"]);
    assert_eq!(call_messages(&page), []);
    page.finish("c1", returned("1"));
    assert_eq!(page.sent.last(), Some(&response("c1", "1")));
}

#[test]
fn an_answer_is_stored_until_the_bridge_acknowledges_it() {
    let mut page = TestPage::with_echo();
    for call in ["c1", "c2", "c3"] {
        page.receive(tool_call(call, "echo"));
        page.finish(call, returned(call));
    }
    page.receive(heartbeat(1));
    resume(&mut page, &["c2"]);
    assert_eq!(
        call_messages(&page),
        [response("c2", "c2"), calls_check(&["c3"])]
    );
    page.clear();
    page.receive(calls_alive(&[], &["c3"]));
    page.receive(heartbeat(1));
    resume(&mut page, &[]);
    assert_eq!(call_messages(&page), [], "no call is left to check");
}

#[test]
fn a_call_whose_acknowledgement_was_lost_continues() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.receive(tool_call("c2", "echo"));
    page.finish("c2", returned("2"));
    resume(&mut page, &[]);
    assert_eq!(call_messages(&page), [calls_check(&["c1", "c2"])]);
    page.clear();
    page.receive(tool_call("c1", "echo"));
    page.receive(tool_call("c2", "echo"));
    let answer = response("c2", "2");
    assert_eq!(
        call_messages(&page),
        [call_received("c1"), call_received("c2"), answer]
    );
    page.receive(calls_alive(&["c1", "c2"], &[]));
    assert_eq!(page.started, []);
    assert_eq!(page.call_outcomes(), []);
    assert_eq!(
        call_messages(&page).len(),
        3,
        "an answer is sent once per connection"
    );
}

#[test]
fn a_running_call_that_is_not_awaited_is_cancelled() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    resume(&mut page, &[]);
    page.receive(calls_alive(&[], &["c1"]));
    let [(call, CallEnd::Cancelled(reason))] = &page.call_outcomes()[..] else {
        panic!("{:?}", page.call_outcomes());
    };
    assert_eq!((call.as_str(), &*reason.code), ("c1", "CallCancelled"));
    page.clear();
    page.finish("c1", returned("1"));
    assert_eq!(page.effects, []);
}

#[test]
fn an_unknown_awaited_call_fails() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.accept_with(authenticated_awaiting(&["c1"]));
    let [
        PageToBridge::CallError {
            call,
            code,
            message,
            ..
        },
    ] = &call_messages(&page)[..]
    else {
        panic!("{:?}", page.sent);
    };
    assert_eq!((call.as_str(), *code), ("c1", "InternalError"));
    assert!(message.contains("result was lost"), "{message}");
    assert_eq!(page.started, []);
}

#[test]
fn the_oldest_answers_are_forgotten_first() {
    let mut page = TestPage::with_echo();
    page.close(1006);
    page.timer_fires(0.0);
    page.accept("b-1");
    let calls: Vec<_> = (0..MAX_UNACKNOWLEDGED + 1)
        .map(|call| format!("c{call}"))
        .collect();
    for call in &calls {
        page.receive(tool_call(call, "echo"));
        page.finish(call, returned("1"));
    }
    let awaited: Vec<_> = calls.iter().map(String::as_str).collect();
    resume(&mut page, &awaited);
    let resent = call_messages(&page);
    assert_eq!(resent.len(), calls.len());
    assert_eq!(resent[0], response("c1", "1"));
    assert!(matches!(resent.last(), Some(PageToBridge::CallError { call, .. }) if call.0 == "c0"));
}

#[test]
fn stored_answers_are_limited_in_bytes() {
    let mut page = TestPage::connected();
    page.add_tool(1, "echo");
    page.flush();
    page.break_and_retry();
    let mut accepted = authenticated("b-1");
    if let BridgeToPage::Authenticated { limits, .. } = &mut accepted {
        limits.max_result_bytes = usize::MAX;
    }
    page.accept_with(accepted);
    for (call, bytes) in [
        ("c1", MAX_UNACKNOWLEDGED_BYTES / 2),
        ("c2", MAX_UNACKNOWLEDGED_BYTES / 2 + 1),
    ] {
        page.receive(tool_call(call, "echo"));
        let outcome = HandlerOutcome::Returned {
            answer: Answer::default(),
            bytes,
        };
        page.finish(call, outcome);
    }
    page.break_and_retry();
    page.clear();
    page.accept_with(authenticated_awaiting(&["c1", "c2"]));
    let [
        PageToBridge::CallResponse { call, .. },
        PageToBridge::CallError { .. },
    ] = &call_messages(&page)[..]
    else {
        panic!("{:?}", page.sent);
    };
    assert_eq!(call.as_str(), "c2");
}

#[test]
fn an_answer_too_large_for_the_connection_is_not_resent() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.finish("c1", returned("1"));
    page.close(1009);
    page.timer_fires(0.0);
    page.clear();
    page.accept_with(authenticated_awaiting(&["c1"]));
    assert!(matches!(
        call_messages(&page)[..],
        [PageToBridge::CallError { .. }]
    ));
}
