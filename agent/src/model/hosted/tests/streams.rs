//! Whole responses of the four APIs, with thoughts, text and two calls.
//!
//! They are those of the documents, with Munich and the calls in place of what is asked there:
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>,
//! <https://developers.openai.com/api/docs/guides/streaming-responses>,
//! <https://developers.openai.com/api/docs/api-reference/chat-streaming> (with the usage in each chunk
//! that vLLM sends with `continuous_usage_stats`) and
//! <https://ai.google.dev/gemini-api/docs/thought-signatures>.

use super::*;

pub(super) const TEXT: &str = "Okay, München – 天气:";
pub(super) const THOUGHTS: &str = "I need to find the weather";

/// A response as the data of its events.
#[derive(Clone, Debug)]
pub(super) struct WholeStream {
    pub(super) api: Api,
    pub(super) events: Vec<Value>,
    /// How many events make the turn whole.
    pub(super) whole_after: usize,
    /// The tokens that are counted after so many events, in ascending order.
    pub(super) usages: Vec<(usize, TokenUsage)>,
}

/// The data with which some servers end a stream.
fn done() -> Value {
    "[DONE]".into()
}

impl WholeStream {
    pub(super) fn of(api: Api) -> Self {
        let (events, whole_after, usages) = match api {
            Api::Messages => messages(),
            Api::Responses => responses(),
            Api::ChatCompletions => chat_completions(),
            Api::Gemini => gemini(),
        };
        Self {
            api,
            events,
            whole_after,
            usages,
        }
    }

    /// Returns the tokens that are counted after so many events.
    pub(super) fn usage_after(&self, events: usize) -> TokenUsage {
        let counted = self.usages.iter().rfind(|(after, _)| *after <= events);
        counted.map_or_else(TokenUsage::default, |(_, usage)| *usage)
    }

    /// Returns the bytes of the response.
    pub(super) fn text(&self) -> String {
        self.events.iter().map(|event| self.frame(event)).collect()
    }

    /// Returns the positions in the bytes at which events end.
    pub(super) fn ends(&self) -> Vec<usize> {
        let lengths = self.events.iter().map(|event| self.frame(event).len());
        let ends = lengths.scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        ends.collect()
    }

    /// Returns the events up to the beginning of the answer, before any output, and the others.
    pub(super) fn divided_before_output(&self) -> (String, String) {
        let mut stream = self.clone();
        if self.api == Api::Gemini {
            let begun = json!({ "candidates": [{ "content": { "role": "model" }, "index": 0 }] });
            stream.events.insert(0, begun);
        }
        let events = match self.api {
            Api::Messages => 2,
            Api::Responses => 3,
            Api::ChatCompletions | Api::Gemini => 1,
        };
        let end = stream.ends()[events - 1];
        let text = stream.text();
        let (begun, rest) = text.split_at(end);
        (begun.to_owned(), rest.to_owned())
    }

    fn frame(&self, data: &Value) -> String {
        frame(self.api, data)
    }
}

/// Returns the lines of an event.
pub(super) fn frame(api: Api, data: &Value) -> String {
    if let Value::String(word) = data {
        return format!("data: {word}\n\n");
    }
    match (api, data["type"].as_str()) {
        (Api::Messages | Api::Responses, Some(name)) => {
            format!("event: {name}\ndata: {data}\n\n")
        }
        _ => format!("data: {data}\n\n"),
    }
}

/// Returns a response that ends for this reason, after its text.
pub(super) fn stopped(api: Api, reason: &str) -> String {
    let mut stream = WholeStream::of(api);
    match api {
        Api::Messages => {
            // The calls are left out.
            stream.events.drain(10..18);
            let end = stream.events.iter_mut().rev().nth(1).unwrap();
            end["delta"]["stop_reason"] = reason.into();
        }
        Api::Responses => {
            let end = stream.events.last_mut().unwrap();
            end["type"] = "response.incomplete".into();
            end["response"]["status"] = "incomplete".into();
            end["response"]["incomplete_details"] = json!({ "reason": reason });
        }
        Api::ChatCompletions => {
            let is_call = |event: &Value| event.pointer("/choices/0/delta/tool_calls").is_some();
            stream.events.retain(|event| !is_call(event));
            let finish = "/choices/0/finish_reason";
            let mut ends = stream.events.iter_mut();
            let end = ends.find(|it| it.pointer(finish).is_some_and(Value::is_string));
            *end.unwrap().pointer_mut(finish).unwrap() = reason.into();
        }
        Api::Gemini => {
            let end = stream.events.last_mut().unwrap();
            end["candidates"][0]["finishReason"] = reason.into();
        }
    }
    stream.text()
}

/// Returns the events up to the end of the text.
pub(super) fn start(api: Api) -> String {
    let mut stream = WholeStream::of(api);
    stream.events.truncate(match api {
        Api::Messages => 10,
        Api::Responses => 15,
        Api::ChatCompletions => 5,
        Api::Gemini => 3,
    });
    stream.text()
}

/// Returns an error in the stream, in the provider's format.
pub(super) fn error_event(api: Api) -> Value {
    match api {
        // https://platform.claude.com/docs/en/build-with-claude/streaming#error-events
        Api::Messages => json!({ "type": "error",
            "error": { "type": "overloaded_error", "message": "Overloaded" } }),
        // https://developers.openai.com/api/docs/guides/error-codes
        Api::Responses => json!({ "type": "error", "code": "server_error",
            "message": "Overloaded", "param": null, "sequence_number": 99 }),
        Api::ChatCompletions => json!({ "error": { "message": "Overloaded",
            "type": "server_error", "param": null, "code": null } }),
        // https://ai.google.dev/gemini-api/docs/troubleshooting
        Api::Gemini => json!({ "error": { "code": 503, "message": "Overloaded",
            "status": "UNAVAILABLE" } }),
    }
}

type Parts = (Vec<Value>, usize, Vec<(usize, TokenUsage)>);

fn messages() -> Parts {
    let start = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta = |index: u64, kind: &str, field: &str, piece: &str| {
        json!({ "type": "content_block_delta", "index": index,
            "delta": { "type": kind, field: piece } })
    };
    let stop = |index: u64| json!({ "type": "content_block_stop", "index": index });
    let text = |piece: &str| delta(1, "text_delta", "text", piece);
    let thinking = |piece: &str| delta(0, "thinking_delta", "thinking", piece);
    let input = |index, piece: &str| delta(index, "input_json_delta", "partial_json", piece);
    let call =
        |id: &str, name: &str| json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
    let events = vec![
        json!({ "type": "message_start", "message": { "id": "msg_01", "type": "message",
            "role": "assistant", "model": "claude-haiku-5-5", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 400,
            "cache_creation_input_tokens": 8, "cache_read_input_tokens": 64,
            "output_tokens": 2 } } }),
        start(
            0,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        thinking("I need to find "),
        thinking("the weather"),
        delta(0, "signature_delta", "signature", "EqQBCgIYAhIM1gbc"),
        stop(0),
        start(1, json!({ "type": "text", "text": "" })),
        text("Okay, München"),
        text(" – 天气:"),
        stop(1),
        start(2, call("toolu_1", "get_weather")),
        input(2, ""),
        input(2, "{\"location\":"),
        input(2, " \"San Francisco\"}"),
        stop(2),
        start(3, call("toolu_2", "get_time")),
        input(3, "{\"zone\": \"Europe/Berlin\"}"),
        stop(3),
        json!({ "type": "ping" }),
        json!({ "type": "message_delta",
            "delta": { "stop_reason": "tool_use", "stop_sequence": null },
            "usage": { "output_tokens": 89, "output_tokens_details": { "thinking_tokens": 9 } } }),
        json!({ "type": "message_stop" }),
    ];
    let usage = |output, thinking| TokenUsage {
        input: 472,
        cached: 64,
        output,
        thinking,
    };
    let whole_after = events.len();
    (
        events,
        whole_after,
        // The first count of the output is provisional.
        vec![(1, usage(0, 0)), (whole_after - 1, usage(89, 9))],
    )
}

fn responses() -> Parts {
    let reasoning = json!({ "id": "rs_1", "type": "reasoning", "encrypted_content": "gAAAA",
        "summary": [{ "type": "summary_text", "text": THOUGHTS }] });
    let message = json!({ "id": "msg_1", "type": "message", "status": "completed",
        "role": "assistant", "phase": "commentary",
        "content": [{ "type": "output_text", "annotations": [], "text": TEXT }] });
    let call = |id: &str, name: &str, arguments: &str| {
        json!({ "id": format!("fc_{id}"), "type": "function_call", "status": "completed",
            "call_id": format!("call_{id}"), "name": name, "arguments": arguments })
    };
    let weather = call("1", "get_weather", "{\"location\":\"San Francisco\"}");
    let time = call("2", "get_time", "{\"zone\":\"Europe/Berlin\"}");
    let started = |item: &Value, changes: Value| {
        let mut item = item.clone();
        let changes = changes.as_object().unwrap().clone();
        item.as_object_mut().unwrap().extend(changes);
        item
    };
    let added = |index: u64, item: Value| json!({ "type": "response.output_item.added", "output_index": index, "item": item });
    let done = |index: u64, item: &Value| json!({ "type": "response.output_item.done", "output_index": index, "item": item });
    let delta = |kind: &str, index: u64, id: &str, delta: &str| {
        json!({ "type": format!("response.{kind}.delta"), "item_id": id, "output_index": index,
            "delta": delta })
    };
    let thinking = |piece: &str| delta("reasoning_summary_text", 0, "rs_1", piece);
    let text = |piece: &str| delta("output_text", 1, "msg_1", piece);
    let arguments =
        |index, id: &str, piece: &str| delta("function_call_arguments", index, id, piece);
    let arguments_done = |index: u64, item: &Value| {
        json!({ "type": "response.function_call_arguments.done", "output_index": index,
            "item_id": item["id"], "arguments": item["arguments"] })
    };
    let begun = json!({ "id": "resp_1", "object": "response", "status": "in_progress",
        "error": null, "incomplete_details": null, "output": [], "usage": null });
    let usage = json!({ "input_tokens": 472, "input_tokens_details": { "cached_tokens": 64, "cache_write_tokens": 8 },
        "output_tokens": 89, "output_tokens_details": { "reasoning_tokens": 9 },
        "total_tokens": 561 });
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
        added(
            0,
            started(
                &reasoning,
                json!({ "summary": [], "encrypted_content": "gA" }),
            ),
        ),
        json!({ "type": "response.reasoning_summary_part.added", "item_id": "rs_1",
            "output_index": 0, "summary_index": 0,
            "part": { "type": "summary_text", "text": "" } }),
        thinking("I need to find "),
        thinking("the weather"),
        json!({ "type": "response.reasoning_summary_text.done", "item_id": "rs_1",
            "output_index": 0, "summary_index": 0, "text": THOUGHTS }),
        done(0, &reasoning),
        added(
            1,
            started(&message, json!({ "content": [], "status": "in_progress" })),
        ),
        json!({ "type": "response.content_part.added", "item_id": "msg_1", "output_index": 1,
            "content_index": 0, "part": { "type": "output_text", "annotations": [], "text": "" } }),
        text("Okay, München"),
        text(" – 天气:"),
        json!({ "type": "response.output_text.done", "item_id": "msg_1", "output_index": 1,
            "content_index": 0, "text": TEXT }),
        json!({ "type": "response.content_part.done", "item_id": "msg_1", "output_index": 1,
            "content_index": 0, "part": message["content"][0] }),
        done(1, &message),
        added(
            2,
            started(
                &weather,
                json!({ "arguments": "", "status": "in_progress" }),
            ),
        ),
        arguments(2, "fc_1", "{\"location\":"),
        arguments(2, "fc_1", "\"San Francisco\"}"),
        arguments_done(2, &weather),
        done(2, &weather),
        added(
            3,
            started(&time, json!({ "arguments": "", "status": "in_progress" })),
        ),
        arguments(3, "fc_2", "{\"zone\":\"Europe/Berlin\"}"),
        arguments_done(3, &time),
        done(3, &time),
        json!({ "type": "response.completed", "response": { "id": "resp_1", "object": "response",
            "status": "completed", "error": null, "incomplete_details": null,
            "output": [reasoning, message, weather, time], "usage": usage } }),
    ];
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    let whole_after = events.len();
    let usage = TokenUsage {
        input: 472,
        cached: 64,
        output: 89,
        thinking: 9,
    };
    (events, whole_after, vec![(whole_after, usage)])
}

fn chat_completions() -> Parts {
    let deltas = [
        json!({ "role": "assistant", "content": "", "refusal": null }),
        json!({ "reasoning_content": "I need to find " }),
        json!({ "reasoning_content": "the weather" }),
        json!({ "content": "Okay, München" }),
        json!({ "content": " – 天气:" }),
        json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function",
            "function": { "name": "get_weather", "arguments": "" } }] }),
        json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{\"location\":" } }] }),
        json!({ "tool_calls": [{ "index": 0, "id": null, "type": null,
            "function": { "name": null, "arguments": " \"San Francisco\"}" } }] }),
        json!({ "tool_calls": [{ "index": 1, "id": "call_2", "type": "function",
            "function": { "name": "get_time", "arguments": "{\"zone\": \"Europe/Berlin\"}" } }] }),
        json!({}),
    ];
    let last = deltas.len();
    let usage = |number: u64| {
        json!({ "prompt_tokens": 472, "completion_tokens": number,
        "total_tokens": 472 + number, "prompt_tokens_details": { "cached_tokens": 64, "cache_write_tokens": 8 } })
    };
    let mut events: Vec<Value> = Vec::new();
    let mut usages = Vec::new();
    for (number, delta) in (1..).zip(deltas) {
        let reason = (number == last).then_some("tool_calls");
        events.push(
            json!({ "id": "chatcmpl-123", "object": "chat.completion.chunk", "created": 1694268190,
            "model": "qwen3", "system_fingerprint": "fp_44709d6fcb",
            "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason }],
            "usage": usage(number as u64) }),
        );
        usages.push((number, number as u64));
    }
    events.push(
        json!({ "id": "chatcmpl-123", "object": "chat.completion.chunk", "created": 1694268190,
        "model": "qwen3", "choices": [], "usage": usage(17) }),
    );
    usages.push((events.len(), 17));
    let whole_after = last;
    events.push(done());
    let usages = usages.into_iter().map(|(after, output)| {
        let usage = TokenUsage {
            input: 472,
            cached: 64,
            output,
            thinking: 0,
        };
        (after, usage)
    });
    (events, whole_after, usages.collect())
}

fn gemini() -> Parts {
    let parts = [
        json!({ "text": THOUGHTS, "thought": true }),
        json!({ "text": "Okay, München" }),
        json!({ "text": " – 天气:" }),
        json!({ "functionCall": { "id": "fc1", "name": "get_weather",
            "args": { "location": "San Francisco" } }, "thoughtSignature": "QUFB" }),
        json!({ "functionCall": { "id": "fc2", "name": "get_time",
            "args": { "zone": "Europe/Berlin" } } }),
        json!({ "text": "" }),
    ];
    let last = parts.len();
    let (mut events, mut usages) = (Vec::new(), Vec::new());
    for (number, part) in (1..).zip(parts) {
        let mut candidate = json!({ "content": { "parts": [part], "role": "model" }, "index": 0 });
        if number == last {
            candidate["finishReason"] = "STOP".into();
        }
        events.push(
            json!({ "candidates": [candidate], "modelVersion": "gemini-4-argon",
            "usageMetadata": { "promptTokenCount": 472, "cachedContentTokenCount": 64,
            "candidatesTokenCount": number, "thoughtsTokenCount": 9,
            "totalTokenCount": 481 + number } }),
        );
        let usage = TokenUsage {
            input: 472,
            cached: 64,
            output: 9 + number as u64,
            thinking: 9,
        };
        usages.push((number, usage));
    }
    let whole_after = events.len();
    (events, whole_after, usages)
}

/// Returns a response with nothing but this text as the answer.
pub(super) fn answer(api: Api, text: &str) -> String {
    let events = match api {
        Api::Messages => vec![
            json!({ "type": "message_start",
                "message": { "usage": { "input_tokens": 5, "output_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0,
                "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0,
                "delta": { "type": "text_delta", "text": text } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
                "usage": { "output_tokens": 7 } }),
            json!({ "type": "message_stop" }),
        ],
        Api::Responses => {
            let message = json!({ "id": "msg_1", "type": "message", "status": "completed",
                "role": "assistant", "phase": "final_answer",
                "content": [{ "type": "output_text", "annotations": [], "text": text }] });
            let usage = json!({ "input_tokens": 5, "output_tokens": 7 });
            vec![
                json!({ "type": "response.output_text.delta", "output_index": 0, "delta": text }),
                json!({ "type": "response.output_item.done", "output_index": 0, "item": message }),
                json!({ "type": "response.completed", "response": { "status": "completed",
                    "output": [message], "usage": usage } }),
            ]
        }
        Api::ChatCompletions => vec![
            json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }),
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }),
            json!({ "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": 7 } }),
            done(),
        ],
        Api::Gemini => vec![json!({ "candidates": [{
            "content": { "parts": [{ "text": text }], "role": "model" },
            "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 5, "candidatesTokenCount": 7 } })],
    };
    events.iter().map(|event| frame(api, event)).collect()
}
