//! A query: what a page asks an agent, and what it hears of it.
//!
//! Events come in order: `query_accepted`, any number of `query_progress`, then exactly one of
//! `query_complete`, `query_failure`, `query_cancel`. A query that nobody accepts has a
//! `query_failure` only. After its own `query_cancel` a page hears nothing more of the query.
//!
//! An agent that answers with an event stream sends the same messages.

mod content;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::call::present;
use crate::{ErrorCode, QueryId};

pub use content::QueryContent;

/// Ask the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Query {
    /// The query: chosen by the page, never used again.
    pub uuid: QueryId,
    /// What is asked, in words.
    pub prompt: String,
    /// What the agent should know.
    #[serde(default)]
    pub context: Vec<ContextItem>,
    /// The agent must answer by calling this tool: its success completes the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_tool: Option<QueryTool>,
    /// Tools that the agent should know of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<QueryTool>>,
    /// Whether those `tools`, where they are given, are all that the agent may call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restrict_tools: Option<bool>,
    /// How long the query may take, in milliseconds, if that is less than the bridge allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
}

/// A new document of the session takes a query of the one before up again: it hears
/// `query_accepted`, the progress that is kept, and what comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryAttach {
    /// The query.
    pub uuid: QueryId,
}

/// Something that the agent should know.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextItem {
    /// What it is called.
    pub name: String,
    /// Any JSON value; absent when JavaScript had nothing to write.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub value: Option<Box<RawValue>>,
    /// Its JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Box<RawValue>>,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it comes from.
    #[serde(rename = "type")]
    pub kind: ContextKind,
}

/// Where an item of context comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextKind {
    /// What a tool of the page says at this moment.
    Tool,
    /// It is there for this query only.
    Ephemeral,
}

/// A tool of the page, as a query names it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryTool {
    /// The name as registered.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Box<RawValue>>,
    /// The JSON Schema of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
}

/// The query is over: for the agent when the page says so, for the page when the agent does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryCancel {
    /// The query.
    pub uuid: QueryId,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The agent has taken the query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryAccepted {
    /// The query.
    pub uuid: QueryId,
}

/// The agent tells how it is getting on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryProgress {
    /// The query.
    pub uuid: QueryId,
    /// Which one of the query's, counted by the bridge from 1; absent for what the bridge itself
    /// notes. Who attaches again hears again what it may have heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Any JSON value: one of [`QueryContent`], or what another agent has sent.
    pub content: Box<RawValue>,
}

/// The agent is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryComplete {
    /// The query.
    pub uuid: QueryId,
    /// Any JSON value; absent when a response tool has completed the query.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Box<RawValue>>,
    /// The tools that it has called, in the order in which they ended.
    pub tool_calls: Vec<QueryToolCall>,
}

/// A call that an agent made for a query.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryToolCall {
    /// The name of the tool as registered.
    pub tool: String,
    /// Its arguments.
    pub arguments: Box<RawValue>,
    /// What the page answered, failures included; absent when its handler returned nothing.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Box<RawValue>>,
}

/// The query has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryFailure {
    /// The query.
    pub uuid: QueryId,
    /// What happened, in words.
    pub error: String,
    /// More of it: what to do next, where there is something to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What kind of failure.
    pub code: ErrorCode,
}
