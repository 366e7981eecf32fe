//! Assembles calls from their pieces.
//!
//! OpenAI names the index of the call in each piece, and its id and the name of the tool in the first.
//! Other servers send no index, or the same for each call; ids and names in each piece, or empty ones;
//! and arguments as an object.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::super::{ReadError, field, json_text, string};
use super::message::call_value;
use crate::model::turn_builder::{TurnBuilder, parse_object};

/// The calls of a turn that is being received.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Call>);

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    /// The name of the tool at the provider.
    name: String,
    /// Whether the arguments came as an object, of which no pieces follow.
    is_whole: bool,
    /// The data that the server needs back with the call. Gemini's has the signature of the thoughts:
    /// <https://ai.google.dev/gemini-api/docs/openai>
    extra_content: Option<Value>,
    /// The number in the turn. `None` until the call has more than an id: some servers end with an
    /// empty piece.
    number: Option<usize>,
}

/// A piece of a call.
struct CallPiece<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: Cow<'a, str>,
    is_object: bool,
    extra_content: Option<&'a Value>,
}

impl<'a> CallPiece<'a> {
    fn new(value: &'a Value) -> Self {
        let function = field(value, "function");
        let arguments = field(function, "arguments");
        Self {
            index: field(value, "index").as_u64(),
            id: string(value, "id"),
            name: string(function, "name"),
            arguments: json_text(arguments),
            is_object: arguments.is_object(),
            extra_content: value.get("extra_content").filter(|it| !it.is_null()),
        }
    }
}

impl Calls {
    /// Reads the calls in a delta.
    pub(super) fn read(&mut self, delta: &Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        let mut calls = field(delta, "tool_calls").as_array().into_iter().flatten();
        calls.try_for_each(|piece| self.read_piece(&CallPiece::new(piece), turn))
    }

    fn read_piece(
        &mut self,
        piece: &CallPiece<'_>,
        turn: &mut TurnBuilder,
    ) -> Result<(), ReadError> {
        let continued = self.0.iter_mut().rfind(|call| call.may_have(piece));
        let call = match continued.filter(|call| !call.is_followed_by(piece, turn)) {
            Some(call) => call,
            None => {
                turn.begin_block()?;
                self.0.push(Call::default());
                self.0.last_mut().expect("it was added above")
            }
        };
        call.add(piece, turn);
        Ok(())
    }

    /// Whether a call cannot be made, or is missing although the model has stopped to make one.
    pub(super) fn are_incomplete(&self, is_expected: bool) -> bool {
        let mut started = self.started().peekable();
        (is_expected && started.peek().is_none()) || started.any(|(call, _)| call.name.is_empty())
    }

    /// Returns the calls as they are sent back. Ollama and SGLang refuse arguments that are not an
    /// object, in each later request.
    pub(super) fn to_values(&self, turn: &mut TurnBuilder) -> Vec<Value> {
        let values = self.started().map(|(call, number)| {
            let arguments = repaired(turn.arguments_so_far(number)).into_owned();
            let mut value = call_value(turn.unique_id(number), &call.name, &arguments);
            if let Some(extra) = &call.extra_content {
                value["extra_content"] = extra.clone();
            }
            value
        });
        values.collect()
    }

    fn started(&self) -> impl Iterator<Item = (&Call, usize)> {
        self.0.iter().filter_map(|call| Some((call, call.number?)))
    }
}

impl Call {
    /// Whether a piece may be of this call, by its index or id.
    fn may_have(&self, piece: &CallPiece<'_>) -> bool {
        match (self.index, piece.index) {
            (Some(index), Some(other)) => index == other,
            _ => self.id.is_empty() || piece.id.is_empty() || self.id == piece.id,
        }
    }

    /// Whether a piece that may be of this call begins another one.
    fn is_followed_by(&self, piece: &CallPiece<'_>, turn: &TurnBuilder) -> bool {
        let has_ids = !self.id.is_empty() && !piece.id.is_empty();
        let has_names = !self.name.is_empty() && !piece.name.is_empty();
        if has_ids && self.id != piece.id {
            return true;
        }
        if !has_ids && has_names && self.name != piece.name {
            return true;
        }
        let arguments = self.arguments(turn);
        let is_same = has_ids && (arguments.is_empty() || arguments == piece.arguments);
        // Some servers repeat the name in each piece, but none begins a call without it.
        has_names
            && !is_same
            && (piece.is_object || is_object(&piece.arguments))
            && (self.is_whole || is_object(arguments))
    }

    fn arguments<'a>(&self, turn: &'a TurnBuilder) -> &'a str {
        self.number.map_or("", |it| turn.arguments_so_far(it))
    }

    fn add(&mut self, piece: &CallPiece<'_>, turn: &mut TurnBuilder) {
        self.index = self.index.or(piece.index);
        if self.id.is_empty() {
            piece.id.clone_into(&mut self.id);
        }
        if self.name.is_empty() {
            piece.name.clone_into(&mut self.name);
        }
        if let Some(extra) = piece.extra_content {
            self.extra_content = Some(extra.clone());
        }
        let number = match self.number {
            Some(number) => {
                turn.identify_call(number, piece.id, piece.name);
                number
            }
            None if piece.name.is_empty() && piece.arguments.is_empty() => return,
            None => *self.number.insert(turn.start_call(&self.id, &self.name)),
        };
        self.is_whole |= piece.is_object && !piece.name.is_empty();
        // The whole call may be sent once more at its end.
        let is_repeated =
            is_object(&piece.arguments) && turn.arguments_so_far(number) == piece.arguments;
        if !is_repeated {
            turn.arguments(number, &piece.arguments);
        }
    }
}

/// Whether a text is a whole object, or a string with the text of one.
fn is_object(arguments: &str) -> bool {
    // Most pieces are not even the end of one.
    arguments.trim_end().ends_with(['}', '"']) && parse_object(arguments).is_ok()
}

/// Returns the text of an object: the arguments unchanged if they are one.
fn repaired(arguments: &str) -> Cow<'_, str> {
    if serde_json::from_str::<Map<String, Value>>(arguments).is_ok() {
        return arguments.into();
    }
    let arguments = parse_object(arguments).unwrap_or_default();
    Value::Object(arguments).to_string().into()
}
