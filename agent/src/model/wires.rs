//! The formats in which providers read requests and write responses: one file for each API, from the
//! document of its provider.
//!
//! A wire writes the request of a turn that is already decided (see [`super::prepared_turn`]), and
//! translates the events of a response into pieces of a [`TurnBuilder`]. It decides nothing by the name
//! of a model: that is in `rules.toml`.

use std::borrow::Cow;
use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::answer_schema::AnswerFormat;
use super::api::Api;
use super::rules::ModelRules;
use super::turn_builder::{ReadError, TurnBuilder, is_answer_text};
use super::{CallResult, ModelCall, ModelMessage, ModelTurn};

mod anthropic;
mod chat;
mod gemini;
pub(super) mod registry;
mod responses;
#[cfg(test)]
mod test_turns;
mod think_tags;
pub(super) mod tool;

use tool::{WireTool, sent_name};

/// The format of one API.
pub(super) trait Wire: fmt::Debug + Send + Sync {
    /// Writes the request of a turn, without its key.
    fn request(&self, turn: &WireTurn<'_>) -> WireRequest;

    /// Returns the header with the key.
    fn key_header(&self, key: &str) -> (HeaderName, String);

    /// Creates a reader of one response. Thoughts are searched in its text unless the server is known to
    /// separate them.
    fn reader(&self, separates_thoughts: bool) -> Box<dyn ResponseReader>;
}

/// Reads one response.
pub(super) trait ResponseReader: Send {
    /// Reads the data of one event.
    ///
    /// # Errors
    ///
    /// As [`Self::read_event`], and when the data is not JSON.
    fn read(&mut self, data: &str, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        match data.trim() {
            "" => Ok(()),
            // Only chat completions has it, but servers that translate to another API may send it. It
            // also follows errors, so that it does not show that the turn is whole.
            "[DONE]" => {
                turn.end();
                Ok(())
            }
            _ => {
                let event = serde_json::from_str(data).map_err(|_| ReadError::Unreadable)?;
                self.read_event(event, turn)
            }
        }
    }

    /// Reads one event.
    ///
    /// Events and fields that are not known are ignored. [`TurnBuilder::begin`] is called when a part of
    /// the answer begins, [`TurnBuilder::stop`] only with the reason of the provider and when the answer
    /// is whole as far as the API shows it, and [`TurnBuilder::end`] when no further event matters.
    ///
    /// # Errors
    ///
    /// When the event is an error of the provider, cannot be read, or has one part too many.
    fn read_event(&mut self, event: Value, turn: &mut TurnBuilder) -> Result<(), ReadError>;

    /// Passes what is held back, after the last event: some servers do not mark which one it is. A reader
    /// that passes output calls [`TurnBuilder::end`] before.
    fn finish(&mut self, _turn: &mut TurnBuilder) {}
}

/// A request, without the address of the server and the key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WireRequest {
    /// The path after the base URL, without a slash at the beginning, with the query.
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Map<String, Value>,
}

impl WireRequest {
    /// Creates a request without headers.
    pub(super) fn new(path: impl Into<String>, body: Map<String, Value>) -> Self {
        Self {
            path: path.into(),
            headers: HeaderMap::new(),
            body,
        }
    }

    /// Adds a header.
    pub(super) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        let value = HeaderValue::from_static(value);
        self.headers.append(HeaderName::from_static(name), value);
        self
    }
}

/// The parts that a wire writes into the request of a turn. The fields about thinking are added to its body
/// later, as `rules.toml` has them.
#[derive(Debug)]
pub(super) struct WireTurn<'a> {
    pub(super) api: Api,
    pub(super) model: &'a str,
    /// The parts that the model accepts, without those that its server has refused before.
    pub(super) rules: &'a ModelRules,
    /// Whether the request goes to the provider of the API, and not to another server. Optional
    /// fields that save money or time are sent only to the provider: others may refuse them.
    pub(super) is_official: bool,
    /// The instructions; may be empty.
    pub(super) system: &'a str,
    pub(super) history: &'a [ModelMessage],
    /// Groups turns that begin alike for the cache of the provider.
    pub(super) cache_group: &'a str,
    pub(super) tools: &'a [WireTool],
    pub(super) choice: WireChoice<'a>,
    /// The format of the text, if the text is the answer.
    pub(super) answer: Option<&'a AnswerFormat>,
    /// Whether thoughts of former turns are sent back. Without it, kept blocks that are thoughts are
    /// left out.
    pub(super) with_thoughts: bool,
    /// The maximum output in tokens, those of thoughts included.
    pub(super) max_output_tokens: u32,
    /// `None` also if the model accepts no temperature.
    pub(super) temperature: Option<f64>,
    pub(super) stop_sequences: &'a [String],
}

/// Which tools the model may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireChoice<'a> {
    /// Any, or none. It is the default of every API, so that it need not be sent.
    Auto,
    /// None, although tools are listed: their list is a part of what the provider has cached.
    None,
    /// At least one.
    Required,
    /// The one with this name at the provider.
    Only(&'a str),
}

impl<'a> WireTurn<'a> {
    /// Returns the name at the provider of a tool, which need not be listed any more.
    pub(super) fn sent_name<'b>(&self, own_name: &'b str) -> Cow<'b, str> {
        sent_name(self.api, own_name)
    }

    /// Returns the blocks in which the provider has sent a turn, if this API has.
    pub(super) fn kept_blocks(&self, turn: &'a ModelTurn) -> Option<&'a [Value]> {
        let kept = turn.kept.as_deref()?;
        (kept.api == self.api).then_some(&kept.blocks)
    }

    /// Returns the calls of a turn that the provider knows as calls.
    pub(super) fn calls(turn: &'a ModelTurn) -> impl Iterator<Item = &'a ModelCall> {
        turn.calls.iter().filter(|call| !call.is_answer_text())
    }

    /// Divides results into those of calls that the provider knows, and what the model must read about
    /// an answer that it wrote as text.
    pub(super) fn results(results: &'a [CallResult]) -> (Vec<&'a CallResult>, Vec<&'a CallResult>) {
        let (answers, results): (Vec<_>, Vec<_>) = results
            .iter()
            .partition(|result| is_answer_text(&result.id));
        let rejected = answers.into_iter().filter(|answer| answer.is_error);
        (results, rejected.collect())
    }
}

/// Returns the text of a result for an API that has no field for an error.
pub(super) fn result_text(result: &CallResult) -> Cow<'_, str> {
    if result.is_error {
        Cow::Owned(format!("Error: {}", result.text))
    } else {
        Cow::Borrowed(&result.text)
    }
}

/// Returns the text before pictures and files that cannot be within a result.
fn media_caption(result: &CallResult) -> String {
    format!("What `{}` returned besides text:", result.tool)
}

/// The maximum length of a cache key and of the name of a format at OpenAI, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Shortens a cache key or the name of a format to the length that OpenAI accepts.
fn truncate_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Returns a field of an object, or null.
fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

/// Returns the text of a field, which is empty if the field is not a text.
fn string<'a>(value: &'a Value, name: &str) -> &'a str {
    text_of(value.get(name))
}

/// Returns the text of a value, which is empty if the value is not a text.
fn text_of(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// Returns the text of JSON that comes as text or as a value, such as arguments. An object without
/// fields has an empty text: it may be a placeholder before pieces of text.
fn json_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed(""),
        Value::Object(fields) if fields.is_empty() => Cow::Borrowed(""),
        value => Cow::Owned(value.to_string()),
    }
}

/// Creates an object from fields. Fields that are `null` are left out.
pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
