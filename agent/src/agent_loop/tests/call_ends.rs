//! Each call of a model has one end for the page, whether it is made or not.

use std::collections::BTreeMap;

use bridge_protocol::ErrorCode;
use serde_json::{Value, json};

use super::fake_model::TurnEvents;
use super::{FakeModel, Page, TestBed, call_turn, text_turn, tool_definition};
use crate::agent_loop::ClientResult;
use crate::config::AgentLimits;
use crate::model::{ModelEvent, ModelTool};

/// A query with the tools `add` and `plan` of the page, and `paint` of the client.
struct Case {
    name: &'static str,
    /// Further fields of the query.
    query: Value,
    max_calls: usize,
    turns: Vec<TurnEvents>,
    /// The number of calls that reach the page.
    served: usize,
    /// The number of each call with its outcome.
    ends: Vec<(usize, &'static str)>,
}

impl Case {
    fn new(
        name: &'static str,
        turns: impl IntoIterator<Item = TurnEvents>,
        served: usize,
        ends: &[(usize, &'static str)],
    ) -> Self {
        Self {
            name,
            query: json!({}),
            max_calls: AgentLimits::default().max_calls,
            turns: turns.into_iter().collect(),
            served,
            ends: ends.to_vec(),
        }
    }
}

/// Returns a turn with calls without arguments.
fn calls(tools: &[&str]) -> TurnEvents {
    let calls: Vec<_> = tools.iter().map(|tool| (*tool, json!({}))).collect();
    call_turn(&calls)
}

/// Returns a turn whose first call has arguments that cannot be read.
fn first_unreadable(mut events: TurnEvents) -> TurnEvents {
    let Some(Ok(ModelEvent::End { turn, .. })) = events.last_mut() else {
        panic!("{events:?}");
    };
    turn.calls[0].unreadable = Some("the arguments are not JSON".to_owned());
    events
}

fn done() -> TurnEvents {
    text_turn("Done.")
}

fn cases() -> Vec<Case> {
    let plan = || json!({ "responseTool": { "name": "plan" } });
    let schema = json!({ "responseSchema": {
        "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] } });
    let answer = |n: Value| call_turn(&[("answer", json!({ "n": n }))]);
    let mut repeated: Vec<_> = (0..11).map(|_| calls(&["add"])).collect();
    repeated.push(done());
    let mut ends_of_repeated: Vec<_> = (1..=10).map(|number| (number, "ok")).collect();
    ends_of_repeated.push((11, "rate_limited"));
    vec![
        Case::new(
            "made, and without a tool",
            [calls(&["add", "remove"]), done()],
            1,
            &[(1, "ok"), (2, "unavailable")],
        ),
        Case::new(
            "unreadable",
            [first_unreadable(calls(&["add", "add"])), done()],
            1,
            &[(1, "invalid_args"), (2, "ok")],
        ),
        Case::new("repeated", repeated, 10, &ends_of_repeated),
        Case {
            max_calls: 1,
            ..Case::new(
                "beyond the limit",
                [calls(&["add", "paint", "add"]), done()],
                1,
                &[(1, "ok"), (2, "rate_limited"), (3, "rate_limited")],
            )
        },
        Case::new(
            "of the client",
            [first_unreadable(calls(&["paint", "paint"])), done()],
            0,
            &[(1, "invalid_args"), (2, "ok")],
        ),
        Case {
            query: plan(),
            ..Case::new(
                "in place of the response tool",
                [done(), calls(&["add", "paint"]), calls(&["plan"])],
                1,
                &[(1, "denied"), (2, "denied"), (3, "ok")],
            )
        },
        Case {
            query: plan(),
            ..Case::new(
                "of the response tool",
                [
                    first_unreadable(calls(&["plan", "plan", "add"])),
                    calls(&["plan"]),
                ],
                2,
                &[(1, "invalid_args"), (2, "denied"), (3, "ok"), (4, "ok")],
            )
        },
        Case {
            query: schema,
            // The end of the last is that of the query.
            ..Case::new(
                "an answer",
                [answer(json!("one")), answer(json!(1))],
                0,
                &[(1, "invalid_args")],
            )
        },
    ]
}

/// Returns the outcome of each call. A call ends once, after it has begun.
fn ends(progress: &[Value]) -> Vec<(usize, &str)> {
    let mut calls: BTreeMap<usize, Option<&str>> = BTreeMap::new();
    for event in progress {
        let id = || event["id"].as_str().unwrap().parse().unwrap();
        match event["type"].as_str().unwrap() {
            "tool-started" => assert_eq!(calls.insert(id(), None), None, "{progress:?}"),
            "tool-finished" => {
                let outcome = event.get("outcome").map_or("ok", |it| it.as_str().unwrap());
                let before = calls.insert(id(), Some(outcome));
                assert_eq!(before, Some(None), "{progress:?}");
            }
            _ => {}
        }
    }
    let ended = calls.into_iter().map(|(id, outcome)| {
        let outcome = outcome.unwrap_or_else(|| panic!("{id} has no end: {progress:?}"));
        (id, outcome)
    });
    ended.collect()
}

#[tokio::test]
async fn each_call_of_a_model_has_one_end() {
    for case in cases() {
        let tools = ["add", "plan"].map(tool_definition);
        let mut bed = TestBed::with_query(&tools, case.query).await;
        bed.client_tools = vec![ModelTool {
            name: "paint".to_owned(),
            description: None,
            input_schema: json!({ "type": "object" }),
        }];
        bed.client_result = ClientResult {
            text: "painted".to_owned(),
            is_error: false,
            pictures: Vec::new(),
        };
        let limits = AgentLimits {
            max_calls: case.max_calls,
            ..AgentLimits::default()
        };
        let model = FakeModel::new(case.turns);
        let serve = async |page: &mut Page| {
            for _ in 0..case.served {
                page.serve_call(json!("done")).await;
            }
        };
        let (answer, progress) = bed.answer(&model, &limits, serve).await;
        assert!(answer.is_ok(), "{}: {answer:?}", case.name);
        assert_eq!(ends(&progress), case.ends, "{}", case.name);
    }
}

#[tokio::test]
async fn a_model_reads_what_to_do_about_arguments_that_cannot_be_read() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let model = FakeModel::new([first_unreadable(calls(&["add"])), done()]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), async |_: &mut Page| {})
        .await;
    assert_eq!(answer.unwrap().tool_calls.len(), 0, "the call was not made");
    let expected = "Not called: the arguments are not JSON. Call it again with a JSON object.";
    assert_eq!(model.last_results()[0].text, expected);
}

#[tokio::test]
async fn calls_that_only_read_get_notes_but_are_never_refused() {
    const CALLS: usize = 14;
    let mut status = tool_definition("get_status");
    status["annotations"] = json!({ "readOnlyHint": true });
    let mut bed = TestBed::with_query(&[status], json!({})).await;
    let mut turns: Vec<_> = (0..CALLS).map(|_| calls(&["get_status"])).collect();
    turns.push(done());
    let model = FakeModel::new(turns);
    let serve = async |page: &mut Page| {
        for _ in 0..CALLS {
            page.serve_call(json!("running")).await;
        }
    };
    let (answer, progress) = bed.answer(&model, &AgentLimits::default(), serve).await;
    assert_eq!(answer.unwrap().tool_calls.len(), CALLS);
    assert!(ends(&progress).iter().all(|(_, outcome)| *outcome == "ok"));
    let result = &model.last_results()[0].text;
    assert!(result.contains("14 times in a row"), "{result}");
}

#[tokio::test]
async fn reads_between_equal_calls_do_not_end_their_row() {
    const PAIRS: usize = 12;
    const MADE: usize = 10;
    let mut status = tool_definition("get_status");
    status["annotations"] = json!({ "readOnlyHint": true });
    let mut bed = TestBed::with_query(&[status, tool_definition("add")], json!({})).await;
    let pairs = (0..PAIRS).flat_map(|_| [calls(&["add"]), calls(&["get_status"])]);
    let model = FakeModel::new(pairs.chain([done()]).collect::<Vec<_>>());
    let serve = async |page: &mut Page| {
        for _ in 0..PAIRS + MADE {
            page.serve_call(json!("added")).await;
        }
    };
    let limits = AgentLimits {
        max_rounds: 3 * PAIRS,
        ..AgentLimits::default()
    };
    let (answer, progress) = bed.answer(&model, &limits, serve).await;
    answer.unwrap();
    let refused = ends(&progress).into_iter().filter(|(_, it)| *it != "ok");
    assert_eq!(refused.count(), PAIRS - MADE);
}

#[tokio::test]
async fn calls_of_a_turn_that_ends_the_query_have_their_ends() {
    for (query, max_rounds, turns, code) in [
        (
            json!({}),
            1,
            vec![calls(&["add", "remove"])],
            ErrorCode::QueryBudgetExceeded,
        ),
        (
            json!({ "responseTool": { "name": "plan" } }),
            AgentLimits::default().max_rounds,
            vec![done(), done(), calls(&["add", "remove"])],
            ErrorCode::ResponseToolNotCalled,
        ),
    ] {
        let tools = ["add", "plan"].map(tool_definition);
        let mut bed = TestBed::with_query(&tools, query).await;
        let limits = AgentLimits {
            max_rounds,
            ..AgentLimits::default()
        };
        let model = FakeModel::new(turns);
        let (answer, progress) = bed.answer(&model, &limits, async |_: &mut Page| {}).await;
        assert_eq!(answer.unwrap_err().code, code);
        let outcomes: Vec<_> = ends(&progress).into_iter().map(|(id, _)| id).collect();
        assert_eq!(outcomes, [1, 2], "{code:?}: {progress:?}");
    }
}
