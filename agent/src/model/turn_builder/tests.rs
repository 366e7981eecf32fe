//! Pieces of responses, and the turns that are made of them.

use bridge_protocol::ErrorCode;
use serde_json::json;

use super::*;
use crate::model::Provider;
use crate::model::provider_key::ProviderKey;

fn errors() -> ErrorMapper {
    ErrorMapper::new(
        Provider::Openai,
        true,
        "openai m".to_owned(),
        ProviderKey::default(),
    )
}

fn tools() -> Arc<[WireTool]> {
    Arc::new([WireTool {
        sent_name: "page_1find".to_owned(),
        own_name: "1find".to_owned(),
        description: String::new(),
        schema: json!({}),
    }])
}

fn builder() -> TurnBuilder {
    TurnBuilder::new(Api::Gemini, tools(), None)
}

/// Creates the builder of a turn whose text is an answer.
fn answer_builder(has_tools: bool) -> TurnBuilder {
    let answer = AnswerText {
        tool: "answer".to_owned(),
        has_tools,
    };
    TurnBuilder::new(Api::Gemini, tools(), Some(answer))
}

/// The events of a turn in short: `text`, `(thought)`, `index tool: piece`.
fn events(events: impl IntoIterator<Item = ModelEvent>) -> Vec<String> {
    let short = |event| match event {
        ModelEvent::Text(text) => text,
        ModelEvent::Thinking(text) => format!("({text})"),
        ModelEvent::Arguments(ArgumentsDelta { index, tool, delta }) => {
            format!("{index} {tool}: {delta}")
        }
        other => format!("{other:?}"),
    };
    events.into_iter().map(short).collect()
}

fn received(turn: &mut TurnBuilder) -> Vec<String> {
    events(std::iter::from_fn(|| turn.next_event()))
}

fn finish(mut turn: TurnBuilder) -> (Vec<String>, ModelTurn) {
    turn.stop(Stop::Complete);
    let (last, turn, _) = turn.finish(&errors()).unwrap();
    (events(last), turn)
}

#[test]
fn pieces_are_passed_as_they_come_unless_they_are_empty() {
    let mut turn = builder();
    for piece in ["", "Hm", "."] {
        turn.thinking(piece);
    }
    assert!(turn.has_output());
    turn.text("");
    turn.commentary("I ");
    turn.text("find");
    assert_eq!(received(&mut turn), ["(Hm)", "(.)", "I ", "find"]);
    let (last, turn) = finish(turn);
    assert_eq!(last, [""; 0]);
    assert_eq!((turn.text.as_str(), turn.calls.len()), ("I find", 0));
    assert!(turn.kept.is_none());

    let mut empty = builder();
    empty.text("");
    empty.thinking("");
    empty.commentary("");
    assert!(!empty.has_output());
}

#[test]
fn arguments_wait_for_the_name_of_their_tool() {
    let mut turn = builder();
    let call = turn.start_call("", "");
    turn.arguments(call, "{\"a\":");
    assert_eq!(received(&mut turn), [""; 0]);
    turn.identify_call(call, "c1", "page_1find");
    turn.arguments(call, "1}");
    turn.identify_call(call, "c2", "other");
    assert_eq!(received(&mut turn), ["0 1find: {\"a\":", "0 1find: 1}"]);
    let (_, turn) = finish(turn);
    let expected = ModelCall {
        id: "c1".to_owned(),
        tool: "1find".to_owned(),
        arguments: json!({ "a": 1 }).as_object().unwrap().clone(),
        unreadable: None,
    };
    assert_eq!(turn.calls, [expected]);
}

#[test]
fn whole_arguments_complete_or_correct_their_pieces() {
    for (pieces, whole, sent, expected) in [
        (&[][..], "{\"a\":1}", &["0 t: {\"a\":1}"][..], 1),
        (&["{\"a\""], "{\"a\":1}", &["0 t: {\"a\"", "0 t: :1}"], 1),
        (&["{\"a\":1}"], "{\"a\":1}", &["0 t: {\"a\":1}"], 1),
        (&["{\"a\":2"], "{\"a\":1}", &["0 t: {\"a\":2"], 1),
        (
            &["{\"a\":2}{\"a\":2}"],
            "{\"a\":3}",
            &["0 t: {\"a\":2}{\"a\":2}"],
            3,
        ),
    ] {
        let mut turn = builder();
        let call = turn.start_call("c", "t");
        for piece in pieces {
            turn.arguments(call, piece);
        }
        turn.whole_arguments(call, whole);
        // A provider may repeat it.
        turn.whole_arguments(call, whole);
        assert_eq!(turn.arguments_so_far(call), whole);
        assert_eq!(received(&mut turn), sent);
        let (_, turn) = finish(turn);
        assert_eq!(turn.calls[0].arguments["a"], expected, "{pieces:?}");
    }
}

#[test]
fn a_correction_replaces_only_the_text_that_was_received() {
    for (received, whole, expected) in [
        ("b\u{fffd}", "b😀", "ab😀"),
        ("ab\u{fffd}", "", ""),
        ("x", "y", "ab\u{fffd}"),
        ("", "c", "ab\u{fffd}c"),
    ] {
        let mut turn = builder();
        turn.text("a");
        turn.text("b\u{fffd}");
        turn.correct_text(received, whole);
        assert_eq!(finish(turn).1.text, expected);
    }
    let mut turn = answer_builder(false);
    turn.text("{}");
    turn.commentary("{}");
    turn.correct_commentary("{}", "[]");
    assert_eq!(finish(turn).1.text, "{}");
}

#[test]
fn ids_are_made_up_if_they_are_missing_or_equal() {
    let mut turn = builder();
    for id in ["", "a", "a"] {
        turn.start_call(id, "t");
    }
    let ids: Vec<_> = (0..3).map(|call| turn.unique_id(call).to_owned()).collect();
    assert_eq!(ids[1], "a");
    for made_up in [&ids[0], &ids[2]] {
        assert_eq!(made_up.len(), 9);
        assert!(made_up.chars().all(|it| it.is_ascii_alphanumeric()));
    }
    let (_, turn) = finish(turn);
    let used: Vec<_> = turn.calls.into_iter().map(|call| call.id).collect();
    assert_eq!(used, ids);
    let mut turn = builder();
    turn.start_call("", "t");
    assert_eq!(finish(turn).1.calls[0].id.len(), 9);
}

#[test]
fn a_turn_with_equal_ids_goes_back_with_those_that_were_made_up() {
    for (ids, is_kept) in [(["a", "b"], true), (["", ""], true), (["a", "a"], false)] {
        let mut turn = builder();
        for id in ids {
            turn.start_call(id, "t");
        }
        turn.keep(json!({}));
        let (_, turn) = finish(turn);
        assert_ne!(turn.calls[0].id, turn.calls[1].id);
        assert_eq!(turn.kept.is_some(), is_kept, "{ids:?}");
    }
}

#[test]
fn text_with_a_format_is_the_arguments_of_the_answer() {
    for has_tools in [false, true] {
        let mut turn = answer_builder(has_tools);
        turn.commentary("I look.");
        turn.text("{\"a\"");
        turn.text(":1}");
        let now = received(&mut turn);
        let (last, turn) = finish(turn);
        let pieces = ["0 answer: {\"a\"", "0 answer: :1}"];
        if has_tools {
            // It may still turn out to be text beside calls.
            assert_eq!(now, ["I look."]);
            assert_eq!(last, [pieces.concat().replace("0 answer: :", ":")]);
        } else {
            assert_eq!(now[0], "I look.");
            assert_eq!(now[1..], pieces);
            assert_eq!(last, [""; 0]);
        }
        let [call] = &turn.calls[..] else {
            panic!("{turn:?}");
        };
        assert!(call.is_answer_text());
        assert_eq!(
            (call.tool.as_str(), &call.arguments["a"]),
            ("answer", &json!(1))
        );
        // The provider knows it as text.
        assert_eq!(turn.text, "{\"a\":1}");
    }
}

#[test]
fn text_beside_calls_is_not_an_answer() {
    let mut turn = answer_builder(true);
    turn.text("I look.");
    turn.start_call("c", "t");
    assert_eq!(received(&mut turn), [""; 0]);
    let (last, turn) = finish(turn);
    assert_eq!(last, ["I look."]);
    assert_eq!(turn.calls.len(), 1);
    assert!(!turn.calls[0].is_answer_text());
}

#[test]
fn pieces_of_an_answer_and_of_a_call_never_have_the_same_number() {
    type Step = fn(&mut TurnBuilder);
    let text: Step = |turn| turn.text("{}");
    let call: Step = |turn| {
        let call = turn.start_call("", "t");
        turn.arguments(call, "[]");
    };
    for (steps, now, at_the_end) in [
        (
            &[text, text][..],
            &["0 answer: {}", "0 answer: {}"][..],
            &[][..],
        ),
        (&[call, text], &["0 t: []"], &["{}"]),
        (&[text, call], &["0 answer: {}"], &[]),
        (&[text, call, call], &["0 answer: {}", "1 t: []"], &[]),
        (&[text, call, text], &["0 answer: {}", "0 answer: {}"], &[]),
    ] {
        let mut turn = answer_builder(false);
        for step in steps {
            step(&mut turn);
        }
        assert_eq!(received(&mut turn), now);
        let (last, turn) = finish(turn);
        assert_eq!(last, at_the_end, "{now:?}");
        let is_answer = turn.calls[0].is_answer_text();
        assert_eq!(is_answer, !steps.contains(&call), "{now:?}");
    }
}

#[test]
fn blank_text_is_not_an_answer() {
    for has_tools in [false, true] {
        let mut turn = answer_builder(has_tools);
        turn.text(" \n");
        assert_eq!(finish(turn).1.calls, []);
        assert_eq!(finish(answer_builder(has_tools)).1.calls, []);
    }
}

#[test]
fn an_answer_that_is_not_an_object_is_unreadable() {
    let mut turn = answer_builder(false);
    turn.text("It is five.");
    let call = finish(turn).1.calls.remove(0);
    assert!(call.unreadable.unwrap().contains("not JSON"));
}

#[test]
fn a_turn_ends_with_the_reason_of_its_provider_and_its_tokens() {
    use ErrorCode as C;
    let other = || Stop::Other("pause_turn".to_owned());
    let refused = || Stop::Refused {
        category: "SAFETY".to_owned(),
        words: String::new(),
    };
    for (arguments, stops, expected) in [
        ("{", vec![Stop::Complete], None),
        ("{", vec![Stop::Length], Some(C::ModelArgumentsCutOff)),
        ("{}", vec![Stop::Length], Some(C::ModelLengthReached)),
        ("{}", vec![Stop::InvalidCall], Some(C::ModelCallInvalid)),
        ("{}", vec![other()], Some(C::ModelStreamBroken)),
        ("{}", vec![refused()], Some(C::ModelRefused)),
        ("{}", vec![refused(), Stop::Complete], Some(C::ModelRefused)),
        ("{}", vec![Stop::Complete, refused()], Some(C::ModelRefused)),
        (
            "{}",
            vec![Stop::Complete, Stop::Length],
            Some(C::ModelLengthReached),
        ),
        ("{}", vec![], Some(C::ModelStreamUnfinished)),
    ] {
        let mut turn = builder();
        let call = turn.start_call("c", "t");
        turn.arguments(call, arguments);
        turn.usage_mut().output = 7;
        assert!(!turn.has_stopped());
        for stop in &stops {
            turn.stop(stop.clone());
            assert!(turn.has_stopped());
        }
        let end = turn.finish(&errors());
        let code = end.as_ref().err().map(|failed| failed.failure.code);
        assert_eq!(code, expected, "{stops:?}");
        let usage = match end {
            Ok((_, _, usage)) => usage,
            Err(failed) => failed.usage,
        };
        assert_eq!(usage.output, 7);
    }
}

#[test]
fn a_user_gets_the_name_of_a_reason_and_never_the_words_of_a_provider() {
    let refused = |category: &str| Stop::Refused {
        category: category.to_owned(),
        words: "You asked about germs, org-123.".to_owned(),
    };
    let other = |reason: &str| Stop::Other(reason.to_owned());
    let end = "openai did not finish its answer: it stopped";
    let long = "x".repeat(41);
    for (stop, expected) in [
        (refused("bio"), "openai declines to answer: bio"),
        (refused("SAFETY"), "openai declines to answer: SAFETY"),
        (refused(""), "openai declines to answer"),
        (refused("about germs"), "openai declines to answer"),
        (refused("org-123"), "openai declines to answer"),
        (refused(&long), "openai declines to answer"),
        (
            other("pause_turn"),
            &*format!("{end} with the reason pause_turn"),
        ),
        (other("You asked"), &*format!("{end} before its end")),
        (other("org-123"), &*format!("{end} before its end")),
    ] {
        let mut turn = builder();
        turn.stop(stop.clone());
        let failure = turn.finish(&errors()).unwrap_err().failure;
        assert_eq!(failure.message, expected, "{stop:?}");
    }
}

#[test]
fn only_the_failure_of_a_long_answer_advises_to_raise_its_maximum() {
    for (stop, expected) in [(Stop::Length, true), (Stop::InvalidCall, false)] {
        let mut turn = builder();
        turn.start_call("c", "t");
        turn.stop(stop);
        let failure = turn.finish(&errors()).unwrap_err().failure;
        let remedy = failure.remedy.unwrap();
        assert_eq!(remedy.contains("max_output_tokens"), expected, "{remedy}");
    }
}

#[test]
fn a_complete_turn_of_exactly_the_maximum_output_is_cut() {
    for (max, output, is_cut) in [(7, 7, true), (8, 7, false), (6, 7, false), (7, 0, false)] {
        let mut turn = builder().with_max_output_tokens(max);
        turn.text("Half");
        turn.usage_mut().output = output;
        turn.stop(Stop::Complete);
        let code = turn.finish(&errors()).err().map(|it| it.failure.code);
        let expected = is_cut.then_some(ErrorCode::ModelLengthReached);
        assert_eq!(code, expected, "{output} of {max}");
    }
}

#[test]
fn output_after_a_reason_to_stop_shows_that_it_is_not_the_end() {
    type Step = fn(&mut TurnBuilder);
    let steps: [(Step, bool); 6] = [
        (|turn| turn.text("a"), true),
        (|turn| turn.thinking("a"), true),
        (|turn| turn.arguments(0, "a"), true),
        (|turn| _ = turn.start_call("d", "t"), true),
        (|turn| turn.text(""), false),
        (|turn| turn.begin(), false),
    ];
    for (step, expected) in steps {
        let mut turn = builder();
        turn.start_call("c", "t");
        turn.stop(Stop::Complete);
        assert!(!turn.continues_after_stop());
        step(&mut turn);
        assert_eq!(turn.continues_after_stop(), expected);
        assert_eq!(turn.has_stopped(), !expected);
    }
    for stop in [Stop::Length, Stop::InvalidCall, Stop::Other("x".to_owned())] {
        let mut turn = builder();
        turn.stop(stop);
        turn.text("a");
        assert!(turn.has_stopped(), "the turn is not whole in any case");
    }
}

#[test]
fn a_turn_has_a_maximum_of_blocks() {
    let mut turn = builder();
    for _ in 0..MAX_BLOCKS {
        assert_eq!(turn.begin_block(), Ok(()));
    }
    assert_eq!(turn.begin_block(), Err(ReadError::TooLarge));
}

#[test]
fn no_call_of_a_provider_is_taken_for_an_answer() {
    let mut turn = builder();
    turn.start_call("answer-text-1", "t");
    assert!(!finish(turn).1.calls[0].is_answer_text());
}

#[test]
fn kept_blocks_are_in_their_order_with_their_api() {
    let mut turn = builder();
    turn.keep(json!(1));
    turn.keep(json!(2));
    let kept = finish(turn).1.kept.unwrap();
    assert_eq!(
        (kept.api, &kept.blocks[..]),
        (Api::Gemini, &[json!(1), json!(2)][..])
    );
}

#[test]
fn arguments_are_an_object_or_the_text_of_one() {
    for (arguments, expected) in [
        ("", Ok(json!({}))),
        (" \n", Ok(json!({}))),
        ("null", Ok(json!({}))),
        ("{}", Ok(json!({}))),
        (" {\"a\": [1]}\n", Ok(json!({ "a": [1] }))),
        ("\"{\\\"a\\\": 1}\"", Ok(json!({ "a": 1 }))),
        ("{\"a\":\"\\ud83d\"}", Ok(json!({ "a": "\u{fffd}" }))),
        (
            "{\"\\ude00\":\"\\ud83d\\ude00\"}",
            Ok(json!({ "\u{fffd}": "😀" })),
        ),
        (
            "\"{\\\"a\\\":\\\"\\\\ud83d\\\"}\"",
            Ok(json!({ "a": "\u{fffd}" })),
        ),
        ("[{}]", Err("must be a JSON object")),
        ("3", Err("must be a JSON object")),
        ("\"\\\"a\\\"\"", Err("must be a JSON object")),
        ("\"a\"", Err("are not JSON")),
        ("{\"title\": \"Milk\",}", Err("are not JSON")),
        ("{\"a\":1}{\"a\":1}", Err("are not JSON")),
        ("{\"a\"", Err("are not JSON")),
    ] {
        match (parse_object(arguments), expected) {
            (Ok(object), Ok(expected)) => assert_eq!(Value::Object(object), expected),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
            (actual, _) => panic!("{arguments}: {actual:?}"),
        }
    }
}
