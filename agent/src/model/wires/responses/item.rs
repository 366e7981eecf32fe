//! An item of the output of a response.

use serde_json::Value;

use super::super::{field, string};

/// An item of the output.
#[derive(Debug, Default)]
pub(super) struct OutputItem {
    /// Empty while it is unknown.
    pub(super) kind: String,
    /// The id of the call, or of any other item.
    pub(super) id: String,
    /// Whether the text of a message is not the answer.
    pub(super) is_commentary: bool,
    /// The text of a message that was received.
    pub(super) text: String,
    /// Why the model declines.
    pub(super) refusal: Option<String>,
    /// The number of a call in the turn.
    pub(super) call: Option<usize>,
    /// The name at the provider of the tool of a call.
    pub(super) name: String,
    pub(super) has_thoughts: bool,
    /// The item as it ended.
    pub(super) whole: Option<Value>,
}

impl OutputItem {
    /// Returns the kind of the item, by what was received if its beginning is missing.
    pub(super) fn kind(&self) -> &str {
        match self.kind.as_str() {
            "" if self.call.is_some() => "function_call",
            "" if !self.text.is_empty() || self.refusal.is_some() => "message",
            "" if self.has_thoughts => "reasoning",
            kind => kind,
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        let whole = self.whole.as_ref();
        whole.is_some_and(|whole| string(whole, "status") != "incomplete")
    }
}

/// Returns the id by which the result of a call names it, or the id of another item.
pub(super) fn item_id(item: &Value) -> &str {
    match string(item, "call_id") {
        "" => string(item, "id"),
        id => id,
    }
}

pub(super) fn text_of_message(whole: &Value) -> String {
    let parts = field(whole, "content").as_array().into_iter().flatten();
    let texts = parts.filter(|part| kind(part) == "output_text");
    texts.map(|part| string(part, "text")).collect()
}

/// Returns the type of an item, a part or an event.
pub(super) fn kind(value: &Value) -> &str {
    string(value, "type")
}
