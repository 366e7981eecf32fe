//! Messages of a query, which a page sends to an agent.
//!
//! The answers come in this order: `query_accepted`, any number of `query_progress`, then exactly
//! one of `query_complete`, `query_failure` and `query_cancel`. A query that is not accepted is
//! answered with `query_failure` only. A page that sends `query_cancel` receives nothing more for
//! the query.
//!
//! An agent that answers with an event stream sends the same messages.

mod caller;
mod content;
mod usage;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::present;
use crate::{ErrorCode, QueryId, TraceContext};

pub use caller::{MAX_QUERY_CALLER_BYTES, QUERY_CALLER_HEADER, QueryCaller, Subject};
pub use content::QueryContent;
pub use usage::{QueryUsage, TokenUsage};

/// Sends a query to the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Query {
    /// The id of the query: chosen by the page and never used again.
    pub uuid: QueryId,
    /// The prompt for the agent.
    pub prompt: String,
    /// Context for the agent.
    #[serde(default)]
    pub context: Vec<ContextItem>,
    /// The tool that the agent must call to answer. The query is complete when the call succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_tool: Option<QueryTool>,
    /// Tools that are described to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<QueryTool>>,
    /// Whether the agent may call only the given `tools`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restrict_tools: Option<bool>,
    /// The timeout of the query, in milliseconds, if it is shorter than that of the bridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// The JSON Schema of the answer, which is then a JSON value instead of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Box<RawValue>>,
    /// The names of the tools whose calls a person must approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Vec<String>>,
    /// Pictures and files that belong to the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The conversation that the query continues, or begins if there is none with this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The date and time where the page is, with its time zone, in the format of RFC 9557.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_time: Option<String>,
    /// The profile of the agent's own tools that the query uses; by default the first that admits its
    /// user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The trace that the query belongs to. An agent receives it in the headers of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<TraceContext>>,
}

impl Query {
    /// Creates a query that has nothing but a prompt.
    pub fn new(uuid: impl Into<QueryId>, prompt: impl Into<String>) -> Self {
        Self {
            uuid: uuid.into(),
            prompt: prompt.into(),
            context: Vec::new(),
            response_tool: None,
            tools: None,
            restrict_tools: None,
            timeout: None,
            response_schema: None,
            approve: None,
            attachments: Vec::new(),
            conversation: None,
            local_time: None,
            profile: None,
            trace: None,
        }
    }
}

/// A picture or a file that belongs to a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type, for example `image/png`.
    pub mime_type: String,
    /// The content as base64 (RFC 4648 section 4).
    pub data: String,
}

/// Answers a request for the approval of a tool call (`approval-requested`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryAnswer {
    /// The id of the query.
    pub uuid: QueryId,
    /// The id of the call within the query.
    pub id: String,
    /// Whether the person approves the call.
    pub approved: bool,
}

/// Attaches a new document of a session to a query of the former document.
///
/// It receives `query_accepted`, the progress that the bridge has stored, and all later messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryAttach {
    /// The id of the query.
    pub uuid: QueryId,
}

/// An item of context for the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextItem {
    /// The name of the item.
    pub name: String,
    /// Any JSON value; absent when the value has no JSON form, such as `undefined` in JavaScript.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub value: Option<Box<RawValue>>,
    /// The JSON Schema of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Box<RawValue>>,
    /// The meaning of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The source of the value.
    #[serde(rename = "type")]
    pub kind: ContextKind,
}

/// The source of an item of context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextKind {
    /// The current result of a tool of the page.
    Tool,
    /// A value that exists for this query only.
    Ephemeral,
}

/// A tool of the page that a query refers to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryTool {
    /// The name, as registered.
    pub name: String,
    /// The description of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Box<RawValue>>,
    /// The JSON Schema of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
}

/// Cancels a query: sent by the page to stop the agent, or by the agent when it gives up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryCancel {
    /// The id of the query.
    pub uuid: QueryId,
    /// The reason in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Reports that the agent has accepted the query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryAccepted {
    /// The id of the query.
    pub uuid: QueryId,
}

/// Reports the progress of the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryProgress {
    /// The id of the query.
    pub uuid: QueryId,
    /// The number of the message within the query, counted by the bridge from 1; absent for the note
    /// that earlier progress is missing. A document that attaches again can receive the same number
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Any JSON value: a [`QueryContent`], or the content that another agent sent.
    pub content: Box<RawValue>,
}

/// Reports that the query is complete.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryComplete {
    /// The id of the query.
    pub uuid: QueryId,
    /// Any JSON value; absent when a response tool has completed the query.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Box<RawValue>>,
    /// The calls that the agent made: first those of the page's tools, in the order in which they
    /// ended, then those that have a source.
    pub tool_calls: Vec<QueryToolCall>,
    /// The usage that the agent reports: a [`QueryUsage`], or any JSON of another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<RawValue>>,
}

/// A tool call that an agent made for a query.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryToolCall {
    /// The name of the tool, as registered.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Box<RawValue>,
    /// The answer of the page, which may be a failure; absent when the handler returned nothing.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Box<RawValue>>,
    /// Where the tool is from, if it is not one of the page: the name of a server of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Reports that the query failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryFailure {
    /// The id of the query.
    pub uuid: QueryId,
    /// The error in words.
    pub error: String,
    /// Details, with what to do next if there is something to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The machine-readable reason.
    pub code: ErrorCode,
}
