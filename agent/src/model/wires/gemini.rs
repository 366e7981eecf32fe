//! The wire of Gemini, from <https://ai.google.dev/api/generate-content>.
//!
//! - A turn is sent back in the parts in which it came. A signature stays in its part, and parts with
//!   a signature are never merged: <https://ai.google.dev/gemini-api/docs/thought-signatures>.
//! - Contents of user and model alternate. The first and the last are of the user: newer models refuse
//!   a request that ends with a model's.
//! - No reason to stop says that there are calls: they end with `STOP`.

use http::HeaderName;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    ResponseReader, Wire, WireChoice, WireRequest, WireTurn, media_caption, object, result_text,
};
use crate::model::{CallResult, Media, ModelMessage, ModelTurn, UserMessage};

mod part;
mod reader;

use part::{SIGNATURE, is_thought, text_part};

const USER: &str = "user";
const MODEL: &str = "model";

/// The base64 of `skip_thought_signature_validator`, which Google documents for calls that have no
/// signature: <https://ai.google.dev/gemini-api/docs/thought-signatures#faqs>.
const SIGNATURE_PLACEHOLDER: &str = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=";

/// The text where the API requires a content of the user and the conversation has none.
const CONTINUE: &str = "Continue.";

/// The characters of a model's name that are encoded in a path. Names of tuned models contain a slash.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b':')
    .remove(b'@');

/// The wire of Gemini.
#[derive(Debug)]
pub(super) struct Gemini;

impl Wire for Gemini {
    fn request(&self, turn: &WireTurn<'_>) -> WireRequest {
        let body = object([
            ("systemInstruction", system_instruction(turn.system)),
            ("contents", contents(turn)),
            ("tools", tools(turn)),
            ("toolConfig", tool_config(turn)),
            ("generationConfig", generation_config(turn)),
        ]);
        WireRequest::new(path(turn.model), body)
    }

    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (HeaderName::from_static("x-goog-api-key"), key.to_owned())
    }

    fn reader(&self, _separates_thoughts: bool) -> Box<dyn ResponseReader> {
        Box::<reader::Reader>::default()
    }
}

fn path(model: &str) -> String {
    let is_resource = model.starts_with("models/") || model.starts_with("tunedModels/");
    let folder = if is_resource { "" } else { "models/" };
    let model = utf8_percent_encode(model, ENCODED);
    format!("{folder}{model}:streamGenerateContent?alt=sse")
}

fn system_instruction(system: &str) -> Value {
    if system.trim().is_empty() {
        return Value::Null;
    }
    json!({ "parts": [text_part(system)] })
}

fn contents(turn: &WireTurn<'_>) -> Value {
    let mut contents = Contents::default();
    let mut kept_ids: Vec<&str> = Vec::new();
    for message in turn.history {
        match message {
            ModelMessage::User(message) => contents.push(USER, user_parts(message)),
            ModelMessage::Model(model_turn) => {
                let kept = turn.kept_blocks(model_turn).unwrap_or_default();
                kept_ids = kept.iter().filter_map(call_id).collect();
                contents.push(MODEL, model_parts(model_turn, turn));
            }
            ModelMessage::Results(results) => {
                contents.push(USER, result_parts(results, &kept_ids, turn));
            }
        }
    }
    contents.finish()
}

/// The contents of a request, with their roles.
#[derive(Default)]
struct Contents(Vec<(&'static str, Vec<Value>)>);

impl Contents {
    /// Adds parts to the last content, or begins one if the last has another role.
    fn push(&mut self, role: &'static str, parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        if self.0.is_empty() && role == MODEL {
            self.0.push((USER, vec![text_part(CONTINUE)]));
        }
        match self.0.last_mut() {
            Some((last, earlier)) if *last == role => earlier.extend(parts),
            _ => self.0.push((role, parts)),
        }
    }

    fn finish(mut self) -> Value {
        if self.0.last().is_none_or(|(role, _)| *role == MODEL) {
            self.push(USER, vec![text_part(CONTINUE)]);
        }
        let contents = self.0.into_iter();
        contents
            .map(|(role, parts)| json!({ "role": role, "parts": parts }))
            .collect()
    }
}

fn media_part(media: &Media) -> Value {
    json!({ "inlineData": { "mimeType": media.mime_type, "data": &*media.data } })
}

fn user_parts(message: &UserMessage) -> Vec<Value> {
    let media = message.media.iter().map(media_part);
    let text = (!message.text.trim().is_empty()).then(|| text_part(&message.text));
    media.chain(text).collect()
}

/// Returns the id of a call that the model has given.
fn call_id(part: &Value) -> Option<&str> {
    part.get("functionCall")?.get("id")?.as_str()
}

fn model_parts(model_turn: &ModelTurn, turn: &WireTurn<'_>) -> Vec<Value> {
    let mut parts: Vec<Value> = match turn.kept_blocks(model_turn) {
        Some(parts) if turn.with_thoughts => parts.to_vec(),
        Some(parts) => parts.iter().filter_map(without_thoughts).collect(),
        None => {
            let text = (!model_turn.text.trim().is_empty()).then(|| text_part(&model_turn.text));
            let calls = WireTurn::calls(model_turn).map(|call| {
                let name = turn.sent_name(&call.tool);
                json!({ "functionCall": { "name": name, "args": call.arguments } })
            });
            text.into_iter().chain(calls).collect()
        }
    };
    // Only the first of parallel calls has a signature.
    let mut calls = parts.iter_mut().filter_map(Value::as_object_mut);
    let first_call = calls.find(|part| part.contains_key("functionCall"));
    if turn.rules.signature_placeholder
        && let Some(call) = first_call
        && !call.contains_key(SIGNATURE)
    {
        call.insert(SIGNATURE.to_owned(), SIGNATURE_PLACEHOLDER.into());
    }
    parts
}

/// Returns a part without its signature, or `None` if nothing else is in it.
fn without_thoughts(part: &Value) -> Option<Value> {
    let mut part = part.as_object()?.clone();
    part.shift_remove(SIGNATURE);
    let is_call = part.contains_key("functionCall");
    let is_empty_text = part.get("text").is_some_and(|text| text == "");
    (is_call || !(is_thought(&part) || is_empty_text || part.is_empty())).then_some(part.into())
}

/// Returns the parts for the results of one turn. There must be as many responses as calls, before any
/// other part.
fn result_parts(results: &[CallResult], kept_ids: &[&str], turn: &WireTurn<'_>) -> Vec<Value> {
    let (results, rejected) = WireTurn::results(results);
    let responses = results
        .iter()
        .map(|result| response_part(result, kept_ids, turn));
    let mut parts: Vec<Value> = responses.collect();
    if !turn.rules.media_in_results {
        for result in results.iter().filter(|result| !result.media.is_empty()) {
            parts.push(text_part(&media_caption(result)));
            parts.extend(result.media.iter().map(media_part));
        }
    }
    let rejected = rejected.into_iter().map(result_text);
    parts.extend(rejected.map(|text| text_part(&text)));
    parts
}

fn response_part(result: &CallResult, kept_ids: &[&str], turn: &WireTurn<'_>) -> Value {
    // Models before Gemini 3 give no ids, and some servers refuse ids that the model has not given.
    let id = Some(result.id.as_str()).filter(|id| kept_ids.contains(id));
    // The text is not parsed: Gemini would read a key `$ref` as the name of a picture.
    let response = if result.is_error {
        json!({ "error": result.text })
    } else {
        json!({ "output": result.text })
    };
    let media = result.media.iter().map(media_part);
    let media: Vec<Value> = media.filter(|_| turn.rules.media_in_results).collect();
    let media = (!media.is_empty()).then_some(media);
    let response = object([
        ("id", json!(id)),
        ("name", turn.sent_name(&result.tool).into()),
        ("response", response),
        ("parts", json!(media)),
    ]);
    json!({ "functionResponse": response })
}

fn tools(turn: &WireTurn<'_>) -> Value {
    if turn.tools.is_empty() {
        return Value::Null;
    }
    let declarations = turn.tools.iter().map(|tool| {
        let schema = Some(&tool.schema).filter(|schema| has_parameters(schema));
        Value::Object(object([
            ("name", tool.sent_name.as_str().into()),
            ("description", tool.description.as_str().into()),
            ("parametersJsonSchema", json!(schema)),
        ]))
    });
    json!([{ "functionDeclarations": declarations.collect::<Vec<_>>() }])
}

fn has_parameters(schema: &Value) -> bool {
    let has_members = |keyword: &str| {
        let members = schema.get(keyword).and_then(Value::as_object);
        members.is_some_and(|members| !members.is_empty())
    };
    ["properties", "patternProperties", "additionalProperties"]
        .into_iter()
        .any(has_members)
}

fn tool_config(turn: &WireTurn<'_>) -> Value {
    if turn.tools.is_empty() {
        return Value::Null;
    }
    let config = match turn.choice {
        WireChoice::Auto => return Value::Null,
        WireChoice::None => json!({ "mode": "NONE" }),
        WireChoice::Required => json!({ "mode": "ANY" }),
        WireChoice::Only(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    };
    json!({ "functionCallingConfig": config })
}

fn generation_config(turn: &WireTurn<'_>) -> Value {
    let stop_sequences = Some(turn.stop_sequences).filter(|texts| !texts.is_empty());
    let schema = turn.answer.map(|answer| &answer.schema);
    Value::Object(object([
        ("maxOutputTokens", turn.max_output_tokens.into()),
        ("temperature", json!(turn.temperature)),
        ("stopSequences", json!(stop_sequences)),
        (
            "responseMimeType",
            json!(schema.map(|_| "application/json")),
        ),
        ("responseJsonSchema", json!(schema)),
    ]))
}

#[cfg(test)]
mod tests;
