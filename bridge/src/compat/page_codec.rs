//! The socket of a v1 page: its frames as our messages, ours as its frames.
//!
//! A field that is absent has no key: pages of v1 take no `null` in its place.

mod close;
mod frame;
mod queries;
mod response;
#[cfg(test)]
mod tests;

use bridge_protocol::{
    Authenticate, AuthenticationFailed, BridgeToPage, CallId, Definition, ErrorCode, Kind,
    PageToBridge, QueryId, Register, Registered, RegistrationFailure, RegistrationId, SessionId,
    to_well_formed,
};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use frame::{Frame, string_field};

pub(crate) use close::{close_frame, compat_code, rejection};
pub(crate) use frame::StrictMode;
pub(crate) use response::{ResourceContent, encode_contents};

/// The longest session id in the address. Pages of v1 choose theirs freely.
pub(crate) const MAX_SESSION_ID_BYTES: usize = 4096;

/// A frame is not JSON, no object, or lacks the object that it is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadFrame;

impl BadFrame {
    /// What the page reads when the connection is closed over it.
    pub(crate) const REASON: &str = "Invalid JSON";
}

/// What a page says.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a box for each answer would cost more"
)]
pub(crate) enum CompatInbound {
    /// One of our own messages, in its words.
    Message(PageToBridge),
    /// Who it is, again: it starts anew.
    Authenticate(Box<Authenticate>),
    /// The user did something, at this time on the page's clock: Unix milliseconds.
    Activity(Option<u64>),
    /// A resource was read, or not: what the page says of it.
    ResourceResponse(CallId, Result<ResourceContent, String>),
    /// A type that v1 does not have.
    Unknown(String),
}

/// Reads one text frame.
pub(crate) fn decode(text: &str, strict: StrictMode) -> Result<CompatInbound, BadFrame> {
    let text = &to_well_formed(text);
    // The fields of an array are not what they seem.
    if !text.trim_start().starts_with('{') {
        return Err(BadFrame);
    }
    let frame: Frame<'_> = serde_json::from_str(text).map_err(|_| BadFrame)?;
    // By far the most frames of a page that is used.
    if frame.kind.map(RawValue::get) == Some("\"activity\"") {
        return Ok(CompatInbound::Activity(frame.timestamp_ms()));
    }
    let kind = string_field(frame.kind).unwrap_or_default();
    Ok(match kind.as_ref() {
        "activity" => CompatInbound::Activity(frame.timestamp_ms()),
        "register-tool" => tool_registration(&frame)?,
        "register-resource" => register_message(
            RESOURCE_REGISTRATION,
            Kind::Resource,
            object_field(frame.resource)?,
        ),
        "tool-response" => match string_field(frame.request_id) {
            Some(id) => CompatInbound::Message(response::tool_response(
                CallId::from(id.as_ref()),
                frame.result,
                strict,
            )),
            None => CompatInbound::Unknown(kind.into_owned()),
        },
        "resource-response" => match string_field(frame.request_id) {
            Some(id) => {
                let read = response::resource_response(&frame);
                CompatInbound::ResourceResponse(CallId::from(id.as_ref()), read)
            }
            None => CompatInbound::Unknown(kind.into_owned()),
        },
        // As in our own dialect.
        "authenticate" | "query" | "query_cancel" => match PageToBridge::decode(text) {
            Ok(PageToBridge::Authenticate(hello)) => CompatInbound::Authenticate(Box::new(hello)),
            Ok(message) => CompatInbound::Message(message),
            Err(_) => CompatInbound::Unknown(kind.into_owned()),
        },
        _ => CompatInbound::Unknown(kind.into_owned()),
    })
}

/// The registrations of a page, told apart: only tools can be refused in words.
const TOOL_REGISTRATION: &str = "tool";
const RESOURCE_REGISTRATION: &str = "resource";

fn register_message(id: &str, kind: Kind, definition: Box<RawValue>) -> CompatInbound {
    CompatInbound::Message(PageToBridge::Register(Register {
        registration_id: RegistrationId::from(id),
        items: vec![Definition { kind, definition }],
    }))
}

/// Without its output schema: its own bridge passed none on, so that its pages may answer
/// something else, and strict clients hold what is listed against the answers.
fn tool_registration(frame: &Frame<'_>) -> Result<CompatInbound, BadFrame> {
    let mut definition = object_field(frame.tool)?;
    if definition.get().contains("\"outputSchema\"") {
        let mut tool: Map<String, Value> =
            serde_json::from_str(definition.get()).map_err(|_| BadFrame)?;
        if tool.shift_remove("outputSchema").is_some() {
            definition = to_raw_value(&tool).map_err(|_| BadFrame)?;
        }
    }
    Ok(register_message(TOOL_REGISTRATION, Kind::Tool, definition))
}

/// The object that a frame is about.
fn object_field(field: Option<&RawValue>) -> Result<Box<RawValue>, BadFrame> {
    field
        .filter(|raw| raw.get().starts_with('{'))
        .map(ToOwned::to_owned)
        .ok_or(BadFrame)
}

/// What the bridge says.
#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
enum CompatOutbound<'a> {
    Authenticated {
        session_id: &'a SessionId,
        success: bool,
    },
    AuthenticationFailed {
        error: &'a str,
        code: ErrorCode,
    },
    ToolCall {
        request_id: &'a CallId,
        tool_name: &'a str,
        tool_input: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        query_id: Option<&'a QueryId>,
    },
    ResourceRead {
        request_id: &'a CallId,
        uri: &'a str,
    },
    ToolRegistrationError {
        tool_name: &'a str,
        error: ErrorCode,
        message: &'a str,
    },
    SessionClosed {
        reason: &'a str,
        code: ErrorCode,
    },
    SessionExpired {
        code: ErrorCode,
    },
}

/// Writes one text frame; `None` when v1 has no word for it.
pub(crate) fn encode(message: &BridgeToPage) -> Option<String> {
    let frame = match message {
        BridgeToPage::Authenticated(accepted) => CompatOutbound::Authenticated {
            session_id: &accepted.session_id,
            success: true,
        },
        BridgeToPage::AuthenticationFailed(AuthenticationFailed { error, code }) => {
            CompatOutbound::AuthenticationFailed { error, code: *code }
        }
        BridgeToPage::ToolCall(call) => CompatOutbound::ToolCall {
            request_id: &call.request_id,
            tool_name: &call.tool_name,
            tool_input: &call.tool_input,
            query_id: call.context.query_id.as_ref(),
        },
        BridgeToPage::ResourceRead(read) => CompatOutbound::ResourceRead {
            request_id: &read.request_id,
            uri: &read.uri,
        },
        BridgeToPage::Registered(registered) => tool_rejection(registered)?,
        BridgeToPage::SessionClosed(closed) if closed.code == ErrorCode::SessionExpired => {
            CompatOutbound::SessionExpired { code: closed.code }
        }
        BridgeToPage::SessionClosed(closed) => CompatOutbound::SessionClosed {
            reason: &closed.reason,
            code: compat_code(closed.code),
        },
        _ => return queries::encode(message),
    };
    serde_json::to_string(&frame).ok()
}

/// A page hears only of a tool that is refused.
fn tool_rejection(registered: &Registered) -> Option<CompatOutbound<'_>> {
    let failure = registered.errors.first()?;
    let is_tool = registered.registration_id.as_str() == TOOL_REGISTRATION;
    is_tool.then(|| CompatOutbound::ToolRegistrationError {
        tool_name: failure.name.as_deref().unwrap_or_default(),
        error: compat_code(failure.code),
        message: &failure.message,
    })
}

/// A page of v1 cannot be told of a resource that is refused: for the log.
pub(crate) fn resource_rejection(message: &BridgeToPage) -> Option<&RegistrationFailure> {
    match message {
        BridgeToPage::Registered(answer)
            if answer.registration_id.as_str() == RESOURCE_REGISTRATION =>
        {
            answer.errors.first()
        }
        _ => None,
    }
}
