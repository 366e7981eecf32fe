//! The messages as serde types, one enum per direction.
//!
//! Tool definitions, arguments and results stay raw JSON ([`serde_json::value::RawValue`]): they
//! are forwarded as the page or the client wrote them, key order and number spelling included.
//! Internally tagged enums cannot borrow raw JSON, so decoding reads the `type` first and its
//! fields second.

mod call;
mod connection;
mod query;
mod registration;
mod running_call;
mod trace;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use crate::QueryId;
use crate::limits::MAX_QUERY_ID_BYTES;
use crate::message_types::{bridge_to_page, page_to_bridge};
use crate::well_formed::to_well_formed;

pub use call::{
    Argument, CallCancel, CallContext, CallError, CallReceived, CallResponse, Caller,
    CallerTransport, CallingClient, CallsAlive, CallsCheck, ClientLimits, Completion, PromptGet,
    ResourceRead, ToolCall,
};
pub use connection::{
    App, Authenticate, Authenticated, AuthenticationFailed, ClientInfo, Clients, ConnectedClient,
    Heartbeat, Leaving, Limits, PageState, Renew, RenewalFailed, Renewed, SessionClosed,
    Visibility,
};
pub use query::{
    Attachment, ContextItem, ContextKind, MAX_QUERY_CALLER_BYTES, QUERY_CALLER_HEADER, Query,
    QueryAccepted, QueryAnswer, QueryAttach, QueryCaller, QueryCancel, QueryComplete, QueryContent,
    QueryFailure, QueryProgress, QueryTool, QueryToolCall, QueryUsage, Subject, TokenUsage,
};
pub use registration::{
    Definition, Item, Kind, Register, Registered, RegisteredItem, RegistrationFailure,
    ResourceUpdated, Subscriptions, Unregister, Unregistered,
};
pub use running_call::{
    CallHandOver, CallLog, CallProgress, ClientError, ClientRequest, ClientRequests,
    ClientResponse, ClientResponses, LogLevel,
};
pub use trace::TraceContext;

/// The error of decoding a frame.
#[derive(Debug)]
pub enum DecodeError {
    /// The frame is not JSON, or not an object with a string `type`.
    NotAMessage(serde_json::Error),
    /// The `type` is not known to this version. Receivers log it once per connection and ignore the
    /// frame.
    UnknownType(String),
    /// The `type` is known, and its fields are invalid.
    BadFields {
        /// The message's `type`.
        kind: &'static str,
        /// The error, with its position in the text.
        error: serde_json::Error,
    },
    /// The fields of a query are invalid, except its id, so that its page can be answered.
    BadQuery {
        /// The id of the query.
        uuid: QueryId,
        /// The error, with its position in the text.
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
            DecodeError::BadQuery { error, .. } => write!(f, "bad `query` message: {error}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// A message from a page to the bridge.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PageToBridge {
    /// The first frame: identifies the page.
    Authenticate(Box<Authenticate>),
    /// Registers tools, prompts, resources and templates, or replaces those of the same name, which
    /// keep their position.
    Register(Register),
    /// Removes registrations.
    Unregister(Unregister),
    /// Acknowledges a call; its handler runs next.
    CallReceived(CallReceived),
    /// A call ended with a result.
    CallResponse(CallResponse),
    /// A call failed.
    CallError(CallError),
    /// Reports the progress of a call.
    CallProgress(CallProgress),
    /// Sends a log message to the client that made a call.
    CallLog(CallLog),
    /// Sends requests of a handler to the client that made the call.
    ClientRequests(ClientRequests),
    /// Arms the hand-over of a call to the next document of the session, or disarms it.
    CallHandOver(CallHandOver),
    /// The content of a resource changed.
    ResourceUpdated(ResourceUpdated),
    /// Answers [`BridgeToPage::Heartbeat`], which shows that page code runs.
    HeartbeatAck(Heartbeat),
    /// Asks which of the given calls are still awaited.
    CallsCheck(CallsCheck),
    /// Sends a fresh token on the open socket.
    Renew(Renew),
    /// The page's visibility, focus or title changed.
    PageState(PageState),
    /// The user interacted with the page. The message is cheap: its rate needs no limit.
    Activity {},
    /// The document is being unloaded, or put into the back/forward cache: its calls end now, or are
    /// handed over.
    Leaving(Leaving),
    /// Sends a query to the agent.
    #[serde(rename = "query")]
    Query(Box<Query>),
    /// Cancels a query.
    #[serde(rename = "query_cancel")]
    QueryCancel(QueryCancel),
    /// Attaches this document to a query of the session's former document.
    #[serde(rename = "query_attach")]
    QueryAttach(QueryAttach),
    /// Answers a request for approval.
    #[serde(rename = "query_answer")]
    QueryAnswer(QueryAnswer),
}

impl PageToBridge {
    /// Decodes one text frame. Surrogates without a partner in its strings become U+FFFD.
    ///
    /// # Errors
    /// [`DecodeError`] when the frame is not a message of this version.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        use page_to_bridge as kind;
        let text = &to_well_formed(text);
        Ok(match message_type(text)?.as_ref() {
            kind::AUTHENTICATE => {
                Self::Authenticate(Box::new(decode_fields(kind::AUTHENTICATE, text)?))
            }
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
            kind::CALL_HAND_OVER => Self::CallHandOver(decode_fields(kind::CALL_HAND_OVER, text)?),
            kind::RESOURCE_UPDATED => {
                Self::ResourceUpdated(decode_fields(kind::RESOURCE_UPDATED, text)?)
            }
            kind::HEARTBEAT_ACK => Self::HeartbeatAck(decode_fields(kind::HEARTBEAT_ACK, text)?),
            kind::CALLS_CHECK => Self::CallsCheck(decode_fields(kind::CALLS_CHECK, text)?),
            kind::RENEW => Self::Renew(decode_fields(kind::RENEW, text)?),
            kind::PAGE_STATE => Self::PageState(decode_fields(kind::PAGE_STATE, text)?),
            kind::ACTIVITY => Self::Activity {},
            kind::LEAVING => Self::Leaving(decode_fields(kind::LEAVING, text)?),
            kind::QUERY => Self::Query(Box::new(decode_query(text)?)),
            kind::QUERY_CANCEL => Self::QueryCancel(decode_fields(kind::QUERY_CANCEL, text)?),
            kind::QUERY_ATTACH => Self::QueryAttach(decode_fields(kind::QUERY_ATTACH, text)?),
            kind::QUERY_ANSWER => Self::QueryAnswer(decode_fields(kind::QUERY_ANSWER, text)?),
            unknown => return Err(DecodeError::UnknownType(unknown.to_owned())),
        })
    }

    /// Encodes the message as one text frame.
    pub fn encode(&self) -> String {
        encode(self)
    }
}

/// A message from the bridge to a page.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum BridgeToPage {
    /// Accepts the page, which registers its tools next.
    Authenticated(Authenticated),
    /// Rejects the page. A close follows.
    AuthenticationFailed(AuthenticationFailed),
    /// Answers [`PageToBridge::Register`].
    Registered(Registered),
    /// Answers [`PageToBridge::Unregister`].
    Unregistered(Unregistered),
    /// Calls a tool.
    ToolCall(ToolCall),
    /// Gets a prompt.
    PromptGet(PromptGet),
    /// Reads a resource.
    ResourceRead(ResourceRead),
    /// Completes an argument of a prompt or a variable of a resource template.
    Completion(Completion),
    /// Cancels a call, whose result is no longer awaited.
    CallCancel(CallCancel),
    /// Answers [`PageToBridge::ClientRequests`] with the responses of the client.
    ClientResponses(ClientResponses),
    /// Lists the resources that clients are subscribed to. It is sent whenever they change.
    Subscriptions(Subscriptions),
    /// Checks that page code runs. It answers [`PageToBridge::HeartbeatAck`] with the same number.
    Heartbeat(Heartbeat),
    /// Answers [`PageToBridge::CallsCheck`].
    CallsAlive(CallsAlive),
    /// Answers [`PageToBridge::Renew`]: the fresh token is valid from now on.
    Renewed(Renewed),
    /// Answers [`PageToBridge::Renew`]: the fresh token is rejected, and the former stays valid.
    RenewalFailed(RenewalFailed),
    /// Lists the AI clients that are connected for this token. It is sent whenever they change.
    Clients(Clients),
    /// Ends the session. A close follows.
    SessionClosed(SessionClosed),
    /// The agent has accepted the query.
    #[serde(rename = "query_accepted")]
    QueryAccepted(QueryAccepted),
    /// Reports the progress of the agent.
    #[serde(rename = "query_progress")]
    QueryProgress(QueryProgress),
    /// The agent has completed the query.
    #[serde(rename = "query_complete")]
    QueryComplete(QueryComplete),
    /// The query has failed.
    #[serde(rename = "query_failure")]
    QueryFailure(QueryFailure),
    /// The agent has cancelled the query.
    #[serde(rename = "query_cancel")]
    QueryCancel(QueryCancel),
}

impl BridgeToPage {
    /// Decodes one text frame.
    ///
    /// # Errors
    /// [`DecodeError`] when the frame is not a message of this version.
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

    /// Encodes the message as one text frame.
    pub fn encode(&self) -> String {
        encode(self)
    }
}

fn message_type(text: &str) -> Result<Cow<'_, str>, DecodeError> {
    if let Some(kind) = leading_type(text) {
        return Ok(Cow::Borrowed(kind));
    }
    #[derive(Deserialize)]
    struct TypeField<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    serde_json::from_str::<TypeField<'_>>(text)
        .map(|message| message.kind)
        .map_err(DecodeError::NotAMessage)
}

/// Returns the `type` of a message of [`CALL_MESSAGE_TYPES`] without parsing the message.
///
/// Both sides write the `type` first, so the frequent messages are parsed once instead of twice. A
/// syntax error after the `type` is found when the fields are decoded, which is why every one of
/// these types has fields.
fn leading_type(text: &str) -> Option<&str> {
    let (kind, rest) = text.strip_prefix("{\"type\":\"")?.split_once('"')?;
    (rest.starts_with(',') && CALL_MESSAGE_TYPES.contains(&kind)).then_some(kind)
}

/// The types of the messages that a call consists of.
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

fn decode_query(text: &str) -> Result<Query, DecodeError> {
    #[derive(Deserialize)]
    struct UuidField {
        uuid: QueryId,
    }
    decode_fields(page_to_bridge::QUERY, text).map_err(|error| match error {
        DecodeError::BadFields { kind, error } => match serde_json::from_str(text) {
            Ok(UuidField { uuid }) if uuid.as_str().len() <= MAX_QUERY_ID_BYTES => {
                DecodeError::BadQuery { uuid, error }
            }
            _ => DecodeError::BadFields { kind, error },
        },
        error => error,
    })
}

fn encode(message: &impl Serialize) -> String {
    /// Enough for most messages of a call.
    const INITIAL_CAPACITY: usize = 512;
    let mut text = Vec::with_capacity(INITIAL_CAPACITY);
    // A message consists of strings, numbers and raw JSON: encoding it cannot fail, and the result
    // is UTF-8.
    if serde_json::to_writer(&mut text, message).is_err() {
        text.clear();
    }
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_query_with_invalid_fields_is_read() {
        let decode = |text: &str| PageToBridge::decode(text).unwrap_err();
        for fields in [
            r#""prompt":1"#,
            r#""prompt":"p","tools":{}"#,
            r#""context":[]"#,
        ] {
            let error = decode(&format!(r#"{{"type":"query","uuid":"q",{fields}}}"#));
            let is_read =
                matches!(&error, DecodeError::BadQuery { uuid, .. } if uuid.as_str() == "q");
            assert!(is_read, "{error:?}");
        }
        let endless = "q".repeat(MAX_QUERY_ID_BYTES + 1);
        for uuid in ["1", &format!("\"{endless}\"")] {
            let error = decode(&format!(r#"{{"type":"query","uuid":{uuid},"prompt":1}}"#));
            assert!(matches!(error, DecodeError::BadFields { .. }), "{error:?}");
        }
    }

    #[test]
    fn a_response_of_any_length_decodes_or_fails_with_the_right_error() {
        for length in [1, crate::limits::PART_BYTES] {
            let text = "x".repeat(length);
            let valid = format!(r#"{{"type":"call-response","requestId":"c","result":"{text}"}}"#);
            let Ok(PageToBridge::CallResponse(response)) = PageToBridge::decode(&valid) else {
                panic!("no response of {length}")
            };
            assert_eq!(response.result.map(|raw| raw.get().len()), Some(length + 2));

            let truncated = &valid[..valid.len() - 2];
            let no_json = PageToBridge::decode(truncated);
            assert!(
                matches!(no_json, Err(DecodeError::NotAMessage(_))),
                "{length}"
            );
            let no_id = valid.replace("requestId", "id");
            let incomplete = PageToBridge::decode(&no_id);
            assert!(
                matches!(incomplete, Err(DecodeError::BadFields { .. })),
                "{length}"
            );
            let other = valid.replace("call-response", "call-responses");
            let unknown = PageToBridge::decode(&other);
            assert!(
                matches!(unknown, Err(DecodeError::UnknownType(_))),
                "{length}"
            );
        }
    }
}
