//! Reads a response of OpenAI Responses.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value, json};

use super::super::{ReadError, ResponseReader, TurnBuilder, field, json_text, string};
use super::item::{OutputItem, item_id, kind, text_of_message};
use super::item_match;
use crate::model::error_classification::is_policy_code;
use crate::model::turn_builder::{MAX_BLOCKS, Stop};

/// Reads one response. The whole item at its end, and the whole response at the end, replace what the
/// pieces before have made.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// By their `output_index`: the ids that a gateway sends may change within an item.
    items: BTreeMap<u64, OutputItem>,
    has_text: bool,
    has_thoughts: bool,
    /// The `sequence_number` of the event before. Some servers send none, or 0 with each event.
    sequence_number: u64,
}

impl ResponseReader for Reader {
    fn read_event(&mut self, event: Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        if self.is_repeated(&event) {
            return Ok(());
        }
        if let Some(usage) = event.pointer("/response/usage") {
            read_usage(usage, turn);
        }
        match kind(&event) {
            "response.output_item.added" => {
                let index = self.index(&event, true);
                self.begin(index, turn)?;
                if self.is_open(index) {
                    self.start(index, field(&event, "item"), turn);
                }
            }
            "response.output_item.done" => {
                let index = self.index(&event, false);
                self.begin(index, turn)?;
                self.end_item(index, field(&event, "item"), turn);
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                return self.end(kind(&event), field(&event, "response"), turn);
            }
            "response.reasoning_summary_part.added" if self.has_thoughts => turn.thinking("\n\n"),
            "error" => return fail(&event, turn),
            // Gateways report errors of the server behind them in the format of chat completions.
            "" if !field(&event, "error").is_null() => return fail(&event, turn),
            piece => return self.read_piece(piece, &event, turn),
        }
        Ok(())
    }
}

impl Reader {
    /// Whether the event before is sent once more.
    fn is_repeated(&mut self, event: &Value) -> bool {
        let number = field(event, "sequence_number").as_u64().unwrap_or(0);
        let before = std::mem::replace(&mut self.sequence_number, number);
        number > 0 && number == before
    }

    /// Begins the item with this index, unless it has begun.
    fn begin(&mut self, index: u64, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        if let Entry::Vacant(entry) = self.items.entry(index) {
            turn.begin_block()?;
            entry.insert(OutputItem::default());
        }
        Ok(())
    }

    /// Reads a piece of an item.
    fn read_piece(
        &mut self,
        kind: &str,
        event: &Value,
        turn: &mut TurnBuilder,
    ) -> Result<(), ReadError> {
        const PIECES: [&str; 6] = [
            "response.output_text.delta",
            "response.refusal.delta",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.reasoning_summary_text.delta",
            "response.reasoning_text.delta",
        ];
        let index = self.index(event, false);
        let delta = string(event, "delta");
        let is_empty = delta.is_empty() && !kind.contains("arguments");
        if !PIECES.contains(&kind) || is_empty || !self.is_open(index) {
            return Ok(());
        }
        self.begin(index, turn)?;
        match kind {
            "response.output_text.delta" => self.text(index, delta, turn),
            "response.refusal.delta" => {
                let refusal = &mut self.item(index).refusal;
                refusal.get_or_insert_default().push_str(delta);
            }
            "response.function_call_arguments.delta" => {
                let call = self.call(index, &Value::Null, turn);
                turn.arguments(call, &json_text(field(event, "delta")));
            }
            "response.function_call_arguments.done" => {
                let call = self.call(index, &Value::Null, turn);
                read_arguments(event, call, turn);
            }
            _ => self.thinking(index, delta, turn),
        }
        Ok(())
    }

    /// Returns the index of the item of an event. Some gateways leave it out.
    fn index(&self, event: &Value, is_new: bool) -> u64 {
        if let Some(index) = field(event, "output_index").as_u64() {
            return index;
        }
        let id = match string(event, "item_id") {
            "" => item_id(field(event, "item")),
            id => id,
        };
        let mut items = self.items.iter();
        let known = items.find(|(_, item)| !id.is_empty() && item.id == id);
        let mut items = self.items.iter().rev();
        let open = items.find(|(_, item)| !is_new && item.whole.is_none());
        known
            .or(open)
            .map_or_else(|| self.next_index(), |(index, _)| *index)
    }

    fn next_index(&self) -> u64 {
        let last = self.items.last_key_value();
        last.map_or(0, |(last, _)| last.saturating_add(1))
    }

    fn is_open(&self, index: u64) -> bool {
        self.items
            .get(&index)
            .is_none_or(|item| item.whole.is_none())
    }

    fn item(&mut self, index: u64) -> &mut OutputItem {
        self.items.entry(index).or_default()
    }

    /// Reads what is known about an item at its beginning.
    fn start(&mut self, index: u64, whole: &Value, turn: &mut TurnBuilder) {
        let item = self.item(index);
        kind(whole).clone_into(&mut item.kind);
        item_id(whole).clone_into(&mut item.id);
        item.is_commentary = string(whole, "phase") == "commentary";
        if kind(whole) == "function_call" {
            self.call(index, whole, turn);
        }
    }

    /// Reads an item that has ended, perhaps once more.
    fn end_item(&mut self, index: u64, whole: &Value, turn: &mut TurnBuilder) {
        self.start(index, whole, turn);
        match kind(whole) {
            "message" => self.end_message(index, whole, turn),
            "function_call" => {
                let call = self.call(index, whole, turn);
                read_arguments(whole, call, turn);
            }
            "reasoning" if !self.item(index).has_thoughts => {
                let parts = field(whole, "summary").as_array().into_iter().flatten();
                let texts: Vec<_> = parts.map(|part| string(part, "text")).collect();
                self.thinking(index, &texts.join("\n\n"), turn);
            }
            _ => {}
        }
        self.item(index).whole = Some(whole.clone());
    }

    fn end_message(&mut self, index: u64, whole: &Value, turn: &mut TurnBuilder) {
        let parts = field(whole, "content").as_array();
        let parts = parts.map_or(&[][..], Vec::as_slice);
        let text = text_of_message(whole);
        let mut refusals = parts.iter().filter(|part| kind(part) == "refusal");
        let refusal = refusals
            .next()
            .map(|part| string(part, "refusal").to_owned());
        let item = self.item(index);
        item.refusal = refusal.or(item.refusal.take());
        if text.is_empty() {
            return;
        }
        match text.strip_prefix(item.text.as_str()) {
            Some(rest) => self.text(index, rest, turn),
            // A piece came twice, or has half of a surrogate pair, for example.
            None => {
                let received = std::mem::replace(&mut item.text, text);
                if item.is_commentary {
                    turn.correct_commentary(&received, &item.text);
                } else {
                    turn.correct_text(&received, &item.text);
                }
            }
        }
    }

    fn text(&mut self, index: u64, piece: &str, turn: &mut TurnBuilder) {
        if piece.is_empty() {
            return;
        }
        let has_text = std::mem::replace(&mut self.has_text, true);
        let item = self.item(index);
        if item.text.is_empty() && has_text {
            turn.commentary("\n\n");
        }
        item.text.push_str(piece);
        if item.is_commentary {
            turn.commentary(piece);
        } else {
            turn.text(piece);
        }
    }

    fn thinking(&mut self, index: u64, piece: &str, turn: &mut TurnBuilder) {
        if !piece.is_empty() {
            self.has_thoughts = true;
            self.item(index).has_thoughts = true;
            turn.thinking(piece);
        }
    }

    /// Returns the number in the turn of a call, of which its item may be known.
    fn call(&mut self, index: u64, whole: &Value, turn: &mut TurnBuilder) -> usize {
        let (id, name) = (item_id(whole), string(whole, "name"));
        let item = self.item(index);
        if item.name.is_empty() {
            name.clone_into(&mut item.name);
        }
        match item.call {
            Some(call) => {
                turn.identify_call(call, id, name);
                call
            }
            None => *item.call.insert(turn.start_call(id, name)),
        }
    }

    /// Reads the last event.
    fn end(
        &mut self,
        kind: &str,
        response: &Value,
        turn: &mut TurnBuilder,
    ) -> Result<(), ReadError> {
        let status = match (kind, string(response, "status")) {
            ("response.failed", _) | (_, "failed") => return fail(response, turn),
            ("response.incomplete", _) => "incomplete",
            (_, "") => "completed",
            (_, status) => status,
        };
        let output = field(response, "output").as_array();
        let is_contradictory = self.end_items(output.map_or(&[], Vec::as_slice), turn)?;
        let mut items = self.items.values();
        if let Some(words) = items.find_map(|item| item.refusal.clone()) {
            let category = String::new();
            turn.stop(Stop::Refused { category, words });
        }
        turn.stop(match status {
            "completed" if is_contradictory => Stop::InvalidCall,
            "completed" => self.completed(),
            "incomplete" => {
                let details = field(response, "incomplete_details");
                match string(details, "reason") {
                    "max_output_tokens" => Stop::Length,
                    reason @ "content_filter" => Stop::Refused {
                        category: reason.to_owned(),
                        words: String::new(),
                    },
                    "" => Stop::Other(status.to_owned()),
                    reason => Stop::Other(reason.to_owned()),
                }
            }
            status => Stop::Other(status.to_owned()),
        });
        if let Some(items) = self.kept_items(turn) {
            items.into_iter().for_each(|item| turn.keep(item));
        }
        turn.end();
        Ok(())
    }

    /// Reads the items of the whole response. Returns whether there are other calls in it than in the
    /// events: none of them can be trusted, and both would run.
    fn end_items(&mut self, output: &[Value], turn: &mut TurnBuilder) -> Result<bool, ReadError> {
        if output.len() > MAX_BLOCKS {
            return Err(ReadError::TooLarge);
        }
        let own_calls = self.items.values().filter(|own| own.call.is_some()).count();
        let (mut same_calls, mut has_other_call) = (0, false);
        let own = self.items.iter().map(|(index, item)| (*index, item));
        let found = item_match::own_indexes(own, output, turn);
        for (position, (index, whole)) in found.into_iter().zip(output).enumerate() {
            let is_call = kind(whole) == "function_call";
            let index = match index {
                Some(index) => {
                    same_calls += usize::from(is_call);
                    index
                }
                None => {
                    has_other_call |= is_call;
                    let position = position as u64;
                    let is_free = !self.items.contains_key(&position);
                    if is_free { position } else { self.next_index() }
                }
            };
            self.begin(index, turn)?;
            self.end_item(index, whole, turn);
        }
        Ok(has_other_call && same_calls < own_calls)
    }

    /// Returns why the model has stopped if its provider says that the response is complete. A server
    /// that contradicts itself has not sent the whole answer.
    fn completed(&self) -> Stop {
        let mut unfinished = self.items.values().filter(|item| !item.is_finished());
        if unfinished.clone().any(|item| item.call.is_some()) {
            return Stop::InvalidCall;
        }
        if unfinished.any(|item| !item.text.is_empty()) {
            return Stop::Other("unfinished message".to_owned());
        }
        let has_call = self.items.values().any(|item| item.call.is_some());
        let mut messages = self.items.values().filter(|item| item.kind == "message");
        let has_message = messages.clone().next().is_some();
        if !has_call && has_message && messages.all(|item| item.is_commentary) {
            return Stop::Other("commentary".to_owned());
        }
        Stop::Complete
    }

    /// Returns the items as they are sent back with the next request, if all of them can be.
    fn kept_items(&self, turn: &mut TurnBuilder) -> Option<Vec<Value>> {
        let items = self.items.values().map(|item| {
            let whole = item.whole.as_ref().filter(|_| item.is_finished())?;
            let mut whole = whole.as_object()?.clone();
            match item.kind.as_str() {
                // Some servers refuse its other fields in a request.
                "reasoning" => {
                    const SENT: [&str; 4] = ["type", "id", "summary", "encrypted_content"];
                    whole.retain(|name, _| SENT.contains(&name.as_str()));
                    whole.entry("summary").or_insert_with(|| json!([]));
                }
                "message" if !has_content(&whole) => return None,
                "function_call" => {
                    whole.get("call_id")?.as_str().filter(|id| !id.is_empty())?;
                    // The id by which its result names the call.
                    let id = turn.unique_id(item.call?).to_owned();
                    whole.insert("call_id".to_owned(), id.into());
                    let arguments = json_text(whole.get("arguments")?);
                    let is_blank = arguments.trim().is_empty();
                    let arguments = if is_blank { "{}".into() } else { arguments };
                    let arguments = arguments.into_owned();
                    whole.insert("arguments".to_owned(), arguments.into());
                }
                _ => {}
            }
            Some(Value::Object(whole))
        });
        items.collect()
    }
}

fn has_content(message: &Map<String, Value>) -> bool {
    let content = message.get("content").and_then(Value::as_array);
    content.is_some_and(|parts| !parts.is_empty())
}

/// Sets the arguments of a call that an event or an item has, if it has any.
fn read_arguments(holder: &Value, call: usize, turn: &mut TurnBuilder) {
    let arguments = json_text(field(holder, "arguments"));
    if !arguments.is_empty() {
        turn.whole_arguments(call, &arguments);
    }
}

/// Reports the error that an event, or a response, contains or is.
fn fail(holder: &Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
    let error = match field(holder, "error") {
        Value::Null => holder,
        error => error,
    };
    let code = string(error, "code");
    if is_policy_code(code) {
        turn.stop(Stop::Refused {
            category: code.to_owned(),
            words: string(error, "message").to_owned(),
        });
        turn.end();
        return Ok(());
    }
    Err(ReadError::Reported(json!({ "error": error })))
}

fn read_usage(usage: &Value, turn: &mut TurnBuilder) {
    let cache_writes = usage.pointer("/input_tokens_details/cache_write_tokens");
    turn.cache_writes(cache_writes.and_then(Value::as_u64));
    let tokens = turn.usage_mut();
    for (pointer, count) in [
        ("/input_tokens", &mut tokens.input),
        ("/output_tokens", &mut tokens.output),
        ("/input_tokens_details/cached_tokens", &mut tokens.cached),
        (
            "/output_tokens_details/reasoning_tokens",
            &mut tokens.thinking,
        ),
    ] {
        if let Some(reported) = usage.pointer(pointer).and_then(Value::as_u64) {
            *count = reported;
        }
    }
}
