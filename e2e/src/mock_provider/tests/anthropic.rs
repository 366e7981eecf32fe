//! Requests to Anthropic.

use serde_json::{Value, json};

use super::{Format, TestProvider, Turn, base, check, headers, send, send_with, text};
use crate::provider_rules::ChatServer;

#[test]
fn anthropic_has_thinking_by_model() {
    let thinking = |kind: &str| json!({ "thinking": { "type": kind } });
    let manual = || json!({ "thinking": { "type": "enabled", "budget_tokens": 2048 } });
    let effort = |effort: &str| json!({ "output_config": { "effort": effort } });
    let off_with = |effort: &str| json!({ "thinking": { "type": "disabled" }, "output_config": { "effort": effort } });
    check(
        Format::Anthropic,
        vec![
            ("claude-opus-5-5", json!({}), "ok"),
            ("claude-opus-5-5", thinking("adaptive"), "ok"),
            (
                "claude-opus-5-5",
                thinking("disabled"),
                "anthropic.thinking_disabled",
            ),
            ("claude-opus-5-5", manual(), "anthropic.thinking_enabled"),
            (
                "claude-opus-5-5",
                thinking("between_tools"),
                "anthropic.thinking_between_tools",
            ),
            (
                "claude-sonnet-5-5",
                thinking("disabled"),
                "anthropic.thinking_disabled_between",
            ),
            ("claude-sonnet-5-5", thinking("between_tools"), "ok"),
            ("claude-haiku-5-5", thinking("disabled"), "ok"),
            ("claude-haiku-5-5", off_with("high"), "ok"),
            (
                "claude-haiku-5-5",
                off_with("max"),
                "anthropic.thinking_effort",
            ),
            (
                "claude-fable-5-2",
                thinking("disabled"),
                "anthropic.thinking_disabled",
            ),
            ("claude-opus-4-8", thinking("disabled"), "ok"),
            ("claude-opus-4-8", manual(), "anthropic.thinking_enabled"),
            ("claude-haiku-4-5-20251001", manual(), "ok"),
            (
                "claude-haiku-4-5",
                thinking("adaptive"),
                "anthropic.thinking_adaptive",
            ),
            ("claude-haiku-4-5", effort("low"), "anthropic.effort"),
            ("claude-opus-4-6", effort("xhigh"), "anthropic.effort_value"),
            ("claude-opus-5-5", effort("max"), "ok"),
            (
                "claude-haiku-4-5",
                json!({ "thinking": { "type": "enabled", "budget_tokens": 512 } }),
                "anthropic.budget_minimum",
            ),
            (
                "claude-haiku-4-5",
                json!({ "thinking": { "type": "enabled", "budget_tokens": 8192 } }),
                "anthropic.budget_maximum",
            ),
            (
                "claude-opus-5-5",
                json!({ "thinking": { "type": "adaptive", "block_binding": {} } }),
                "anthropic.extra",
            ),
            ("claude-opus-9", json!({}), "ok"),
            (
                "claude-opus-9",
                thinking("adaptive"),
                "anthropic.thinking_adaptive",
            ),
            ("claude-opus-9", effort("low"), "anthropic.effort"),
            ("claude-3-7-sonnet-20250219", json!({}), "anthropic.retired"),
        ],
    );
}

#[test]
fn anthropic_has_sampling_limits_and_fields() {
    let user = |content: Value| json!({ "messages": [{ "role": "user", "content": content }] });
    let text = |mark: Value| json!({ "type": "text", "text": "a", "cache_control": mark });
    let mark = || json!({ "type": "ephemeral" });
    check(
        Format::Anthropic,
        vec![
            ("claude-haiku-4-5", json!({ "temperature": 0.5 }), "ok"),
            (
                "claude-haiku-4-5",
                json!({ "temperature": 0.5, "top_p": 0.9 }),
                "anthropic.sampling_both",
            ),
            (
                "claude-opus-4-8",
                json!({ "temperature": 1 }),
                "anthropic.sampling",
            ),
            (
                "claude-haiku-4-5",
                json!({ "max_tokens": 64001 }),
                "anthropic.max_tokens",
            ),
            (
                "claude-haiku-4-5",
                json!({ "max_tokens": null }),
                "anthropic.required",
            ),
            ("claude-haiku-4-5", json!({ "seed": 1 }), "anthropic.extra"),
            (
                "claude-haiku-4-5",
                json!({ "metadata": { "name": "A" } }),
                "anthropic.extra",
            ),
            (
                "claude-haiku-4-5",
                user(json!("")),
                "anthropic.empty_message",
            ),
            (
                "claude-haiku-4-5",
                user(json!([{ "type": "text", "text": "" }])),
                "anthropic.empty_text",
            ),
            (
                "claude-haiku-4-5",
                user(
                    json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/bmp", "data": "AAAA" } }]),
                ),
                "anthropic.image",
            ),
            (
                "claude-haiku-4-5",
                user(json!([
                    text(mark()),
                    text(mark()),
                    text(mark()),
                    text(mark())
                ])),
                "ok",
            ),
            (
                "claude-haiku-4-5",
                user(json!([
                    text(mark()),
                    text(mark()),
                    text(mark()),
                    text(mark()),
                    text(mark())
                ])),
                "anthropic.marks",
            ),
            (
                "claude-haiku-4-5",
                user(json!([
                    text(mark()),
                    text(json!({ "type": "ephemeral", "ttl": "1h" }))
                ])),
                "anthropic.mark_order",
            ),
            (
                "claude-haiku-4-5",
                json!({ "messages": [{ "role": "assistant", "content": "a" }] }),
                "anthropic.first_message",
            ),
        ],
    );
    let state = TestProvider::new(ChatServer::OpenAi, [Turn::from_text("a")]);
    let mut new = headers();
    new.insert("anthropic-version", "2026-10-21".parse().unwrap());
    let mut body = base(Format::Anthropic);
    body["model"] = json!("claude-haiku-4-5");
    body["temperature"] = json!(1);
    let refused = send_with(&state, Format::Anthropic, &new, &body).unwrap_err();
    assert_eq!(refused.rule, "anthropic.sampling_removed");
    new.remove("anthropic-version");
    let refused = send_with(&state, Format::Anthropic, &new, &body).unwrap_err();
    assert_eq!(refused.rule, "anthropic.version");
}

fn weather(strict: bool) -> Value {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false });
    json!([{ "name": "weather", "description": "Weather of a city", "input_schema": schema, "strict": strict }])
}

#[test]
fn anthropic_has_tools_choices_and_schemas() {
    let choice = |choice: Value| json!({ "tools": weather(false), "tool_choice": choice });
    let any = || json!({ "type": "any" });
    let forced = |thinking: Value| json!({ "tools": weather(false), "tool_choice": any(), "thinking": thinking });
    let format = |schema: Value| json!({ "output_config": { "format": { "type": "json_schema", "schema": schema } } });
    let object = |property: Value| json!({ "type": "object", "properties": { "a": property }, "required": ["a"], "additionalProperties": false });
    let optional: serde_json::Map<_, _> = (0..25)
        .map(|index| (format!("a{index}"), json!({ "type": "string" })))
        .collect();
    check(
        Format::Anthropic,
        vec![
            ("claude-opus-5-5", choice(json!({ "type": "auto" })), "ok"),
            ("claude-opus-5-5", choice(json!({ "type": "none" })), "ok"),
            ("claude-opus-5-5", choice(any()), "anthropic.forced"),
            (
                "claude-sonnet-5-5",
                choice(json!({ "type": "tool", "name": "weather" })),
                "anthropic.forced",
            ),
            ("claude-fable-5-2", choice(any()), "anthropic.forced"),
            ("claude-haiku-5-5", choice(any()), "ok"),
            (
                "claude-haiku-5-5",
                forced(json!({ "type": "adaptive" })),
                "ok",
            ),
            ("claude-opus-4-8", choice(any()), "ok"),
            (
                "claude-opus-4-8",
                forced(json!({ "type": "adaptive" })),
                "anthropic.forced_thinking",
            ),
            (
                "claude-opus-4-8",
                choice(json!({ "type": "tool", "name": "wether" })),
                "anthropic.choice_unknown",
            ),
            (
                "claude-opus-4-8",
                json!({ "tool_choice": { "type": "auto" } }),
                "anthropic.choice_without_tools",
            ),
            (
                "claude-opus-4-8",
                json!({ "tools": [{ "name": "a b", "input_schema": { "type": "object" } }] }),
                "anthropic.tool_name",
            ),
            (
                "claude-opus-4-8",
                json!({ "tools": [{ "name": "a", "input_schema": {} }] }),
                "anthropic.required",
            ),
            (
                "claude-opus-4-8",
                json!({ "tools": [{ "name": "a", "input_schema": { "type": "object", "anyOf": [] } }] }),
                "anthropic.input_schema",
            ),
            (
                "claude-opus-4-8",
                json!({ "tools": [{ "name": "a", "input_schema": { "type": "object", "properties": { "größe": {} } } }] }),
                "anthropic.property_name",
            ),
            ("mock", choice(any()), "ok"),
            (
                "mock",
                json!({ "tools": [{ "name": "a b", "input_schema": { "type": "object" } }] }),
                "anthropic.tool_name",
            ),
            ("claude-opus-4-8", json!({ "tools": weather(true) }), "ok"),
            (
                "claude-opus-4-8",
                format(object(json!({ "type": "string" }))),
                "ok",
            ),
            (
                "claude-opus-4-8",
                format(object(json!({ "type": "string", "minLength": 1 }))),
                "anthropic.schema",
            ),
            (
                "claude-opus-4-8",
                format(json!({ "type": "object", "properties": {} })),
                "anthropic.schema",
            ),
            (
                "claude-opus-4-8",
                format(object(json!({ "$ref": "#" }))),
                "anthropic.schema",
            ),
            (
                "claude-opus-4-8",
                format(
                    json!({ "type": "object", "properties": optional, "additionalProperties": false }),
                ),
                "anthropic.schema_complex",
            ),
        ],
    );
}

#[test]
fn anthropic_pairs_calls_and_results() {
    let call = json!({ "type": "tool_use", "id": "t1", "name": "weather", "input": {} });
    let result = json!({ "type": "tool_result", "tool_use_id": "t1", "content": "22 °C" });
    let text = json!({ "type": "text", "text": "And now?" });
    let rounds = |results: Value| {
        json!({ "tools": weather(false), "messages": [
            { "role": "user", "content": "What is there?" },
            { "role": "assistant", "content": [call] },
            { "role": "user", "content": results },
        ] })
    };
    let ending = |role: &str| {
        json!({ "messages": [
            { "role": "user", "content": "a" }, { "role": role, "content": "b" },
        ] })
    };
    check(
        Format::Anthropic,
        vec![
            ("claude-opus-4-8", rounds(json!([result])), "ok"),
            ("claude-opus-4-8", rounds(json!([result, text])), "ok"),
            (
                "claude-opus-4-8",
                rounds(json!([text, result])),
                "anthropic.tool_result_first",
            ),
            (
                "claude-opus-4-8",
                rounds(json!([text])),
                "anthropic.tool_use_open",
            ),
            (
                "claude-opus-4-8",
                rounds(json!([result, { "type": "tool_result", "tool_use_id": "t2" }])),
                "anthropic.tool_result_orphan",
            ),
            ("claude-opus-4-8", ending("assistant"), "anthropic.prefill"),
            ("claude-haiku-4-5", ending("assistant"), "ok"),
            ("claude-opus-4-8", ending("system"), "ok"),
            (
                "claude-haiku-4-5",
                ending("system"),
                "anthropic.system_role",
            ),
        ],
    );
}

/// Collects the content of a response of Anthropic, as its SDK does.
fn content(events: &[Value]) -> Value {
    let mut blocks: Vec<Value> = Vec::new();
    for event in events {
        let index = event["index"].as_u64().unwrap_or_default() as usize;
        let delta = &event["delta"];
        match text(event, "type") {
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" => {
                let block = &mut blocks[index];
                for field in ["text", "thinking", "signature"] {
                    if let Some(piece) = delta[field].as_str() {
                        block[field] = json!(format!("{}{piece}", text(block, field)));
                    }
                }
            }
            _ => {}
        }
    }
    json!(blocks)
}

/// A round of calls to a model that preserves its thinking: the request, and its continuation.
pub(super) fn preserved(model: &str) -> (TestProvider, Value) {
    let turns = [
        Turn::default().thinking("Hm.").call("weather", json!({})),
        Turn::from_text("Sunny."),
        Turn::from_text("Still sunny."),
    ];
    let state = TestProvider::new(ChatServer::OpenAi, turns);
    let mut body = base(Format::Anthropic);
    body["model"] = json!(model);
    body["tools"] = weather(false);
    body["system"] = json!("Be brief.");
    body["thinking"] = json!({ "type": "adaptive", "display": "summarized" });
    let events = send(&state, Format::Anthropic, &body).unwrap();
    let content = content(&events);
    assert_eq!(content[0]["thinking"], "Hm.");
    let result =
        json!({ "type": "tool_result", "tool_use_id": content[1]["id"], "content": "22 °C" });
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": content }));
    messages.push(json!({ "role": "user", "content": [result] }));
    (state, body)
}

#[test]
fn anthropic_checks_the_prefix_of_preserved_thinking() {
    type Edit = fn(&mut Value);
    let edits: Vec<(Edit, &str)> = vec![
        (|_| {}, "ok"),
        (
            |body| body["messages"][1]["content"][0]["signature"] = json!("x"),
            "anthropic.signature",
        ),
        (
            |body| body["messages"][1]["content"][0]["thinking"] = json!("Hm"),
            "anthropic.thinking_modified",
        ),
        (
            |body| body["system"] = json!("Be very brief."),
            "anthropic.prefix",
        ),
        (
            |body| body["tools"][0]["description"] = json!("Weather"),
            "anthropic.prefix",
        ),
        (
            |body| body["messages"][0]["content"] = json!("What is there? Now."),
            "anthropic.prefix",
        ),
        // These do not count as changes.
        (
            |body| body["messages"][0]["content"] = json!([{ "type": "text", "text": "What is there?", "cache_control": { "type": "ephemeral" } }]),
            "ok",
        ),
        (|body| body["max_tokens"] = json!(9000), "ok"),
        (
            |body| {
                body["messages"][1]["content"]
                    .as_array_mut()
                    .unwrap()
                    .remove(0);
            },
            "ok",
        ),
        (
            |body| body["model"] = json!("claude-sonnet-5-5"),
            "anthropic.thinking_foreign",
        ),
    ];
    for (edit, expected) in edits {
        let (state, mut body) = preserved("claude-opus-5-5");
        edit(&mut body);
        let found = match send_with(&state, Format::Anthropic, &headers(), &body) {
            Ok((_, effects)) => effects.first().copied().unwrap_or("ok"),
            Err(refusal) => refusal.rule,
        };
        assert_eq!(found, expected, "{body}");
    }
    // A model without the check does not mind.
    let (state, mut body) = preserved("claude-opus-4-8");
    body["system"] = json!("Be very brief.");
    send(&state, Format::Anthropic, &body).unwrap();
}

#[test]
fn anthropic_drops_thinking_if_it_is_asked_to() {
    let (state, mut body) = preserved("claude-opus-5-5");
    body["system"] = json!("Be very brief.");
    body["thinking"]["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
    let refused = send(&state, Format::Anthropic, &body).unwrap_err();
    assert_eq!(refused.rule, "anthropic.extra");
    let mut headers = headers();
    let beta = "thinking-binding-controls-2026-08-01".parse().unwrap();
    headers.insert("anthropic-beta", beta);
    let (_, effects) = send_with(&state, Format::Anthropic, &headers, &body).unwrap();
    assert_eq!(effects, ["anthropic.thinking_dropped"]);
}

#[test]
fn anthropic_notices_a_shortened_result_in_a_later_round() {
    let (state, mut body) = preserved("claude-haiku-5-5");
    let events = send(&state, Format::Anthropic, &body).unwrap();
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": content(&events) }));
    messages.push(json!({ "role": "user", "content": "And now?" }));
    let mut shortened = body.clone();
    shortened["messages"][2]["content"][0]["content"] = json!("…");
    let refused = send(&state, Format::Anthropic, &shortened).unwrap_err();
    assert_eq!(refused.rule, "anthropic.prefix");
    assert!(
        refused
            .message
            .starts_with("messages.3.content.0: Invalid `signature`"),
        "{refused:?}"
    );
    // Thinking may be removed from the start, but nothing may be put back afterwards.
    let mut without_first = body.clone();
    without_first["messages"][1]["content"]
        .as_array_mut()
        .unwrap()
        .remove(0);
    send(&state, Format::Anthropic, &without_first).unwrap();
}

#[test]
fn anthropic_requires_the_thinking_of_manual_mode() {
    let turns = [
        Turn::from_call("weather", json!({})),
        Turn::from_text("Sunny."),
    ];
    let state = TestProvider::new(ChatServer::OpenAi, turns);
    let mut body = base(Format::Anthropic);
    body["model"] = json!("claude-haiku-4-5");
    body["tools"] = weather(false);
    body["thinking"] = json!({ "type": "enabled", "budget_tokens": 1024 });
    let events = send(&state, Format::Anthropic, &body).unwrap();
    let content = content(&events);
    let result =
        json!({ "type": "tool_result", "tool_use_id": content[1]["id"], "content": "22 °C" });
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": [content[1]] }));
    messages.push(json!({ "role": "user", "content": [result] }));
    let refused = send(&state, Format::Anthropic, &body).unwrap_err();
    assert_eq!(refused.rule, "anthropic.thinking_first");
    body["messages"][1]["content"] = content;
    send(&state, Format::Anthropic, &body).unwrap();
}
