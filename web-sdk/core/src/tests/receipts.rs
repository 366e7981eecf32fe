//! A call is acknowledged before its handler starts, or by its answer if it may safely be repeated
//! and its definition usually answers at once.

use super::*;
use crate::calls::MAX_PROMPT_MS;

/// Creates a page whose tool `read` is repeatable and has answered at once three times.
fn page_with_prompt_tool() -> TestPage {
    let mut page = TestPage::connected();
    page.add_repeatable_tool(1, "read");
    page.flush();
    page.clear();
    for call in ["p1", "p2", "p3"] {
        page.receive(tool_call(call, "read"));
        assert_eq!(page.sent, [call_received(call)]);
        page.finish(call, returned("1"));
        page.end_task();
        page.clear();
    }
    page
}

fn sent_for_a_call(page: &mut TestPage, call: &str) -> Vec<Message> {
    page.clear();
    page.receive(tool_call(call, "read"));
    assert_eq!(page.started, [CallId::from(call)]);
    page.sent.clone()
}

#[test]
fn the_answer_of_the_first_task_is_the_receipt() {
    let mut page = page_with_prompt_tool();
    assert_eq!(sent_for_a_call(&mut page, "c1"), []);
    page.finish("c1", returned("1"));
    page.end_task();
    assert_eq!(page.sent, [response("c1", "1")]);
}

#[test]
fn a_call_that_is_not_answered_in_the_first_task_is_acknowledged_after_it() {
    let mut page = page_with_prompt_tool();
    assert_eq!(sent_for_a_call(&mut page, "c1"), []);
    page.end_task();
    assert_eq!(page.sent, [call_received("c1")]);
    page.end_task();
    page.finish("c1", returned("1"));
    assert_eq!(page.sent, [call_received("c1"), response("c1", "1")]);
    assert_eq!(
        sent_for_a_call(&mut page, "c2"),
        [call_received("c2")],
        "the next call is acknowledged first again"
    );
}

#[test]
fn calls_are_acknowledged_first_after_an_answer_that_blocked_the_page() {
    let mut page = page_with_prompt_tool();
    assert_eq!(sent_for_a_call(&mut page, "c1"), []);
    page.pass_time(MAX_PROMPT_MS);
    page.finish("c1", returned("1"));
    assert_eq!(sent_for_a_call(&mut page, "c2"), []);
    page.pass_time(MAX_PROMPT_MS + 1);
    page.finish("c2", returned("1"));
    page.end_task();
    assert_eq!(sent_for_a_call(&mut page, "c3"), [call_received("c3")]);
}

#[test]
fn a_tool_that_may_not_be_called_again_is_acknowledged_first() {
    let mut page = TestPage::with_echo();
    for call in ["c1", "c2", "c3", "c4", "c5"] {
        page.clear();
        page.receive(tool_call(call, "echo"));
        assert!(!page.task_scheduled);
        page.finish(call, returned("1"));
        assert_eq!(page.sent, [call_received(call), response(call, "1")]);
    }
}

#[test]
fn a_new_definition_starts_without_observations() {
    let mut page = page_with_prompt_tool();
    page.add_repeatable_tool(2, "read");
    page.flush();
    assert_eq!(sent_for_a_call(&mut page, "c1"), [call_received("c1")]);
}

#[test]
fn messages_of_a_handler_come_after_the_receipt() {
    let mut page = page_with_prompt_tool();
    sent_for_a_call(&mut page, "c1");
    page.dispatch(|page| page.progressed("c1".into(), "1".into(), None, None));
    assert_eq!(page.sent.first(), Some(&call_received("c1")));
    assert_eq!(page.sent.len(), 2);

    let mut page = page_with_prompt_tool();
    sent_for_a_call(&mut page, "c1");
    let data = sized_json("{}".to_owned());
    page.dispatch(|page| page.logged("c1".into(), "info".into(), None, data));
    assert_eq!(page.sent.first(), Some(&call_received("c1")));
    assert_eq!(page.sent.len(), 2);

    let mut page = page_with_prompt_tool();
    sent_for_a_call(&mut page, "c1");
    let request = ClientRequest {
        key: "k".into(),
        method: "roots/list".into(),
        params: "{}".into(),
    };
    page.dispatch(|page| page.client_requested("c1".into(), request, 2));
    page.flush();
    assert_eq!(page.sent.first(), Some(&call_received("c1")));
    page.end_task();
    assert_eq!(page.sent.len(), 2, "there is one receipt: {:?}", page.sent);
}

#[test]
fn a_page_that_freezes_acknowledges_what_it_has_started() {
    let mut page = page_with_prompt_tool();
    sent_for_a_call(&mut page, "c1");
    page.dispatch(|page| page.froze());
    assert_eq!(page.sent.first(), Some(&call_received("c1")));
}

#[test]
fn a_late_call_is_acknowledged_and_checked_before_it_starts() {
    let mut page = page_with_prompt_tool();
    page.start_delay_ms = 60_000;
    let BridgeToPage::CallRequested(mut request) = tool_call("c1", "read") else {
        panic!();
    };
    request.sent_ms = Some(page.now_ms);
    page.receive(BridgeToPage::CallRequested(request));
    assert_eq!(page.sent, [call_received("c1"), calls_check(&["c1"])]);
    assert_eq!(page.started, []);
}

#[test]
fn a_call_whose_receipt_was_not_sent_is_not_run_again_on_the_next_connection() {
    let mut page = page_with_prompt_tool();
    sent_for_a_call(&mut page, "c1");
    page.close(1006);
    page.end_task();
    page.clear();
    page.timer_fires(0.5);
    page.accept("b-1");
    page.receive(tool_call("c1", "read"));
    assert_eq!(page.started, []);
    let receipts = page.sent.iter().filter(|it| **it == call_received("c1"));
    assert_eq!(receipts.count(), 1);
    page.finish("c1", returned("1"));
    assert_eq!(page.sent.last(), Some(&response("c1", "1")));
}
