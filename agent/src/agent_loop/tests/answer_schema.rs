//! Queries whose answer must fit a schema.

use bridge_protocol::ErrorCode;
use serde_json::{Value, json};

use super::{FakeModel, Page, TestBed, call_turn, no_page_actions, text_turn, tool_definition};
use crate::config::AgentLimits;
use crate::model::{ArgumentsDelta, ModelEvent, ToolSelection};

fn schema() -> Value {
    json!({ "responseSchema": { "type": "object", "properties": { "late": { "type": "integer" } },
        "required": ["late"] } })
}

#[tokio::test]
async fn the_answer_is_a_value_and_tools_are_called_before() {
    let mut bed = TestBed::with_query(&[tool_definition("count")], schema()).await;
    let mut answering = call_turn(&[("answer", json!({ "late": 2 }))]);
    let piece = ArgumentsDelta {
        index: 0,
        tool: "answer".to_owned(),
        delta: r#"{"late":2}"#.to_owned(),
    };
    answering.insert(0, Ok(ModelEvent::Arguments(piece)));
    let model = FakeModel::new([call_turn(&[("count", json!({}))]), answering]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            assert_eq!(page.serve_call(json!(2)).await.tool_name, "count");
        })
        .await;
    let answer = answer.unwrap();
    assert_eq!(answer.result, Some(json!({ "late": 2 })));
    assert_eq!(
        answer.tool_calls.len(),
        1,
        "the answer is not a call of a tool"
    );
    let expected = json!({ "type": "tool-arguments", "id": "2", "tool": "answer",
        "delta": r#"{"late":2}"# });
    assert_eq!(progress.last(), Some(&expected));
    let tools = &model.requests()[0].tools;
    assert_eq!(tools[1].input_schema["required"], json!(["late"]));
}

#[tokio::test]
async fn a_model_that_answers_in_text_must_call_the_tool() {
    let mut bed = TestBed::with_query(&[], schema()).await;
    let model = FakeModel::new([
        text_turn("Two are late."),
        call_turn(&[("answer", json!({ "late": 2 }))]),
    ]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert_eq!(answer.unwrap().result, Some(json!({ "late": 2 })));
    let forced = ToolSelection::Only("answer".to_owned());
    assert_eq!(model.requests()[1].tool_selection, forced);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_corrected_or_fails() {
    let mut bed = TestBed::with_query(&[], schema()).await;
    let wrong = || call_turn(&[("answer", json!({ "late": "two" }))]);
    let right = call_turn(&[("answer", json!({ "late": 2 }))]);
    let model = FakeModel::new([wrong(), right]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert_eq!(answer.unwrap().result, Some(json!({ "late": 2 })));
    let results = model.last_results();
    assert!(
        results[0].is_error && results[0].text.contains("/late"),
        "{results:?}"
    );
    assert_eq!(progress[1]["outcome"], "invalid_args", "{progress:?}");
    let note = progress[2]["text"].as_str().unwrap();
    assert!(note.contains("asking again"), "{note}");

    let model = FakeModel::new([wrong(), wrong(), wrong()]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.code, ErrorCode::ModelAnswerInvalid);
    assert!(failure.message.contains("/late"), "{failure}");
}
