//! Requests of handlers to the clients that made the calls.

use super::*;

/// Creates a connected page with the tool `echo` and the running calls `c1` and `c2`.
fn page_with_calls() -> TestPage {
    let mut page = TestPage::connected();
    page.add_tool(1, "echo");
    page.flush();
    page.receive(tool_call("c1", "echo"));
    page.receive(tool_call("c2", "echo"));
    page.clear();
    page
}

fn client_request(key: &str) -> ClientRequest<String> {
    ClientRequest {
        key: key.into(),
        method: "elicitation/create".into(),
        params: format!(r#"{{"message":"{key}"}}"#),
    }
}

fn send_request(page: &mut TestPage, call: &str, key: &str) {
    page.dispatch(|page| page.client_requested(call.into(), client_request(key), 20));
}

fn respond(page: &mut TestPage, call: &str, keys: &[&str]) {
    page.receive(BridgeToPage::ClientResponses {
        call: call.into(),
        responses: keys
            .iter()
            .map(|key| ClientResponse {
                key: (*key).into(),
                response: format!("answer {key}"),
            })
            .collect(),
    });
}

fn requests(call: &str, keys: &[&str]) -> Message {
    PageToBridge::ClientRequests {
        call: call.into(),
        requests: keys.iter().map(|key| client_request(key)).collect(),
    }
}

fn client_answered(call: &str, key: &str) -> Report<String> {
    Report::ClientAnswered {
        call: call.into(),
        key: key.into(),
        answer: Ok(format!("answer {key}")),
    }
}

/// Returns the sent messages that are requests.
fn sent_requests(page: &TestPage) -> Vec<Message> {
    let is_request = |message: &&Message| matches!(message, PageToBridge::ClientRequests { .. });
    page.sent.iter().filter(is_request).cloned().collect()
}

#[test]
fn requests_of_one_task_are_sent_together() {
    let mut page = page_with_calls();
    send_request(&mut page, "c1", "a");
    send_request(&mut page, "c2", "x");
    send_request(&mut page, "c1", "b");
    assert_eq!(page.sent, []);
    assert!(page.flush_requested);
    page.flush();
    assert_eq!(
        page.sent,
        [requests("c1", &["a", "b"]), requests("c2", &["x"])]
    );
    page.clear();
    send_request(&mut page, "c1", "c");
    page.flush();
    assert_eq!(page.sent, [requests("c1", &["c"])]);
}

#[test]
fn each_answer_is_delivered_once() {
    let mut page = page_with_calls();
    send_request(&mut page, "c1", "a");
    send_request(&mut page, "c1", "b");
    page.flush();
    respond(&mut page, "c1", &["b"]);
    respond(&mut page, "c1", &["b", "stray", "a"]);
    respond(&mut page, "c2", &["a"]);
    respond(&mut page, "c9", &["a"]);
    assert_eq!(
        page.reports,
        [client_answered("c1", "b"), client_answered("c1", "a")]
    );
}

#[test]
fn unanswered_requests_are_resent_on_reconnect() {
    let mut page = page_with_calls();
    send_request(&mut page, "c1", "a");
    send_request(&mut page, "c1", "b");
    page.flush();
    respond(&mut page, "c1", &["a"]);
    page.close(1006);
    send_request(&mut page, "c1", "c");
    assert!(!page.flush_requested, "there is no connection");
    page.clear();
    page.dispatch(|page| page.timer_fired(0.0));
    page.accept("b-1");
    assert_eq!(sent_requests(&page), [requests("c1", &["b", "c"])]);
    respond(&mut page, "c1", &["b"]);
    assert!(page.reports.contains(&client_answered("c1", "b")));
}

#[test]
fn an_ended_call_sends_no_requests_and_gets_no_answers() {
    let mut page = page_with_calls();
    send_request(&mut page, "c1", "a");
    page.flush();
    send_request(&mut page, "c1", "b");
    send_request(&mut page, "c2", "x");
    page.receive(cancel("c1"));
    page.finish("c2", returned("1"));
    page.clear();
    send_request(&mut page, "c2", "y");
    page.flush();
    respond(&mut page, "c1", &["a"]);
    assert_eq!(page.sent, []);
    assert_eq!(page.reports, []);
}

#[test]
fn requests_are_not_resent_to_another_bridge() {
    let mut page = page_with_calls();
    send_request(&mut page, "c1", "a");
    page.flush();
    page.close(1006);
    page.clear();
    page.dispatch(|page| page.timer_fired(0.0));
    page.accept("b-2");
    assert_eq!(sent_requests(&page), []);
    assert_eq!(page.call_outcomes().len(), 2, "both calls are cancelled");
}

#[test]
fn requests_are_batched_by_frame_size_and_too_large_ones_rejected() {
    let mut page = page_with_calls();
    let max = TEST_LIMITS.max_frame_bytes - 1024;
    for (key, bytes) in [("a", 5000), ("b", 5000), ("c", max), ("d", max + 1)] {
        page.dispatch(|page| page.client_requested("c1".into(), client_request(key), bytes));
    }
    page.flush();
    let single = |key| requests("c1", &[key]);
    assert_eq!(
        sent_requests(&page),
        [single("a"), single("b"), single("c")]
    );
    let [Report::ClientAnswered { key, answer, .. }] = &page.reports[..] else {
        panic!("{:?}", page.reports);
    };
    assert_eq!(key, "d");
    let failure = answer.as_ref().unwrap_err();
    assert_eq!(failure.code, "RequestTooLarge");
    assert!(failure.message.contains("8977 bytes; at most 8976"));
}
