//! The events of a run that the agent sends.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Value, json};

/// The version of the protocol that the agent declares.
pub(crate) const PROTOCOL_VERSION: &str = "1.0";

/// An event of a run, encoded as in the stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
pub(crate) enum AguiEvent {
    RunStarted {
        thread_id: String,
        run_id: String,
        protocol_version: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_run_id: Option<String>,
    },
    RunFinished {
        thread_id: String,
        run_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Absent for a success that is reported to a client from before version 1.0, which refuses
        /// fields of the outcome that it does not know.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<RunOutcome>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<ModelUsage>,
    },
    RunError {
        message: String,
        code: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<ModelUsage>,
    },
    TextMessageStart {
        message_id: String,
        role: Role,
    },
    TextMessageContent {
        message_id: String,
        delta: String,
    },
    TextMessageEnd {
        message_id: String,
    },
    ReasoningStart {
        message_id: String,
    },
    ReasoningMessageStart {
        message_id: String,
        role: Role,
    },
    ReasoningMessageContent {
        message_id: String,
        delta: String,
    },
    ReasoningMessageEnd {
        message_id: String,
    },
    ReasoningEnd {
        message_id: String,
    },
    ToolCallStart {
        tool_call_id: String,
        tool_call_name: String,
        parent_message_id: String,
    },
    ToolCallArgs {
        tool_call_id: String,
        delta: String,
    },
    ToolCallEnd {
        tool_call_id: String,
    },
    ToolCallResult {
        message_id: String,
        tool_call_id: String,
        content: String,
        role: Role,
    },
    StateSnapshot {
        snapshot: Value,
    },
    Custom {
        name: &'static str,
        value: Value,
    },
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Assistant,
    Reasoning,
    Tool,
}

/// How a run ended that did not fail.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub(crate) enum RunOutcome {
    Success {
        /// The calls of the client's own tools that the next run must answer.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pending_tool_call_ids: Vec<String>,
    },
    Interrupt {
        interrupts: Vec<Interrupt>,
    },
    Cancelled,
}

/// A call that waits for the approval of a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Interrupt {
    pub(crate) id: String,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) tool_call_id: String,
    /// The JSON Schema of the answer.
    pub(crate) response_schema: Value,
    /// The end of the time in which it can be answered (RFC 3339).
    pub(crate) expires_at: String,
}

impl Interrupt {
    /// Creates the interrupt of a call that waits for approval.
    pub(crate) fn for_call(call: &str, tool: &str, expires_at: SystemTime) -> Self {
        Self {
            id: call.to_owned(),
            reason: "tool_call",
            message: format!("Allow the call of {tool}?"),
            tool_call_id: call.to_owned(),
            response_schema: json!({
                "type": "object",
                "properties": { "approved": { "type": "boolean" } },
                "required": ["approved"],
            }),
            expires_at: humantime::format_rfc3339_millis(expires_at).to_string(),
        }
    }
}

/// The tokens that one model has used in the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelUsage {
    pub(crate) model: String,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) total_tokens: u64,
    /// Absent if the provider does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cached_input_tokens: Option<u64>,
}
