//! A call: what a page is asked to do, and how it ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{CallId, ClientInfo, ErrorCode, Item, LogLevel, QueryId};

/// Run a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The call.
    pub request_id: CallId,
    /// The name as registered.
    pub tool_name: String,
    /// The arguments: always an object.
    pub tool_input: Box<RawValue>,
    /// What the handler may know of it.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// Fill in a prompt (MCP `prompts/get`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptGet {
    /// The call.
    pub request_id: CallId,
    /// The name as registered.
    pub name: String,
    /// The arguments: always an object; MCP knows only strings as values.
    pub arguments: Box<RawValue>,
    /// What the handler may know of it.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// Read a resource (MCP `resources/read`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRead {
    /// The call.
    pub request_id: CallId,
    /// Which one.
    pub uri: String,
    /// The template that the URI fits, as registered; absent for a registered resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri_template: Option<String>,
    /// What the template's variables stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<BTreeMap<String, String>>,
    /// What the handler may know of it.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// Complete an argument (MCP `completion/complete`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// The call.
    pub request_id: CallId,
    /// The prompt or the resource template.
    #[serde(rename = "ref")]
    pub reference: Item,
    /// The argument or variable, and what is written of it so far.
    pub argument: Argument,
    /// The arguments that have their values already.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// What the completer may know of it.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// An argument and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What a handler may know of its call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallContext {
    /// Who calls, as far as the client said. Shared by all its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Arc<CallingClient>>,
    /// On whose behalf, as far as the bridge knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
    /// The least grave level that the client wants to hear; absent when it wants no logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
    /// Whether the client wants to hear of progress.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
    /// When the call ends without an answer, in milliseconds from now. Waiting for the client's
    /// own answers does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The query that the agent calls for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_id: Option<QueryId>,
    /// When the bridge sent this, on its clock (`nowMs` of `authenticated`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_ms: Option<u64>,
}

/// The AI client behind a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallingClient {
    /// Who it is.
    pub info: ClientInfo,
    /// The MCP revision it speaks; absent for plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Its MCP `ClientCapabilities`, verbatim; absent for plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Box<RawValue>>,
    /// What it can take, as far as the bridge knows; absent when it knows of no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<ClientLimits>,
}

/// What a client can take. The bridge cuts larger results; a page may do better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientLimits {
    /// The largest result, in bytes as it is sent to the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_result_bytes: Option<usize>,
    /// The longer edge of an image, in pixels: larger ones are scaled down by the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_image_edge: Option<u32>,
}

/// On whose behalf a call is made, as the bridge has verified it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    /// How the call came.
    pub via: CallerTransport,
    /// The subject of the credential; absent with an opaque token, which names nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// The roles that the credential grants.
    #[serde(default)]
    pub roles: Vec<String>,
}

/// How a call came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallerTransport {
    /// Over MCP.
    #[default]
    Mcp,
    /// Over plain HTTP.
    Http,
}

/// Receipt of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallReceived {
    /// The call.
    pub request_id: CallId,
}

/// Which of these calls does somebody still wait for? A page that has stood still asks before it
/// starts what it finds waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallsCheck {
    /// The calls.
    pub request_ids: Vec<CallId>,
}

/// Those that somebody still waits for. The others must not be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallsAlive {
    /// Those that were asked about, as many as are alive, in that order.
    pub request_ids: Vec<CallId>,
    /// Those that are not: together with the former, all that were asked about.
    pub ended: Vec<CallId>,
}

/// The result of a call: of a tool either a value or content blocks, of the other kinds the MCP
/// result object.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallResponse {
    /// The call.
    pub request_id: CallId,
    /// Any JSON value, `null` included; absent when the handler returned nothing, or `content`.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Box<RawValue>>,
    /// A tool's content blocks: an array of MCP `ContentBlock`s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Box<RawValue>>,
    /// A tool's `structuredContent`, beside `content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Box<RawValue>>,
    /// The `_meta` of a tool's result, beside `content`.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<RawValue>>,
}

/// The failure of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallError {
    /// The call.
    pub request_id: CallId,
    /// What kind of failure.
    pub code: ErrorCode,
    /// In words, for the model and the person.
    pub message: String,
    /// More, for programs.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Box<RawValue>>,
    /// What a tool shows of its failure instead of the message: MCP `ContentBlock`s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Box<RawValue>>,
}

/// Stop a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallCancel {
    /// The call.
    pub request_id: CallId,
    /// Why, as a word.
    pub code: ErrorCode,
    /// Why, in words.
    pub reason: String,
}

/// A field that is there is `Some`, even when it is `null`.
pub(super) fn present<'de, D: serde::Deserializer<'de>>(
    value: D,
) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(value).map(Some)
}
