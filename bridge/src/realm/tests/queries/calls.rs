//! What a query may call, and what its end tells of that.

use super::*;

#[test]
fn restricted_tools_bite_only_when_tools_are_named() {
    let allows = |tools: Option<&[&str]>, restrict, response: Option<&str>| {
        let mut scene = Scene::with_page();
        let tools = tools.map(|names| names.iter().map(|name| named(name)).collect());
        let asked = Asked {
            tools,
            restrict_tools: Some(restrict),
            response_tool: response.map(named),
            ..asked(QUERY)
        };
        scene.ask_agent(asked).accept();
        let allowed = |name| scene.realm.query_allows(&id(QUERY), name);
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
fn the_response_tool_completes_the_query_before_its_caller_hears() {
    let mut scene = Scene::with_page();
    let asked = Asked {
        response_tool: Some(named("echo")),
        ..asked(QUERY)
    };
    scene.ask_agent(asked).accept();
    scene.call_for_query("a", "other").unwrap();
    scene.answer(FIRST, "a");
    assert_eq!(scene.told(), ["end a"]);
    scene.call_for_query("b", "echo").unwrap();
    let failure = Failure::new(ErrorCode::HandlerFailed, "no".to_owned());
    let effects =
        scene
            .realm
            .call_answered(&TAB.into(), FIRST, &"b".into(), Err(failure), scene.now);
    assert_eq!(scene.then(effects).told(), ["end b"]);
    scene.call_for_query("c", "echo").unwrap();
    scene.call_for_query("d", "other").unwrap();
    scene.answer(FIRST, "c");
    assert_eq!(
        scene.told(),
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
fn completing_a_query_that_demands_a_response_tool_fails_it() {
    let mut scene = Scene::with_page();
    let asked = Asked {
        response_tool: Some(named("echo")),
        ..asked(QUERY)
    };
    scene.ask_agent(asked).accept();
    let QueryRefusal::ResponseToolDemanded(why) = scene.complete().unwrap_err() else {
        panic!("another refusal")
    };
    assert_eq!(
        why,
        "Query specified responseTool 'echo' but agent called queryComplete() instead"
    );
    assert_eq!(scene.told()[0], "failure AgentFailed");
}

#[test]
fn tool_calls_are_told_in_order_of_completion_with_failures_and_within_bytes() {
    let mut scene = Scene::at_work();
    for call in ["a", "b", "c", "d"] {
        scene.call_for_query(call, "echo").unwrap();
    }
    let answer = |scene: &mut Scene, call: &str, answer| {
        let effects =
            scene
                .realm
                .call_answered(&TAB.into(), FIRST, &call.into(), answer, scene.now);
        scene.then(effects);
    };
    answer(&mut scene, "b", Ok(Answer::Value(Some(raw("1.50").into()))));
    let failure = Failure::new(ErrorCode::HandlerFailed, "no".to_owned());
    answer(&mut scene, "a", Err(failure));
    let theirs = Failure {
        data: Some(raw(r#"{"z":1,"error":"own"}"#)),
        ..Failure::new(ErrorCode::HandlerFailed, "own".to_owned())
    };
    answer(&mut scene, "c", Err(theirs));
    let large = format!("\"{}\"", "x".repeat(LIMITS.queries.tool_call_bytes));
    answer(&mut scene, "d", Ok(Answer::Value(Some(raw(&large).into()))));
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
    let mut scene = Scene::at_work();
    let mut limits = LIMITS;
    limits.queries.tool_call_bytes = usize::MAX;
    scene.realm.limits = limits.into();
    scene.complete().unwrap();
    scene.ask_agent(asked("many"));
    for n in 0..1025 {
        let call = n.to_string();
        let new = call_for("many", &call, tool("echo"));
        let effects = scene
            .realm
            .call_requested(&TAB.into(), new, scene.now)
            .unwrap();
        scene.then(effects);
        scene.answer(FIRST, &call);
    }
    let effects = scene
        .realm
        .query_completed(&id("many"), Some(raw("1")), scene.now)
        .1;
    scene.then(effects);
    let calls = scene.effects.iter().find_map(|effect| match effect {
        Effect::Send {
            message: BridgeToPage::QueryComplete(complete),
            ..
        } => Some(complete.tool_calls.len()),
        _ => None,
    });
    assert_eq!(calls, Some(1024));
}

#[test]
fn an_agent_that_streams_is_heard_out_when_its_response_tool_was_called() {
    let answered = || {
        let mut scene = Scene::with_page();
        let asked = Asked {
            response_tool: Some(named("echo")),
            ..asked(QUERY)
        };
        scene.ask_agent(asked);
        let effects = scene.realm.query_streams(&id(QUERY));
        scene.then(effects);
        scene.call_for_query("a", "echo").unwrap();
        scene.call_for_query("b", "other").unwrap();
        scene.answer(FIRST, "a");
        assert_eq!(scene.told(), ["call-cancel b", "end b", "end a"]);
        // No tool runs afterwards.
        assert!(scene.call_for_query("c", "echo").is_err());
        scene.progress("said before").unwrap();
        assert_eq!(scene.told(), ["\"said before\""]);
        scene
    };
    let complete = r#"complete nothing ["echo", "other"]"#;
    let told = [complete, "ended q", "forgotten q"];
    let mut scene = answered();
    scene.complete().unwrap();
    assert_eq!(scene.told(), told);
    let mut scene = answered();
    let lost = agent_failed("cut");
    let effects = scene.realm.agent_lost(&id(QUERY), lost, scene.now);
    assert_eq!(scene.then(effects).told(), told);
    // One that says nothing more is not waited for.
    let mut scene = answered();
    scene.after(1.0);
    assert_eq!(scene.told(), told);
    let mut scene = answered();
    scene.cancel_by_page();
    assert_eq!(scene.told(), ["stop q"]);
}
