//! What handlers ask the clients behind their calls.

use super::*;

/// A connected page with the tool `echo` and the running calls `c1` and `c2`.
fn page_with_calls() -> TestPage {
    let mut page = TestPage::connected();
    page.add_tool(1, "echo");
    page.flush();
    page.hear(tool_call("c1", "echo"));
    page.hear(tool_call("c2", "echo"));
    page.forget();
    page
}

fn asked(key: &str) -> ClientRequest<String> {
    ClientRequest {
        key: key.into(),
        method: "elicitation/create".into(),
        params: format!(r#"{{"message":"{key}"}}"#),
    }
}

fn ask(page: &mut TestPage, call: &str, key: &str) {
    page.tell(|page| page.client_asked(call.into(), asked(key), 20));
}

fn answer(page: &mut TestPage, call: &str, keys: &[&str]) {
    page.hear(BridgeToPage::ClientResponses {
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
        requests: keys.iter().map(|key| asked(key)).collect(),
    }
}

fn answered(call: &str, key: &str) -> Report<String> {
    Report::ClientAnswered {
        call: call.into(),
        key: key.into(),
        answer: Ok(format!("answer {key}")),
    }
}

/// The requests among what was sent.
fn rounds(page: &TestPage) -> Vec<Message> {
    let wanted = |message: &&Message| matches!(message, PageToBridge::ClientRequests { .. });
    page.sent.iter().filter(wanted).cloned().collect()
}

#[test]
fn what_a_handler_asks_in_one_task_is_one_round() {
    let mut page = page_with_calls();
    ask(&mut page, "c1", "a");
    ask(&mut page, "c2", "x");
    ask(&mut page, "c1", "b");
    assert_eq!(page.sent, []);
    assert!(page.flush_wanted);
    page.flush();
    assert_eq!(
        page.sent,
        [requests("c1", &["a", "b"]), requests("c2", &["x"])]
    );
    page.forget();
    ask(&mut page, "c1", "c");
    page.flush();
    assert_eq!(page.sent, [requests("c1", &["c"])]);
}

#[test]
fn answers_come_in_parts_and_once() {
    let mut page = page_with_calls();
    ask(&mut page, "c1", "a");
    ask(&mut page, "c1", "b");
    page.flush();
    answer(&mut page, "c1", &["b"]);
    answer(&mut page, "c1", &["b", "stray", "a"]);
    answer(&mut page, "c2", &["a"]);
    answer(&mut page, "c9", &["a"]);
    assert_eq!(page.reports, [answered("c1", "b"), answered("c1", "a")]);
}

#[test]
fn what_has_no_answer_is_asked_again_on_the_next_connection() {
    let mut page = page_with_calls();
    ask(&mut page, "c1", "a");
    ask(&mut page, "c1", "b");
    page.flush();
    answer(&mut page, "c1", &["a"]);
    page.close(1006);
    ask(&mut page, "c1", "c");
    assert!(!page.flush_wanted, "there is nobody to ask");
    page.forget();
    page.tell(|page| page.timer_fired(0.0));
    page.accept("b-1");
    assert_eq!(rounds(&page), [requests("c1", &["b", "c"])]);
    answer(&mut page, "c1", &["b"]);
    assert!(page.reports.contains(&answered("c1", "b")));
}

#[test]
fn a_call_that_is_over_asks_nothing_and_hears_nothing() {
    let mut page = page_with_calls();
    ask(&mut page, "c1", "a");
    page.flush();
    ask(&mut page, "c1", "b");
    ask(&mut page, "c2", "x");
    page.hear(cancel("c1"));
    page.finish("c2", returned("1"));
    page.forget();
    ask(&mut page, "c2", "y");
    page.flush();
    answer(&mut page, "c1", &["a"]);
    assert_eq!(page.sent, []);
    assert_eq!(page.reports, []);
}

#[test]
fn another_bridge_hears_none_of_it() {
    let mut page = page_with_calls();
    ask(&mut page, "c1", "a");
    page.flush();
    page.close(1006);
    page.forget();
    page.tell(|page| page.timer_fired(0.0));
    page.accept("b-2");
    assert_eq!(rounds(&page), []);
    assert_eq!(page.endings().len(), 2, "both calls are cancelled");
}

#[test]
fn a_request_fits_into_a_frame_and_a_giant_is_refused_here() {
    let mut page = page_with_calls();
    let room = LIMITS.max_frame_bytes - 1024;
    for (key, bytes) in [("a", 5000), ("b", 5000), ("c", room), ("d", room + 1)] {
        page.tell(|page| page.client_asked("c1".into(), asked(key), bytes));
    }
    page.flush();
    let alone = |key| requests("c1", &[key]);
    assert_eq!(rounds(&page), [alone("a"), alone("b"), alone("c")]);
    let [Report::ClientAnswered { key, answer, .. }] = &page.reports[..] else {
        panic!("{:?}", page.reports);
    };
    assert_eq!(key, "d");
    let failure = answer.as_ref().unwrap_err();
    assert_eq!(failure.code, "RequestTooLarge");
    assert!(failure.message.contains("8977 bytes; at most 8976"));
}
