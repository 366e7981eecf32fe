//! Each call runs at most once, and its answer reaches the bridge that asked.

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
fn the_receipt_goes_out_before_the_handler_runs() {
    let mut page = TestPage::with_echo();
    page.hear(tool_call("c1", "echo"));
    let place = |wanted: fn(&Effect<String>) -> bool| page.all.iter().position(wanted).unwrap();
    let receipt = place(|effect| matches!(effect, Effect::Send(PageToBridge::CallReceived(_))));
    let start = place(|effect| matches!(effect, Effect::StartCall(_)));
    assert!(receipt < start);
    page.finish("c1", returned(r#"{"n":1}"#));
    assert_eq!(page.sent, [received("c1"), response("c1", r#"{"n":1}"#)]);
    let ending = Ending::Finished;
    assert_eq!(page.endings(), [(CallId::from("c1"), ending)]);
}

#[test]
fn the_newest_definition_of_a_name_runs() {
    let mut page = TestPage::with_echo();
    page.add_tool(2, "echo");
    page.hear(tool_call("c1", "echo"));
    let call = page.all.iter().find_map(|effect| match effect {
        Effect::StartCall(call) => Some(call.clone()),
        _ => None,
    });
    let call = call.unwrap();
    assert_eq!(call.definition, DefinitionKey(2));
    assert_eq!(call.message, "message c1");
}

#[test]
fn a_call_that_comes_twice_runs_once() {
    let mut page = TestPage::with_echo();
    page.hear(tool_call("c1", "echo"));
    page.hear(tool_call("c1", "echo"));
    assert_eq!(page.started, [CallId::from("c1")]);
    assert_eq!(page.sent, [received("c1"), received("c1")]);
    page.finish("c1", returned("1"));
    page.forget();
    page.hear(tool_call("c1", "echo"));
    assert_eq!(page.started, []);
    assert_eq!(page.sent, [received("c1")], "the answer is on its way");
    page.hear(BridgeToPage::Heartbeat {
        sequence: 1,
        answers: 1,
    });
    page.hear(tool_call("c1", "echo"));
    assert_eq!(page.started, []);
    assert_eq!(only_error(&page).0, "InternalError");
}

#[test]
fn another_bridge_gets_no_answers_to_questions_of_the_former() {
    let mut page = TestPage::with_echo();
    page.hear(tool_call("c1", "echo"));
    page.hear(tool_call("c2", "echo"));
    page.close(1006);
    page.finish("c1", returned("1"));
    page.forget();
    page.tell(|page| page.timer_fired(0.0));
    page.accept("b-2");
    let [(cancelled, Ending::Cancelled(_))] = &page.endings()[..] else {
        panic!("{:?}", page.endings());
    };
    assert_eq!(*cancelled, CallId::from("c2"), "its signal fires");
    page.finish("c2", returned("2"));
    let answers = |message: &&Message| matches!(message, PageToBridge::CallResponse { .. });
    assert_eq!(page.sent.iter().find(answers), None);
    page.hear(tool_call("c1", "echo"));
    assert_eq!(page.started, [CallId::from("c1")], "the new bridge's own");
}

#[test]
fn a_cancelled_call_has_no_result() {
    let mut page = TestPage::with_echo();
    page.hear(tool_call("c1", "echo"));
    page.forget();
    page.hear(cancel("c1"));
    page.hear(cancel("c1"));
    page.finish("c1", returned("1"));
    let ending = Ending::Cancelled(Failure::new("CallCancelled", "the client cancelled"));
    assert_eq!(page.endings(), [(CallId::from("c1"), ending)]);
    assert_eq!(page.sent, []);
}

#[test]
fn what_is_gone_is_said_to_be_gone() {
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
        page.forget();
        page.hear(request("c1", kind, "x"));
        assert_eq!(page.started, []);
        let (found, message) = only_error(&page);
        assert_eq!(found, code);
        assert!(message.contains(kind.as_str()), "{message}");
    }
}

#[test]
fn kinds_have_their_own_names() {
    let mut page = TestPage::with_echo();
    page.add(2, Kind::Prompt, "echo");
    page.hear(request("c1", Kind::Prompt, "echo"));
    page.hear(request("c2", Kind::Resource, "echo"));
    assert_eq!(page.started, [CallId::from("c1")]);
    assert_eq!(only_error(&page).0, "ResourceNotFound");
}

#[test]
fn a_throw_is_an_error_with_its_message() {
    let mut page = TestPage::with_echo();
    page.hear(tool_call("c1", "echo"));
    page.finish("c1", threw("no such card: 7"));
    let error = ("HandlerFailed", "no such card: 7".to_owned());
    assert_eq!(only_error(&page), error);
    let ending = Ending::Failed(Failure::new("HandlerFailed", "no such card: 7"));
    assert_eq!(page.endings(), [(CallId::from("c1"), ending)]);
}

#[test]
fn a_handler_chooses_its_code_from_those_it_can_know() {
    for (thrown, sent) in [
        ("ResourceNotFound", "ResourceNotFound"),
        ("ClientCapabilityMissing", "ClientCapabilityMissing"),
        ("ENOENT", "HandlerFailed"),
        ("PageGone", "HandlerFailed"),
    ] {
        let mut page = TestPage::with_echo();
        page.hear(tool_call("c1", "echo"));
        let outcome = Outcome::Threw {
            code: Some(thrown.into()),
            message: "why".into(),
            data: Some(measured("{}".into())),
            content: Some(measured("[]".into())),
        };
        page.finish("c1", outcome);
        assert_eq!(only_error(&page).0, sent);
    }
}

#[test]
fn a_message_is_for_reading() {
    let mut page = TestPage::with_echo();
    page.hear(tool_call("c1", "echo"));
    page.finish("c1", threw(&"ü".repeat(100_000)));
    let (_, message) = only_error(&page);
    assert!(message.len() < 66_000 && message.ends_with("ü…"));
}

#[test]
fn a_result_over_the_limit_names_size_and_limit() {
    let mut page = TestPage::with_echo();
    page.hear(tool_call("c1", "echo"));
    page.hear(tool_call("c2", "echo"));
    page.forget();
    let (largest, larger) = ("x".repeat(12_000), "x".repeat(12_001));
    page.finish("c1", returned(&largest));
    page.finish("c2", returned(&larger));
    assert_eq!(page.sent[0], response("c1", &largest), "in several frames");
    let (code, message) = only_error(&page);
    assert_eq!(code, "ResultTooLarge");
    assert!(message.contains("12001 bytes; at most 12000"), "{message}");
    assert!(matches!(page.endings()[1].1, Ending::Failed(_)));
}

#[test]
fn what_an_error_carries_leaves_room_for_its_message() {
    let mut page = TestPage::with_echo();
    page.hear(tool_call("c1", "echo"));
    page.hear(tool_call("c2", "echo"));
    for (call, bytes, fits) in [("c1", 11_400, true), ("c2", 11_401, false)] {
        page.forget();
        let outcome = Outcome::Threw {
            code: None,
            message: "\n".repeat(100),
            data: Some(measured("x".repeat(bytes))),
            content: None,
        };
        page.finish(call, outcome);
        let [PageToBridge::CallError { data, .. }] = &page.sent[..] else {
            panic!("{:?}", page.sent);
        };
        assert_eq!(data.is_some(), fits);
    }
}

#[test]
fn disconnecting_cancels_what_runs() {
    let mut page = TestPage::with_echo();
    page.hear(tool_call("c1", "echo"));
    page.tell(|page| page.disconnect());
    let [(_, Ending::Cancelled(reason))] = &page.endings()[..] else {
        panic!();
    };
    assert_eq!(reason.code, Failure::DISCONNECTED);
    page.tell(|page| page.connect());
    page.accept("b-1");
    page.forget();
    page.finish("c1", returned("1"));
    assert_eq!(page.all, []);
}

#[test]
fn progress_and_logs_are_of_running_calls_only() {
    let mut page = TestPage::with_echo();
    let report = |page: &mut TestPage| {
        page.tell(|page| page.progressed("c1".into(), "0.5".into(), Some("1".into()), None));
        let data = measured("{}".into());
        page.tell(|page| page.logged("c1".into(), "info".into(), None, data));
    };
    report(&mut page);
    assert_eq!(page.sent, []);
    page.hear(tool_call("c1", "echo"));
    page.forget();
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
    page.forget();
    report(&mut page);
    assert_eq!(page.all, []);
}

#[test]
fn a_log_message_has_a_limit() {
    let mut page = TestPage::with_echo();
    page.hear(tool_call("c1", "echo"));
    page.forget();
    for (length, sent) in [(MAX_LOG_BYTES, 1), (MAX_LOG_BYTES + 1, 0)] {
        let data = measured("x".repeat(length));
        page.tell(|page| page.logged("c1".into(), "info".into(), None, data));
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
