//! Turns messages of a page into events of its realm, and builds the answer to its authentication.
//! The module has no socket: both the page socket and the in-memory bridge use it.

mod compact_response;
mod event_limits;
mod query_fields;

use std::borrow::Cow;
use std::time::Duration;

use bridge_protocol::limits::{MAX_FRAME_BYTES, MAX_QUERY_ID_BYTES};
use bridge_protocol::{
    Authenticated, BridgeId, BridgeToPage, CallError, CallHandOver, CallId, CallResponse,
    CloseCode, ErrorCode, Limits, PROTOCOL_VERSION, PageToBridge, QueryId, RegistrationFailure,
    RegistrationId, SessionId,
};

pub use compact_response::parse_compact_response;

use crate::definition::{DefinitionRegistry, SharedDefinition};
use crate::realm::{
    CallFailure, CallerEvent, ConnectionId, Effects, HandOverRequest, HandOverState, Now,
    PageAnswer, Realm, SessionAccepted,
};
use bridge_raw_json::{JsonSlice, RawJson};

/// The multiple of `max_definitions` up to which excess items are refused one by one. A
/// registration with more items closes the connection.
const REGISTRATION_FACTOR: usize = 16;

/// The limits of what a page may send, which the bridge also reports to the page.
#[derive(Clone, Copy, Debug)]
pub struct PageMessageLimits {
    /// The maximum number of definitions of one session.
    pub max_definitions: usize,
    /// The maximum size of the result of a call, in bytes.
    pub max_result_bytes: usize,
    /// The maximum size of a message, in bytes.
    pub max_message_bytes: usize,
    /// The interval between heartbeats.
    pub heartbeat: Duration,
}

/// The code and reason with which the bridge closes a connection.
#[derive(Clone, Debug)]
pub struct CloseFrame {
    pub code: CloseCode,
    pub reason: Cow<'static, str>,
}

impl CloseFrame {
    pub fn new(code: CloseCode, reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            reason: reason.into(),
        }
    }

    fn violation(reason: &'static str) -> Self {
        Self::new(CloseCode::PolicyViolation, reason)
    }
}

/// A parsed and checked message. Slow work, such as parsing definitions, is already done, so that
/// applying the event to the realm is fast.
#[derive(Debug)]
pub enum PageEvent {
    /// A parsed registration, in which each definition is valid or has failed.
    Registered(
        RegistrationId,
        Vec<Result<SharedDefinition, RegistrationFailure>>,
    ),
    /// The result or the failure of a call.
    Answered(CallId, Result<PageAnswer, CallFailure>),
    /// Progress or a log message of a call.
    CallEvent(CallId, CallerEvent),
    /// A query whose fields are invalid, with the error.
    MalformedQuery(QueryId, String),
    /// A handler arms or disarms the hand-over of its call.
    HandOver(CallId, HandOverRequest),
    /// Any other message, which is applied to the realm unchanged.
    Message(PageToBridge),
}

impl PageEvent {
    /// Checks and parses a message. The connection itself handles `authenticate`, `renew` and
    /// `leaving`.
    pub fn from_message(
        message: PageToBridge,
        limits: &PageMessageLimits,
        definitions: &DefinitionRegistry,
    ) -> Result<Self, CloseFrame> {
        Ok(match message {
            PageToBridge::Authenticate(_) => {
                return Err(CloseFrame::violation("`authenticate` comes once"));
            }
            PageToBridge::Register(registration) => {
                if registration.items.len() > REGISTRATION_FACTOR * limits.max_definitions {
                    let reason = "a registration has many times the items that a page may have";
                    return Err(CloseFrame::violation(reason));
                }
                let items = definitions.parse(&registration.items);
                Self::Registered(registration.registration_id, items)
            }
            PageToBridge::CallResponse(response) => {
                response_event(response, limits.max_result_bytes)
            }
            PageToBridge::CallError(error) => error_event(error, limits.max_result_bytes),
            PageToBridge::CallProgress(progress) => Self::CallEvent(
                progress.request_id.clone(),
                event_limits::progress_event(progress),
            ),
            PageToBridge::CallLog(log) => {
                Self::CallEvent(log.request_id.clone(), event_limits::log_event(log))
            }
            PageToBridge::CallHandOver(CallHandOver { request_id, state }) => {
                let arm = |state| HandOverRequest::Arm(HandOverState::new(state, None));
                Self::HandOver(request_id, state.map_or(HandOverRequest::Disarm, arm))
            }
            PageToBridge::ClientRequests(asked)
                if !event_limits::is_answerable(&asked.requests) =>
            {
                let reason = "a message asks many times what a call may ask";
                return Err(CloseFrame::violation(reason));
            }
            other if query_id(&other).is_some_and(|id| id.as_str().len() > MAX_QUERY_ID_BYTES) => {
                return Err(CloseFrame::violation("a query has an endless uuid"));
            }
            PageToBridge::Query(query) => match query_fields::check(&query) {
                Ok(()) => Self::Message(PageToBridge::Query(query)),
                Err(error) => Self::MalformedQuery(query.uuid, error.to_owned()),
            },
            other => Self::Message(other),
        })
    }

    /// Builds the event of a response that was parsed by [`parse_compact_response`].
    pub fn from_compact_response(
        call: CallId,
        value: JsonSlice,
        limits: &PageMessageLimits,
    ) -> Self {
        let fits = check_size(value.get().len(), limits.max_result_bytes);
        Self::Answered(call, fits.map(|()| PageAnswer::Value(Some(value.into()))))
    }

    /// Applies the event to the realm.
    pub fn apply(
        self,
        realm: &mut Realm,
        id: &SessionId,
        connection: ConnectionId,
        now: Now,
    ) -> Effects {
        realm.page_message_received(id, connection);
        match self {
            PageEvent::Registered(registration, items) => {
                realm.items_registered(id, connection, registration, items, now)
            }
            PageEvent::Answered(call, answer) => {
                realm.call_answered(id, connection, &call, answer, now)
            }
            PageEvent::CallEvent(call, event) => {
                realm.call_event_emitted(id, connection, &call, event)
            }
            PageEvent::HandOver(call, request) => {
                realm.hand_over_requested(id, connection, &call, request);
                Effects::new()
            }
            PageEvent::MalformedQuery(uuid, error) => {
                realm.malformed_query_asked(id, connection, uuid, &error)
            }
            PageEvent::Message(message) => apply_message(message, realm, id, connection, now),
        }
    }
}

/// The size of the definitions in a message, in bytes. Building the event of a message takes time in
/// proportion to it.
pub fn definition_bytes(message: &PageToBridge) -> usize {
    match message {
        PageToBridge::Register(registration) => {
            let definitions = registration.items.iter();
            definitions.map(|item| item.definition.get().len()).sum()
        }
        _ => 0,
    }
}

/// The first message to an accepted page.
pub fn authenticated_message(
    page_limits: &PageMessageLimits,
    bridge_id: BridgeId,
    session_id: SessionId,
    accepted: SessionAccepted,
    now: Now,
) -> BridgeToPage {
    BridgeToPage::Authenticated(Authenticated {
        session_id,
        success: true,
        protocol: PROTOCOL_VERSION,
        bridge_id,
        session_name: accepted.session_name,
        awaited: accepted.awaited,
        now_ms: now.unix_ms,
        token_expires_in_ms: accepted.token_expires_in_ms,
        limits: Limits {
            max_result_bytes: page_limits.max_result_bytes,
            max_frame_bytes: MAX_FRAME_BYTES,
            max_message_bytes: page_limits.max_message_bytes,
            heartbeat_seconds: page_limits.heartbeat.as_secs_f64().ceil() as u64,
        },
    })
}

fn apply_message(
    message: PageToBridge,
    realm: &mut Realm,
    id: &SessionId,
    connection: ConnectionId,
    now: Now,
) -> Effects {
    match message {
        PageToBridge::Unregister(gone) => {
            realm.items_unregistered(id, connection, gone.registration_id, gone.items)
        }
        PageToBridge::ResourceUpdated(updated) => {
            realm.resource_updated(id, connection, &updated.uri)
        }
        PageToBridge::CallReceived(receipt) => {
            realm.call_received(id, connection, &receipt.request_id)
        }
        PageToBridge::CallsCheck(check) => realm.calls_checked(id, connection, check),
        PageToBridge::ClientRequests(asked) => {
            realm.client_requests_received(id, connection, &asked.request_id, asked.requests, now)
        }
        PageToBridge::HeartbeatAck(heartbeat) => {
            realm.heartbeat_answered(id, connection, heartbeat);
            Effects::new()
        }
        PageToBridge::PageState(state) => realm.page_state_changed(id, connection, state, now),
        PageToBridge::Activity {} => {
            realm.user_active(id, connection, now.unix_ms);
            Effects::new()
        }
        PageToBridge::Query(query) => realm.query_asked(id, connection, *query, now),
        PageToBridge::QueryAttach(attach) => {
            realm.query_attached(id, connection, &attach.uuid, now)
        }
        PageToBridge::QueryAnswer(answer) => realm.approval_answered(id, connection, answer),
        PageToBridge::QueryCancel(cancel) => {
            realm.query_cancelled_by_page(id, connection, &cancel.uuid, now)
        }
        // The connection handles some of these messages, and `from_message` turns the others into
        // separate events.
        _ => Effects::new(),
    }
}

/// Returns the id of the query that a message begins or attaches to.
fn query_id(message: &PageToBridge) -> Option<&QueryId> {
    match message {
        PageToBridge::Query(query) => Some(&query.uuid),
        PageToBridge::QueryAttach(attach) => Some(&attach.uuid),
        _ => None,
    }
}

fn response_event(response: CallResponse, max_bytes: usize) -> PageEvent {
    let parts = [
        &response.result,
        &response.content,
        &response.structured_content,
        &response.meta,
    ];
    let bytes = parts.into_iter().flatten().map(|raw| raw.get().len()).sum();
    let answer = match response.content {
        Some(content) => PageAnswer::Content {
            content,
            structured: response.structured_content,
            meta: response.meta,
        },
        None => PageAnswer::Value(response.result.map(RawJson::Owned)),
    };
    let answer = check_size(bytes, max_bytes).map(|()| answer);
    PageEvent::Answered(response.request_id, answer)
}

/// The codes of failures that a page can know. The others are those of the bridge, such as
/// `PageSuspended`, which means that a call has not run.
const PAGE_ERROR_CODES: [ErrorCode; 13] = [
    ErrorCode::CallCancelled,
    ErrorCode::ClientCapabilityMissing,
    ErrorCode::ClientRequestFailed,
    ErrorCode::HandlerFailed,
    ErrorCode::InternalError,
    ErrorCode::InvalidArguments,
    ErrorCode::InvalidResult,
    ErrorCode::PromptNotFound,
    ErrorCode::RequestTooLarge,
    ErrorCode::ResourceNotFound,
    ErrorCode::ResultTooLarge,
    ErrorCode::ToolNotAllowed,
    ErrorCode::ToolNotFound,
];

/// A failure whose code a page cannot know is a failure of its handler.
fn error_event(error: CallError, max_bytes: usize) -> PageEvent {
    let is_known = PAGE_ERROR_CODES.contains(&error.code);
    let failure = CallFailure {
        code: if is_known {
            error.code
        } else {
            ErrorCode::HandlerFailed
        },
        message: error.message,
        data: error.data,
        content: error.content,
        meta: error.meta,
    };
    let raw = [&failure.data, &failure.content, &failure.meta];
    let raw: usize = raw.into_iter().flatten().map(|raw| raw.get().len()).sum();
    let failure = match check_size(failure.message.len() + raw, max_bytes) {
        Ok(()) => failure,
        Err(too_large) => too_large,
    };
    PageEvent::Answered(error.request_id, Err(failure))
}

fn check_size(bytes: usize, most: usize) -> Result<(), CallFailure> {
    if bytes <= most {
        return Ok(());
    }
    Err(CallFailure::new(
        ErrorCode::ResultTooLarge,
        format!(
            "the result has {bytes} bytes and {most} is the limit: ask for less, or raise \
             `max_result_bytes`"
        ),
    ))
}
