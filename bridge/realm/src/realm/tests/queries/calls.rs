//! The tools that a query may call, and the calls that its final message reports.

use bridge_protocol::QueryToolCall;

use super::*;

#[test]
fn restrict_tools_applies_only_with_a_tool_list() {
    let allows = |tools: Option<&[&str]>, restrict, response: Option<&str>| {
        let mut scene = Harness::with_page();
        let tools = tools.map(|names| names.iter().map(|name| query_tool(name)).collect());
        let asked = Asked {
            tools,
            restrict_tools: Some(restrict),
            response_tool: response.map(query_tool),
            ..query_message(QUERY)
        };
        scene.ask_agent(asked).accept();
        let allowed = |name| scene.realm.check_tool_allowed(&id(QUERY), name);
        let list = allowed("list_sessions").is_ok();
        let echo = allowed("echo").is_ok();
        assert_eq!(scene.call_for_query("c", "echo").is_ok(), echo);
        (echo, list)
    };
    assert_eq!(allows(None, true, None), (true, true));
    assert_eq!(allows(Some(&["other"]), false, None), (true, true));
    assert_eq!(allows(Some(&[]), true, None), (false, false));
    assert_eq!(allows(Some(&["echo"]), true, None), (true, false));
    assert_eq!(allows(Some(&[]), true, Some("echo")), (true, false));
}

#[test]
fn the_response_tool_completes_the_query_before_the_call() {
    let mut scene = Harness::with_page();
    let asked = Asked {
        response_tool: Some(query_tool("echo")),
        ..query_message(QUERY)
    };
    scene.ask_agent(asked).accept();
    scene.call_for_query("a", "other").unwrap();
    scene.answer(FIRST_CONNECTION, "a");
    assert_eq!(scene.effect_log(), ["end a"]);
    scene.call_for_query("b", "echo").unwrap();
    let failure = CallFailure::new(ErrorCode::HandlerFailed, "no".to_owned());
    let effects = scene.realm.call_answered(
        &TAB.into(),
        FIRST_CONNECTION,
        &"b".into(),
        Err(failure),
        scene.now,
    );
    assert_eq!(scene.apply(effects).effect_log(), ["end b"]);
    scene.call_for_query("c", "echo").unwrap();
    scene.call_for_query("d", "other").unwrap();
    scene.answer(FIRST_CONNECTION, "c");
    assert_eq!(
        scene.effect_log(),
        [
            r#"complete nothing ["other", "echo", "echo"]"#,
            "call-cancel d",
            "end d",
            "ended q",
            "forgotten q",
            "end c"
        ]
    );
}

#[test]
fn completing_without_the_required_response_tool_fails_the_query() {
    let mut scene = Harness::with_page();
    let asked = Asked {
        response_tool: Some(query_tool("echo")),
        ..query_message(QUERY)
    };
    scene.ask_agent(asked).accept();
    let ReportRejected::ResponseToolRequired(why) = scene.complete().unwrap_err() else {
        panic!("rejected for another reason")
    };
    assert_eq!(
        why,
        "Query specified responseTool 'echo' but agent called queryComplete() instead"
    );
    assert_eq!(scene.effect_log()[0], "failure AgentFailed");
}

#[test]
fn tool_calls_are_reported_in_completion_order_within_a_byte_limit() {
    let mut scene = Harness::with_accepted_query();
    for call in ["a", "b", "c", "d"] {
        scene.call_for_query(call, "echo").unwrap();
    }
    let answer = |scene: &mut Harness, call: &str, answer| {
        let effects = scene.realm.call_answered(
            &TAB.into(),
            FIRST_CONNECTION,
            &call.into(),
            answer,
            scene.now,
        );
        scene.apply(effects);
    };
    answer(
        &mut scene,
        "b",
        Ok(PageAnswer::Value(Some(raw("1.50").into()))),
    );
    let failure = CallFailure::new(ErrorCode::HandlerFailed, "no".to_owned());
    answer(&mut scene, "a", Err(failure));
    let theirs = CallFailure {
        data: Some(raw(r#"{"z":1,"error":"own"}"#)),
        ..CallFailure::new(ErrorCode::HandlerFailed, "own".to_owned())
    };
    answer(&mut scene, "c", Err(theirs));
    let large = format!(
        "\"{}\"",
        "x".repeat(TEST_LIMITS.queries.max_tool_call_bytes)
    );
    answer(
        &mut scene,
        "d",
        Ok(PageAnswer::Value(Some(raw(&large).into()))),
    );
    scene.complete().unwrap();
    let Effect::Send {
        message: BridgeToPage::QueryComplete(complete),
        ..
    } = &scene.effects[0]
    else {
        panic!("{:?}", scene.effects)
    };
    let results: Vec<_> = complete
        .tool_calls
        .iter()
        .map(|call| call.result.as_ref().unwrap().get())
        .collect();
    assert_eq!(
        results,
        [
            "1.50",
            r#"{"error":"no","code":"HandlerFailed"}"#,
            r#"{"z":1,"error":"own"}"#,
            "\"left out: 1002 bytes, more than `max_query_bytes` has room for\""
        ]
    );
}

#[test]
fn tool_calls_are_bounded_in_number() {
    let mut scene = Harness::with_accepted_query();
    let mut limits = TEST_LIMITS;
    limits.queries.max_tool_call_bytes = usize::MAX;
    scene.realm.limits = limits.into();
    scene.complete().unwrap();
    scene.ask_agent(query_message("many"));
    for n in 0..1025 {
        let call = n.to_string();
        let new = query_call("many", &call, tool("echo"));
        let effects = scene
            .realm
            .call_requested(&TAB.into(), new, scene.now)
            .unwrap();
        scene.apply(effects);
        scene.answer(FIRST_CONNECTION, &call);
    }
    let effects = scene
        .realm
        .query_completed(&id("many"), Some(raw("1")), scene.now)
        .1;
    scene.apply(effects);
    let calls = scene.effects.iter().find_map(|effect| match effect {
        Effect::Send {
            message: BridgeToPage::QueryComplete(complete),
            ..
        } => Some(complete.tool_calls.len()),
        _ => None,
    });
    assert_eq!(calls, Some(1024));
}

/// A page that has asked a streaming agent for a call of its tool `echo`.
fn with_response_tool() -> Harness {
    let mut scene = Harness::with_page();
    let asked = Asked {
        response_tool: Some(query_tool("echo")),
        ..query_message(QUERY)
    };
    scene.ask_agent(asked);
    let effects = scene.realm.query_stream_opened(&id(QUERY));
    scene.apply(effects);
    scene
}

#[test]
fn a_streaming_agent_is_drained_after_its_response_tool_was_called() {
    let answered = || {
        let mut scene = with_response_tool();
        scene.call_for_query("a", "echo").unwrap();
        scene.call_for_query("b", "other").unwrap();
        scene.answer(FIRST_CONNECTION, "a");
        assert_eq!(scene.effect_log(), ["call-cancel b", "end b", "end a"]);
        // No tool runs after the response tool.
        assert!(scene.call_for_query("c", "echo").is_err());
        scene.progress("said before").unwrap();
        assert_eq!(scene.effect_log(), ["\"said before\""]);
        scene
    };
    let complete = r#"complete nothing ["echo", "other"]"#;
    let expected = [complete, "ended q", "forgotten q"];
    let mut scene = answered();
    scene.complete().unwrap();
    assert_eq!(scene.effect_log(), expected);
    let mut scene = answered();
    let lost = agent_failed("cut");
    let effects = scene.realm.agent_lost(&id(QUERY), lost, scene.now);
    assert_eq!(scene.apply(effects).effect_log(), expected);
    // The query also ends if the agent sends nothing more within the drain timeout.
    let mut scene = answered();
    scene.advance_to(1.0);
    assert_eq!(scene.effect_log(), expected);
    let mut scene = answered();
    scene.cancel_by_page();
    assert_eq!(scene.effect_log(), ["stop q"]);
}

fn foreign_call(tool: &str, source: Option<&str>, result: &str) -> QueryToolCall {
    QueryToolCall {
        tool: tool.to_owned(),
        arguments: raw(r#"{"a":1}"#),
        result: Some(raw(result)),
        source: source.map(str::to_owned),
    }
}

#[test]
fn the_usage_and_any_result_of_the_agent_are_passed_on() {
    for (usage, passes) in [
        (
            r#"{"milliseconds":7,"models":{"m":{"input":1}},"own":1.50}"#.to_owned(),
            true,
        ),
        (format!(r#"{{"a":"{}"}}"#, "x".repeat(16 * 1024 - 8)), true),
        (format!(r#"{{"a":"{}"}}"#, "x".repeat(16 * 1024 - 7)), false),
        ("[]".to_owned(), false),
        ("7".to_owned(), false),
    ] {
        let mut scene = Harness::with_accepted_query();
        let result = CompletedQuery {
            value: Some(raw(r#"{"z":[1.0,null]}"#)),
            usage: Some(raw(&usage)),
            tool_calls: Vec::new(),
        };
        scene.complete_with(result).unwrap();
        let message = scene.complete_message();
        assert_eq!(message["result"].to_string(), r#"{"z":[1.0,null]}"#);
        let expected: serde_json::Value = serde_json::from_str(&usage).unwrap();
        assert_eq!(message.get("usage"), passes.then_some(&expected));
    }
}

#[test]
fn calls_that_only_the_agent_knows_follow_those_of_the_page() {
    let mut scene = Harness::with_accepted_query();
    scene.call_for_query("a", "echo").unwrap();
    scene.answer(FIRST_CONNECTION, "a");
    let calls = vec![
        foreign_call("echo", None, "1"),
        foreign_call("search", Some("files"), "[1.50]"),
        foreign_call("read", Some("files"), &format!("\"{}\"", "x".repeat(998))),
        foreign_call(&"t".repeat(1_000), Some("files"), "1"),
        foreign_call("t", Some(&"s".repeat(1_000)), "1"),
    ];
    let result = CompletedQuery {
        tool_calls: calls,
        ..CompletedQuery::default()
    };
    scene.complete_with(result).unwrap();
    let message = scene.complete_message();
    assert_eq!(
        message["toolCalls"],
        serde_json::json!([
            { "tool": "echo", "arguments": {} },
            { "tool": "search", "arguments": { "a": 1 }, "result": [1.50], "source": "files" },
            { "tool": "read", "arguments": { "a": 1 }, "source": "files",
              "result": "left out: 1000 bytes, more than `max_query_bytes` has room for" },
        ])
    );
}

#[test]
fn after_the_response_tool_the_agent_still_reports_usage_and_its_own_calls() {
    let mut scene = with_response_tool();
    scene.call_for_query("a", "echo").unwrap();
    scene.answer(FIRST_CONNECTION, "a");
    let result = CompletedQuery {
        value: Some(raw("\"ignored\"")),
        usage: Some(raw(r#"{"milliseconds":7}"#)),
        tool_calls: vec![foreign_call("search", Some("files"), "1")],
    };
    scene.complete_with(result).unwrap();
    let message = scene.complete_message();
    assert_eq!(message.get("result"), None);
    assert_eq!(message["usage"], serde_json::json!({ "milliseconds": 7 }));
    assert_eq!(message["toolCalls"][0]["tool"], "echo");
    assert_eq!(message["toolCalls"][1]["source"], "files");
}
