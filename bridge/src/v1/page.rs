//! The socket of a v1 page: its frames as our messages, ours as its frames.
//!
//! A field that is absent has no key: pages of v1 take no `null` in its place.

mod answer;
mod ending;
mod queries;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use bridge_protocol::{
    Authenticate, AuthenticationFailed, BridgeToPage, CallId, Definition, ErrorCode, Kind,
    PageToBridge, QueryId, Register, Registered, RegistrationFailure, RegistrationId, SessionId,
    well_formed,
};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

pub(crate) use answer::{Content, contents};
pub(crate) use ending::{closing, code, refusal};

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
pub(crate) enum Heard {
    /// One of our own messages, in its words.
    Said(PageToBridge),
    /// Who it is, again: it starts anew.
    Authenticates(Box<Authenticate>),
    /// The user did something, at this time on the page's clock: Unix milliseconds.
    Active(Option<u64>),
    /// A resource was read, or not: what the page says of it.
    Read(CallId, Result<Content, String>),
    /// A type that v1 does not have.
    Unknown(String),
}

/// JavaScript's clock ends here.
const LATEST_MS: f64 = 8.64e15;

/// Whether pages are read exactly as their own bridge read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strict(
    /// See [`Compat`](crate::Compat).
    pub(crate) bool,
);

/// All fields of all messages: a frame is read once, whatever it is.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    tool: Option<&'a RawValue>,
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    blob: Option<&'a RawValue>,
    #[serde(borrow)]
    mime_type: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Reads one text frame.
pub(crate) fn decode(text: &str, strict: Strict) -> Result<Heard, BadFrame> {
    let text = &well_formed(text);
    // The fields of an array are not what they seem.
    if !text.trim_start().starts_with('{') {
        return Err(BadFrame);
    }
    let frame: Frame<'_> = serde_json::from_str(text).map_err(|_| BadFrame)?;
    // By far the most frames of a page that is used.
    if frame.kind.map(RawValue::get) == Some("\"activity\"") {
        return Ok(Heard::Active(frame.milliseconds()));
    }
    let kind = text_of(frame.kind).unwrap_or_default();
    Ok(match kind.as_ref() {
        "activity" => Heard::Active(frame.milliseconds()),
        "register-tool" => frame.tool()?,
        "register-resource" => registered(RESOURCE, Kind::Resource, object(frame.resource)?),
        "tool-response" => match text_of(frame.request_id) {
            Some(id) => Heard::Said(answer::of_tool(
                CallId::from(id.as_ref()),
                frame.result,
                strict,
            )),
            None => Heard::Unknown(kind.into_owned()),
        },
        "resource-response" => match text_of(frame.request_id) {
            Some(id) => {
                let read = answer::of_resource(&frame);
                Heard::Read(CallId::from(id.as_ref()), read)
            }
            None => Heard::Unknown(kind.into_owned()),
        },
        // As in our own dialect.
        "authenticate" | "query" | "query_cancel" => match PageToBridge::decode(text) {
            Ok(PageToBridge::Authenticate(hello)) => Heard::Authenticates(Box::new(hello)),
            Ok(message) => Heard::Said(message),
            Err(_) => Heard::Unknown(kind.into_owned()),
        },
        _ => Heard::Unknown(kind.into_owned()),
    })
}

/// The registrations of a page, told apart: only tools can be refused in words.
const TOOL: &str = "tool";
const RESOURCE: &str = "resource";

fn registered(id: &str, kind: Kind, definition: Box<RawValue>) -> Heard {
    Heard::Said(PageToBridge::Register(Register {
        registration_id: RegistrationId::from(id),
        items: vec![Definition { kind, definition }],
    }))
}

impl Frame<'_> {
    fn milliseconds(&self) -> Option<u64> {
        // It may show fractions.
        let at: f64 = self.timestamp?.get().parse().ok()?;
        (0.0..=LATEST_MS).contains(&at).then_some(at as u64)
    }

    /// Without its output schema: its own bridge passed none on, so that its pages may answer
    /// something else, and strict clients hold what is listed against the answers.
    fn tool(&self) -> Result<Heard, BadFrame> {
        let mut definition = object(self.tool)?;
        if definition.get().contains("\"outputSchema\"") {
            let mut tool: Map<String, Value> =
                serde_json::from_str(definition.get()).map_err(|_| BadFrame)?;
            if tool.shift_remove("outputSchema").is_some() {
                definition = to_raw_value(&tool).map_err(|_| BadFrame)?;
            }
        }
        Ok(registered(TOOL, Kind::Tool, definition))
    }
}

/// The object that a frame is about.
fn object(field: Option<&RawValue>) -> Result<Box<RawValue>, BadFrame> {
    field
        .filter(|raw| raw.get().starts_with('{'))
        .map(ToOwned::to_owned)
        .ok_or(BadFrame)
}

/// A field that must be a string.
fn text_of(field: Option<&RawValue>) -> Option<Cow<'_, str>> {
    field.and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// What the bridge says.
#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
enum Told<'a> {
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
    let told = match message {
        BridgeToPage::Authenticated(welcome) => Told::Authenticated {
            session_id: &welcome.session_id,
            success: true,
        },
        BridgeToPage::AuthenticationFailed(AuthenticationFailed { error, code }) => {
            Told::AuthenticationFailed { error, code: *code }
        }
        BridgeToPage::ToolCall(call) => Told::ToolCall {
            request_id: &call.request_id,
            tool_name: &call.tool_name,
            tool_input: &call.tool_input,
            query_id: call.context.query_id.as_ref(),
        },
        BridgeToPage::ResourceRead(read) => Told::ResourceRead {
            request_id: &read.request_id,
            uri: &read.uri,
        },
        BridgeToPage::Registered(answer) => refused_tool(answer)?,
        BridgeToPage::SessionClosed(ended) if ended.code == ErrorCode::SessionExpired => {
            Told::SessionExpired { code: ended.code }
        }
        BridgeToPage::SessionClosed(ended) => Told::SessionClosed {
            reason: &ended.reason,
            code: code(ended.code),
        },
        _ => return queries::encode(message),
    };
    serde_json::to_string(&told).ok()
}

/// A page hears only of a tool that is refused.
fn refused_tool(answer: &Registered) -> Option<Told<'_>> {
    let refused = answer.errors.first()?;
    let is_tool = answer.registration_id.as_str() == TOOL;
    is_tool.then(|| Told::ToolRegistrationError {
        tool_name: refused.name.as_deref().unwrap_or_default(),
        error: code(refused.code),
        message: &refused.message,
    })
}

/// A page of v1 cannot be told of a resource that is refused: for the log.
pub(crate) fn refused_resource(message: &BridgeToPage) -> Option<&RegistrationFailure> {
    match message {
        BridgeToPage::Registered(answer) if answer.registration_id.as_str() == RESOURCE => {
            answer.errors.first()
        }
        _ => None,
    }
}
