//! The prepared answer of the pages to calls.

use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::parts;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::load::dialect::{Dialect, Receipt};

/// The answer of a page to every call, split into frames beforehand.
pub(in crate::load) struct PageAnswer {
    dialect: Dialect,
    /// The text after the id in the first frame. A short message has no other frames.
    first: String,
    /// The other frames.
    rest: Vec<Utf8Bytes>,
}

/// The maximum size of the text before the result in the first part, in bytes.
const HEAD_BYTES: usize = 128;

/// Only one message in parts is in flight at a time, so all may have the same number.
const PART_NUMBER: u64 = 1;

impl PageAnswer {
    /// Prepares the answer; `payload` is JSON.
    pub(in crate::load) fn new(dialect: Dialect, payload: &str) -> Self {
        let has_parts = matches!(dialect, Dialect::V2 | Dialect::Minimum);
        let close = if dialect == Dialect::Bytes { "" } else { "}" };
        if !has_parts || payload.len() + HEAD_BYTES <= PART_BYTES {
            return Self {
                dialect,
                first: format!("{payload}{close}"),
                rest: Vec::new(),
            };
        }
        let (first, rest) = payload.split_at(payload.floor_char_boundary(PART_BYTES - HEAD_BYTES));
        let rest = format!("{rest}{close}");
        Self {
            dialect,
            first: first.to_owned(),
            rest: parts::split(&rest, PART_NUMBER)
                .map(Utf8Bytes::from)
                .collect(),
        }
    }

    /// Returns the frames that answer a frame, or `None` if it needs no answer.
    pub(in crate::load) fn frames_for(
        &self,
        frame: &str,
        receipt: Receipt,
    ) -> Option<Vec<Message>> {
        let Self { first, rest, .. } = self;
        let response = match self.dialect {
            Dialect::Bytes => {
                let (id, _) = frame.split_once(' ')?;
                return Some(vec![Message::text(format!("{id} {first}"))]);
            }
            Dialect::V1 => "tool-response",
            Dialect::V2 | Dialect::Minimum => "call-response",
        };
        if !frame.starts_with("{\"type\":\"tool-call\"") {
            return heartbeat(frame).map(|ack| vec![ack]);
        }
        let id = text_after(frame, "\"requestId\":\"")?;
        let (id, _) = id.split_once('"')?;
        let part = if rest.is_empty() { "" } else { "#+1 " };
        let mut frames = Vec::with_capacity(2 + rest.len());
        if self.dialect == Dialect::V2 && receipt != Receipt::None {
            let received = format!("{{\"type\":\"call-received\",\"requestId\":\"{id}\"}}");
            frames.push(Message::text(received));
        }
        let head =
            format!("{part}{{\"type\":\"{response}\",\"requestId\":\"{id}\",\"result\":{first}");
        frames.push(Message::text(head));
        frames.extend(rest.iter().cloned().map(Message::Text));
        Some(frames)
    }
}

fn heartbeat(frame: &str) -> Option<Message> {
    let sequence = text_after(frame, "{\"type\":\"heartbeat\",\"sequence\":")?;
    let digits = sequence.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(Message::text(format!(
        "{{\"type\":\"heartbeat-ack\",\"sequence\":{digits}}}"
    )))
}

fn text_after<'a>(text: &'a str, what: &str) -> Option<&'a str> {
    let at = memchr::memmem::find(text.as_bytes(), what.as_bytes())?;
    Some(&text[at + what.len()..])
}

#[cfg(test)]
mod tests {
    use bridge_protocol::PageToBridge;
    use bridge_protocol::parts::{Assembler, AssemblyStatus};

    use super::*;

    const CALL: &str =
        r#"{"type":"tool-call","requestId":"c7","toolName":"t","toolInput":{},"context":{}}"#;

    /// Returns the messages that a bridge decodes from the answer.
    fn decode_frames(answer: &PageAnswer, frame: &str) -> Vec<PageToBridge> {
        let mut assembler = Assembler::new(usize::MAX);
        let frames = answer.frames_for(frame, Receipt::Together).unwrap();
        let mut messages = Vec::new();
        for frame in frames {
            let frame = frame.into_text().unwrap();
            assert!(frame.len() <= PART_BYTES + 32, "{}", frame.len());
            if let AssemblyStatus::Complete(text) = assembler.push(&frame).unwrap() {
                messages.push(PageToBridge::decode(&text).unwrap());
            }
        }
        messages
    }

    #[test]
    fn calls_are_acknowledged_and_answered_in_one_frame_or_in_parts() {
        for payload in [
            "{\"a\":1}".to_owned(),
            format!("\"{}\"", "é".repeat(400_000)),
        ] {
            let answer = PageAnswer::new(Dialect::V2, &payload);
            match decode_frames(&answer, CALL).as_slice() {
                [
                    PageToBridge::CallReceived(received),
                    PageToBridge::CallResponse(response),
                ] => {
                    assert_eq!(received.request_id, "c7".into());
                    assert_eq!(response.request_id, "c7".into());
                    assert_eq!(response.result.as_ref().unwrap().get(), payload);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn heartbeats_are_answered_and_other_messages_are_not() {
        let answer = PageAnswer::new(Dialect::V2, "1");
        let frame = r#"{"type":"heartbeat","sequence":12,"answers":3}"#;
        match decode_frames(&answer, frame).as_slice() {
            [PageToBridge::HeartbeatAck(heartbeat)] => assert_eq!(heartbeat.sequence, 12),
            other => panic!("{other:?}"),
        }
        assert!(
            answer
                .frames_for("{\"type\":\"clients\"}", Receipt::Together)
                .is_none()
        );
    }
}
