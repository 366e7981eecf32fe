//! Reads the events of a response: <https://ai.google.dev/api/generate-content>.

use serde_json::{Map, Value};

use super::super::{ReadError, ResponseReader, field, json_text, string, text_of};
use super::part::{SIGNATURE, is_thought, text_part};
use crate::model::turn_builder::{Stop, TurnBuilder, parse_object};

/// Reads one response. It never ends the turn after a reason to stop: the last event may have only the
/// usage, and some servers write `STOP` into every event.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Text without a signature that is not yet kept. It comes in many parts, and is kept as one.
    text: String,
    counts: Counts,
    /// The calls with an id.
    calls: Vec<Map<String, Value>>,
    /// Whether a call has no name, or comes in pieces, for which the request does not ask.
    has_partial_call: bool,
    has_stopped: bool,
}

impl ResponseReader for Reader {
    fn read_event(&mut self, event: Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        // Some errors are in a list.
        if has_error(&event) || event.get(0).is_some_and(has_error) {
            return Err(ReadError::Reported(event));
        }
        if let Some(usage) = event.get("usageMetadata") {
            self.counts.read(usage, turn);
        }
        if let Some(feedback) = event.get("promptFeedback")
            && let Some(reason) = name(feedback, "blockReason")
            && !reason.ends_with("_UNSPECIFIED")
        {
            turn.stop(refused(reason, feedback));
            turn.end();
            return Ok(());
        }
        let Some(candidate) = event.pointer("/candidates/0") else {
            return Ok(());
        };
        turn.begin();
        let parts = candidate.pointer("/content/parts");
        for part in parts.and_then(Value::as_array).into_iter().flatten() {
            self.read_part(part, turn)?;
        }
        if let Some(reason) = name(candidate, "finishReason") {
            self.has_stopped = true;
            turn.stop(match stop(reason, candidate) {
                Stop::Complete if self.has_partial_call => Stop::InvalidCall,
                stop => stop,
            });
        }
        if self.has_stopped {
            self.keep_text(turn);
        }
        Ok(())
    }
}

impl Reader {
    fn read_part(&mut self, part: &Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        let Some(mut fields) = part.as_object().cloned() else {
            return Ok(());
        };
        fields.retain(|field, value| !value.is_null() && (field != SIGNATURE || value != ""));
        let is_signed = fields.contains_key(SIGNATURE);
        let is_thought = is_thought(&fields);
        if fields.contains_key("functionCall") {
            return self.read_call(fields, turn);
        } else if let Some(text) = part.get("text").and_then(Value::as_str) {
            if is_thought {
                turn.thinking(text);
            } else {
                turn.text(text);
            }
            // A signature on an empty text or on a thought must be sent back as well.
            if is_signed {
                return self.keep(fields.into(), turn);
            } else if !is_thought {
                self.text.push_str(text);
            }
        } else if is_signed || !(is_thought || fields.is_empty()) {
            return self.keep(fields.into(), turn);
        }
        Ok(())
    }

    fn read_call(
        &mut self,
        mut part: Map<String, Value>,
        turn: &mut TurnBuilder,
    ) -> Result<(), ReadError> {
        let call = part.get_mut("functionCall").and_then(Value::as_object_mut);
        let Some(call) = call.filter(|call| !is_partial(call)) else {
            self.has_partial_call = true;
            return Ok(());
        };
        if call.get("id").is_some_and(|id| id.is_string() && id != "") {
            // The event is doubled.
            if self.calls.contains(call) {
                return Ok(());
            }
            self.calls.push(call.clone());
        }
        let number = turn.start_call(text_of(call.get("id")), text_of(call.get("name")));
        // Some servers write the arguments as text.
        let arguments = match json_text(call.get("args").unwrap_or(&Value::Null)) {
            none if none.is_empty() => "{}".to_owned(),
            arguments => arguments.into_owned(),
        };
        turn.whole_arguments(number, &arguments);
        // Gemini accepts only objects.
        if let Some(sent) = call.get_mut("args").filter(|sent| !sent.is_object()) {
            *sent = parse_object(&arguments).unwrap_or_default().into();
        }
        self.keep(part.into(), turn)
    }

    fn keep(&mut self, part: Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        turn.begin_block()?;
        self.keep_text(turn);
        turn.keep(part);
        Ok(())
    }

    fn keep_text(&mut self, turn: &mut TurnBuilder) {
        let text = std::mem::take(&mut self.text);
        // An empty part is refused.
        if !text.trim().is_empty() {
            turn.keep(text_part(&text));
        }
    }
}

/// Whether arguments of a call may be missing. They are never run with what is there.
fn is_partial(call: &Map<String, Value>) -> bool {
    text_of(call.get("name")).is_empty()
        || call.contains_key("partialArgs")
        || call.get("willContinue") == Some(&Value::Bool(true))
}

fn has_error(event: &Value) -> bool {
    event.get("error").is_some_and(|error| !error.is_null())
}

/// Returns the text of a field, unless it is empty.
fn name<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    Some(string(value, field)).filter(|text| !text.is_empty())
}

/// Maps a reason to stop: <https://ai.google.dev/api/generate-content#FinishReason>.
fn stop(reason: &str, candidate: &Value) -> Stop {
    match reason {
        "STOP" => Stop::Complete,
        // A request that allows more than a model writes at once would have to be continued. The rules
        // of the models allow no more.
        "MAX_TOKENS" | "CONTINUATION" => Stop::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "ESCALATION"
        | "PUP_LIMITED_DISABLED"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => refused(reason, candidate),
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => Stop::InvalidCall,
        _ => Stop::Other(reason.to_owned()),
    }
}

/// Returns the reason of a refusal, with the names of the filters that have blocked.
fn refused(reason: &str, rated: &Value) -> Stop {
    let ratings = field(rated, "safetyRatings").as_array();
    let blocked = ratings.into_iter().flatten();
    let blocked = blocked.filter(|it| it.get("blocked") == Some(&Value::Bool(true)));
    let filters = blocked.filter_map(|it| name(it, "category"));
    let messages = ["blockReasonMessage", "finishMessage"];
    let messages = messages.into_iter().filter_map(|it| name(rated, it));
    Stop::Refused {
        category: reason.to_owned(),
        words: filters.chain(messages).collect::<Vec<_>>().join(", "),
    }
}

/// The tokens that were counted. Each event has the totals so far, and may leave out some of them.
#[derive(Debug, Default)]
struct Counts {
    prompt: u64,
    tool_prompt: u64,
    cached: u64,
    answer: u64,
    thoughts: u64,
    total: u64,
}

impl Counts {
    fn read(&mut self, usage: &Value, turn: &mut TurnBuilder) {
        for (count, field) in [
            (&mut self.prompt, "promptTokenCount"),
            (&mut self.tool_prompt, "toolUsePromptTokenCount"),
            (&mut self.cached, "cachedContentTokenCount"),
            (&mut self.answer, "candidatesTokenCount"),
            (&mut self.thoughts, "thoughtsTokenCount"),
            (&mut self.total, "totalTokenCount"),
        ] {
            let new = usage.get(field).and_then(Value::as_u64);
            *count = new.filter(|new| *new > 0).unwrap_or(*count);
        }
        let usage = turn.usage_mut();
        usage.input = self.prompt.saturating_add(self.tool_prompt);
        usage.cached = self.cached;
        usage.thinking = self.thoughts;
        usage.output = match self.answer.saturating_add(self.thoughts) {
            // Some events have only the total.
            0 => self.total.saturating_sub(usage.input),
            output => output,
        };
    }
}
