//! The outcomes of queries: the response tool, and failures.

use std::sync::Arc;

use agent_tools::AgentFailure;
use bridge_protocol::ErrorCode;
use serde_json::{Value, json};

use super::{
    FakeModel, Page, TestBed, call_input, call_turn, no_page_actions, text_turn, tool_definition,
};
use crate::config::AgentLimits;
use crate::model::{ArgumentsDelta, ModelEvent, ModelMessage, ToolSelection};

fn with_response_tool() -> Value {
    json!({ "responseTool": { "name": "plan" } })
}

#[tokio::test]
async fn the_response_tool_runs_last_and_alone_and_its_success_ends_the_query() {
    let mut bed = TestBed::with_query(
        &[tool_definition("plan"), tool_definition("add")],
        with_response_tool(),
    )
    .await;
    let model = FakeModel::new([call_turn(&[
        ("plan", json!({ "n": 1 })),
        ("add", json!({ "n": 2 })),
        ("add", json!({ "n": 3 })),
    ])]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            for _ in 0..2 {
                assert_eq!(page.serve_call(json!(null)).await.tool_name, "add");
            }
            assert_eq!(page.serve_call(json!("planned")).await.tool_name, "plan");
            let complete = page.recv_type("query_complete").await;
            assert_eq!(complete["toolCalls"].as_array().unwrap().len(), 3);
        })
        .await;
    let answer = answer.unwrap();
    assert!(answer.result.is_none());
    assert_eq!(answer.tool_calls[2].tool, "plan");
    let last = progress.last().unwrap();
    assert_eq!(
        (&last["tool"], &last["isError"]),
        (&json!("plan"), &json!(false))
    );
    let started: Vec<_> = progress
        .iter()
        .filter(|event| event["type"] == "tool-started")
        .map(|event| event["id"].as_str().unwrap())
        .collect();
    assert_eq!(started, ["2", "3", "1"]);
}

#[tokio::test]
async fn a_failed_response_call_goes_back_to_the_model() {
    let mut bed = TestBed::with_query(&[tool_definition("plan")], with_response_tool()).await;
    let model = FakeModel::new([
        call_turn(&[("plan", json!({ "n": "one" })), ("plan", json!({ "n": 2 }))]),
        call_turn(&[("plan", json!({ "n": 1 }))]),
    ]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            let call = page.serve_call(json!(null)).await;
            assert_eq!(call_input(&call), json!({ "n": 1 }));
        })
        .await;
    assert!(answer.unwrap().result.is_none());
    let results = model.last_results();
    assert!(results.iter().all(|result| result.is_error));
    assert_eq!(results[1].text, "Not called: the answer is one call.");
}

#[tokio::test]
async fn a_model_that_stops_without_the_response_tool_must_call_it() {
    let mut bed = TestBed::with_query(&[tool_definition("plan")], with_response_tool()).await;
    let model = FakeModel::new([
        text_turn("Here is my plan."),
        call_turn(&[("plan", json!({}))]),
    ]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            page.serve_call(json!(null)).await;
        })
        .await;
    assert!(answer.is_ok());
    let [first, second] = &model.requests()[..] else {
        panic!("two turns");
    };
    assert_eq!(first.tool_selection, ToolSelection::Auto);
    assert_eq!(
        second.tool_selection,
        ToolSelection::Only("plan".to_owned())
    );
    let last = second.history.last();
    assert!(
        matches!(last, Some(ModelMessage::User(user)) if user.text.contains("must be a call of `plan`")),
        "{last:?}"
    );
}

#[tokio::test]
async fn a_model_that_still_skips_the_response_tool_fails_the_query() {
    let mut bed = TestBed::with_query(
        &[tool_definition("plan"), tool_definition("add")],
        with_response_tool(),
    )
    .await;
    let wrong = || call_turn(&[("add", json!({}))]);
    for [second, third] in [[text_turn("No."), wrong()], [wrong(), text_turn("No.")]] {
        let model = FakeModel::new([text_turn(""), second, third]);
        let (answer, _) = bed
            .answer(&model, &AgentLimits::default(), no_page_actions)
            .await;
        let failure = answer.unwrap_err();
        assert_eq!(failure.code, ErrorCode::ResponseToolNotCalled);
        assert!(failure.message.contains("`plan`"), "{failure}");
        let requests = model.requests();
        assert!(
            matches!(&requests[1].history[..], [ModelMessage::User(_)]),
            "an empty turn is not sent back to the model"
        );
        assert_eq!(requests.len(), 3, "it is asked once more");
    }
}

#[tokio::test]
async fn a_model_that_was_forced_and_called_another_tool_gets_one_more_try() {
    let mut bed = TestBed::with_query(
        &[tool_definition("plan"), tool_definition("add")],
        with_response_tool(),
    )
    .await;
    let model = FakeModel::new([
        text_turn("Here is my plan."),
        call_turn(&[("add", json!({}))]),
        call_turn(&[("plan", json!({}))]),
    ]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            page.serve_call(json!(null)).await;
        })
        .await;
    assert!(answer.is_ok());
    let results = model.last_results();
    assert_eq!(results.len(), 1, "the other tool was not called");
    assert!(results[0].is_error);
    assert!(
        results[0].text.contains("must be a call of `plan`"),
        "{results:?}"
    );
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_once_more_and_then_fails() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let model = FakeModel::new([text_turn(""), text_turn("Done.")]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert_eq!(answer.unwrap().result, Some(json!("Done.")));
    let model = FakeModel::new([text_turn(""), text_turn(" \n")]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert_eq!(answer.unwrap_err().code, ErrorCode::ModelAnswerEmpty);
}

#[tokio::test]
async fn a_turn_with_a_call_that_cannot_be_read_is_repeated_once() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let invalid = || {
        let failure = AgentFailure::new(ErrorCode::ModelCallInvalid, "unreadable");
        let piece = ArgumentsDelta {
            index: 0,
            tool: "add".to_owned(),
            delta: "{".to_owned(),
        };
        vec![Ok(ModelEvent::Arguments(piece)), Err(failure)]
    };
    let model = FakeModel::new([
        invalid(),
        call_turn(&[("add", json!({}))]),
        text_turn("Done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            page.serve_call(json!(1)).await;
        })
        .await;
    assert_eq!(answer.unwrap().result, Some(json!("Done.")));
    let requests = model.requests();
    assert_eq!(requests[1].history.len(), 1, "nothing has happened");
    // The page has a piece of a call that was never made.
    let mut ids: Vec<_> = progress
        .iter()
        .filter_map(|event| event["id"].as_str())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 2, "{progress:?}");

    let model = FakeModel::new([invalid(), invalid()]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert_eq!(answer.unwrap_err().code, ErrorCode::ModelCallInvalid);
}

#[tokio::test]
async fn a_missing_response_tool_fails_before_the_first_turn() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], with_response_tool()).await;
    let model = FakeModel::new([]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert_eq!(answer.unwrap_err().code, ErrorCode::ToolNotFound);
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_response_tool_that_the_page_removes_fails_before_the_turn_that_must_call_it() {
    let tools = ["plan", "open"].map(tool_definition);
    let mut bed = TestBed::with_query(&tools, with_response_tool()).await;
    let model = FakeModel::new([call_turn(&[("open", json!({}))]), text_turn("Opened.")]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            let call = page.recv_call().await;
            let plan = json!({ "kind": "tool", "name": "plan" });
            let unregister =
                json!({ "type": "unregister", "registrationId": "u", "items": [plan] });
            page.send_json(unregister).await;
            page.recv_type("unregistered").await;
            page.respond(&call, json!("opened")).await;
        })
        .await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.code, ErrorCode::ToolNotFound);
    assert!(failure.message.contains("`plan`"), "{failure}");
    assert!(failure.remedy.unwrap().contains("until the query ends"));
    assert_eq!(model.requests().len(), 2, "the model is not forced");
}

#[tokio::test]
async fn the_output_of_a_model_is_sent_before_its_failure() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let broken = AgentFailure::new(ErrorCode::ModelStreamBroken, "cut");
    let text = || Ok(ModelEvent::Text("I".to_owned()));
    let model = FakeModel::new([vec![text(), Err(broken.clone())]]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert_eq!(answer.unwrap_err(), broken);
    assert_eq!(progress, [json!({ "type": "text", "text": "I" })]);
}

#[tokio::test]
async fn notes_and_thoughts_are_sent_to_the_page() {
    let mut bed = TestBed::with_query(&[], json!({})).await;
    let mut turn = text_turn("Yes.");
    turn.insert(0, Ok(ModelEvent::Thinking("Hm".to_owned())));
    turn.insert(0, Ok(ModelEvent::Note("busy".to_owned())));
    let model = FakeModel::new([turn]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert_eq!(answer.unwrap().result, Some(json!("Yes.")));
    let kinds: Vec<_> = progress.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["note", "thinking", "text"]);
    let first = &model.requests()[0];
    assert!(
        matches!(&first.history[..], [ModelMessage::User(user)] if user.text.ends_with("\n\nDo it"))
    );
}

/// The server of a model refuses a part of the requests of one query, and others keep it.
#[tokio::test]
async fn turns_share_what_was_refused_with_those_of_their_query_only() {
    let mut bed = TestBed::with_query(&[], json!({})).await;
    let turns = ["", "One.", "", "Two."];
    let model = FakeModel::new(turns.map(text_turn));
    for expected in ["One.", "Two."] {
        let (answer, _) = bed
            .answer(&model, &AgentLimits::default(), no_page_actions)
            .await;
        assert_eq!(answer.unwrap().result, Some(json!(expected)));
    }
    let requests = model.requests();
    let shares = |a: usize, b: usize| {
        let [a, b] = [a, b].map(|index| &requests[index].switched_off);
        Arc::ptr_eq(a, b)
    };
    assert!(shares(0, 1) && shares(2, 3));
    assert!(!shares(1, 2));
}
