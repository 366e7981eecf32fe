//! The progress content of the agent of MCP-Web. Other agents may send any JSON.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::QueryUsage;

/// One step of an agent's progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum QueryContent {
    /// A delta of the model's text, to be appended to the former ones.
    Text {
        /// The delta.
        text: String,
    },
    /// A delta of the model's thinking, if the model exposes it.
    Thinking {
        /// The delta.
        text: String,
    },
    /// A tool call has started.
    ToolStarted {
        /// The id of the call within the query.
        id: String,
        /// The name of the tool.
        tool: String,
        /// The source of the tool, if it is one of the agent's own; absent for a tool of the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The arguments of the call.
        arguments: Map<String, Value>,
    },
    /// A tool call has ended.
    ToolFinished {
        /// The id of the call within the query.
        id: String,
        /// The name of the tool.
        tool: String,
        /// The source of the tool, if it is one of the agent's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The beginning of the result of a tool that has a source, at most 2 KiB: the page has not
        /// seen it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        /// Whether the call failed.
        is_error: bool,
        /// The reason, if the call failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// How a call that failed has ended, for a program: `tool_error`, `invalid_args`, `denied`,
        /// `rate_limited`, `timeout`, `unavailable`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    },
    /// A piece of the arguments of a call, while the model writes them.
    ToolArguments {
        /// The id that the call has when it starts.
        id: String,
        /// The name of the tool.
        tool: String,
        /// A piece of the JSON text, to be appended to the former ones.
        delta: String,
    },
    /// A call waits for the approval of a person. The page answers with `query_answer`.
    ApprovalRequested {
        /// The id that the call has when it starts.
        id: String,
        /// The name of the tool.
        tool: String,
        /// The source of the tool, if it is one of the agent's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The arguments of the call.
        arguments: Map<String, Value>,
        /// The time until the call counts as refused, in milliseconds.
        expires_in_ms: u64,
    },
    /// The usage of the query until now.
    Usage {
        /// The sum over all turns.
        usage: QueryUsage,
    },
    /// A note for the user, for example that the model is busy or that a limit is near.
    Note {
        /// The text of the note.
        text: String,
    },
}

impl QueryContent {
    /// Converts the value to the `content` of a progress message.
    ///
    /// # Examples
    ///
    /// ```
    /// use bridge_protocol::QueryContent;
    ///
    /// let content = QueryContent::Text { text: "Two cards".to_owned() };
    /// assert_eq!(content.to_raw().get(), r#"{"type":"text","text":"Two cards"}"#);
    /// ```
    pub fn to_raw(&self) -> Box<RawValue> {
        // The value consists of strings, booleans and JSON values: encoding it cannot fail.
        to_raw_value(self).unwrap_or_default()
    }
}
