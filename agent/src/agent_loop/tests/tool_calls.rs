//! Calls, as the page, the model and the reader of the progress see them.

use std::time::Duration;

use serde_json::{Value, json};

use super::fake_model::text_and_call_turn;
use super::{FakeModel, Page, TestBed, call_input, call_turn, text_turn, tool_definition};
use crate::agent_loop::FinalAnswer;
use crate::config::AgentLimits;
use crate::model::ModelMessage;

#[tokio::test]
async fn progress_and_tool_calls_are_reported_in_order() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let model = FakeModel::new([
        text_and_call_turn("I add it.", &[("add", json!({ "n": 1 }))]),
        text_turn("Done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            let call = page.serve_call(json!({ "id": 7 })).await;
            assert_eq!(
                (call.tool_name.as_str(), &call_input(&call)),
                ("add", &json!({ "n": 1 }))
            );
        })
        .await;
    let expected = json!([
        { "type": "text", "text": "I add it." },
        { "type": "tool-started", "id": "1", "tool": "add", "arguments": { "n": 1 } },
        { "type": "tool-finished", "id": "1", "tool": "add", "isError": false },
        { "type": "text", "text": "Done." },
    ]);
    assert_eq!(Value::from(progress), expected);
    let answer = answer.unwrap();
    assert_eq!(answer.result, Some(json!("Done.")));
    let tool_calls = json!([{ "tool": "add", "arguments": { "n": 1 }, "result": { "id": 7 } }]);
    assert_eq!(json!(answer.tool_calls), tool_calls);
    let [first, second] = &model.requests()[..] else {
        panic!("two turns");
    };
    assert_eq!(&*first.prompt, "Do it");
    assert!(
        matches!(&first.history[..], [ModelMessage::User(user)] if user.text.ends_with("\n\nDo it"))
    );
    let [
        ModelMessage::User(_),
        ModelMessage::Model(turn),
        ModelMessage::Results(results),
    ] = &second.history[..]
    else {
        panic!("{:?}", second.history);
    };
    assert_eq!(turn.calls[0].id, results[0].id);
    assert_eq!(results[0].text, r#"{"id":7}"#);
    assert!(!results[0].is_error);
}

#[tokio::test]
async fn the_page_gets_a_note_about_tools_to_approve_that_it_does_not_have() {
    let approve = json!({ "approve": ["ad"] });
    let mut bed = TestBed::with_query(&[tool_definition("add")], approve).await;
    let model = FakeModel::new([text_turn("Done.")]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |_: &mut Page| {})
        .await;
    assert!(answer.is_ok());
    let text = "`approve` names tools that this query does not have: `ad`";
    assert_eq!(progress[0], json!({ "type": "note", "text": text }));
}

#[tokio::test]
async fn calls_of_a_turn_run_in_parallel_and_their_results_keep_the_order() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let six: Vec<_> = (1..=6).map(|n| ("add", json!({ "n": n }))).collect();
    let model = FakeModel::new([call_turn(&six), text_turn("Done.")]);
    let limits = AgentLimits::default();
    let (answer, progress) = bed
        .answer(&model, &limits, async |page: &mut Page| {
            let mut open = Vec::new();
            for _ in 0..limits.parallel_calls {
                open.push(page.recv_call().await);
            }
            // The last call is answered first.
            for has_more in [true, true, false, false, false, false] {
                let call = open.pop().unwrap();
                page.respond(&call, call_input(&call)["n"].clone()).await;
                if has_more {
                    open.insert(0, page.recv_call().await);
                }
            }
        })
        .await;
    let mut running = 0_usize;
    let mut max = 0;
    for event in &progress {
        match event["type"].as_str() {
            Some("tool-started") => running += 1,
            Some("tool-finished") => running -= 1,
            _ => {}
        }
        max = max.max(running);
    }
    assert_eq!((running, max), (0, limits.parallel_calls));
    let results = model.last_results();
    let texts: Vec<_> = results.iter().map(|result| result.text.as_str()).collect();
    assert_eq!(texts, ["1", "2", "3", "4", "5", "6"]);
    let tool_calls = answer.unwrap().tool_calls;
    assert_eq!(tool_calls.len(), 6);
    assert_ne!(
        tool_calls[0].arguments.get(),
        r#"{"n":1}"#,
        "in the order in which they ended"
    );
}

#[tokio::test]
async fn an_unknown_tool_and_bad_arguments_are_errors_for_the_model() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let model = FakeModel::new([
        call_turn(&[("remove", json!({})), ("add", json!({ "n": "one" }))]),
        call_turn(&[("add", json!({ "n": 1 }))]),
        text_turn("Done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            let call = page.serve_call(json!(null)).await;
            assert_eq!(
                call_input(&call),
                json!({ "n": 1 }),
                "the first call that reaches the page"
            );
        })
        .await;
    assert!(answer.is_ok());
    let after_first = &model.requests()[1];
    let Some(ModelMessage::Results(results)) = after_first.history.last() else {
        panic!("{:?}", after_first.history);
    };
    assert!(results.iter().all(|result| result.is_error));
    assert_eq!(results[0].text, "There is no tool `remove`. There are: add");
    assert!(results[1].text.contains('n'), "{}", results[1].text);
    let failed = |id: &str| {
        progress
            .iter()
            .any(|event| event["id"] == id && event["isError"] == true)
    };
    assert!(failed("1") && failed("2") && !failed("3"), "{progress:?}");
}

/// Answers a query whose only call fails with this error. Also returns the model and the progress.
async fn answer_after_error(error: &str) -> (FakeModel, FinalAnswer, Vec<Value>) {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let model = FakeModel::new([
        call_turn(&[("add", json!({}))]),
        text_turn("It cannot be done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            let call = page.recv_call().await;
            let failure = json!({ "type": "call-error", "requestId": call.request_id,
                "code": "HandlerFailed", "message": error });
            page.send_json(failure).await;
        })
        .await;
    (model, answer.unwrap(), progress)
}

#[tokio::test]
async fn a_handler_error_is_sent_to_the_model_and_the_page() {
    let (model, answer, progress) = answer_after_error("the board is full").await;
    assert_eq!(model.last_results()[0].text, "the board is full");
    assert!(model.last_results()[0].is_error);
    let finished = &progress[1];
    let expected = json!({ "type": "tool-finished", "id": "1", "tool": "add", "isError": true,
        "error": "the board is full", "outcome": "tool_error" });
    assert_eq!(*finished, expected);
    let tool_calls = json!(answer.tool_calls);
    assert_eq!(
        tool_calls[0]["result"],
        json!({ "error": "the board is full" })
    );
}

#[tokio::test]
async fn the_page_gets_the_beginning_of_a_long_error() {
    let error = "ä".repeat(301);
    let (model, _, progress) = answer_after_error(&error).await;
    assert_eq!(model.last_results()[0].text, error, "the model gets all");
    assert_eq!(progress[1]["error"], format!("{}…", "ä".repeat(300)));
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_and_the_answer_continues() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let model = FakeModel::new([call_turn(&[("add", json!({}))]), text_turn("Too slow.")]);
    let limits = AgentLimits {
        call_timeout: Duration::from_millis(200),
        ..AgentLimits::default()
    };
    let (answer, _) = bed
        .answer(&model, &limits, async |page: &mut Page| {
            let call = page.recv_call().await;
            page.expect_cancel(&call).await;
        })
        .await;
    assert_eq!(answer.unwrap().result, Some(json!("Too slow.")));
    let expected = "The tool did not answer within 200ms, and was cancelled. It may have happened all \
        the same: check before you request it again.";
    assert_eq!(model.last_results()[0].text, expected);
}

#[tokio::test]
async fn a_tool_with_its_own_longer_timeout_is_not_cancelled() {
    let mut slow = tool_definition("render");
    slow["_meta"] = json!({ "mcp-web/timeout": 60_000 });
    let mut bed = TestBed::with_query(&[slow, tool_definition("add")], json!({})).await;
    let calls = call_turn(&[("render", json!({})), ("add", json!({}))]);
    let model = FakeModel::new([calls, text_turn("Done.")]);
    let limits = AgentLimits {
        call_timeout: Duration::from_millis(200),
        ..AgentLimits::default()
    };
    let (answer, _) = bed
        .answer(&model, &limits, async |page: &mut Page| {
            let calls = [page.recv_call().await, page.recv_call().await];
            let [render, add] = if calls[0].tool_name == "render" {
                [&calls[0], &calls[1]]
            } else {
                [&calls[1], &calls[0]]
            };
            page.expect_cancel(add).await;
            page.respond(render, json!("rendered")).await;
        })
        .await;
    assert!(answer.is_ok());
    assert_eq!(model.last_results()[0].text, "rendered");
    assert!(model.last_results()[1].is_error);
}

#[tokio::test]
async fn a_long_result_is_truncated_with_a_note() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let model = FakeModel::new([call_turn(&[("add", json!({}))]), text_turn("Long.")]);
    let limits = AgentLimits {
        max_tool_result_bytes: 1000,
        ..AgentLimits::default()
    };
    let (answer, _) = bed
        .answer(&model, &limits, async |page: &mut Page| {
            page.serve_call(json!("x".repeat(5000))).await;
        })
        .await;
    let text = &model.last_results()[0].text;
    assert!(
        text.contains("4000 of its 5000 bytes are missing"),
        "{text}"
    );
    assert!(text.len() < 1200);
    let tool_calls = json!(answer.unwrap().tool_calls);
    let result = tool_calls[0]["result"].as_str().unwrap();
    assert_eq!(result.len(), 5000, "the page's own result is not truncated");
}

#[tokio::test]
async fn tools_are_offered_without_bridge_additions_and_reported_by_registered_name() {
    let mut bed = TestBed::with_query(&[tool_definition("add card")], json!({})).await;
    let tools = bed.tools.list().await.unwrap();
    let offered = &tools[0].tool;
    assert_eq!(tools[0].registered_name, "add card");
    assert_ne!(offered.name, "add card");
    let properties = offered.input_schema["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["n"]);

    let model = FakeModel::new([
        call_turn(&[(&offered.name, json!({ "n": 1 }))]),
        text_turn("Done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            assert_eq!(page.serve_call(json!(1)).await.tool_name, "add card");
        })
        .await;
    assert_eq!(progress[0]["tool"], "add card");
    assert_eq!(answer.unwrap().tool_calls[0].tool, "add card");
}

#[tokio::test]
async fn tools_that_a_call_registers_are_offered_in_the_next_turn() {
    let mut bed = TestBed::with_query(&[tool_definition("open")], json!({})).await;
    let model = FakeModel::new([call_turn(&[("open", json!({}))]), text_turn("Opened.")]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            let call = page.recv_call().await;
            page.register(&[tool_definition("save")]).await;
            page.respond(&call, json!(null)).await;
        })
        .await;
    assert!(answer.is_ok());
    let tool_counts: Vec<_> = model
        .requests()
        .iter()
        .map(|request| request.tools.len())
        .collect();
    assert_eq!(tool_counts, [1, 2]);
}
