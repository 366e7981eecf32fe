//! Messages of a running call: progress, logs, requests of the handler to the client, and the
//! hand-over to the next document.

use serde::{Deserialize, Serialize};
use serde_json::Number;
use serde_json::value::RawValue;

use crate::{CallId, ErrorCode};

/// Reports the progress of a call (MCP `notifications/progress`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallProgress {
    /// The id of the call.
    pub request_id: CallId,
    /// The progress so far, which increases with each message.
    pub progress: Number,
    /// The progress at the end, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// The progress in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A log message of a handler (MCP `notifications/message`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallLog {
    /// The id of the call.
    pub request_id: CallId,
    /// The severity.
    pub level: LogLevel,
    /// The part of the app that logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// The content: any JSON value.
    pub data: Box<RawValue>,
}

/// The severity of a log message: the levels of MCP and RFC 5424, from least to most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Normal, but significant.
    Notice,
    /// Unusual.
    Warning,
    /// Something failed.
    Error,
    /// A part of the app failed.
    Critical,
    /// Action must be taken at once.
    Alert,
    /// The app is unusable.
    Emergency,
}

/// Arms the hand-over of a call: if the document ends before the call, the next document of the
/// session continues it. Sent again, it replaces the state.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallHandOver {
    /// The id of the call.
    pub request_id: CallId,
    /// The value that the next document receives as `continuation`: any JSON value except `null`,
    /// which disarms the hand-over.
    pub state: Option<Box<RawValue>>,
}

/// Requests of a handler to the client that made the call. The requests of one message reach the
/// client in one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRequests {
    /// The id of the call.
    pub request_id: CallId,
    /// The requests. Each is answered under its key in [`ClientResponses`].
    pub requests: Vec<ClientRequest>,
}

/// A request to a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRequest {
    /// Identifies the request within the call. When a client retries the call, the handler makes
    /// the same request under the same key.
    pub key: String,
    /// The MCP method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The MCP parameters of the method.
    pub params: Box<RawValue>,
}

/// Responses of the client to requests of a handler.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientResponses {
    /// The id of the call.
    pub request_id: CallId,
    /// One or more responses.
    pub responses: Vec<ClientResponse>,
}

/// A response of a client: a result or an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientResponse {
    /// The key of the request.
    pub key: String,
    /// The MCP result object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// The error, when there is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ClientError>,
}

/// The reason why a client did not answer a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientError {
    /// The machine-readable reason.
    pub code: ErrorCode,
    /// The reason in words.
    pub message: String,
    /// Additional data for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}
