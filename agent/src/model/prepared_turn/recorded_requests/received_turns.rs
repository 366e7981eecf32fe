//! A turn of each provider, with thoughts, text and two calls.

use serde_json::{Value, json};

use crate::model::api::Api;

/// Returns the events of the turn, from the provider of the API or from another server.
pub(super) fn events(api: Api, is_official: bool) -> Vec<Value> {
    match api {
        Api::Messages => messages(),
        Api::Responses => responses(),
        Api::ChatCompletions => chat_completions(is_official),
        Api::Gemini => gemini(),
    }
}

/// From `RawMessageStreamEvent` of `@anthropic-ai/sdk` 1.14.0.
fn messages() -> Vec<Value> {
    let block = |index: u32, block: Value, deltas: &[Value]| {
        let start =
            json!({ "type": "content_block_start", "index": index, "content_block": block });
        let delta = |delta: &Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        let deltas = deltas.iter().map(delta);
        let stop = json!({ "type": "content_block_stop", "index": index });
        let events = [start].into_iter().chain(deltas).chain([stop]);
        events.collect::<Vec<_>>()
    };
    let call = |id: &str, name: &str| {
        json!({ "type": "tool_use", "id": id, "name": name, "input": {},
            "caller": { "type": "direct" } })
    };
    let arguments = json!({ "type": "input_json_delta", "partial_json": "{\"text\": \"milk\"}" });
    let thinking = json!({ "type": "thinking_delta", "thinking": "I search." });
    let signature = json!({ "type": "signature_delta", "signature": "c2ln" });
    let text = json!({ "type": "text_delta", "text": "I search." });
    let start = json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message",
        "role": "assistant", "content": [], "usage": { "input_tokens": 10, "output_tokens": 1 } } });
    let stop = json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" },
        "usage": { "output_tokens": 20 } });
    [
        vec![start],
        block(
            0,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
            &[thinking, signature],
        ),
        block(
            1,
            json!({ "type": "redacted_thinking", "data": "ZGF0YQ==" }),
            &[],
        ),
        block(
            2,
            json!({ "type": "text", "text": "", "citations": null }),
            &[text],
        ),
        block(3, call("toolu_1", "find_cards"), &[arguments]),
        block(4, call("toolu_2", "draw"), &[]),
        vec![stop, json!({ "type": "message_stop" })],
    ]
    .concat()
}

/// From `ResponseStreamEvent` of `openai` 7.59.0.
fn responses() -> Vec<Value> {
    let call = |number: u32, name: &str, arguments: &str| {
        json!({ "type": "function_call", "id": format!("fc_{number}"),
            "call_id": format!("call_{number}"), "name": name, "arguments": arguments,
            "status": "completed" })
    };
    let items = [
        json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA",
            "summary": [{ "type": "summary_text", "text": "I search." }] }),
        json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "phase": "commentary",
            "content": [{ "type": "output_text", "text": "I search.", "annotations": [],
                "logprobs": [] }] }),
        call(1, "find_cards", "{\"text\":\"milk\"}"),
        call(2, "draw", "{}"),
    ];
    let done = items.iter().enumerate().map(|(index, item)| {
        json!({ "type": "response.output_item.done", "output_index": index, "item": item })
    });
    let response = json!({ "status": "completed", "output": items,
        "usage": { "input_tokens": 10, "output_tokens": 20 } });
    let end = json!({ "type": "response.completed", "response": response });
    done.chain([end]).collect()
}

/// From `ChatCompletionChunk` of `openai` 7.59.0. Only other servers send thoughts: DeepSeek and llama.cpp.
fn chat_completions(is_official: bool) -> Vec<Value> {
    let chunk = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let call = |index: u32, name: &str, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        chunk(
            json!({ "tool_calls": [{ "index": index, "id": format!("call_{index}"),
            "type": "function", "function": function }] }),
        )
    };
    let thoughts = (!is_official).then_some("I search.");
    vec![
        chunk(json!({ "role": "assistant", "reasoning_content": thoughts })),
        chunk(json!({ "content": "I search." })),
        call(0, "find_cards", "{\"text\":\"milk\"}"),
        call(1, "draw", "{}"),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 20 } }),
    ]
}

/// From `GenerateContentResponse` of `@google/genai` 3.3.0.
fn gemini() -> Vec<Value> {
    let chunk = |parts: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
    vec![
        chunk(json!([{ "text": "I search.", "thought": true, "thoughtSignature": "czA=" }])),
        chunk(json!([{ "text": "I search." }])),
        chunk(json!([
            { "functionCall": { "id": "c1", "name": "find_cards", "args": { "text": "milk" } },
                "thoughtSignature": "czE=" },
            { "functionCall": { "id": "c2", "name": "draw", "args": {} } },
        ])),
        json!({ "candidates": [{ "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 20 } }),
    ]
}
