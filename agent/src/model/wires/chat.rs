//! OpenAI chat completions, and the servers that are compatible with it: Ollama, llama.cpp, vLLM,
//! OpenRouter, DeepSeek, Mistral and others.
//!
//! <https://developers.openai.com/api/docs/api-reference/chat>, types of `openai` 7.59.0. The request is
//! the most careful one, because servers refuse fields that they do not know (Mistral: 422) and lists
//! without elements (vLLM: 400). The response is read as any of them writes it: [`reader`].

use http::HeaderName;
use http::header::AUTHORIZATION;
use serde_json::{Map, Value, json};

use super::{
    ResponseReader, Wire, WireChoice, WireRequest, WireTool, WireTurn, media_caption, object,
    result_text, truncate_name,
};
use crate::model::answer_schema::AnswerFormat;
use crate::model::rules::MaxTokensField;
use crate::model::{CallResult, Media, ModelMessage, ModelTurn, UserMessage};

mod calls;
mod message;
mod reader;
mod thoughts;

use message::{assistant_message, call_value};

/// The wire of chat completions.
#[derive(Debug)]
pub(super) struct ChatCompletions;

impl Wire for ChatCompletions {
    fn request(&self, turn: &WireTurn<'_>) -> WireRequest {
        let limit = match turn.rules.max_tokens_field {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        };
        let caches = turn.is_official && turn.rules.cache_marks;
        let body = object([
            ("model", json!(turn.model)),
            (limit, json!(turn.max_output_tokens)),
            ("temperature", json!(turn.temperature)),
            ("stop", list(turn.stop_sequences.iter().map(|it| json!(it)))),
            ("messages", Value::Array(messages(turn))),
            ("tools", list(turn.tools.iter().map(tool))),
            ("tool_choice", tool_choice(turn)),
            ("response_format", response_format(turn)),
            ("stream", json!(true)),
            (
                "stream_options",
                json!(
                    turn.rules
                        .stream_usage
                        .then(|| json!({"include_usage": true}))
                ),
            ),
            (
                "prompt_cache_key",
                json!(caches.then(|| truncate_name(turn.cache_group))),
            ),
        ]);
        WireRequest::new("chat/completions", body)
    }

    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (AUTHORIZATION, format!("Bearer {key}"))
    }

    fn reader(&self, separates_thoughts: bool) -> Box<dyn ResponseReader> {
        Box::new(reader::Reader::new(separates_thoughts))
    }
}

/// Returns an array, or `null` for none: vLLM refuses a list of tools without elements.
fn list(elements: impl Iterator<Item = Value>) -> Value {
    match elements.collect::<Vec<_>>() {
        elements if elements.is_empty() => Value::Null,
        elements => Value::Array(elements),
    }
}

fn tool(tool: &WireTool) -> Value {
    json!({"type": "function", "function": {
        "name": tool.sent_name,
        "description": tool.description,
        "parameters": tool.schema,
    }})
}

fn tool_choice(turn: &WireTurn<'_>) -> Value {
    match turn.choice {
        // OpenAI and vLLM refuse a choice without tools.
        _ if turn.tools.is_empty() => Value::Null,
        WireChoice::Auto => Value::Null,
        WireChoice::None => json!("none"),
        WireChoice::Required => json!("required"),
        WireChoice::Only(name) => json!({"type": "function", "function": {"name": name}}),
    }
}

fn response_format(turn: &WireTurn<'_>) -> Value {
    let Some(answer) = turn.answer else {
        return Value::Null;
    };
    let AnswerFormat {
        tool,
        schema,
        is_strict,
    } = answer;
    // OpenAI refuses `strict` for a schema outside of its subset. Other servers enforce any schema.
    let strict = is_strict.then_some(true);
    let format = object([
        ("name", json!(turn.sent_name(tool))),
        ("schema", schema.clone()),
        ("strict", json!(strict)),
    ]);
    json!({"type": "json_schema", "json_schema": format})
}

fn messages(turn: &WireTurn<'_>) -> Vec<Value> {
    let mut messages = Vec::new();
    if !turn.system.is_empty() {
        // Most chat templates have no role `developer`.
        messages.push(json!({"role": "system", "content": turn.system}));
    }
    for message in turn.history {
        match message {
            ModelMessage::User(user) => push_user(&mut messages, user_parts(user)),
            ModelMessage::Model(model_turn) => {
                messages.extend(model_messages(turn, model_turn).map(Value::Object));
            }
            ModelMessage::Results(results) => push_results(&mut messages, turn, results),
        }
    }
    if turn.with_thoughts {
        thoughts::complete(&mut messages, turn.rules.thoughts_with_calls);
    }
    messages.iter_mut().for_each(join_text);
    messages
}

/// Adds parts of the user. They become one message with those before: some chat templates require that
/// user and model alternate.
fn push_user(messages: &mut Vec<Value>, mut parts: Vec<Value>) {
    if parts.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(last) if last["role"] == "user" => {
            if let Some(Value::Array(before)) = last.get_mut("content") {
                before.append(&mut parts);
            }
        }
        _ => messages.push(json!({"role": "user", "content": parts})),
    }
}

/// Makes a string of the parts of a user message if all are text: Ollama makes a message of each part,
/// and some chat templates accept only strings.
fn join_text(message: &mut Value) {
    if message["role"] != "user" {
        return;
    }
    let parts = message["content"].as_array();
    let texts = parts.and_then(|parts| {
        let texts = parts.iter().map(|part| part.get("text")?.as_str());
        texts.collect::<Option<Vec<_>>>()
    });
    if let Some(texts) = texts {
        message["content"] = json!(texts.join("\n\n"));
    }
}

fn user_parts(user: &UserMessage) -> Vec<Value> {
    let text = (!user.text.is_empty()).then(|| text_part(&user.text));
    user.media.iter().map(media_part).chain(text).collect()
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn media_part(media: &Media) -> Value {
    let url = format!("data:{};base64,{}", media.mime_type, media.data);
    if media.is_picture() {
        return json!({"type": "image_url", "image_url": {"url": url}});
    }
    let name = media.name.as_deref().unwrap_or("file");
    json!({"type": "file", "file": {"filename": name, "file_data": url}})
}

/// Returns the message of a turn of the model, unless it would be empty.
fn model_messages<'a>(
    turn: &'a WireTurn<'_>,
    model_turn: &'a ModelTurn,
) -> impl Iterator<Item = Map<String, Value>> {
    let kept = turn.kept_blocks(model_turn);
    let built = kept.is_none().then(|| built_message(turn, model_turn));
    let kept = kept.unwrap_or_default().iter();
    let kept = kept.filter_map(|block| {
        let block = block.as_object()?;
        if turn.with_thoughts {
            Some(block.clone())
        } else {
            thoughts::remove(block)
        }
    });
    kept.chain(built.flatten())
}

fn built_message(turn: &WireTurn<'_>, model_turn: &ModelTurn) -> Option<Map<String, Value>> {
    let calls = WireTurn::calls(model_turn).map(|call| {
        let arguments = Value::Object(call.arguments.clone()).to_string();
        call_value(&call.id, &turn.sent_name(&call.tool), &arguments)
    });
    assistant_message(json!(model_turn.text), calls.collect())
}

fn push_results(messages: &mut Vec<Value>, turn: &WireTurn<'_>, results: &[CallResult]) {
    let in_results = turn.rules.media_in_results;
    let (results, rejected) = WireTurn::results(results);
    let mut parts = Vec::new();
    for result in results {
        let text = result_text(result);
        let content = if in_results && !result.media.is_empty() {
            let text = (!text.is_empty()).then(|| text_part(&text));
            let media = result.media.iter().map(media_part);
            Value::Array(text.into_iter().chain(media).collect())
        } else {
            json!(text)
        };
        messages.push(json!({"role": "tool", "tool_call_id": result.id, "content": content}));
        if !in_results && !result.media.is_empty() {
            parts.push(text_part(&media_caption(result)));
            parts.extend(result.media.iter().map(media_part));
        }
    }
    let rejected = rejected.into_iter().map(result_text);
    parts.extend(rejected.map(|text| text_part(&text)));
    push_user(messages, parts);
}

#[cfg(test)]
mod tests;
