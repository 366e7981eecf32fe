//! Events of the server, which the surrounding module delivers.

use bridge_mcp_results::request_error::JsonRpcError;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// An event. JavaScript receives it as JSON.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Event {
    /// A frame for a page.
    Frame {
        /// The connection of the page.
        connection: u64,
        /// The text of the frame.
        text: String,
    },
    /// A connection of a page is closed, after its earlier frames.
    Closed {
        /// The connection of the page.
        connection: u64,
        /// The close code.
        code: u16,
    },
    /// The result of a request.
    Result {
        /// The request.
        id: u64,
        /// The MCP result object.
        result: Box<RawValue>,
    },
    /// The error of a request.
    Error {
        /// The request.
        id: u64,
        /// The error.
        error: ErrorResponse,
    },
    /// A notification.
    Notification {
        /// The client; `None` for all of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        client: Option<u64>,
        /// The request that it belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        /// The MCP method.
        method: &'static str,
        /// The MCP parameters.
        params: Value,
    },
    /// A request of a handler to the client.
    ClientRequest {
        /// The request of the client that it belongs to.
        id: u64,
        /// The id that the response must repeat.
        key: String,
        /// The MCP method.
        method: String,
        /// The MCP parameters.
        params: Box<RawValue>,
    },
}

/// A JSON-RPC error.
#[derive(Debug, Serialize)]
pub struct ErrorResponse {
    /// The code.
    pub code: i32,
    /// A description of the error, and what to do.
    pub message: String,
    /// The bridge's error code with its details.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl From<JsonRpcError> for ErrorResponse {
    fn from(error: JsonRpcError) -> Self {
        let JsonRpcError {
            code,
            message,
            data,
        } = error;
        Self {
            code,
            message,
            data,
        }
    }
}
