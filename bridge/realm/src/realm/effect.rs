//! The effects of an event, which the hub performs after the state has changed.

use bridge_protocol::{
    BridgeToPage, CallId, CallLog, CallProgress, CloseCode, ErrorCode, Kind, Query, QueryId,
};
use bridge_raw_json::RawJson;
use serde_json::value::RawValue;

use super::event::{ClientId, ConnectionId};
use super::lifecycle::Lifecycle;
use super::query::QueryPage;

/// The effects of one event, in the order in which the hub performs them.
pub type Effects = Vec<Effect>;

/// One action that the hub performs for the realm. Effects are performed in their order.
#[derive(Debug)]
pub enum Effect {
    /// Put a message into the outbox of a connection.
    Send {
        connection: ConnectionId,
        message: BridgeToPage,
    },
    /// Send a WebSocket ping to find out whether the peer of a connection still answers.
    Ping { connection: ConnectionId },
    /// Send a WebSocket ping with this number. The task of the connection reports with
    /// [`Realm::connection_read`](super::Realm::connection_read) when it has read everything that
    /// arrived before, and the answer with
    /// [`Realm::probe_answered`](super::Realm::probe_answered).
    Probe {
        connection: ConnectionId,
        probe: u64,
    },
    /// Close a connection after all earlier messages to it.
    Close {
        connection: ConnectionId,
        code: CloseCode,
        reason: &'static str,
    },
    /// Deliver the outcome of a call to its caller.
    CompleteCall { call: CallId, outcome: CallOutcome },
    /// Report progress or a log message to the caller. It is dropped if the caller is too slow.
    EmitEvent { call: CallId, event: CallerEvent },
    /// Notify a caller that its page has acknowledged the call, for the trace of the call.
    CallReceived { call: CallId },
    /// Notify a caller that its page has requests for the client.
    ClientRequestsPending { call: CallId },
    /// Notify a caller that its call was handed over, so that the requests of its handler to the
    /// client have ended.
    CallHandedOver { call: CallId },
    /// Notify a caller that the client has not answered in time, so that it need not answer any more.
    ClientRequestsExpired { call: CallId },
    /// Validate the arguments of a call with [`Realm::input_to_validate`](super::Realm), because the
    /// tool of its new document has another definition. The outcome is reported with
    /// [`Realm::input_validated`](super::Realm).
    ValidateInput { call: CallId },
    /// Notify the MCP clients that the list of this kind has changed.
    ListChanged(Kind),
    /// Notify an MCP client that a resource it is subscribed to has changed.
    ResourceUpdated { client: ClientId, uri: String },
    /// An action on the agent that answers queries.
    Agent(AgentEffect),
    /// Log what happens to a session or a query.
    Lifecycle(Box<Lifecycle>),
}

impl Effect {
    /// Builds the effects that send messages on one connection, in their order.
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

/// An action on the agent, or on the token that it received for a query.
#[derive(Debug)]
pub enum AgentEffect {
    /// Send a query to the agent.
    Start {
        query: Box<Query>,
        /// Whether the agent receives a token for the query. Without one, any client that knows the
        /// id of the query can act as its agent.
        with_token: bool,
        /// The page that sent the query.
        page: Box<QueryPage>,
    },
    /// Send the answer of a person to a request for approval. The outcome is reported with
    /// [`Realm::approval_sent`](super::Realm::approval_sent).
    SendApproval {
        query: QueryId,
        /// The id of the call that waits for the approval.
        call: String,
        /// The number of the request among those of the query, because the agent may send another
        /// one for the same call.
        round: u64,
        approved: bool,
    },
    /// Retry the calls that wait for the page: a document has attached to the query, or the page
    /// has registered its items again.
    PageAttached { query: QueryId },
    /// Cancel a query that has ended without a report of the agent, and revoke its token.
    Cancel { query: QueryId },
    /// Revoke the token of an ended query whose agent needs no cancellation.
    Revoke { query: QueryId },
    /// Remove all state of a query, because its id is no longer valid.
    Forget { query: QueryId },
}

/// An event that a caller may receive before the outcome of its call.
#[derive(Debug)]
pub enum CallerEvent {
    Progress(CallProgress),
    Log(CallLog),
}

/// The outcome of a call.
#[derive(Debug)]
pub enum CallOutcome {
    /// The page has returned a result, which is passed on verbatim.
    Answered(PageAnswer),
    /// The call has no result.
    Failed(CallFailure),
}

impl CallOutcome {
    /// The code of the failure; `None` if the call has a result.
    pub fn failure_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Answered(_) => None,
            Self::Failed(failure) => Some(failure.code),
        }
    }
}

/// The result that a page has returned.
#[derive(Debug)]
pub enum PageAnswer {
    /// A value, or an MCP result object; `None` when the handler returned nothing.
    Value(Option<RawJson>),
    /// A tool's content blocks.
    Content {
        content: Box<RawValue>,
        structured: Option<Box<RawValue>>,
        meta: Option<Box<RawValue>>,
    },
}

impl PageAnswer {
    /// The size of the result in bytes of JSON.
    pub fn bytes(&self) -> usize {
        let length = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
        match self {
            PageAnswer::Value(value) => value.as_ref().map_or(0, |json| json.get().len()),
            PageAnswer::Content {
                content,
                structured,
                meta,
            } => content.get().len() + length(structured) + length(meta),
        }
    }
}

/// The reason why a call has no result.
#[derive(Debug)]
pub struct CallFailure {
    pub code: ErrorCode,
    /// The message: what happened, to what, and what to do next.
    pub message: String,
    pub data: Option<Box<RawValue>>,
    /// Content blocks that a tool result shows instead of the message.
    pub content: Option<Box<RawValue>>,
    /// The `_meta` of a tool result, which accompanies `content`.
    pub meta: Option<Box<RawValue>>,
}

impl CallFailure {
    pub fn new(code: ErrorCode, message: String) -> Self {
        Self {
            code,
            message,
            data: None,
            content: None,
            meta: None,
        }
    }

    /// The failure of a call whose page is gone.
    pub fn page_gone() -> Self {
        Self::new(
            ErrorCode::PageGone,
            "the page is gone: open the app again and retry".to_owned(),
        )
    }

    /// The failure of a call that the shutdown of the bridge ends.
    pub fn bridge_stopping() -> Self {
        Self::new(
            ErrorCode::BridgeStopping,
            "the bridge is shutting down: retry when it is back".to_owned(),
        )
    }
}
