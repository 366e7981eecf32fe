//! The limits of a query.

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, TokenUsage};
use serde_json::json;

use super::{FakeModel, Page, TestBed, call_turn, no_page_actions, text_turn, tool_definition};
use crate::agent_loop::prompt::ANSWER_NOW;
use crate::config::AgentLimits;
use crate::model::{ModelEvent, ToolSelection};

#[tokio::test]
async fn the_model_is_warned_of_its_last_turn_and_fails_if_it_continues() {
    let limits = AgentLimits {
        max_rounds: 2,
        ..AgentLimits::default()
    };
    let add = || call_turn(&[("add", json!({}))]);
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let serve = async |page: &mut Page| drop(page.serve_call(json!(1)).await);

    let model = FakeModel::new([add(), text_turn("Done.")]);
    let (answer, _) = bed.answer(&model, &limits, serve).await;
    assert!(answer.is_ok());
    let result = &model.last_results()[0].text;
    assert!(result.ends_with(ANSWER_NOW), "{result}");

    let model = FakeModel::new([add(), add()]);
    let (answer, _) = bed.answer(&model, &limits, serve).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.code, ErrorCode::QueryBudgetExceeded);
    assert!(failure.message.contains("2 rounds"), "{failure}");
}

#[tokio::test]
async fn a_call_in_the_last_turn_that_the_provider_cannot_read_exceeds_the_budget() {
    for (max_rounds, expected) in [
        (1, ErrorCode::QueryBudgetExceeded),
        (2, ErrorCode::ModelCallInvalid),
    ] {
        let limits = AgentLimits {
            max_rounds,
            ..AgentLimits::default()
        };
        let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
        let unreadable = AgentFailure::new(ErrorCode::ModelCallInvalid, "a call without tools");
        let turn = || vec![Err(unreadable.clone())];
        let model = FakeModel::new([turn(), turn()]);
        let (answer, _) = bed.answer(&model, &limits, no_page_actions).await;
        let failure = answer.unwrap_err();
        assert_eq!(failure.code, expected, "{failure}");
        if expected == ErrorCode::QueryBudgetExceeded {
            assert!(failure.message.contains("its 1 rounds"), "{failure}");
        }
    }
}

#[tokio::test]
async fn the_last_turn_of_a_query_with_a_response_tool_must_call_it() {
    let limits = AgentLimits {
        max_rounds: 1,
        ..AgentLimits::default()
    };
    let more = json!({ "responseTool": { "name": "plan" } });
    let mut bed = TestBed::with_query(&[tool_definition("plan")], more).await;
    let model = FakeModel::new([call_turn(&[("plan", json!({}))])]);
    let (answer, _) = bed
        .answer(&model, &limits, async |page: &mut Page| {
            page.serve_call(json!(1)).await;
        })
        .await;
    assert!(answer.is_ok());
    assert_eq!(
        model.requests()[0].tool_selection,
        ToolSelection::Only("plan".to_owned())
    );
}

#[tokio::test]
async fn calls_beyond_the_limit_are_not_made_and_the_model_answers() {
    let limits = AgentLimits {
        max_calls: 2,
        ..AgentLimits::default()
    };
    let add = |n: usize| call_turn(&vec![("add", json!({})); n]);
    let serve = async |page: &mut Page| {
        page.serve_call(json!(1)).await;
        page.serve_call(json!(2)).await;
    };
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let model = FakeModel::new([add(3), text_turn("Two of three.")]);
    let (answer, progress) = bed.answer(&model, &limits, serve).await;
    assert_eq!(answer.unwrap().tool_calls.len(), 2);
    let results = model.last_results();
    assert!(results[2].is_error);
    assert!(results[2].text.starts_with("Not called"), "{results:?}");
    assert!(results[2].text.ends_with(ANSWER_NOW), "{results:?}");
    assert!(
        progress.iter().any(|event| event["type"] == "note"),
        "{progress:?}"
    );

    let model = FakeModel::new([add(2), add(1)]);
    let (answer, _) = bed.answer(&model, &limits, serve).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.code, ErrorCode::QueryBudgetExceeded);
    assert!(failure.message.contains("2 calls"), "{failure}");
}

#[tokio::test]
async fn tokens_are_counted_over_all_turns() {
    let limits = AgentLimits {
        max_tokens: 20_000,
        ..AgentLimits::default()
    };
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let mut costly = call_turn(&[("add", json!({}))]);
    if let Some(Ok(ModelEvent::End { usage, .. })) = costly.last_mut() {
        *usage = TokenUsage {
            input: 15_000,
            output: 5_000,
            ..TokenUsage::default()
        };
    }
    let model = FakeModel::new([costly]);
    let (answer, _) = bed
        .answer(&model, &limits, async |page: &mut Page| {
            page.serve_call(json!(1)).await;
        })
        .await;
    assert_eq!(answer.unwrap_err().code, ErrorCode::QueryBudgetExceeded);
    assert_eq!(model.requests().len(), 1);

    bed.query.prompt = "x".repeat(100_000);
    let model = FakeModel::new([]);
    let (answer, _) = bed.answer(&model, &limits, no_page_actions).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.code, ErrorCode::QueryBudgetExceeded);
    assert!(failure.remedy.unwrap().contains("max_tokens"));
}

#[tokio::test]
async fn only_restricted_tools_are_offered_and_the_bridge_refuses_others() {
    let more = json!({ "tools": [{ "name": "add" }], "restrictTools": true });
    let mut bed =
        TestBed::with_query(&[tool_definition("add"), tool_definition("remove")], more).await;
    let model = FakeModel::new([text_turn("Done.")]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert!(answer.is_ok());
    let names: Vec<_> = model.requests()[0]
        .tools
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(names, ["add"]);
    let result = bed.tools.call("remove", Default::default()).await;
    let result = result.unwrap();
    assert!(result.is_error());
    assert!(result.text.contains("ToolNotAllowed"), "{}", result.text);
}

#[tokio::test]
async fn a_model_without_tokens_for_another_turn_must_answer() {
    let limits = AgentLimits {
        max_tokens: 20_000,
        max_tool_result_bytes: 100_000,
        ..AgentLimits::default()
    };
    let mut bed = TestBed::with_query(&[tool_definition("read")], json!({})).await;
    let model = FakeModel::new([call_turn(&[("read", json!({}))]), text_turn("Long.")]);
    let (answer, _) = bed
        .answer(&model, &limits, async |page: &mut Page| {
            page.serve_call(json!("x".repeat(50_000))).await;
        })
        .await;
    assert_eq!(answer.unwrap().result, Some(json!("Long.")));
    assert!(model.last_results()[0].text.ends_with(ANSWER_NOW));
}
