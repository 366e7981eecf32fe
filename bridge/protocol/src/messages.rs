//! The messages as serde types, one enum per direction.
//!
//! Tool definitions, arguments and results stay raw JSON ([`serde_json::value::RawValue`]): what a page or a client
//! wrote goes on unchanged, key order and number spelling included. Internally tagged enums cannot
//! borrow raw JSON, so decoding reads the `type` first and the message of that type second.

mod call;
mod connection;
mod during;
mod query;
mod registration;
mod subject;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use crate::names::{bridge_to_page, page_to_bridge};
use crate::well_formed::to_well_formed;

pub use call::{
    Argument, CallCancel, CallContext, CallError, CallReceived, CallResponse, Caller,
    CallerTransport, CallingClient, CallsAlive, CallsCheck, ClientLimits, Completion, PromptGet,
    ResourceRead, ToolCall,
};
pub use connection::{
    App, Authenticate, Authenticated, AuthenticationFailed, ClientInfo, Clients, ConnectedClient,
    Heartbeat, PageLimits, PageState, Renew, RenewalFailed, Renewed, SessionClosed, Visibility,
};
pub use during::{
    CallLog, CallProgress, ClientError, ClientRequest, ClientRequests, ClientResponse,
    ClientResponses, LogLevel,
};
pub use query::{
    ContextItem, ContextKind, Query, QueryAccepted, QueryAttach, QueryCancel, QueryComplete,
    QueryContent, QueryFailure, QueryProgress, QueryTool, QueryToolCall,
};
pub use registration::{
    Definition, Item, Kind, Register, Registered, RegisteredItem, RegistrationFailure,
    ResourceUpdated, Subscriptions, Unregister, Unregistered,
};
pub use subject::Subject;

/// Why a frame is not a message.
#[derive(Debug)]
pub enum DecodeError {
    /// Not JSON, or not an object with a string `type`.
    NotAMessage(serde_json::Error),
    /// A `type` that this version does not know. Logged once per connection and ignored.
    UnknownType(String),
    /// A known `type` whose fields are wrong.
    BadFields {
        /// The message's `type`.
        kind: &'static str,
        /// What is wrong, with the position.
        error: serde_json::Error,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::NotAMessage(error) => {
                write!(f, "not a JSON object with a string `type`: {error}")
            }
            DecodeError::UnknownType(kind) => write!(f, "unknown message type {kind:?}"),
            DecodeError::BadFields { kind, error } => write!(f, "bad `{kind}` message: {error}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// What a page says.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PageToBridge {
    /// First frame: who the page is.
    Authenticate(Authenticate),
    /// Registers tools, prompts, resources and templates, or replaces those of the same name in
    /// their place.
    Register(Register),
    /// Takes them back.
    Unregister(Unregister),
    /// A call has reached page code; its handler runs next.
    CallReceived(CallReceived),
    /// A call ended with a result.
    CallResponse(CallResponse),
    /// A call failed.
    CallError(CallError),
    /// How far a call is.
    CallProgress(CallProgress),
    /// A log message for the client behind a call.
    CallLog(CallLog),
    /// A handler asks the client behind its call.
    ClientRequests(ClientRequests),
    /// The content of a resource changed.
    ResourceUpdated(ResourceUpdated),
    /// Page code is alive.
    HeartbeatAck(Heartbeat),
    /// Which of these calls does somebody still wait for?
    CallsCheck(CallsCheck),
    /// A fresh token on the open socket.
    Renew(Renew),
    /// Visibility, focus or title changed.
    PageState(PageState),
    /// The user did something. Cheap, and no reason to throttle.
    Activity {},
    /// The document is going away: its calls end now.
    Leaving {},
    /// Asks the agent.
    #[serde(rename = "query")]
    Query(Query),
    /// The answer is no longer wanted.
    #[serde(rename = "query_cancel")]
    QueryCancel(QueryCancel),
    /// Takes a query of the document before up again.
    #[serde(rename = "query_attach")]
    QueryAttach(QueryAttach),
}

impl PageToBridge {
    /// Reads one text frame. Halves of characters in its strings become U+FFFD.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        use page_to_bridge as kind;
        let text = &to_well_formed(text);
        Ok(match message_type(text)?.as_ref() {
            kind::AUTHENTICATE => Self::Authenticate(decode_fields(kind::AUTHENTICATE, text)?),
            kind::REGISTER => Self::Register(decode_fields(kind::REGISTER, text)?),
            kind::UNREGISTER => Self::Unregister(decode_fields(kind::UNREGISTER, text)?),
            kind::CALL_RECEIVED => Self::CallReceived(decode_fields(kind::CALL_RECEIVED, text)?),
            kind::CALL_RESPONSE => Self::CallResponse(decode_fields(kind::CALL_RESPONSE, text)?),
            kind::CALL_ERROR => Self::CallError(decode_fields(kind::CALL_ERROR, text)?),
            kind::CALL_PROGRESS => Self::CallProgress(decode_fields(kind::CALL_PROGRESS, text)?),
            kind::CALL_LOG => Self::CallLog(decode_fields(kind::CALL_LOG, text)?),
            kind::CLIENT_REQUESTS => {
                Self::ClientRequests(decode_fields(kind::CLIENT_REQUESTS, text)?)
            }
            kind::RESOURCE_UPDATED => {
                Self::ResourceUpdated(decode_fields(kind::RESOURCE_UPDATED, text)?)
            }
            kind::HEARTBEAT_ACK => Self::HeartbeatAck(decode_fields(kind::HEARTBEAT_ACK, text)?),
            kind::CALLS_CHECK => Self::CallsCheck(decode_fields(kind::CALLS_CHECK, text)?),
            kind::RENEW => Self::Renew(decode_fields(kind::RENEW, text)?),
            kind::PAGE_STATE => Self::PageState(decode_fields(kind::PAGE_STATE, text)?),
            kind::ACTIVITY => Self::Activity {},
            kind::LEAVING => Self::Leaving {},
            kind::QUERY => Self::Query(decode_fields(kind::QUERY, text)?),
            kind::QUERY_CANCEL => Self::QueryCancel(decode_fields(kind::QUERY_CANCEL, text)?),
            kind::QUERY_ATTACH => Self::QueryAttach(decode_fields(kind::QUERY_ATTACH, text)?),
            unknown => return Err(DecodeError::UnknownType(unknown.to_owned())),
        })
    }

    /// Writes one text frame.
    pub fn encode(&self) -> String {
        encode(self)
    }
}

/// What the bridge says to a page.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum BridgeToPage {
    /// The page is accepted; it registers its tools now.
    Authenticated(Authenticated),
    /// The page is refused. A close follows.
    AuthenticationFailed(AuthenticationFailed),
    /// Answer to [`PageToBridge::Register`].
    Registered(Registered),
    /// Answer to [`PageToBridge::Unregister`].
    Unregistered(Unregistered),
    /// Run a tool.
    ToolCall(ToolCall),
    /// Fill in a prompt.
    PromptGet(PromptGet),
    /// Read a resource.
    ResourceRead(ResourceRead),
    /// Complete an argument of a prompt or a variable of a resource template.
    Completion(Completion),
    /// Stop a call; nobody waits for its result any more.
    CallCancel(CallCancel),
    /// What the client answered to [`PageToBridge::ClientRequests`].
    ClientResponses(ClientResponses),
    /// Which resources clients are subscribed to. Sent whenever that changes.
    Subscriptions(Subscriptions),
    /// Page code must answer [`PageToBridge::HeartbeatAck`] with the same number.
    Heartbeat(Heartbeat),
    /// Answer to [`PageToBridge::CallsCheck`].
    CallsAlive(CallsAlive),
    /// Answer to [`PageToBridge::Renew`]: the fresh token counts from now on.
    Renewed(Renewed),
    /// Answer to [`PageToBridge::Renew`]: the fresh token is refused; the former counts on.
    RenewalFailed(RenewalFailed),
    /// Which AI clients are connected for this token. Sent whenever it changes.
    Clients(Clients),
    /// The session ends. A close follows.
    SessionClosed(SessionClosed),
    /// The agent has taken the query.
    #[serde(rename = "query_accepted")]
    QueryAccepted(QueryAccepted),
    /// How the agent is getting on.
    #[serde(rename = "query_progress")]
    QueryProgress(QueryProgress),
    /// The agent is done.
    #[serde(rename = "query_complete")]
    QueryComplete(QueryComplete),
    /// The query has failed.
    #[serde(rename = "query_failure")]
    QueryFailure(QueryFailure),
    /// The agent has given the query up.
    #[serde(rename = "query_cancel")]
    QueryCancel(QueryCancel),
}

impl BridgeToPage {
    /// Reads one text frame.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        use bridge_to_page as kind;
        Ok(match message_type(text)?.as_ref() {
            kind::AUTHENTICATED => Self::Authenticated(decode_fields(kind::AUTHENTICATED, text)?),
            kind::AUTHENTICATION_FAILED => {
                Self::AuthenticationFailed(decode_fields(kind::AUTHENTICATION_FAILED, text)?)
            }
            kind::REGISTERED => Self::Registered(decode_fields(kind::REGISTERED, text)?),
            kind::UNREGISTERED => Self::Unregistered(decode_fields(kind::UNREGISTERED, text)?),
            kind::TOOL_CALL => Self::ToolCall(decode_fields(kind::TOOL_CALL, text)?),
            kind::PROMPT_GET => Self::PromptGet(decode_fields(kind::PROMPT_GET, text)?),
            kind::RESOURCE_READ => Self::ResourceRead(decode_fields(kind::RESOURCE_READ, text)?),
            kind::COMPLETION => Self::Completion(decode_fields(kind::COMPLETION, text)?),
            kind::CALL_CANCEL => Self::CallCancel(decode_fields(kind::CALL_CANCEL, text)?),
            kind::CLIENT_RESPONSES => {
                Self::ClientResponses(decode_fields(kind::CLIENT_RESPONSES, text)?)
            }
            kind::SUBSCRIPTIONS => Self::Subscriptions(decode_fields(kind::SUBSCRIPTIONS, text)?),
            kind::HEARTBEAT => Self::Heartbeat(decode_fields(kind::HEARTBEAT, text)?),
            kind::CALLS_ALIVE => Self::CallsAlive(decode_fields(kind::CALLS_ALIVE, text)?),
            kind::RENEWED => Self::Renewed(decode_fields(kind::RENEWED, text)?),
            kind::RENEWAL_FAILED => Self::RenewalFailed(decode_fields(kind::RENEWAL_FAILED, text)?),
            kind::CLIENTS => Self::Clients(decode_fields(kind::CLIENTS, text)?),
            kind::SESSION_CLOSED => Self::SessionClosed(decode_fields(kind::SESSION_CLOSED, text)?),
            kind::QUERY_ACCEPTED => Self::QueryAccepted(decode_fields(kind::QUERY_ACCEPTED, text)?),
            kind::QUERY_PROGRESS => Self::QueryProgress(decode_fields(kind::QUERY_PROGRESS, text)?),
            kind::QUERY_COMPLETE => Self::QueryComplete(decode_fields(kind::QUERY_COMPLETE, text)?),
            kind::QUERY_FAILURE => Self::QueryFailure(decode_fields(kind::QUERY_FAILURE, text)?),
            kind::QUERY_CANCEL => Self::QueryCancel(decode_fields(kind::QUERY_CANCEL, text)?),
            unknown => return Err(DecodeError::UnknownType(unknown.to_owned())),
        })
    }

    /// Writes one text frame.
    pub fn encode(&self) -> String {
        encode(self)
    }
}

fn message_type(text: &str) -> Result<Cow<'_, str>, DecodeError> {
    if let Some(kind) = leading_type(text) {
        return Ok(Cow::Borrowed(kind));
    }
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    serde_json::from_str::<Kind<'_>>(text)
        .map(|message| message.kind)
        .map_err(DecodeError::NotAMessage)
}

/// Messages of calls are read once, not twice: both sides write the `type` first. What is no JSON
/// after it is found with the fields, so this is for types that have some.
fn leading_type(text: &str) -> Option<&str> {
    let (kind, rest) = text.strip_prefix("{\"type\":\"")?.split_once('"')?;
    (rest.starts_with(',') && CALL_MESSAGE_TYPES.contains(&kind)).then_some(kind)
}

/// What a call is made of.
const CALL_MESSAGE_TYPES: [&str; 6] = [
    page_to_bridge::CALL_RESPONSE,
    page_to_bridge::CALL_RECEIVED,
    page_to_bridge::CALL_PROGRESS,
    page_to_bridge::CALL_LOG,
    page_to_bridge::CALL_ERROR,
    bridge_to_page::TOOL_CALL,
];

fn decode_fields<'a, T: Deserialize<'a>>(
    kind: &'static str,
    text: &'a str,
) -> Result<T, DecodeError> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Syntax | Category::Eof => DecodeError::NotAMessage(error),
        Category::Data | Category::Io => DecodeError::BadFields { kind, error },
    })
}

fn encode(message: &impl Serialize) -> String {
    /// What a call has mostly.
    const ROOM: usize = 512;
    let mut text = Vec::with_capacity(ROOM);
    // Strings, numbers and raw JSON only: there is nothing in a message that can fail to encode, and
    // all of it is UTF-8.
    let written = serde_json::to_writer(&mut text, message).is_ok();
    let text = String::from_utf8(text).unwrap_or_default();
    if written { text } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_of_any_length_decodes_or_fails_with_the_right_error() {
        for length in [1, crate::limits::PART_BYTES] {
            let text = "x".repeat(length);
            let good = format!(r#"{{"type":"call-response","requestId":"c","result":"{text}"}}"#);
            let Ok(PageToBridge::CallResponse(response)) = PageToBridge::decode(&good) else {
                panic!("no response of {length}")
            };
            assert_eq!(response.result.map(|raw| raw.get().len()), Some(length + 2));

            let cut = &good[..good.len() - 2];
            let no_json = PageToBridge::decode(cut);
            assert!(
                matches!(no_json, Err(DecodeError::NotAMessage(_))),
                "{length}"
            );
            let no_id = good.replace("requestId", "id");
            let incomplete = PageToBridge::decode(&no_id);
            assert!(
                matches!(incomplete, Err(DecodeError::BadFields { .. })),
                "{length}"
            );
            let other = good.replace("call-response", "call-responses");
            let unknown = PageToBridge::decode(&other);
            assert!(
                matches!(unknown, Err(DecodeError::UnknownType(_))),
                "{length}"
            );
        }
    }
}
