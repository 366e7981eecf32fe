//! Reads the events of a response:
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>.

use serde_json::{Map, Value};

use super::super::{ReadError, ResponseReader, json_text, string, text_of};
use crate::model::turn_builder::{Stop, TurnBuilder, parse_object};

/// Reads one response.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// In the order in which they began.
    blocks: Vec<ReceivedBlock>,
    input: InputTokens,
    stop_reason: Option<String>,
    /// The category in which the model declines, and its explanation.
    refusal: (String, String),
}

/// The parts of the input, which the provider counts separately. Each count replaces the one before.
#[derive(Debug, Default)]
struct InputTokens {
    uncached: u64,
    written_to_cache: u64,
    read_from_cache: u64,
}

impl ResponseReader for Reader {
    fn read_event(&mut self, event: Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        match string(&event, "type") {
            // Only a proxy that has asked again begins anew: the answer would be mixed with a part.
            "message_start" if !self.blocks.is_empty() => return Err(ReadError::Unreadable),
            "message_start" => {
                self.read_usage(event.pointer("/message/usage"), turn);
                // Provisional. If the answer is cut off, its length says more.
                turn.usage_mut().output = 0;
            }
            "content_block_start" => self.start_block(&event, turn)?,
            "content_block_delta" => self.read_piece(&event, turn)?,
            "content_block_stop" => {
                if let Some(block) = self.open_block(&event) {
                    block.close(turn);
                }
            }
            "message_delta" => {
                self.read_stop(event.get("delta"));
                self.read_usage(event.get("usage"), turn);
            }
            "message_stop" => self.end(turn),
            "error" => return Err(ReadError::Reported(event)),
            // Proxies report errors in other formats.
            "" if event.get("error").is_some_and(|it| !it.is_null()) => {
                return Err(ReadError::Reported(event));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Reader {
    fn start_block(&mut self, event: &Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        let Some(Value::Object(content)) = event.get("content_block") else {
            return Err(ReadError::Unreadable);
        };
        match self.open_block(event) {
            // The event is doubled.
            Some(open) if open.content == *content => return Ok(()),
            Some(_) => return Err(ReadError::Unreadable),
            None => {}
        }
        turn.begin_block()?;
        let index = event.get("index").and_then(Value::as_u64);
        self.blocks
            .push(ReceivedBlock::start(index, content.clone(), turn));
        Ok(())
    }

    fn read_piece(&mut self, event: &Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        let delta = event.get("delta").unwrap_or(&Value::Null);
        let field = match string(delta, "type") {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            "signature_delta" => "signature",
            "input_json_delta" => "partial_json",
            "citations_delta" => "citation",
            _ => return Ok(()),
        };
        match (self.open_block(event), delta.get(field)) {
            (Some(block), Some(piece)) => block.add(field, piece, turn),
            (_, None) => Ok(()),
            (None, Some(_)) if field == "citation" => Ok(()),
            // Without its block, the piece would be missing in the answer.
            (None, Some(_)) => Err(ReadError::Unreadable),
        }
    }

    /// Returns the block that an event is about: the one with its index, or the last, unless it has
    /// ended.
    fn open_block(&mut self, event: &Value) -> Option<&mut ReceivedBlock> {
        let index = event.get("index").and_then(Value::as_u64);
        let mut open = self.blocks.iter_mut().filter(|block| block.is_open);
        open.rfind(|block| index.is_none() || block.index == index)
    }

    fn read_stop(&mut self, delta: Option<&Value>) {
        let field = |name: &str| delta.and_then(|delta| delta.get(name));
        if let Some(reason) = field("stop_reason").and_then(Value::as_str) {
            self.stop_reason = Some(reason.to_owned());
        }
        if let Some(details) = field("stop_details") {
            let text = |name| string(details, name).to_owned();
            self.refusal = (text("category"), text("explanation"));
        }
    }

    fn read_usage(&mut self, usage: Option<&Value>, turn: &mut TurnBuilder) {
        let count = |path: &str, target: &mut u64| {
            let count = usage.and_then(|usage| usage.pointer(path));
            if let Some(count) = count.and_then(Value::as_u64) {
                *target = count;
            }
        };
        let input = &mut self.input;
        count("/input_tokens", &mut input.uncached);
        count("/cache_creation_input_tokens", &mut input.written_to_cache);
        count("/cache_read_input_tokens", &mut input.read_from_cache);
        turn.cache_writes(Some(input.written_to_cache));
        let total = turn.usage_mut();
        total.input = input.total();
        total.cached = input.read_from_cache;
        count("/output_tokens", &mut total.output);
        count(
            "/output_tokens_details/thinking_tokens",
            &mut total.thinking,
        );
    }

    /// Ends the turn. It is whole only if each block has ended.
    fn end(&mut self, turn: &mut TurnBuilder) {
        turn.end();
        let is_whole = self.blocks.iter().all(|block| !block.is_open);
        match self.stop(turn.has_calls()) {
            Some(Stop::Complete) if !is_whole => {}
            Some(stop) => turn.stop(stop),
            None => {}
        }
        // Results cannot refer to calls without ids: the turn goes back with those of the builder.
        if self.blocks.iter().all(|block| !block.is_call_without_id()) {
            let blocks = std::mem::take(&mut self.blocks).into_iter();
            let blocks = blocks.filter(|block| !block.is_blank_text());
            blocks.for_each(|block| turn.keep(Value::Object(block.content)));
        }
    }

    /// Maps the reasons of
    /// <https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons>.
    fn stop(&self, has_calls: bool) -> Option<Stop> {
        Some(match self.stop_reason.as_deref()? {
            "end_turn" | "stop_sequence" => Stop::Complete,
            "tool_use" if has_calls => Stop::Complete,
            "tool_use" => Stop::InvalidCall,
            "max_tokens" | "model_context_window_exceeded" => Stop::Length,
            "refusal" => {
                let (category, words) = self.refusal.clone();
                Stop::Refused { category, words }
            }
            // Also `pause_turn`: no tool runs at the provider, so that a turn never pauses.
            reason => Stop::Other(reason.to_owned()),
        })
    }
}

impl InputTokens {
    fn total(&self) -> u64 {
        self.uncached
            .saturating_add(self.written_to_cache)
            .saturating_add(self.read_from_cache)
    }
}

/// A block of the answer.
#[derive(Debug)]
struct ReceivedBlock {
    index: Option<u64>,
    is_open: bool,
    /// The block so far, with fields that are not known. The pieces of its input are separate.
    content: Map<String, Value>,
    /// The JSON text of its input, as far as it comes in pieces.
    input: String,
    /// The number of its call, if it is a call.
    call: Option<usize>,
}

impl ReceivedBlock {
    fn start(index: Option<u64>, content: Map<String, Value>, turn: &mut TurnBuilder) -> Self {
        let field = |name: &str| text_of(content.get(name));
        // Other servers may begin a block with all that it contains.
        match field("type") {
            "text" => turn.text(field("text")),
            "thinking" => turn.thinking(field("thinking")),
            _ => {}
        }
        let is_call = field("type") == "tool_use";
        let call = is_call.then(|| turn.start_call(field("id"), field("name")));
        Self {
            index,
            is_open: true,
            content,
            input: String::new(),
            call,
        }
    }

    fn block_type(&self) -> &str {
        text_of(self.content.get("type"))
    }

    fn add(&mut self, field: &str, piece: &Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        let text = piece.as_str().unwrap_or_default();
        match (self.block_type(), field) {
            ("text", "text") => {
                turn.text(text);
                self.append(field, text);
            }
            ("thinking", "thinking") => {
                turn.thinking(text);
                self.append(field, text);
            }
            // It comes whole, and never in pieces.
            ("thinking", "signature") if !text.is_empty() => {
                self.content.insert(field.to_owned(), text.into());
            }
            ("text", "citation") => match self.content.get_mut("citations") {
                Some(Value::Array(citations)) => citations.push(piece.clone()),
                _ => {
                    let citations = vec![piece.clone()].into();
                    self.content.insert("citations".to_owned(), citations);
                }
            },
            // A piece of the answer would be missing.
            ("text" | "thinking", "partial_json" | "text" | "thinking")
            | ("tool_use", "text" | "thinking") => return Err(ReadError::Unreadable),
            (_, "partial_json") => {
                let text = json_text(piece);
                self.input.push_str(&text);
                if let Some(call) = self.call {
                    turn.arguments(call, &text);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn append(&mut self, field: &str, piece: &str) {
        match self.content.get_mut(field) {
            Some(Value::String(text)) => text.push_str(piece),
            _ => {
                self.content.insert(field.to_owned(), piece.into());
            }
        }
    }

    /// Ends the block. An input that cannot be read goes back empty: the result says what is wrong.
    fn close(&mut self, turn: &mut TurnBuilder) {
        self.is_open = false;
        if let Some(call) = self.call {
            if self.input.trim().is_empty() {
                // Other servers send the input at once, with the beginning of the block.
                let input = self.content.get("input").map(json_text);
                self.input = input.unwrap_or_default().into_owned();
            }
            turn.whole_arguments(call, &self.input);
        }
        if self.call.is_some() || !self.input.is_empty() {
            let input = parse_object(&self.input).unwrap_or_default();
            self.content.insert("input".to_owned(), input.into());
        }
    }

    fn is_call_without_id(&self) -> bool {
        self.call.is_some() && text_of(self.content.get("id")).is_empty()
    }

    fn is_blank_text(&self) -> bool {
        self.block_type() == "text" && text_of(self.content.get("text")).trim().is_empty()
    }
}
