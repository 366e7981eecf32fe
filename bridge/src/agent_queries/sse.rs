//! A decoder for the server-sent events with which an agent may respond to a query.
//!
//! The `sse-stream` crate is not used: it stores a line of any length, and it fails at a field without
//! a colon, which the standard permits.

use std::borrow::Cow;

use memchr::memchr2;

/// The maximum size of a line and of an event.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A complete event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentSseEvent {
    /// The event type, which may be empty.
    pub(crate) name: String,
    pub(crate) data: String,
}

/// The error for an event of more than [`MAX_EVENT_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

impl EventTooLong {
    pub(crate) fn message(&self) -> String {
        format!("The agent sent an event of more than {MAX_EVENT_BYTES} bytes")
    }
}

/// A decoder for a stream that arrives in chunks (HTML, "Interpreting an event stream").
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    line: Vec<u8>,
    event: AgentSseEvent,
    has_data: bool,
    /// Whether the first line has ended. Before it, there may be a byte order mark.
    has_begun: bool,
    /// Whether the last byte was a carriage return: a line feed after it does not end another line.
    after_cr: bool,
}

impl SseDecoder {
    /// Decodes a chunk, and calls `on_event` for each event that it completes.
    pub(crate) fn decode(
        &mut self,
        mut bytes: &[u8],
        mut on_event: impl FnMut(AgentSseEvent),
    ) -> Result<(), EventTooLong> {
        if std::mem::take(&mut self.after_cr) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            let ends_with_return = rest[0] == b'\r';
            bytes = &rest[1..];
            if ends_with_return {
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            self.append(line)?;
            let line = std::mem::take(&mut self.line);
            if let Some(event) = self.end_line(&line) {
                on_event(event);
            }
        }
        self.append(bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        if self.line.len() + self.event.data.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(EventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Interprets a line. An empty line ends the event.
    fn end_line(&mut self, mut line: &[u8]) -> Option<AgentSseEvent> {
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Comments keep the connection alive; `id` and `retry` are for browsers.
            _ => {}
        }
        None
    }
}

/// Returns the first 64 characters of a text, for messages.
pub(super) fn excerpt(text: &str) -> Cow<'_, str> {
    const EXCERPT_CHARS: usize = 64;
    match text.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> AgentSseEvent {
        AgentSseEvent {
            name: name.to_owned(),
            data: data.to_owned(),
        }
    }

    fn decode_all(chunks: &[&[u8]]) -> Result<Vec<AgentSseEvent>, EventTooLong> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.decode(chunk, |event| events.push(event))?;
        }
        Ok(events)
    }

    #[test]
    fn decoding_does_not_depend_on_chunks_or_line_ends() {
        let expected = [
            event("a", "{\"é\":1}"),
            event("", "one\ntwo"),
            event("b", ""),
        ];
        for end in ["\n", "\r\n", "\r"] {
            let text = [
                ": keepalive",
                "",
                "event: a",
                "id: 7",
                "data: {\"é\":1}",
                "",
                "data:one",
                "data: two",
                "",
                "event: nothing",
                "",
                // A byte order mark may only begin the stream.
                "\u{feff}data: no field",
                "",
                "event:b",
                "data",
                "",
                "data: cut",
            ];
            let text = format!("\u{feff}{}", text.join(end));
            for at in 0..=text.len() {
                let (one, other) = text.as_bytes().split_at(at);
                assert_eq!(decode_all(&[one, other]).unwrap(), expected, "{end:?} {at}");
            }
        }
    }

    #[test]
    fn an_event_over_the_limit_fails_at_once() {
        let longest = vec![b'x'; MAX_EVENT_BYTES];
        let fits = decode_all(&[b"data: ", &longest[6..], b"\n\n"]).unwrap();
        assert_eq!(fits[0].data.len(), MAX_EVENT_BYTES - 6);
        assert_eq!(decode_all(&[&longest, b"x"]), Err(EventTooLong));
        let half = [b"data: ", &longest[..600_000], b"\n"].concat();
        assert_eq!(decode_all(&[&half, &half]), Err(EventTooLong));
    }
}
