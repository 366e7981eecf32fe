//! What must happen after an event.

use std::sync::Arc;

use bridge_json::RawJson;
use bridge_protocol::{
    BridgeToPage, CallId, CallLog, CallProgress, CloseCode, ErrorCode, Kind, Query, QueryId,
    Subject,
};
use serde_json::value::RawValue;

use super::ids::{ClientId, ConnectionId};

pub type Effects = Vec<Effect>;

/// One thing that the hub does for the realm, in order.
#[derive(Debug)]
pub enum Effect {
    /// Put a message into the outbox of a connection.
    Send {
        connection: ConnectionId,
        message: BridgeToPage,
    },
    /// See whether anything is at the other end of a connection whose page says nothing.
    Ping { connection: ConnectionId },
    /// Close a connection after what was sent before.
    Close {
        connection: ConnectionId,
        code: CloseCode,
        reason: &'static str,
    },
    /// Give a caller its answer.
    CompleteCall { call: CallId, outcome: CallOutcome },
    /// Tell a caller what happens in its call. It may be too busy to hear.
    EmitEvent { call: CallId, event: CallEvent },
    /// Tell a caller that its page asks the client something.
    ClientRequestsPending { call: CallId },
    /// Tell the MCP clients that the list of this kind is another one now.
    ListChanged(Kind),
    /// Tell an MCP client that a resource it is subscribed to has changed.
    ResourceUpdated { client: ClientId, uri: String },
    /// Something for the agent that answers queries.
    Agent(AgentEffect),
}

impl Effect {
    /// Sends messages on one connection, in their order.
    pub(super) fn send_all(
        connection: ConnectionId,
        messages: impl IntoIterator<Item = BridgeToPage>,
    ) -> Effects {
        let send = |message| Effect::Send {
            connection,
            message,
        };
        messages.into_iter().map(send).collect()
    }
}

/// What the agent, and the tokens of its queries, must be made to do.
#[derive(Debug)]
pub enum AgentEffect {
    /// Send a query to the agent, which may take its time.
    Start {
        query: Box<Query>,
        /// Whether the agent gets a token for the query; else its id is no secret.
        with_token: bool,
        /// Who uses the page that asks.
        subject: Option<Arc<Subject>>,
    },
    /// Another document has taken the place of the query's page: calls that wait for it can be made.
    PageAttached { query: QueryId },
    /// A query has ended without the agent: cancel it there. Its token is void from now on.
    Cancel { query: QueryId },
    /// A query has ended, and the agent knows. Its token is void from now on.
    Revoke { query: QueryId },
    /// The id of a query is free again.
    Forget { query: QueryId },
}

/// What a caller may hear before the ending.
#[derive(Debug)]
pub enum CallEvent {
    Progress(CallProgress),
    Log(CallLog),
}

/// How a call ended.
#[derive(Debug)]
pub enum CallOutcome {
    /// With the page's result, verbatim.
    Answered(Answer),
    /// Without one.
    Failed(CallFailure),
}

/// What a page answered.
#[derive(Debug)]
pub enum Answer {
    /// A value, or an MCP result object; `None` when the handler returned nothing.
    Value(Option<RawJson>),
    /// A tool's content blocks.
    Content {
        content: Box<RawValue>,
        structured: Option<Box<RawValue>>,
        meta: Option<Box<RawValue>>,
    },
}

impl Answer {
    /// Its size.
    pub fn bytes(&self) -> usize {
        let length = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
        match self {
            Answer::Value(value) => value.as_ref().map_or(0, |json| json.get().len()),
            Answer::Content {
                content,
                structured,
                meta,
            } => content.get().len() + length(structured) + length(meta),
        }
    }
}

/// Why a call has no result.
#[derive(Debug)]
pub struct CallFailure {
    pub code: ErrorCode,
    /// What happened, to what, and what to do next.
    pub message: String,
    pub data: Option<Box<RawValue>>,
    /// What a tool shows of it instead of the message: content blocks.
    pub content: Option<Box<RawValue>>,
}

impl CallFailure {
    pub fn new(code: ErrorCode, message: String) -> Self {
        Self {
            code,
            message,
            data: None,
            content: None,
        }
    }

    pub fn page_gone() -> Self {
        Self::new(
            ErrorCode::PageGone,
            "the page is gone: open the app again and retry".to_owned(),
        )
    }

    pub fn bridge_stopping() -> Self {
        Self::new(
            ErrorCode::BridgeStopping,
            "the bridge is shutting down: retry when it is back".to_owned(),
        )
    }
}
