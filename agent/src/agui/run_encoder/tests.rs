//! Compares the events of runs with those in `agent/golden/agui`. An end-to-end test validates these
//! files with the schemas of `@ag-ui/core`, and reads them with the clients of both generations.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bridge_protocol::{ErrorCode, QueryUsage, TokenUsage};
use serde_json::{Map, Value, json};

use super::*;

fn identity(run_id: &str, is_versioned: bool) -> RunIdentity {
    RunIdentity {
        thread_id: "thread".to_owned(),
        run_id: run_id.to_owned(),
        parent_run_id: None,
        is_versioned,
    }
}

fn encoder(is_versioned: bool) -> RunEncoder {
    let mut encoder = RunEncoder::new(identity("run", is_versioned), "q1".to_owned());
    encoder.started();
    encoder
}

fn arguments(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Compares the events with a file that has one on each line.
fn assert_golden(name: &str, encoder: &mut RunEncoder) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/agui/{name}.jsonl"));
    let events = encoder.take_events().into_iter();
    let lines: Vec<_> = events
        .map(|event| serde_json::to_string(&event).unwrap())
        .collect();
    let actual = lines.join("\n") + "\n";
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{}", path.display());
}

fn usage(input: u64) -> QueryUsage {
    let tokens = TokenUsage {
        input,
        output: 30,
        cached: 100,
        thinking: 10,
    };
    QueryUsage {
        models: [("gpt-5".to_owned(), tokens)].into(),
        milliseconds: 900,
    }
}

#[test]
fn a_text_is_opened_continued_and_closed() {
    let mut encoder = encoder(true);
    encoder.text("Two ".to_owned());
    encoder.text(String::new());
    encoder.text("cards.".to_owned());
    encoder.usage(usage(120));
    encoder.succeeded(Some(json!("Two cards.")));
    assert_golden("text", &mut encoder);
}

#[test]
fn reasoning_ends_where_text_or_a_call_begins() {
    let mut encoder = encoder(true);
    encoder.thinking("Let me ".to_owned());
    encoder.thinking("see.".to_owned());
    encoder.text("I look it up.".to_owned());
    encoder.thinking("Which tool?".to_owned());
    encoder.call("q1-call-1", "read_board", &Map::new());
    encoder.result("q1-call-1", "[]".to_owned());
    encoder.text("It is empty.".to_owned());
    encoder.succeeded(None);
    assert_golden("reasoning", &mut encoder);
}

#[test]
fn calls_of_a_turn_belong_to_its_message_and_have_results() {
    let mut encoder = encoder(true);
    encoder.text("I move both.".to_owned());
    encoder.arguments("q1-call-1", "move_card", "{\"id\"".to_owned());
    encoder.arguments("q1-call-1", "move_card", ":1}".to_owned());
    encoder.arguments("q1-call-2", "move_card", "{\"id\":2}".to_owned());
    encoder.call("q1-call-1", "move_card", &arguments(json!({ "id": 1 })));
    encoder.call("q1-call-2", "move_card", &arguments(json!({ "id": 2 })));
    encoder.result("q1-call-2", "There is no card 2.".to_owned());
    encoder.result("q1-call-1", "{\"moved\":true}".to_owned());
    encoder.call("q1-call-3", "read_board", &Map::new());
    encoder.result("q1-call-3", "[1]".to_owned());
    encoder.text("One card was moved.".to_owned());
    encoder.succeeded(None);
    assert_golden("tool-calls", &mut encoder);
}

#[test]
fn calls_of_client_tools_are_pending_when_all_others_have_results() {
    for (is_versioned, name) in [(true, "client-tool"), (false, "client-tool-0.x")] {
        let mut encoder = encoder(is_versioned);
        encoder.call("q1-call-1", "read_board", &Map::new());
        encoder.arguments("q1-call-2", "pick_colour", "{}".to_owned());
        encoder.client_call("q1-call-2", "pick_colour", &Map::new());
        assert!(!encoder.waits_for_client(), "the page is being asked");
        encoder.result("q1-call-1", "[]".to_owned());
        assert!(encoder.waits_for_client());
        encoder.suspended();
        assert_golden(name, &mut encoder);

        assert_eq!(encoder.pending_calls(), ["q1-call-2"]);
        encoder.restarted(identity("run-2", is_versioned));
        encoder.client_answered("q1-call-2");
        assert!(!encoder.waits_for_client());
        encoder.result("q1-call-2", "red".to_owned());
        encoder.text("It is red.".to_owned());
        encoder.succeeded(None);
        assert_golden(&format!("{name}-resumed"), &mut encoder);
    }
}

#[test]
fn an_approval_interrupts_the_run_and_the_next_has_the_result() {
    let mut encoder = encoder(true);
    let deleted = arguments(json!({ "id": 1 }));
    encoder.arguments("q1-call-1", "delete_card", "{\"id\":1}".to_owned());
    encoder.usage(usage(110));
    encoder.approval_requested(
        "q1-call-1",
        "delete_card",
        &deleted,
        SystemTime::UNIX_EPOCH,
        Duration::from_secs(90),
    );
    assert!(encoder.waits_for_client());
    encoder.suspended();
    assert_golden("interrupt", &mut encoder);

    assert_eq!(encoder.interrupted_calls(), ["q1-call-1"]);
    encoder.restarted(identity("run-2", true));
    encoder.approval_answered("q1-call-1");
    encoder.call("q1-call-1", "delete_card", &deleted);
    encoder.result("q1-call-1", "{\"deleted\":true}".to_owned());
    encoder.text("It is gone.".to_owned());
    encoder.usage(usage(230));
    encoder.succeeded(None);
    assert_golden("resume", &mut encoder);
}

#[test]
fn an_interrupted_run_can_be_interrupted_again() {
    let mut encoder = encoder(true);
    let request = |encoder: &mut RunEncoder, call: &str| {
        let now = SystemTime::UNIX_EPOCH;
        encoder.approval_requested(call, "delete_card", &Map::new(), now, Duration::ZERO);
        assert!(encoder.waits_for_client());
        encoder.suspended();
    };
    request(&mut encoder, "q1-call-1");
    encoder.take_events();
    encoder.restarted(identity("run-2", true));
    encoder.approval_answered("q1-call-1");
    encoder.result("q1-call-1", "done".to_owned());
    request(&mut encoder, "q1-call-2");
    let events = encoder.take_events();
    let Some(AguiEvent::RunFinished {
        run_id,
        outcome: Some(RunOutcome::Interrupt { interrupts }),
        ..
    }) = events.last()
    else {
        panic!("{events:?}");
    };
    assert_eq!((run_id.as_str(), interrupts.len()), ("run-2", 1));
    assert_eq!(interrupts[0].id, "q1-call-2");
}

#[test]
fn an_approval_that_has_expired_is_not_asked_for() {
    let mut encoder = encoder(true);
    let now = SystemTime::UNIX_EPOCH;
    encoder.approval_requested("q1-call-1", "delete_card", &Map::new(), now, Duration::ZERO);
    encoder.client_call("q1-call-2", "pick_colour", &Map::new());
    encoder.call("q1-call-3", "read_board", &Map::new());
    encoder.result("q1-call-1", "Nobody approved this call.".to_owned());
    assert!(!encoder.waits_for_client(), "the page is being asked");
    encoder.result("q1-call-3", "[]".to_owned());
    assert!(encoder.waits_for_client());
    encoder.suspended();
    let events = encoder.take_events();
    let Some(AguiEvent::RunFinished { outcome, .. }) = events.last() else {
        panic!("{events:?}");
    };
    let pending_tool_call_ids = vec!["q1-call-2".to_owned()];
    let expected = RunOutcome::Success {
        pending_tool_call_ids,
    };
    assert_eq!(*outcome, Some(expected));
}

#[test]
fn a_call_that_was_only_written_does_not_keep_later_runs_open() {
    let mut encoder = encoder(true);
    encoder.client_call("q1-call-1", "pick_colour", &Map::new());
    encoder.arguments("q1-call-2", "move_card", "{}".to_owned());
    assert!(encoder.waits_for_client());
    encoder.suspended();
    encoder.restarted(identity("run-2", true));
    encoder.client_answered("q1-call-1");
    encoder.client_call("q1-call-3", "pick_colour", &Map::new());
    assert!(encoder.waits_for_client());
}

#[test]
fn a_failure_closes_open_events_and_has_a_remedy() {
    let mut encoder = encoder(true);
    encoder.note("The model is busy: attempt 2 follows");
    encoder.text("I".to_owned());
    encoder.arguments("q1-call-1", "move_card", "{\"i".to_owned());
    let failure = AgentFailure::new(ErrorCode::ModelStreamUnfinished, "the answer broke off");
    encoder.failed(&failure.with_remedy("retry"));
    assert_golden("failure", &mut encoder);
}

#[test]
fn a_cancelled_run_is_neither_a_success_nor_a_failure_since_1_0() {
    for (is_versioned, name) in [(true, "cancelled"), (false, "cancelled-0.x")] {
        let mut encoder = encoder(is_versioned);
        encoder.text("I begin".to_owned());
        encoder.cancelled("it was cancelled");
        assert_golden(name, &mut encoder);
    }
}

#[test]
fn a_changed_state_is_sent_whole() {
    let mut encoder = encoder(true);
    encoder.state(json!({ "page": 4 }));
    encoder.succeeded(None);
    assert_golden("state", &mut encoder);
}
