//! Encodes a message as one JSON object.
//!
//! This module writes only the envelope. Values that are JSON already are passed through as parts,
//! so that a large result is never copied into the memory of the wasm.

use bridge_protocol::message_types::page_to_bridge as kind;
use bridge_protocol::{CallId, PROTOCOL_VERSION};

use super::messages::{Answer, Authenticate, PageToBridge};
use super::text::decimal;

/// A part of a frame. The frame is the concatenation of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FramePart<J> {
    /// Text of the envelope.
    Text(String),
    /// JSON text that is passed through.
    Json(J),
}

/// Encodes `message` as the parts of its text frame.
pub fn encode<J>(message: PageToBridge<J>) -> Vec<FramePart<J>> {
    match message {
        PageToBridge::Authenticate(page) => authenticate(page),
        PageToBridge::Register {
            registration_id,
            items,
        } => ObjectWriter::new(kind::REGISTER)
            .string("registrationId", registration_id.as_str())
            .array("items", items, |frame, item| {
                frame
                    .begin_object("kind", item.kind.as_str())
                    .json("definition", item.json)
                    .end_object()
            })
            .finish(),
        PageToBridge::Unregister {
            registration_id,
            items,
        } => ObjectWriter::new(kind::UNREGISTER)
            .string("registrationId", registration_id.as_str())
            .array("items", items, |frame, item| {
                frame
                    .begin_object("kind", item.kind.as_str())
                    .string("name", &item.name)
                    .end_object()
            })
            .finish(),
        PageToBridge::CallReceived(call) => call_message(kind::CALL_RECEIVED, &call).finish(),
        PageToBridge::CallResponse { call, answer } => call_message(kind::CALL_RESPONSE, &call)
            .answer("result", answer)
            .finish(),
        PageToBridge::CallError {
            call,
            code,
            message,
            details,
        } => call_message(kind::CALL_ERROR, &call)
            .string("code", code)
            .string("message", &message)
            .answer("data", details)
            .finish(),
        PageToBridge::CallProgress {
            call,
            progress,
            total,
            message,
        } => call_message(kind::CALL_PROGRESS, &call)
            .json("progress", progress)
            .maybe_json("total", total)
            .maybe_string("message", message.as_deref())
            .finish(),
        PageToBridge::CallLog {
            call,
            level,
            logger,
            data,
        } => call_message(kind::CALL_LOG, &call)
            .string("level", &level)
            .maybe_string("logger", logger.as_deref())
            .json("data", data)
            .finish(),
        PageToBridge::ClientRequests { call, requests } => {
            call_message(kind::CLIENT_REQUESTS, &call)
                .array("requests", requests, |frame, request| {
                    frame
                        .begin_object("key", &request.key)
                        .string("method", &request.method)
                        .json("params", request.params)
                        .end_object()
                })
                .finish()
        }
        PageToBridge::CallHandOver { call, state } => call_message(kind::CALL_HAND_OVER, &call)
            .json("state", state)
            .finish(),
        PageToBridge::ResourceUpdated { uri } => ObjectWriter::new(kind::RESOURCE_UPDATED)
            .string("uri", &uri)
            .finish(),
        PageToBridge::Query(message) => vec![FramePart::Json(message)],
        PageToBridge::HeartbeatAck { sequence } => ObjectWriter::new(kind::HEARTBEAT_ACK)
            .number("sequence", sequence)
            .finish(),
        PageToBridge::PageState {
            visible,
            focused,
            frozen,
            page_title,
        } => ObjectWriter::new(kind::PAGE_STATE)
            .string("visibility", if visible { "visible" } else { "hidden" })
            .literal("focused", if focused { "true" } else { "false" })
            .literal_if(frozen, "frozen", "true")
            .maybe_string("pageTitle", page_title.as_deref())
            .finish(),
        PageToBridge::Activity => ObjectWriter::new(kind::ACTIVITY).finish(),
        PageToBridge::CallsCheck { check, calls } => ObjectWriter::new(kind::CALLS_CHECK)
            .number("check", check)
            .call_ids("requestIds", calls)
            .finish(),
        PageToBridge::Renew(token) => ObjectWriter::new(kind::RENEW)
            .string("authToken", &token.0)
            .finish(),
        PageToBridge::Leaving { hands_over } => ObjectWriter::new(kind::LEAVING)
            .call_ids("handsOver", hands_over)
            .finish(),
    }
}

fn authenticate<J>(page: Authenticate<J>) -> Vec<FramePart<J>> {
    let session_id = page.session_id.as_ref().map(|id| id.as_str());
    let frame = ObjectWriter::new(kind::AUTHENTICATE)
        .number("protocol", u64::from(PROTOCOL_VERSION))
        .string("authToken", &page.auth_token.0)
        .maybe_string("sessionId", session_id)
        .maybe_string("documentId", page.document_id.as_deref())
        .maybe_string("sessionName", page.session_name.as_deref())
        .maybe_string("origin", page.origin.as_deref())
        .maybe_string("pageTitle", page.page_title.as_deref())
        .maybe_string("userAgent", page.user_agent.as_deref())
        .maybe_json("app", page.app);
    let frame = match page.timestamp {
        Some(timestamp) => frame.number("timestamp", timestamp),
        None => frame,
    };
    frame
        .literal_if(page.checks_late_calls, "checksLateCalls", "true")
        .maybe_string("sdkVersion", page.sdk_version)
        .finish()
}

/// Begins a message about a call.
fn call_message<J>(kind: &str, call: &CallId) -> ObjectWriter<J> {
    ObjectWriter::new(kind).string("requestId", call.as_str())
}

/// Writes a JSON object.
struct ObjectWriter<J> {
    parts: Vec<FramePart<J>>,
    text: String,
}

impl<J> ObjectWriter<J> {
    fn new(kind: &str) -> Self {
        Self {
            parts: Vec::new(),
            text: String::from("{\"type\":"),
        }
        .then_string(kind)
    }

    fn string(self, name: &str, value: &str) -> Self {
        self.key(name).then_string(value)
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
        let mut object = self.key(name);
        object.text.push_str(value);
        object
    }

    fn literal_if(self, condition: bool, name: &str, value: &str) -> Self {
        if condition {
            self.literal(name, value)
        } else {
            self
        }
    }

    fn maybe_json(self, name: &str, value: Option<J>) -> Self {
        match value {
            Some(value) => self.json(name, value),
            None => self,
        }
    }

    fn json(self, name: &str, value: J) -> Self {
        self.key(name).then_json(value)
    }

    /// Writes the result of a handler. `result` is the name of its value.
    fn answer(self, result: &str, answer: Answer<J>) -> Self {
        self.maybe_json(result, answer.result)
            .maybe_json("content", answer.content)
            .maybe_json("structuredContent", answer.structured_content)
            .maybe_json("_meta", answer.meta)
    }

    /// Writes an array with `write` for each element.
    fn array<T>(self, name: &str, values: Vec<T>, write: fn(Self, T) -> Self) -> Self {
        let mut object = self.literal(name, "[");
        for (index, value) in values.into_iter().enumerate() {
            object.text.push_str(if index > 0 { "," } else { "" });
            object = write(object, value);
        }
        object.text.push(']');
        object
    }

    fn call_ids(self, name: &str, calls: Vec<CallId>) -> Self {
        self.array(name, calls, |frame, call| frame.then_string(call.as_str()))
    }

    /// Begins a nested object with its first member.
    fn begin_object(mut self, name: &str, value: &str) -> Self {
        self.text.push_str("{\"");
        self.text.push_str(name);
        self.text.push_str("\":");
        self.then_string(value)
    }

    /// Ends a nested object.
    fn end_object(mut self) -> Self {
        self.text.push('}');
        self
    }

    fn key(mut self, name: &str) -> Self {
        self.text.push_str(",\"");
        self.text.push_str(name);
        self.text.push_str("\":");
        self
    }

    fn then_string(mut self, value: &str) -> Self {
        push_string(&mut self.text, value);
        self
    }

    fn then_json(mut self, value: J) -> Self {
        self.parts
            .push(FramePart::Text(std::mem::take(&mut self.text)));
        self.parts.push(FramePart::Json(value));
        self
    }

    fn finish(mut self) -> Vec<FramePart<J>> {
        self.text.push('}');
        self.parts.push(FramePart::Text(self.text));
        self.parts
    }
}

/// Appends a JSON string. RFC 8259 section 7: quotation mark, reverse solidus and control
/// characters must be escaped.
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
