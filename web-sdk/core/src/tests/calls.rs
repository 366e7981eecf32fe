//! Each call runs at most once, and its answer is sent to the bridge that requested it.

use super::*;

fn only_error(page: &TestPage) -> (&'static str, String) {
    let errors: Vec<_> = page
        .sent
        .iter()
        .filter_map(|message| match message {
            PageToBridge::CallError { code, message, .. } => Some((*code, message.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.into_iter().next().unwrap()
}

#[test]
fn a_call_is_acknowledged_before_its_handler_starts() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    let index_of =
        |predicate: fn(&Effect<String>) -> bool| page.effects.iter().position(predicate).unwrap();
    let received = index_of(|effect| matches!(effect, Effect::Send(PageToBridge::CallReceived(_))));
    let started = index_of(|effect| matches!(effect, Effect::StartCall(_)));
    assert!(received < started);
    page.finish("c1", returned(r#"{"n":1}"#));
    assert_eq!(
        page.sent,
        [call_received("c1"), response("c1", r#"{"n":1}"#)]
    );
    assert_eq!(
        page.call_outcomes(),
        [(CallId::from("c1"), CallEnd::Finished)]
    );
}

#[test]
fn a_call_runs_the_newest_definition_of_its_name() {
    let mut page = TestPage::with_echo();
    page.add_tool(2, "echo");
    page.receive(tool_call("c1", "echo"));
    let call = page.effects.iter().find_map(|effect| match effect {
        Effect::StartCall(call) => Some(call.clone()),
        _ => None,
    });
    let call = call.unwrap();
    assert_eq!(call.definition, DefinitionKey(2));
    assert_eq!(call.request.message, "message c1");
}

#[test]
fn a_repeated_call_runs_once() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.receive(tool_call("c1", "echo"));
    assert_eq!(page.started, [CallId::from("c1")]);
    assert_eq!(page.sent, [call_received("c1"), call_received("c1")]);
    page.finish("c1", returned("1"));
    page.clear();
    page.receive(tool_call("c1", "echo"));
    assert_eq!(page.started, []);
    assert_eq!(
        page.sent,
        [call_received("c1")],
        "the answer was sent before"
    );
    page.receive(BridgeToPage::Heartbeat {
        sequence: 1,
        answers: 1,
    });
    page.receive(tool_call("c1", "echo"));
    assert_eq!(page.started, []);
    assert_eq!(only_error(&page).0, "InternalError");
}

#[test]
fn a_restarted_bridge_gets_no_answers_to_former_calls() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.receive(tool_call("c2", "echo"));
    page.close(1006);
    page.finish("c1", returned("1"));
    page.clear();
    page.dispatch(|page| page.timer_fired(0.0));
    page.accept("b-2");
    let [(cancelled, CallEnd::Cancelled(_))] = &page.call_outcomes()[..] else {
        panic!("{:?}", page.call_outcomes());
    };
    assert_eq!(
        *cancelled,
        CallId::from("c2"),
        "it is reported as cancelled"
    );
    page.finish("c2", returned("2"));
    let answers = |message: &&Message| matches!(message, PageToBridge::CallResponse { .. });
    assert_eq!(page.sent.iter().find(answers), None);
    page.receive(tool_call("c1", "echo"));
    assert_eq!(
        page.started,
        [CallId::from("c1")],
        "the id is new to this bridge"
    );
}

#[test]
fn a_cancelled_call_sends_no_result() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.clear();
    page.receive(cancel("c1"));
    page.receive(cancel("c1"));
    page.finish("c1", returned("1"));
    let outcome = CallEnd::Cancelled(Failure::new("CallCancelled", "the client cancelled"));
    assert_eq!(page.call_outcomes(), [(CallId::from("c1"), outcome)]);
    assert_eq!(page.sent, []);
}

#[test]
fn a_call_of_a_removed_item_fails_as_not_found() {
    for (kind, code) in [
        (Kind::Tool, "ToolNotFound"),
        (Kind::Prompt, "PromptNotFound"),
        (Kind::Resource, "ResourceNotFound"),
        (Kind::ResourceTemplate, "ResourceNotFound"),
    ] {
        let mut page = TestPage::connected();
        page.add(1, kind, "x");
        page.flush();
        page.remove(1);
        page.clear();
        page.receive(request("c1", kind, "x"));
        assert_eq!(page.started, []);
        let (found, message) = only_error(&page);
        assert_eq!(found, code);
        assert!(message.contains(kind.as_str()), "{message}");
    }
}

#[test]
fn kinds_have_separate_namespaces() {
    let mut page = TestPage::with_echo();
    page.add(2, Kind::Prompt, "echo");
    page.receive(request("c1", Kind::Prompt, "echo"));
    page.receive(request("c2", Kind::Resource, "echo"));
    assert_eq!(page.started, [CallId::from("c1")]);
    assert_eq!(only_error(&page).0, "ResourceNotFound");
}

#[test]
fn a_thrown_error_is_sent_with_its_message() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.finish("c1", threw("no such card: 7"));
    let error = ("HandlerFailed", "no such card: 7".to_owned());
    assert_eq!(only_error(&page), error);
    let outcome = CallEnd::Failed(Failure::new("HandlerFailed", "no such card: 7"));
    assert_eq!(page.call_outcomes(), [(CallId::from("c1"), outcome)]);
}

#[test]
fn only_handler_error_codes_are_passed_on() {
    for (thrown, sent) in [
        ("ResourceNotFound", "ResourceNotFound"),
        ("ClientCapabilityMissing", "ClientCapabilityMissing"),
        ("ENOENT", "HandlerFailed"),
        ("PageGone", "HandlerFailed"),
    ] {
        let mut page = TestPage::with_echo();
        page.receive(tool_call("c1", "echo"));
        let outcome = HandlerOutcome::Threw {
            code: Some(thrown.into()),
            message: "why".into(),
            details: Answer {
                result: Some("{}".into()),
                content: Some("[]".into()),
                ..Answer::default()
            },
            bytes: 4,
        };
        page.finish("c1", outcome);
        assert_eq!(only_error(&page).0, sent);
    }
}

#[test]
fn long_error_messages_are_truncated() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.finish("c1", threw(&"ü".repeat(100_000)));
    let (_, message) = only_error(&page);
    assert!(message.len() < 66_000 && message.ends_with("ü…"));
}

#[test]
fn a_result_over_the_limit_names_size_and_limit() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.receive(tool_call("c2", "echo"));
    page.clear();
    let (largest, larger) = ("x".repeat(12_000), "x".repeat(12_001));
    page.finish("c1", returned(&largest));
    page.finish("c2", returned(&larger));
    assert_eq!(
        page.sent[0],
        response("c1", &largest),
        "it is sent in several frames"
    );
    let (code, message) = only_error(&page);
    assert_eq!(code, "ResultTooLarge");
    assert!(message.contains("12001 bytes; at most 12000"), "{message}");
    assert!(matches!(page.call_outcomes()[1].1, CallEnd::Failed(_)));
}

#[test]
fn error_data_that_leaves_no_room_for_the_message_is_dropped() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.receive(tool_call("c2", "echo"));
    for (call, bytes, is_sent) in [("c1", 11_400, true), ("c2", 11_401, false)] {
        page.clear();
        let outcome = HandlerOutcome::Threw {
            code: None,
            message: "\n".repeat(100),
            details: Answer {
                result: Some("x".repeat(bytes)),
                ..Answer::default()
            },
            bytes,
        };
        page.finish(call, outcome);
        let [PageToBridge::CallError { details, .. }] = &page.sent[..] else {
            panic!("{:?}", page.sent);
        };
        assert_eq!(details.result.is_some(), is_sent);
    }
}

#[test]
fn disconnecting_cancels_running_calls() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.dispatch(|page| page.disconnect());
    let [(_, CallEnd::Cancelled(reason))] = &page.call_outcomes()[..] else {
        panic!();
    };
    assert_eq!(reason.code, Failure::DISCONNECTED);
    page.dispatch(|page| page.connect());
    page.accept("b-1");
    page.clear();
    page.finish("c1", returned("1"));
    assert_eq!(page.effects, []);
}

#[test]
fn progress_and_logs_are_sent_for_running_calls_only() {
    let mut page = TestPage::with_echo();
    let report = |page: &mut TestPage| {
        page.dispatch(|page| page.progressed("c1".into(), "0.5".into(), Some("1".into()), None));
        let data = sized_json("{}".into());
        page.dispatch(|page| page.logged("c1".into(), "info".into(), None, data));
    };
    report(&mut page);
    assert_eq!(page.sent, []);
    page.receive(tool_call("c1", "echo"));
    page.clear();
    report(&mut page);
    let call = CallId::from("c1");
    assert_eq!(
        page.sent,
        [
            PageToBridge::CallProgress {
                call: call.clone(),
                progress: "0.5".into(),
                total: Some("1".into()),
                message: None,
            },
            PageToBridge::CallLog {
                call,
                level: "info".into(),
                logger: None,
                data: "{}".into(),
            },
        ]
    );
    page.close(1006);
    page.clear();
    report(&mut page);
    assert_eq!(page.effects, []);
}

#[test]
fn a_log_message_has_a_limit() {
    let mut page = TestPage::with_echo();
    page.receive(tool_call("c1", "echo"));
    page.clear();
    for (length, sent) in [(MAX_LOG_BYTES, 1), (MAX_LOG_BYTES + 1, 0)] {
        let data = sized_json("x".repeat(length));
        page.dispatch(|page| page.logged("c1".into(), "info".into(), None, data));
        assert_eq!(page.sent.len(), sent);
        page.sent.clear();
    }
    let [Report::Warning(warning)] = &page.reports[..] else {
        panic!("{:?}", page.reports);
    };
    assert!(
        warning.contains("262145 bytes; at most 262144"),
        "{warning}"
    );
}
