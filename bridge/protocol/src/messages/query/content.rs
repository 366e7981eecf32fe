//! What our agent tells of its progress. Other agents send what they like.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// One step of an agent's progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum QueryContent {
    /// A piece of what the model says, to be appended to the pieces before it.
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of what the model thinks, where it shows that.
    Thinking {
        /// The piece.
        text: String,
    },
    /// A tool has been called.
    ToolStarted {
        /// Which call of the query.
        id: String,
        /// The name of the tool.
        tool: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// A call has ended.
    ToolFinished {
        /// Which call of the query.
        id: String,
        /// The name of the tool.
        tool: String,
        /// Whether it has failed.
        is_error: bool,
        /// Why, if it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Something that the person should know: the model is busy, a limit is near.
    Note {
        /// In words.
        text: String,
    },
}

impl QueryContent {
    /// As the `content` of a progress message.
    ///
    /// # Examples
    ///
    /// ```
    /// use bridge_protocol::QueryContent;
    ///
    /// let piece = QueryContent::Text { text: "Two cards".to_owned() };
    /// assert_eq!(piece.to_raw().get(), r#"{"type":"text","text":"Two cards"}"#);
    /// ```
    pub fn to_raw(&self) -> Box<RawValue> {
        // Strings, booleans and raw JSON only: nothing in it can fail to encode.
        to_raw_value(self).unwrap_or_default()
    }
}
