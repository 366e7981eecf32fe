//! Requests to OpenAI, and to servers with its chat completions.

use serde_json::{Value, json};

use super::{Format, TestProvider, Turn, base, check, check_as, headers, send, send_with};
use crate::provider_rules::ChatServer;

#[test]
fn openai_has_reasoning_and_sampling_by_model() {
    let effort = |effort: &str| json!({ "reasoning": { "effort": effort } });
    let cold = |effort: &str| json!({ "reasoning": { "effort": effort }, "temperature": 0 });
    let explicit = || json!({ "prompt_cache_options": { "mode": "explicit" } });
    check(
        Format::OpenAiResponses,
        vec![
            ("gpt-6.2-sol", effort("high"), "ok"),
            ("gpt-6.2-sol", effort("none"), "openai.effort"),
            ("gpt-6-astra", effort("minimal"), "openai.effort"),
            ("gpt-5.6-sol", effort("none"), "ok"),
            ("gpt-5-mini", effort("minimal"), "ok"),
            ("gpt-5-mini", effort("none"), "openai.effort"),
            ("gpt-4.1", effort("low"), "openai.reasoning"),
            ("gpt-4.1", json!({ "temperature": 0 }), "ok"),
            ("gpt-5.6-sol", cold("none"), "ok"),
            ("gpt-5.6-sol", cold("low"), "openai.sampling"),
            (
                "gpt-6.2-sol",
                json!({ "temperature": 0 }),
                "openai.sampling",
            ),
            ("gpt-5.6-sol", explicit(), "openai.cache_off"),
            ("gpt-5.4", explicit(), "openai.breakpoints"),
            (
                "gpt-5.6-sol",
                json!({ "prompt_cache_retention": "24h" }),
                "openai.retention",
            ),
            ("gpt-9", effort("low"), "openai.effort"),
            ("o4-mini", json!({}), "openai.model"),
            (
                "gpt-6.2-sol",
                json!({ "instructions": "Be brief." }),
                "openai.instructions_last",
            ),
            ("gpt-5.4", json!({ "max_tokens": 100 }), "openai.unknown"),
            (
                "gpt-5.4",
                json!({ "max_output_tokens": 15 }),
                "responses.output_minimum",
            ),
            (
                "gpt-4.1",
                json!({ "max_output_tokens": 32769 }),
                "responses.output_maximum",
            ),
            (
                "gpt-4.1",
                json!({ "include": ["reasoning.encrypted_content"] }),
                "responses.include_encrypted",
            ),
            (
                "gpt-4.1",
                json!({ "text": { "verbosity": "low" } }),
                "openai.verbosity",
            ),
        ],
    );
}

#[test]
fn openai_has_tools_and_schemas() {
    let schema = |required: Value| json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": required, "additionalProperties": false });
    let tool = |strict: Value, schema: Value| json!({ "tools": [{ "type": "function", "name": "weather", "parameters": schema, "strict": strict }] });
    let mut choice = tool(json!(false), schema(json!([])));
    choice["tool_choice"] = json!({ "type": "function", "name": "other" });
    let format = |schema: Value| json!({ "text": { "format": { "type": "json_schema", "name": "a", "strict": true, "schema": schema } } });
    let nested = json!({ "tools": [{ "type": "function", "function": { "name": "weather" } }] });
    let long = json!({ "type": "object", "properties": { "a": { "type": "string", "minLength": 1 } }, "required": ["a"], "additionalProperties": false });
    check(
        Format::OpenAiResponses,
        vec![
            (
                "gpt-5.6-sol",
                tool(json!(true), schema(json!(["city"]))),
                "ok",
            ),
            (
                "gpt-5.6-sol",
                tool(json!(true), schema(json!([]))),
                "openai.strict",
            ),
            ("gpt-5.6-sol", tool(json!(false), schema(json!([]))), "ok"),
            (
                "gpt-5.6-sol",
                tool(Value::Null, schema(json!([]))),
                "openai.strict_normalised",
            ),
            (
                "gpt-5.6-sol",
                tool(json!(false), json!({ "type": "string" })),
                "openai.parameters",
            ),
            (
                "gpt-5.6-sol",
                tool(json!(false), json!({ "type": "object", "not": {} })),
                "openai.root_union",
            ),
            ("gpt-5.6-sol", nested, "openai.unknown"),
            ("gpt-5.6-sol", choice, "openai.choice_unknown"),
            (
                "gpt-5.6-sol",
                json!({ "tool_choice": "required" }),
                "openai.choice_without_tools",
            ),
            ("gpt-5.6-sol", format(schema(json!(["city"]))), "ok"),
            ("gpt-5.6-sol", format(schema(json!([]))), "openai.strict"),
            ("gpt-5.6-sol", format(long), "openai.strict"),
            (
                "gpt-5.6-sol",
                format(json!({ "type": "array", "items": {} })),
                "openai.strict",
            ),
        ],
    );
}

#[test]
fn responses_pairs_items() {
    let turns = || {
        [
            Turn::from_call("weather", json!({})),
            Turn::from_text("Sunny."),
        ]
    };
    let mut first = base(Format::OpenAiResponses);
    first["model"] = json!("gpt-6.2-sol");
    first["tools"] = json!([{ "type": "function", "name": "weather", "parameters": { "type": "object" }, "strict": false }]);
    type Edit = fn(&mut Vec<Value>);
    let edits: Vec<(Edit, &str)> = vec![
        (|_| {}, "ok"),
        (
            |input| {
                input.pop();
            },
            "responses.open_call",
        ),
        (
            |input| {
                input.drain(1..3);
            },
            "responses.orphan_output",
        ),
        (
            |input| {
                input.remove(1);
            },
            "responses.reasoning_missing",
        ),
        (
            |input| {
                input.remove(1);
                input[1].as_object_mut().unwrap().shift_remove("id");
            },
            "ok",
        ),
        (
            |input| {
                input.drain(2..);
            },
            "responses.reasoning_alone",
        ),
        (
            |input| input[1]["encrypted_content"] = json!("gAAAx"),
            "responses.encrypted",
        ),
        (
            |input| {
                input[1]
                    .as_object_mut()
                    .unwrap()
                    .shift_remove("encrypted_content");
            },
            "responses.item_missing",
        ),
        (
            |input| input[2]["id"] = json!("call_1"),
            "responses.item_id",
        ),
        (
            |input| input[2]["arguments"] = json!({}),
            "responses.arguments",
        ),
        (
            |input| input[1]["content"] = json!([{ "type": "reasoning_text", "text": "a" }]),
            "responses.reasoning_content",
        ),
        (
            |input| input[0]["content"] = json!("What was there?"),
            "openai.reasoning_dropped",
        ),
    ];
    for (edit, expected) in edits {
        let state = TestProvider::new(ChatServer::OpenAi, turns());
        let events = send(&state, Format::OpenAiResponses, &first).unwrap();
        let output = events.last().unwrap()["response"]["output"].clone();
        let mut second = first.clone();
        let input = second["input"].as_array_mut().unwrap();
        input.extend(output.as_array().unwrap().clone());
        let id = input[2]["call_id"].clone();
        input.push(json!({ "type": "function_call_output", "call_id": id, "output": "22 °C" }));
        edit(input);
        let found = match send_with(&state, Format::OpenAiResponses, &headers(), &second) {
            Ok((_, effects)) => effects.first().copied().unwrap_or("ok"),
            Err(refusal) => refusal.rule,
        };
        assert_eq!(found, expected, "{second}");
    }
}

#[test]
fn chat_completions_of_openai_refuse_tools_with_reasoning() {
    let tools = || json!([{ "type": "function", "function": { "name": "weather" } }]);
    let with = |effort: &str| json!({ "tools": tools(), "reasoning_effort": effort });
    let messages = |messages: Value| json!({ "messages": messages });
    let call = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "weather", "arguments": "{}" } }] });
    let user = json!({ "role": "user", "content": "a" });
    let result = json!({ "role": "tool", "tool_call_id": "c1", "content": "22 °C" });
    let picture = json!({ "role": "tool", "tool_call_id": "c1", "content": [{ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }] });
    check(
        Format::OpenAi,
        vec![
            (
                "gpt-5.6-sol",
                json!({ "tools": tools() }),
                "chat.tools_with_effort",
            ),
            ("gpt-5.6-sol", with("low"), "chat.tools_with_effort"),
            ("gpt-5.6-sol", with("none"), "ok"),
            ("gpt-5.4-mini", json!({ "tools": tools() }), "ok"),
            ("gpt-5.4-mini", with("low"), "chat.tools_with_effort"),
            ("gpt-6-astra", with("none"), "openai.effort"),
            ("gpt-6-astra", with("low"), "chat.tools_with_effort"),
            ("gpt-6.1-terra", with("none"), "chat.tools_with_effort"),
            ("gpt-5-mini", with("low"), "ok"),
            ("gpt-5.4-pro", json!({}), "chat.responses_only"),
            (
                "gpt-5.6-sol",
                json!({ "max_tokens": 100 }),
                "chat.max_tokens",
            ),
            ("gpt-4.1", json!({ "max_tokens": 100 }), "ok"),
            (
                "gpt-4.1",
                json!({ "max_completion_tokens": 40000 }),
                "chat.output_maximum",
            ),
            ("gpt-5.6-sol", json!({ "stop": ["a"] }), "chat.stop"),
            ("gpt-4.1", json!({ "tools": [] }), "chat.tools_empty"),
            (
                "gpt-4.1",
                json!({ "parallel_tool_calls": false }),
                "chat.parallel_without_tools",
            ),
            (
                "gpt-4.1",
                json!({ "tool_choice": "auto" }),
                "openai.choice_without_tools",
            ),
            (
                "gpt-4.1",
                json!({ "response_format": { "type": "json_object" } }),
                "openai.json_word",
            ),
            ("mock", json!({ "max_tokens": 100 }), "ok"),
            ("mock", json!({ "tools": [] }), "chat.tools_empty"),
            ("mock", messages(json!([])), "chat.messages_empty"),
            ("gpt-4.1", messages(json!([user, call, result])), "ok"),
            (
                "gpt-4.1",
                messages(json!([user, call, user])),
                "chat.open_calls",
            ),
            (
                "gpt-4.1",
                messages(json!([user, result])),
                "chat.orphan_result",
            ),
            (
                "gpt-4.1",
                messages(json!([user, call, picture])),
                "chat.tool_content",
            ),
            (
                "gpt-4.1",
                messages(json!([user, { "role": "assistant", "content": null }])),
                "chat.assistant_empty",
            ),
        ],
    );
}

#[test]
fn other_servers_have_their_own_rules() {
    let tools = || json!([{ "type": "function", "function": { "name": "weather" } }]);
    let named = || json!({ "type": "function", "function": { "name": "weather" } });
    let forced = |choice: Value| json!({ "tools": tools(), "tool_choice": choice });
    let called = |id: &str, arguments: &str| {
        let call = json!({ "id": id, "type": "function", "function": { "name": "weather", "arguments": arguments } });
        json!({ "messages": [
            { "role": "user", "content": "a" },
            { "role": "assistant", "content": "", "tool_calls": [call] },
            { "role": "tool", "tool_call_id": id, "content": "22 °C" },
        ] })
    };
    let schema = || json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "a", "schema": {} } } });
    check_as(
        ChatServer::Mistral,
        Format::OpenAi,
        vec![
            ("mistral-large-4-0", json!({ "max_tokens": 10 }), "ok"),
            (
                "mistral-large-4-0",
                json!({ "max_completion_tokens": 10 }),
                "mistral.extra",
            ),
            (
                "mistral-large-4-0",
                json!({ "stream_options": { "include_usage": true } }),
                "mistral.extra",
            ),
            ("mistral-large-4-0", called("abcdefgh1", "{}"), "ok"),
            (
                "mistral-large-4-0",
                called("call_1", "{}"),
                "mistral.call_id",
            ),
        ],
    );
    check_as(
        ChatServer::DeepSeek,
        Format::OpenAi,
        vec![
            ("deepseek-flash", forced(json!("auto")), "ok"),
            (
                "deepseek-flash",
                forced(json!("required")),
                "deepseek.forced",
            ),
            ("deepseek-flash", schema(), "deepseek.format"),
            (
                "deepseek-flash",
                called("c1", "{}"),
                "deepseek.reasoning_content",
            ),
        ],
    );
    check_as(
        ChatServer::LlamaCpp,
        Format::OpenAi,
        vec![
            ("any", forced(json!("required")), "ok"),
            ("any", forced(json!("any")), "llama_cpp.choice"),
            ("any", forced(named()), "llama_cpp.choice_ignored"),
        ],
    );
    check_as(
        ChatServer::Vllm,
        Format::OpenAi,
        vec![
            ("any", json!({ "tools": [] }), "vllm.tools_empty"),
            (
                "any",
                json!({ "tool_choice": "auto" }),
                "vllm.choice_without_tools",
            ),
            (
                "any",
                forced(json!({ "type": "allowed_tools" })),
                "vllm.allowed_tools",
            ),
            ("any", forced(named()), "ok"),
        ],
    );
    check_as(
        ChatServer::Ollama,
        Format::OpenAi,
        vec![
            ("qwen3", json!({ "max_tokens": 10 }), "ok"),
            (
                "qwen3",
                json!({ "max_completion_tokens": 10 }),
                "ollama.ignored",
            ),
            ("qwen3", forced(json!("required")), "ollama.choice_ignored"),
            ("qwen3", called("c1", "{\"a"), "ollama.arguments"),
            (
                "qwen3",
                json!({ "reasoning_effort": "ultra" }),
                "ollama.effort",
            ),
        ],
    );
}
