//! Tests of thoughts in responses.

use super::*;
use crate::model::provider_key::ProviderKey;

#[test]
fn thoughts_are_sent_back_under_the_name_under_which_they_came() {
    let call = calls(json!([{"id": "x", "function": {"name": "add", "arguments": "{}"}}]));
    for (deltas, thoughts, field, sent) in [
        (
            vec![json!({"reasoning": "Hm."})],
            "Hm.",
            "reasoning",
            Some("Hm."),
        ),
        (
            vec![
                json!({"reasoning": "Hm", "reasoning_content": "Hm"}),
                json!({"reasoning": "."}),
            ],
            "Hm.",
            "reasoning_content",
            Some("Hm."),
        ),
        (
            vec![json!({"reasoning_content": "", "reasoning": "Hm."})],
            "Hm.",
            "reasoning",
            Some("Hm."),
        ),
        (
            vec![json!({"reasoning_content": ""})],
            "",
            "reasoning_content",
            Some(""),
        ),
        (
            vec![json!({"reasoning_content": null})],
            "",
            "reasoning_content",
            None,
        ),
        (vec![json!({"reasoning": ""})], "", "reasoning", None),
        (
            vec![json!({"content": "<think>Hm.</think>"})],
            "Hm.",
            "content",
            None,
        ),
    ] {
        let mut events = deltas.clone();
        events.push(call.clone());
        let output = read(&response(&events, "tool_calls")).unwrap();
        assert_eq!(output.thoughts, thoughts, "{deltas:?}");
        let kept = output.kept();
        assert_eq!(kept.get(field).and_then(Value::as_str), sent, "{deltas:?}");
        let others = ["reasoning", "reasoning_content"]
            .iter()
            .filter(|it| **it != field);
        assert!(
            others.clone().all(|it| kept.get(*it).is_none()),
            "{deltas:?}"
        );
    }
    let empty = [json!({"reasoning_content": "", "content": "Yes"})];
    let output = read(&response(&empty, "stop")).unwrap();
    assert_eq!(
        output.kept(),
        &json!({"role": "assistant", "content": "Yes"})
    );
}

#[test]
fn details_of_reasoning_are_joined_and_kept_in_order() {
    let details = |details: Value| json!({ "reasoning_details": details });
    let encrypted = json!({"type": "reasoning.encrypted", "data": "e", "id": "r1", "index": 1});
    let deltas = [
        details(json!([{"type": "reasoning.text", "text": "H", "index": 0, "signature": null}])),
        details(json!([{"type": "reasoning.text", "text": "m.", "index": 0, "format": "f"}])),
        details(json!([{"type": "reasoning.text", "signature": "s", "index": 0}])),
        details(json!([encrypted, encrypted, 7, null])),
        details(json!([{"type": "reasoning.summary", "summary": "Sum", "index": 2}])),
        json!({"content": "Yes"}),
    ];
    let output = read(&response(&deltas, "stop")).unwrap();
    assert_eq!(output.thoughts, "Hm.Sum");
    let expected = json!([
        {"type": "reasoning.text", "text": "Hm.", "index": 0, "signature": "s", "format": "f"},
        encrypted,
        {"type": "reasoning.summary", "summary": "Sum", "index": 2},
    ]);
    assert_eq!(output.kept()["reasoning_details"], expected);
    let signed =
        |signature| json!({"type": "reasoning.text", "text": "Hm.", "signature": signature});
    let blocks = json!([signed("s"), signed("t")]);
    let deltas = [details(blocks.clone()), json!({"content": "Yes"})];
    let output = read(&response(&deltas, "stop")).unwrap();
    assert_eq!(output.kept()["reasoning_details"], blocks);
    let both = json!({"reasoning": "Hm.", "reasoning_details": [
        {"type": "reasoning.text", "text": "Hm."}]});
    let output = read(&response(&[both, json!({"content": "Yes"})], "stop")).unwrap();
    assert_eq!(output.thoughts, "Hm.");
}

#[test]
fn content_may_be_parts_with_thoughts() {
    let thinking = |text: &str| json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]});
    let closed = json!({"content": [
        {"type": "thinking", "thinking": [], "signature": "s", "closed": true}]});
    let deltas = [
        thinking("H"),
        thinking("m."),
        closed,
        json!({"content": [{"type": "text", "text": "Ye"}, {"type": "reference"}, 7]}),
        json!({"content": "s"}),
    ];
    let output = read(&response(&deltas, "stop")).unwrap();
    assert_eq!((&*output.thoughts, &*output.text), ("Hm.", "Yes"));
    let content = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "signature": "s",
         "closed": true},
        {"type": "text", "text": "Yes"},
    ]);
    assert_eq!(output.kept()["content"], content);
    let (rules, history) = (rules(""), [ModelMessage::Model(output.turn)]);
    let without = WireTurn {
        with_thoughts: false,
        ..turn(&rules, &history, &[])
    };
    let message = json!({"role": "assistant", "content": "Yes"});
    assert_eq!(body(&without)["messages"][1], message);

    let parts = [json!({"content": [{"type": "text", "text": "Yes"}]})];
    let output = read(&response(&parts, "stop")).unwrap();
    assert_eq!(output.kept()["content"], "Yes");
}

#[test]
fn thoughts_in_the_text_are_separated_and_not_sent_back() {
    let pieces = ["<th", "ink>\nHm.</", "think>", "\n\n", "Yes"].map(|it| json!({ "content": it }));
    let output = read(&response(&pieces, "stop")).unwrap();
    assert_eq!((&*output.thoughts, &*output.text), ("Hm.", "Yes"));
    assert_eq!(
        output.kept(),
        &json!({"role": "assistant", "content": "Yes"})
    );
    let output = read(&response(&[json!({"content": "<thi"})], "stop")).unwrap();
    assert_eq!((&*output.text, &*output.turn.text), ("<thi", "<thi"));
    let output = read(&response(&[json!({"content": "<think>never"})], "stop")).unwrap();
    assert_eq!((&*output.thoughts, &*output.turn.text), ("never", ""));
    assert!(output.turn.kept.is_none());
}

#[test]
fn thoughts_without_their_first_tag_are_not_part_of_the_answer() {
    let text = "Milk is white.\n</think>\n\nWhite";
    for cut in 0..=text.len() {
        let (one, other) = text.split_at(cut);
        let deltas = [one, other].map(|piece| json!({ "content": piece }));
        let output = read(&response(&deltas, "stop")).unwrap();
        assert_eq!(output.turn.text, "White", "{one:?}");
        assert_eq!(output.thoughts, "Milk is white.");
        assert_eq!(output.kept()["content"], "White");
    }
}

#[test]
fn a_tag_of_thoughts_in_an_answer_stays_in_it() {
    for (text, expected) in [
        ("The tag </think> ends the thoughts.", true),
        ("The tag is\n</think>\nand ends a line.", false),
        ("</think>", false),
        ("<think>Hm.</think>Yes", false),
    ] {
        for separates_thoughts in [false, true] {
            let mut reader = ChatCompletions.reader(separates_thoughts);
            let mut turn = builder();
            for event in response(&[json!({ "content": text })], "stop") {
                let event = event
                    .as_str()
                    .map_or_else(|| event.to_string(), str::to_owned);
                reader.read(&event, &mut turn).unwrap();
            }
            reader.finish(&mut turn);
            let errors = ErrorMapper::new(
                Provider::Openai,
                true,
                "test".to_owned(),
                ProviderKey::default(),
            );
            let (_, turn, _) = turn.finish(&errors).unwrap();
            let is_whole = turn.text == text;
            assert_eq!(is_whole, expected || separates_thoughts, "{text}");
        }
    }
}

#[test]
fn a_signature_beside_a_call_is_sent_back_with_it() {
    let extra = json!({"google": {"thought_signature": "s"}});
    let call = calls(json!([{"index": 0, "id": "x", "extra_content": extra,
        "function": {"name": "add", "arguments": "{}"}}]));
    let output = read(&response(&[call], "tool_calls")).unwrap();
    assert_eq!(output.kept()["tool_calls"][0]["extra_content"], extra);
}
