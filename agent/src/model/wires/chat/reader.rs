//! Reads the chunks of a response.

use serde_json::{Map, Value, json};

use super::super::think_tags::{Separated, ThinkTags, split_unopened};
use super::super::{ReadError, ResponseReader, object, string, text_of};
use super::calls::Calls;
use super::message::assistant_message;
use super::thoughts::{Thoughts, merge};
use crate::model::turn_builder::{Stop, TurnBuilder};

/// Reads the chunks of one response.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Whether the server separates thoughts from the text, so that a tag in it is part of the answer.
    separates_thoughts: bool,
    tags: ThinkTags,
    text: String,
    /// The content as parts, if some of them are thoughts.
    parts: Vec<Map<String, Value>>,
    thoughts: Thoughts,
    calls: Calls,
    refusal: String,
    /// Whether the model has stopped to make calls.
    expects_calls: bool,
    /// Whether the model has stopped, and the turn is not whole.
    is_cut: bool,
    has_usage: bool,
}

impl ResponseReader for Reader {
    fn read_event(&mut self, chunk: Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        self.read_usage(&chunk, turn);
        if let Some(error) = reported_error(&chunk) {
            return Err(ReadError::Reported(error));
        }
        let choices = chunk.get("choices").and_then(Value::as_array);
        let choices = choices.into_iter().flatten();
        // One answer is requested.
        let is_first =
            |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        for choice in choices.filter(is_first) {
            if let Some(error) = error_of(choice) {
                return Err(ReadError::Reported(json!({"error": error})));
            }
            // Moonshot has the tokens here.
            self.read_usage(choice, turn);
            turn.begin();
            if let Some(delta) = choice.get("delta") {
                self.read_delta(delta, turn)?;
            }
            self.read_finish_reason(choice, turn);
        }
        Ok(())
    }

    fn finish(&mut self, turn: &mut TurnBuilder) {
        turn.end();
        let rest = self.tags.finish();
        self.pass(&rest, turn);
        self.remove_unopened_thoughts(turn);
        let is_incomplete = self.calls.are_incomplete(self.expects_calls);
        if turn.has_stopped() && !self.is_cut && is_incomplete {
            turn.stop(Stop::InvalidCall);
        }
        let calls = self.calls.to_values(turn);
        if self.text.trim().is_empty() && calls.is_empty() {
            return;
        }
        let content = match &self.parts[..] {
            [] => json!(self.text),
            parts => json!(parts),
        };
        if let Some(mut message) = assistant_message(content, calls) {
            std::mem::take(&mut self.thoughts).add_to(&mut message);
            turn.keep(Value::Object(message));
        }
    }
}

impl Reader {
    pub(super) fn new(separates_thoughts: bool) -> Self {
        Self {
            separates_thoughts,
            ..Self::default()
        }
    }

    fn read_delta(&mut self, delta: &Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        self.thoughts.read(delta, turn)?;
        match delta.get("content") {
            Some(Value::String(text)) => self.read_text(text, turn),
            Some(Value::Array(parts)) => {
                for part in parts.iter().filter_map(Value::as_object) {
                    self.read_part(part, turn);
                }
            }
            _ => {}
        }
        self.refusal.push_str(string(delta, "refusal"));
        self.calls.read(delta, turn)
    }

    fn read_text(&mut self, text: &str, turn: &mut TurnBuilder) {
        let separated = if self.separates_thoughts {
            Separated::of_text(text)
        } else {
            self.tags.read(text)
        };
        self.pass(&separated, turn);
    }

    fn pass(&mut self, separated: &Separated, turn: &mut TurnBuilder) {
        turn.thinking(&separated.thoughts);
        turn.text(&separated.text);
        self.text.push_str(&separated.text);
        if !self.parts.is_empty() && !separated.text.is_empty() {
            add_text(&mut self.parts, &separated.text);
        }
    }

    /// Removes thoughts from the text that end with a tag and begin without one, because the chat template
    /// has written the first tag. The page has been sent them as text, and gets the corrected text with
    /// the answer.
    fn remove_unopened_thoughts(&mut self, turn: &mut TurnBuilder) {
        if !self.separates_thoughts
            && !self.tags.has_opened()
            && self.parts.is_empty()
            && let Some((thoughts, text)) = split_unopened(&self.text)
        {
            turn.correct_text(&self.text, text);
            turn.thinking(thoughts);
            self.text = text.to_owned();
        }
    }

    /// Reads a part of Mistral's content: `ContentChunk` of @mistralai/mistralai 2.7.0.
    fn read_part(&mut self, part: &Map<String, Value>, turn: &mut TurnBuilder) {
        let Some(thinking) = part.get("thinking") else {
            return self.read_text(text_of(part.get("text")), turn);
        };
        if self.parts.is_empty() && !self.text.is_empty() {
            add_text(&mut self.parts, &self.text);
        }
        let chunks = match thinking {
            Value::Array(chunks) => chunks
                .iter()
                .filter_map(Value::as_object)
                .cloned()
                .collect(),
            Value::String(text) => vec![text_chunk(text)],
            _ => Vec::new(),
        };
        for chunk in &chunks {
            turn.thinking(text_of(chunk.get("text")));
        }
        let is_open = |last: &&mut Map<String, Value>| {
            last.contains_key("thinking") && last.get("closed") != Some(&Value::Bool(true))
        };
        let mut whole = part.clone();
        match self.parts.last_mut().filter(is_open) {
            Some(last) => {
                let before = last.get_mut("thinking").and_then(Value::as_array_mut);
                add_chunks(before.unwrap_or(&mut Vec::new()), &chunks);
                whole.shift_remove("thinking");
                // The last piece closes the part.
                if let Some(closed) = whole.shift_remove("closed") {
                    last.insert("closed".to_owned(), closed);
                }
                merge(last, &whole, &[]);
            }
            None => {
                whole.insert("thinking".to_owned(), json!(chunks));
                self.parts.push(whole);
            }
        }
    }

    fn read_finish_reason(&mut self, choice: &Value, turn: &mut TurnBuilder) {
        let reason = string(choice, "finish_reason");
        if reason.is_empty() {
            return;
        }
        // OpenRouter has the word of the provider beside its own.
        let is_malformed = [reason, string(choice, "native_finish_reason")]
            .iter()
            .any(|it| it.eq_ignore_ascii_case("malformed_function_call"));
        self.expects_calls |= matches!(reason, "tool_calls" | "function_call");
        let stop = match reason {
            _ if !self.refusal.is_empty() => Stop::Refused {
                category: String::new(),
                words: self.refusal.clone(),
            },
            _ if is_malformed => Stop::InvalidCall,
            // `eos` is Together's. Servers also say `stop` after calls.
            "stop" | "tool_calls" | "function_call" | "eos" => Stop::Complete,
            // `model_length` is Mistral's.
            "length" | "model_length" => Stop::Length,
            "content_filter" => Stop::Refused {
                category: reason.to_owned(),
                words: String::new(),
            },
            // Among them are `error`, `abort`, `load` and `insufficient_system_resource`.
            _ => Stop::Other(reason.to_owned()),
        };
        let is_complete = stop == Stop::Complete;
        // Some servers send one more reason, which does not make the turn whole.
        if !(is_complete && self.is_cut) {
            turn.stop(stop);
        }
        self.is_cut |= !is_complete;
    }

    fn read_usage(&mut self, value: &Value, turn: &mut TurnBuilder) {
        // `x_groq` is Groq's, `timings` llama.cpp's.
        let usage = [value.get("usage"), value.pointer("/x_groq/usage")];
        for usage in usage.into_iter().flatten().filter(|it| it.is_object()) {
            self.has_usage = true;
            add_usage(usage, turn);
        }
        if let Some(timings) = value.get("timings").filter(|_| !self.has_usage) {
            add_timings(timings, turn);
        }
    }
}

fn add_usage(usage: &Value, turn: &mut TurnBuilder) {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let largest = |paths: &[&str]| paths.iter().filter_map(|path| count(path)).max();
    let cached = largest(&[
        "/prompt_tokens_details/cached_tokens",
        // Mistral
        "/prompt_token_details/cached_tokens",
        "/num_cached_tokens",
        // DeepSeek
        "/prompt_cache_hit_tokens",
        // Moonshot
        "/cached_tokens",
    ]);
    let thinking = largest(&[
        "/completion_tokens_details/reasoning_tokens",
        // SGLang
        "/reasoning_tokens",
    ]);
    turn.cache_writes(count("/prompt_tokens_details/cache_write_tokens"));
    let tokens = turn.usage_mut();
    let prompt = count("/prompt_tokens");
    let completion = count("/completion_tokens").map(|completion| {
        // xAI does not count thoughts as completion: @ai-sdk/xai 5.0.12. Its total shows it.
        let thinking = thinking.unwrap_or_default();
        let with_thinking = completion.saturating_add(thinking);
        let total = prompt.unwrap_or_default().saturating_add(with_thinking);
        if count("/total_tokens") == Some(total) {
            with_thinking
        } else {
            completion
        }
    });
    tokens.input = prompt.unwrap_or(tokens.input);
    tokens.output = completion.unwrap_or(tokens.output);
    tokens.cached = cached.unwrap_or(tokens.cached);
    tokens.thinking = thinking.unwrap_or(tokens.thinking);
}

/// Adds the tokens of llama.cpp, which it also sends if it does not read `stream_options`.
fn add_timings(timings: &Value, turn: &mut TurnBuilder) {
    let count = |name: &str| timings.get(name).and_then(Value::as_u64);
    let tokens = turn.usage_mut();
    if let Some(prompt) = count("prompt_n") {
        let cached = count("cache_n").unwrap_or_default();
        tokens.cached = cached;
        tokens.input = prompt.saturating_add(cached);
    }
    tokens.output = count("predicted_n").unwrap_or(tokens.output);
}

fn text_chunk(text: &str) -> Map<String, Value> {
    object([("type", json!("text")), ("text", json!(text))])
}

/// Adds text to parts, to the last one if it is text.
fn add_text(parts: &mut Vec<Map<String, Value>>, text: &str) {
    let chunk = text_chunk(text);
    match parts.last_mut() {
        Some(last) if last.get("type") == chunk.get("type") => merge(last, &chunk, &["text"]),
        _ => parts.push(chunk),
    }
}

fn add_chunks(before: &mut Vec<Value>, chunks: &[Map<String, Value>]) {
    for chunk in chunks {
        match before.last_mut().and_then(Value::as_object_mut) {
            Some(last) if last.contains_key("text") && chunk.contains_key("text") => {
                merge(last, chunk, &["text"]);
            }
            _ => before.push(json!(chunk)),
        }
    }
}

/// Returns the error that a chunk is: an object or a text in `error`, or the chunk itself.
fn reported_error(chunk: &Value) -> Option<Value> {
    // SGLang, Mistral
    let is_flat = string(chunk, "object") == "error"
        || chunk.get("choices").is_none()
            && chunk.get("message").is_some_and(Value::is_string)
            && (chunk.get("code").is_some_and(|code| !code.is_null())
                || string(chunk, "type").contains("error"));
    (is_flat || error_of(chunk).is_some()).then(|| chunk.clone())
}

fn error_of(value: &Value) -> Option<&Value> {
    let error = value.get("error")?;
    let is_error = match error {
        Value::String(text) => !text.is_empty(),
        Value::Object(_) | Value::Array(_) => true,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    is_error.then_some(error)
}
