//! While a call runs: progress, logs, and what the handler asks the client.

use serde::{Deserialize, Serialize};
use serde_json::Number;
use serde_json::value::RawValue;

use crate::{CallId, ErrorCode};

/// How far a call is (MCP `notifications/progress`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallProgress {
    /// The call.
    pub request_id: CallId,
    /// Grows with each message.
    pub progress: Number,
    /// What it will be at the end, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A log message (MCP `notifications/message`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallLog {
    /// The call.
    pub request_id: CallId,
    /// How grave it is.
    pub level: LogLevel,
    /// Which part of the app says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// Any JSON value.
    pub data: Box<RawValue>,
}

/// The levels of MCP's logging (those of RFC 5424), from the least grave to the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details for whoever looks for a fault.
    Debug,
    /// What happens.
    Info,
    /// Usual, and worth notice.
    Notice,
    /// Not usual.
    Warning,
    /// Something failed.
    Error,
    /// A part of the app failed.
    Critical,
    /// Somebody must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

/// A handler asks the client behind its call. What is asked in one message is asked in one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRequests {
    /// The call.
    pub request_id: CallId,
    /// The requests; each is answered under its key in [`ClientResponses`].
    pub requests: Vec<ClientRequest>,
}

/// One request to a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRequest {
    /// Unique within the call. The same call made again asks the same thing under the same key.
    pub key: String,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// As MCP has them.
    pub params: Box<RawValue>,
}

/// What the client answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientResponses {
    /// The call.
    pub request_id: CallId,
    /// One or more of the answers that are due.
    pub responses: Vec<ClientResponse>,
}

/// One answer: a result or an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientResponse {
    /// The key of the request.
    pub key: String,
    /// The MCP result object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ClientError>,
}

/// Why a client did not answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientError {
    /// What kind of failure.
    pub code: ErrorCode,
    /// In words.
    pub message: String,
    /// More, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}
