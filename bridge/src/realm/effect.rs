//! What must happen after an event.

use bridge_protocol::{BridgeToPage, CallId, CloseCode, ErrorCode};
use serde_json::value::RawValue;

use super::ConnectionId;

pub(crate) type Effects = Vec<Effect>;

/// One thing that the hub does for the realm, in order.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Put a message into the outbox of a connection.
    Send {
        connection: ConnectionId,
        message: BridgeToPage,
    },
    /// Close a connection after what was sent before.
    Close {
        connection: ConnectionId,
        code: CloseCode,
        reason: &'static str,
    },
    /// Give a caller its answer.
    End { call: CallId, ending: Ending },
    /// Tell the MCP clients that `tools/list` answers differently now.
    ToolsChanged,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// With the page's result, verbatim; `None` when the handler returned nothing.
    Answered(Option<Box<RawValue>>),
    /// Without one.
    Failed(Failure),
}

/// Why a call has no result.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    /// What happened, to what, and what to do next.
    pub(crate) message: String,
    pub(crate) data: Option<Box<RawValue>>,
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: String) -> Self {
        Self {
            code,
            message,
            data: None,
        }
    }

    pub(crate) fn bridge_stopping() -> Self {
        Self::new(
            ErrorCode::BridgeStopping,
            "the bridge is shutting down: retry when it is back".to_owned(),
        )
    }
}
