//! How queries end: the response tool, and failures.

use bridge_protocol::ErrorCode;
use serde_json::{Value, json};

use super::{Page, Script, World, calls, says, tool};
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::{Choice, Event, Message};

fn plan() -> Value {
    json!({ "responseTool": { "name": "plan" } })
}

async fn nothing(_: &mut Page) {}

#[tokio::test]
async fn the_response_tool_runs_last_and_alone_and_its_success_ends_the_query() {
    let mut world = World::asking(&[tool("plan"), tool("add")], plan()).await;
    let model = Script::new([calls(&[
        ("plan", json!({ "n": 1 })),
        ("add", json!({ "n": 2 })),
        ("add", json!({ "n": 3 })),
    ])]);
    let (answer, said) = world
        .answer(&model, &Limits::default(), async |page: &mut Page| {
            for _ in 0..2 {
                assert_eq!(page.serve(json!(null)).await.tool, "add");
            }
            assert_eq!(page.serve(json!("planned")).await.tool, "plan");
            let complete = page.hear("query_complete").await;
            assert_eq!(complete["toolCalls"].as_array().unwrap().len(), 3);
        })
        .await;
    let answer = answer.unwrap();
    assert!(answer.result.is_none());
    assert_eq!(answer.tool_calls[2].tool, "plan");
    let last = said.last().unwrap();
    assert_eq!(
        (&last["tool"], &last["isError"]),
        (&json!("plan"), &json!(false))
    );
    let started: Vec<_> = said
        .iter()
        .filter(|event| event["type"] == "tool-started")
        .map(|event| event["id"].as_str().unwrap())
        .collect();
    assert_eq!(started, ["2", "3", "1"]);
}

#[tokio::test]
async fn a_response_that_fails_is_told_to_the_model() {
    let mut world = World::asking(&[tool("plan")], plan()).await;
    let model = Script::new([
        calls(&[("plan", json!({ "n": "one" })), ("plan", json!({ "n": 2 }))]),
        calls(&[("plan", json!({ "n": 1 }))]),
    ]);
    let (answer, _) = world
        .answer(&model, &Limits::default(), async |page: &mut Page| {
            let call = page.serve(json!(null)).await;
            assert_eq!(call.input, json!({ "n": 1 }));
        })
        .await;
    assert!(answer.unwrap().result.is_none());
    let results = model.results();
    assert!(results.iter().all(|result| result.is_error));
    assert_eq!(results[1].text, "Not called: the answer is one call.");
}

#[tokio::test]
async fn a_model_that_stops_without_the_response_tool_must_call_it() {
    let mut world = World::asking(&[tool("plan")], plan()).await;
    let model = Script::new([says("Here is my plan."), calls(&[("plan", json!({}))])]);
    let (answer, _) = world
        .answer(&model, &Limits::default(), async |page: &mut Page| {
            page.serve(json!(null)).await;
        })
        .await;
    assert!(answer.is_ok());
    let [first, second] = &model.heard()[..] else {
        panic!("two turns");
    };
    assert_eq!(first.choice, Choice::Auto);
    assert_eq!(second.choice, Choice::Only("plan".to_owned()));
    let last = second.history.last();
    assert!(
        matches!(last, Some(Message::User(text)) if text.contains("must be a call of `plan`")),
        "{last:?}"
    );
}

#[tokio::test]
async fn a_model_that_does_not_even_then_fails_the_query() {
    let mut world = World::asking(&[tool("plan"), tool("add")], plan()).await;
    for second in [says("No."), calls(&[("add", json!({}))])] {
        let model = Script::new([says(""), second]);
        let (answer, _) = world.answer(&model, &Limits::default(), nothing).await;
        let failure = answer.unwrap_err();
        assert_eq!(failure.code, ErrorCode::ResponseToolNotCalled);
        assert!(failure.message.contains("`plan`"), "{failure}");
        let heard = model.heard();
        assert!(
            matches!(&heard[1].history[..], [Message::User(_)]),
            "an empty turn is not told to the model"
        );
    }
}

#[tokio::test]
async fn a_response_tool_that_the_page_has_not_costs_no_turn() {
    let mut world = World::asking(&[tool("add")], plan()).await;
    let model = Script::new([]);
    let (answer, _) = world.answer(&model, &Limits::default(), nothing).await;
    assert_eq!(answer.unwrap_err().code, ErrorCode::ToolNotFound);
    assert!(model.heard().is_empty());
}

#[tokio::test]
async fn a_failure_of_the_model_comes_after_what_it_has_said() {
    let mut world = World::asking(&[tool("add")], json!({})).await;
    let broken = Failure::new(ErrorCode::ModelStreamBroken, "cut");
    let text = || Ok(Event::Text("I".to_owned()));
    let model = Script::new([vec![text(), Err(broken.clone())]]);
    let (answer, said) = world.answer(&model, &Limits::default(), nothing).await;
    assert_eq!(answer.unwrap_err(), broken);
    assert_eq!(said, [json!({ "type": "text", "text": "I" })]);
}

#[tokio::test]
async fn notes_and_thoughts_are_told() {
    let mut world = World::asking(&[], json!({})).await;
    let mut turn = says("Yes.");
    turn.insert(0, Ok(Event::Thinking("Hm".to_owned())));
    turn.insert(0, Ok(Event::Note("busy".to_owned())));
    let model = Script::new([turn]);
    let (answer, said) = world.answer(&model, &Limits::default(), nothing).await;
    assert_eq!(answer.unwrap().result.as_deref(), Some("Yes."));
    let kinds: Vec<_> = said.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["note", "thinking", "text"]);
    let first = &model.heard()[0];
    assert!(matches!(&first.history[..], [Message::User(text)] if text == "Do it"));
}
