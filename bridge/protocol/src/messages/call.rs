//! Messages of a call: the request to the page, its acknowledgement, and its result.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{CallId, ClientInfo, ErrorCode, Item, LogLevel, QueryId, TraceContext, present};

/// Calls a tool (MCP `tools/call`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id of the call.
    pub request_id: CallId,
    /// The name, as registered.
    pub tool_name: String,
    /// The arguments: always an object.
    pub tool_input: Box<RawValue>,
    /// The context of the call for the handler.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// Gets a prompt (MCP `prompts/get`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptGet {
    /// The id of the call.
    pub request_id: CallId,
    /// The name, as registered.
    pub name: String,
    /// The arguments: always an object, whose values are strings in MCP.
    pub arguments: Box<RawValue>,
    /// The context of the call for the handler.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// Reads a resource (MCP `resources/read`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRead {
    /// The id of the call.
    pub request_id: CallId,
    /// The URI of the resource.
    pub uri: String,
    /// The template that the URI matches, as registered; absent for a registered resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri_template: Option<String>,
    /// The values of the template's variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<BTreeMap<String, String>>,
    /// The context of the call for the handler.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// Completes an argument (MCP `completion/complete`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// The id of the call.
    pub request_id: CallId,
    /// The prompt or the resource template.
    #[serde(rename = "ref")]
    pub reference: Item,
    /// The argument or variable, with its value so far.
    pub argument: Argument,
    /// The arguments that already have values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// The context of the call for the handler.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// An argument with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Argument {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// The context of a call for its handler.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallContext {
    /// The client that made the call, by its own account. All its calls share this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Arc<CallingClient>>,
    /// The principal on whose behalf the call is made, as far as the bridge knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
    /// The least severe level that the client requests; absent when it requests no logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
    /// Whether the client requests progress notifications.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
    /// The time until the call fails, in milliseconds from now. Waiting for the client's responses
    /// to requests of the handler does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The query for which the agent makes the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_id: Option<QueryId>,
    /// The state with which the former document of the session has handed the call over. The
    /// handler continues where that document's handler stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<Box<RawValue>>,
    /// How often the call was handed over, which is set together with `continuation`. A document runs
    /// the call once for each number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand_overs: Option<u32>,
    /// When the bridge sent this message, on its own clock (`nowMs` of `authenticated`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_ms: Option<u64>,
    /// The trace of the call; absent when the bridge records none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<TraceContext>>,
}

/// The AI client that made a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallingClient {
    /// The client's name and version.
    pub info: ClientInfo,
    /// The MCP revision that the client uses; absent for plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The client's MCP `ClientCapabilities`, verbatim; absent for plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Box<RawValue>>,
    /// The limits of the client, as far as the bridge knows; absent when it knows of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<ClientLimits>,
}

/// Limits of a client. The bridge truncates larger results; a page may have a better way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientLimits {
    /// The maximum size of a result that is sent to the client, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_result_bytes: Option<usize>,
    /// The longer edge of an image, in pixels. The page scales larger images down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_image_edge: Option<u32>,
}

/// The principal on whose behalf a call is made, as verified by the bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    /// The transport of the call.
    pub via: CallerTransport,
    /// The subject of the credential; absent with an opaque token, which does not identify a
    /// person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// The roles that the credential grants.
    #[serde(default)]
    pub roles: Vec<String>,
}

/// The transport of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallerTransport {
    /// MCP.
    #[default]
    Mcp,
    /// Plain HTTP.
    Http,
}

/// Acknowledges a call, before its handler runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallReceived {
    /// The id of the call.
    pub request_id: CallId,
}

/// Asks which of the given calls are still awaited. A page that was suspended asks before it starts
/// the calls that arrived meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallsCheck {
    /// The number of the check on this connection, which the answer repeats.
    pub check: u64,
    /// The ids of the calls.
    pub request_ids: Vec<CallId>,
}

/// Answers [`CallsCheck`]. Only calls that are still awaited may be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallsAlive {
    /// The number of the check.
    pub check: u64,
    /// The calls of the request that are still awaited, in the same order.
    pub request_ids: Vec<CallId>,
    /// All other calls of the request.
    pub ended: Vec<CallId>,
}

/// The result of a call. A tool returns either a value or content blocks; every other kind returns
/// the MCP result object as `result`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallResponse {
    /// The id of the call.
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
    /// A tool's `structuredContent`, which accompanies `content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Box<RawValue>>,
    /// The `_meta` of a tool's result, which accompanies `content`.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<RawValue>>,
}

/// Reports that a call failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallError {
    /// The id of the call.
    pub request_id: CallId,
    /// The machine-readable reason.
    pub code: ErrorCode,
    /// The reason in words, for the model and the user.
    pub message: String,
    /// Additional data for programs.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Box<RawValue>>,
    /// The MCP `ContentBlock`s that a tool returns instead of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Box<RawValue>>,
    /// The `_meta` of a tool's result, which accompanies `content`.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<RawValue>>,
}

/// Cancels a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallCancel {
    /// The id of the call.
    pub request_id: CallId,
    /// The machine-readable reason.
    pub code: ErrorCode,
    /// The reason in words.
    pub reason: String,
}
