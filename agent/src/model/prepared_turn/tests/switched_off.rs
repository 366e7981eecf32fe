//! Requests without the parts that their server has refused.

use super::*;

#[test]
fn what_a_server_has_refused_is_left_out() {
    let api = Api::Responses;
    let mut model = hosted(api, "gpt-6.2-sol", true, Thinking::High);
    model.rules.temperature = true;
    model.temperature = Some(0.5);
    let turn = TurnRequest {
        history: kept_history(api),
        ..turn(&["find", "answer"], ToolSelection::Auto, Some("answer"))
    };
    let body = |off: &SwitchedOff| {
        let prepared = PreparedTurn::new(&turn, &model, off);
        Value::Object(prepared.request.body)
    };
    let off = SwitchedOff::default();
    let all = body(&off);
    for (capability, part) in [
        (Capability::ThinkingSummary, "\"summary\":\"auto\""),
        (Capability::Thinking, "\"effort\""),
        (Capability::FormerThoughts, "SIGNED"),
        (Capability::Temperature, "\"temperature\""),
        (Capability::FormatWithTools, "\"json_schema\""),
    ] {
        assert!(all.to_string().contains(part), "{part}: {all:#}");
        assert!(body(&off).to_string().contains(part), "{part}");
        assert!(off.add(capability));
        let without = body(&off);
        assert!(!without.to_string().contains(part), "{part}: {without:#}");
    }
    // The answer is a call again.
    let tools = body(&off)["tools"].as_array().unwrap().len();
    assert_eq!((all["tools"].as_array().unwrap().len(), tools), (1, 2));
}

#[test]
fn encrypted_thoughts_and_keys_of_the_cache_obey_the_rules() {
    use Capability::{Cache, EncryptedThoughts};
    for (name, is_official, refused, has_include, has_key) in [
        ("gpt-6.2-sol", true, None, true, true),
        ("gpt-6.2-sol", true, Some(EncryptedThoughts), false, true),
        ("gpt-6.2-sol", true, Some(Cache), true, false),
        // It does not think.
        ("gpt-4.1", true, None, false, true),
        // Azure and proxies send encrypted thoughts only on request.
        ("gpt-6.2-sol", false, None, true, false),
        ("local", false, None, true, false),
    ] {
        let model = hosted(Api::Responses, name, is_official, Thinking::Off);
        let off = SwitchedOff::default();
        if let Some(capability) = refused {
            off.add(capability);
        }
        let prepared = PreparedTurn::new(&turn(&[], ToolSelection::Auto, None), &model, &off);
        let has = |field| prepared.request.body.contains_key(field);
        let found = (has("include"), has("prompt_cache_key"));
        assert_eq!(found, (has_include, has_key), "{name} {refused:?}");
        assert_eq!(prepared.used.cache_marks, has_key, "{name}");
    }
}

#[test]
fn a_server_that_refuses_the_fields_of_thinking_does_not_change_the_maximum_output() {
    for (name, thinking, expected) in [
        ("local", Thinking::Off, 100),
        ("local", Thinking::High, 32_100),
        ("gpt-6.2-sol", Thinking::Off, 25_100),
    ] {
        let model = hosted(Api::Responses, name, false, thinking);
        let model = match name {
            "local" => ChosenModel {
                rules: hosted(Api::ChatCompletions, name, false, thinking).rules,
                ..model
            },
            _ => model,
        };
        let off = SwitchedOff::default();
        for _ in 0..2 {
            let prepared = PreparedTurn::new(&turn(&[], ToolSelection::Auto, None), &model, &off);
            assert_eq!(
                prepared.request.body["max_output_tokens"], expected,
                "{name} {thinking:?}"
            );
            off.add(Capability::Thinking);
        }
    }
}

#[test]
fn the_header_and_the_field_of_the_check_of_prefixes_are_left_out_together() {
    let model = hosted(Api::Messages, "claude-opus-5-5", false, Thinking::High);
    let turn = turn(&["find"], ToolSelection::Auto, None);
    for (refused, has_binding, has_thinking) in [
        (None, true, true),
        (Some(Capability::Binding), false, true),
        (Some(Capability::Thinking), false, false),
    ] {
        let off = SwitchedOff::default();
        if let Some(refused) = refused {
            off.add(refused);
        }
        let prepared = PreparedTurn::new(&turn, &model, &off);
        let WireRequest { headers, body, .. } = &prepared.request;
        let thinking = body.get("thinking");
        let has_field = thinking.is_some_and(|it| it.get("block_binding").is_some());
        let found = (
            has_field,
            headers.contains_key("anthropic-beta"),
            prepared.used.binding,
        );
        assert_eq!(
            found,
            (has_binding, has_binding, has_binding),
            "{refused:?}"
        );
        assert_eq!(thinking.is_some(), has_thinking, "{refused:?}");
        assert_eq!(
            body.contains_key("output_config"),
            has_thinking,
            "{refused:?}"
        );
    }
}
