//! Writes a message as one JSON object.
//!
//! Only the envelope is written here; values that are JSON already are passed through as pieces,
//! so that a large result is never copied into this module's memory.

use bridge_protocol::PROTOCOL_VERSION;
use bridge_protocol::names::page_to_bridge as kind;

use super::messages::{Authenticate, PageToBridge};
use super::text::decimal;

/// A part of a frame; the frame is all of them, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<V> {
    /// Text written here.
    Text(String),
    /// JSON text from elsewhere.
    Json(V),
}

/// The text frame for `message`, in pieces.
pub fn encode<V>(message: PageToBridge<V>) -> Vec<Piece<V>> {
    match message {
        PageToBridge::Authenticate(page) => authenticate(page),
        PageToBridge::RegisterTools {
            registration_id,
            tools,
        } => Object::new(kind::REGISTER_TOOLS)
            .string("registrationId", registration_id.as_str())
            .json_list("tools", tools)
            .finish(),
        PageToBridge::UnregisterTools {
            registration_id,
            names,
        } => Object::new(kind::UNREGISTER_TOOLS)
            .string("registrationId", registration_id.as_str())
            .string_list("names", &names)
            .finish(),
        PageToBridge::ToolReceived(call) => Object::new(kind::TOOL_RECEIVED)
            .string("requestId", call.as_str())
            .finish(),
        PageToBridge::ToolResponse { call, result } => Object::new(kind::TOOL_RESPONSE)
            .string("requestId", call.as_str())
            .maybe_json("result", result)
            .finish(),
        PageToBridge::ToolError {
            call,
            code,
            message,
            data,
        } => Object::new(kind::TOOL_ERROR)
            .string("requestId", call.as_str())
            .string("code", code.as_str())
            .string("message", &message)
            .maybe_json("data", data)
            .finish(),
        PageToBridge::HeartbeatAck { sequence } => Object::new(kind::HEARTBEAT_ACK)
            .number("sequence", sequence)
            .finish(),
        PageToBridge::PageState {
            visible,
            focused,
            page_title,
        } => Object::new(kind::PAGE_STATE)
            .string("visibility", if visible { "visible" } else { "hidden" })
            .literal("focused", if focused { "true" } else { "false" })
            .maybe_string("pageTitle", page_title.as_deref())
            .finish(),
        PageToBridge::Leaving => Object::new(kind::LEAVING).finish(),
    }
}

fn authenticate<V>(page: Authenticate<V>) -> Vec<Piece<V>> {
    let session_id = page.session_id.as_ref().map(|id| id.as_str());
    let frame = Object::new(kind::AUTHENTICATE)
        .number("protocol", u64::from(PROTOCOL_VERSION))
        .string("authToken", &page.auth_token.0)
        .maybe_string("sessionId", session_id)
        .maybe_string("sessionName", page.session_name.as_deref())
        .maybe_string("origin", page.origin.as_deref())
        .maybe_string("pageTitle", page.page_title.as_deref())
        .maybe_string("userAgent", page.user_agent.as_deref())
        .maybe_json("app", page.app);
    match page.timestamp {
        Some(timestamp) => frame.number("timestamp", timestamp).finish(),
        None => frame.finish(),
    }
}

/// A JSON object under construction.
struct Object<V> {
    finished: Vec<Piece<V>>,
    text: String,
}

impl<V> Object<V> {
    fn new(kind: &str) -> Self {
        Self {
            finished: Vec::new(),
            text: String::from("{\"type\":"),
        }
        .then_string(kind)
    }

    fn string(self, name: &str, value: &str) -> Self {
        self.name(name).then_string(value)
    }

    fn maybe_string(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.string(name, value),
            None => self,
        }
    }

    fn number(self, name: &str, value: u64) -> Self {
        self.literal(name, &decimal(value))
    }

    fn literal(self, name: &str, value: &str) -> Self {
        let mut object = self.name(name);
        object.text.push_str(value);
        object
    }

    fn maybe_json(self, name: &str, value: Option<V>) -> Self {
        match value {
            Some(value) => self.name(name).then_json(value),
            None => self,
        }
    }

    fn json_list(self, name: &str, values: Vec<V>) -> Self {
        let mut object = self.literal(name, "[");
        for (index, value) in values.into_iter().enumerate() {
            object.text.push_str(if index > 0 { "," } else { "" });
            object = object.then_json(value);
        }
        object.text.push(']');
        object
    }

    fn string_list(self, name: &str, values: &[String]) -> Self {
        let mut object = self.literal(name, "[");
        for (index, value) in values.iter().enumerate() {
            object.text.push_str(if index > 0 { "," } else { "" });
            object = object.then_string(value);
        }
        object.text.push(']');
        object
    }

    fn name(mut self, name: &str) -> Self {
        self.text.push_str(",\"");
        self.text.push_str(name);
        self.text.push_str("\":");
        self
    }

    fn then_string(mut self, value: &str) -> Self {
        push_string(&mut self.text, value);
        self
    }

    fn then_json(mut self, value: V) -> Self {
        self.finished
            .push(Piece::Text(std::mem::take(&mut self.text)));
        self.finished.push(Piece::Json(value));
        self
    }

    fn finish(mut self) -> Vec<Piece<V>> {
        self.text.push('}');
        self.finished.push(Piece::Text(self.text));
        self.finished
    }
}

/// RFC 8259 section 7: quotation mark, reverse solidus and control characters must be escaped.
fn push_string(text: &mut String, value: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    text.push('"');
    for character in value.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            control if control < ' ' => {
                text.push_str("\\u00");
                text.push(char::from(HEX[usize::from(control as u8 >> 4)]));
                text.push(char::from(HEX[usize::from(control as u8 & 15)]));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}
