//! The codec for the socket of a page of mcp-web 0.1: it decodes frames into messages of this
//! bridge, and encodes messages of this bridge as frames.
//!
//! An absent field has no key: such pages do not accept `null` instead.

mod close;
mod frame;
mod queries;
mod response;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Duration;

use bridge_protocol::{
    Authenticate, AuthenticationFailed, BridgeToPage, CallId, Definition, ErrorCode, Kind,
    PageToBridge, QueryId, Register, Registered, RegistrationFailure, RegistrationId, SessionId,
    to_well_formed,
};
use bridge_realm::realm::PageAbilities;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use frame::{Frame, string_field};

use close::similar_code;
pub use close::{close_frame, rejection};
pub use frame::StrictMode;
pub use response::{ResourceText, encode_contents};

/// The maximum length of a session id in the URL, which pages choose themselves.
pub const MAX_SESSION_ID_BYTES: usize = 4096;

/// The abilities of a page of mcp-web 0.1. It registers everything again on each connection, and its
/// bridge gave up calls after 30 s.
pub const PAGE_ABILITIES: PageAbilities = PageAbilities {
    resumes_sessions: false,
    sends_receipts: false,
    checks_late_calls: false,
    answers_heartbeats: false,
    accepts_other_name: false,
    has_controllable_agent: false,
    validates_arguments: true,
    fails_with_results: true,
    call_timeout: Some(Duration::from_secs(30)),
};

/// The error for a frame that is not a JSON object or lacks its required object.
#[derive(Debug, PartialEq, Eq)]
pub struct BadFrame;

impl BadFrame {
    /// The reason in the close frame.
    pub const REASON: &str = "Invalid JSON";
}

/// A decoded frame of a page.
#[derive(Debug)]
pub enum Inbound {
    /// A message that this bridge has too.
    Message(PageToBridge),
    /// The page authenticates again, and begins a new session.
    Authenticate(Box<Authenticate>),
    /// The user was active, at this time of the page's clock in Unix milliseconds.
    Activity(Option<u64>),
    /// The content of a resource, or the error of the page.
    ResourceResponse(CallId, Result<ResourceText, String>),
    /// A message type that these pages do not have.
    Unknown(String),
}

/// Decodes one text frame.
pub fn decode(text: &str, strict: StrictMode) -> Result<Inbound, BadFrame> {
    let text = &to_well_formed(text);
    // serde would also accept an array of the fields.
    if !text.trim_start().starts_with('{') {
        return Err(BadFrame);
    }
    let frame: Frame<'_> = serde_json::from_str(text).map_err(|_| BadFrame)?;
    // Most frames of an active page are of this type.
    if frame.kind.map(RawValue::get) == Some("\"activity\"") {
        return Ok(Inbound::Activity(frame.timestamp_ms()));
    }
    let kind = string_field(frame.kind).unwrap_or_default();
    Ok(match kind.as_ref() {
        "activity" => Inbound::Activity(frame.timestamp_ms()),
        "register-tool" => tool_registration(&frame)?,
        "register-resource" => register_message(
            RESOURCE_REGISTRATION,
            Kind::Resource,
            object_field(frame.resource)?,
        ),
        "tool-response" => match string_field(frame.request_id) {
            Some(id) => Inbound::Message(response::tool_response(
                CallId::from(id.as_ref()),
                frame.result,
                strict,
            )),
            None => Inbound::Unknown(kind.into_owned()),
        },
        "resource-response" => match string_field(frame.request_id) {
            Some(id) => {
                let read = response::resource_response(&frame);
                Inbound::ResourceResponse(CallId::from(id.as_ref()), read)
            }
            None => Inbound::Unknown(kind.into_owned()),
        },
        // These messages have the same format as those of this bridge.
        "authenticate" | "query" | "query_cancel" => match PageToBridge::decode(text) {
            Ok(PageToBridge::Authenticate(hello)) => Inbound::Authenticate(hello),
            Ok(message) => Inbound::Message(message),
            Err(_) => Inbound::Unknown(kind.into_owned()),
        },
        _ => Inbound::Unknown(kind.into_owned()),
    })
}

/// The registration ids distinguish tools from resources: there is a message only for rejected tools.
const TOOL_REGISTRATION: &str = "tool";
const RESOURCE_REGISTRATION: &str = "resource";

fn register_message(id: &str, kind: Kind, definition: Box<RawValue>) -> Inbound {
    Inbound::Message(PageToBridge::Register(Register {
        registration_id: RegistrationId::from(id),
        items: vec![Definition { kind, definition }],
    }))
}

/// The registration of a tool without its output schema. The bridge of mcp-web 0.1 did not publish output
/// schemas, so that results of its pages may violate them, and strict clients would reject those.
fn tool_registration(frame: &Frame<'_>) -> Result<Inbound, BadFrame> {
    let mut definition = object_field(frame.tool)?;
    if definition.get().contains("\"outputSchema\"") {
        // The values stay text, because the definition may be longer than any that is parsed.
        let mut fields: IndexMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(definition.get()).map_err(|_| BadFrame)?;
        if fields.shift_remove("outputSchema").is_some() {
            definition = to_raw_value(&fields).map_err(|_| BadFrame)?;
        }
    }
    Ok(register_message(TOOL_REGISTRATION, Kind::Tool, definition))
}

/// A required object field.
fn object_field(field: Option<&RawValue>) -> Result<Box<RawValue>, BadFrame> {
    field
        .filter(|raw| raw.get().starts_with('{'))
        .map(ToOwned::to_owned)
        .ok_or(BadFrame)
}

/// A frame for a page.
#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
enum Outbound<'a> {
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

/// Encodes a message as one text frame; `None` if mcp-web 0.1 has no such message.
pub fn encode(message: &BridgeToPage) -> Option<String> {
    let frame = match message {
        BridgeToPage::Authenticated(accepted) => Outbound::Authenticated {
            session_id: &accepted.session_id,
            success: true,
        },
        BridgeToPage::AuthenticationFailed(AuthenticationFailed { error, code }) => {
            Outbound::AuthenticationFailed { error, code: *code }
        }
        BridgeToPage::ToolCall(call) => Outbound::ToolCall {
            request_id: &call.request_id,
            tool_name: &call.tool_name,
            tool_input: &call.tool_input,
            query_id: call.context.query_id.as_ref(),
        },
        BridgeToPage::ResourceRead(read) => Outbound::ResourceRead {
            request_id: &read.request_id,
            uri: &read.uri,
        },
        BridgeToPage::Registered(registered) => tool_rejection(registered)?,
        BridgeToPage::SessionClosed(closed) if closed.code == ErrorCode::SessionExpired => {
            Outbound::SessionExpired { code: closed.code }
        }
        BridgeToPage::SessionClosed(closed) => Outbound::SessionClosed {
            reason: &closed.reason,
            code: similar_code(closed.code),
        },
        _ => return queries::encode(message),
    };
    serde_json::to_string(&frame).ok()
}

/// The message for a rejected tool; there is none for other registrations.
fn tool_rejection(registered: &Registered) -> Option<Outbound<'_>> {
    let failure = registered.errors.first()?;
    let is_tool = registered.registration_id.as_str() == TOOL_REGISTRATION;
    is_tool.then(|| Outbound::ToolRegistrationError {
        tool_name: failure.name.as_deref().unwrap_or_default(),
        error: similar_code(failure.code),
        message: &failure.message,
    })
}

/// The rejection of a resource, for the log. mcp-web 0.1 has no message for it.
pub fn resource_rejection(message: &BridgeToPage) -> Option<&RegistrationFailure> {
    match message {
        BridgeToPage::Registered(answer)
            if answer.registration_id.as_str() == RESOURCE_REGISTRATION =>
        {
            answer.errors.first()
        }
        _ => None,
    }
}
