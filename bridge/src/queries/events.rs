//! The stream of events that an agent may answer with: server-sent events, read as they come.

use std::borrow::Cow;

use memchr::memchr2;

/// The longest line of an event, and the longest event.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// Something was sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// What it is called; may be empty.
    pub(super) name: String,
    pub(super) data: String,
}

/// An event has more than [`MAX_EVENT_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl TooLong {
    pub(super) fn message(&self) -> String {
        format!("The agent sent an event of more than {MAX_EVENT_BYTES} bytes")
    }
}

/// What has come of a stream, and is no whole event yet (HTML, "Interpreting an event stream").
#[derive(Debug, Default)]
pub(super) struct Reader {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a carriage return: a line feed that follows ends no line of its own.
    after_return: bool,
}

impl Reader {
    /// Takes up what came; `heard` gets each event that it completes.
    pub(super) fn take(
        &mut self,
        mut bytes: &[u8],
        mut heard: impl FnMut(Event),
    ) -> Result<(), TooLong> {
        if std::mem::take(&mut self.after_return) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            let ends_with_return = rest[0] == b'\r';
            bytes = &rest[1..];
            if ends_with_return {
                self.after_return = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            self.push(line)?;
            let line = std::mem::take(&mut self.line);
            if let Some(event) = self.ended(&line) {
                heard(event);
            }
        }
        self.push(bytes)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + self.event.data.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// A line has ended; an empty one ends its event.
    fn ended(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field.trim_start_matches('\u{feff}') {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Comments keep the line alive; the rest is for browsers.
            _ => {}
        }
        None
    }
}

/// Shortened, for messages.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    const SHOWN_CHARS: usize = 64;
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event {
            name: name.to_owned(),
            data: data.to_owned(),
        }
    }

    fn read(pieces: &[&[u8]]) -> Result<Vec<Event>, TooLong> {
        let mut reader = Reader::default();
        let mut events = Vec::new();
        for piece in pieces {
            reader.take(piece, |event| events.push(event))?;
        }
        Ok(events)
    }

    #[test]
    fn events_are_the_same_wherever_the_stream_is_divided_and_however_lines_end() {
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
                "event:b",
                "data",
                "",
                "data: cut",
            ];
            let text = format!("\u{feff}{}", text.join(end));
            for at in 0..=text.len() {
                let (one, other) = text.as_bytes().split_at(at);
                assert_eq!(read(&[one, other]).unwrap(), expected, "{end:?} {at}");
            }
        }
    }

    #[test]
    fn a_line_over_the_limit_is_not_waited_for() {
        let most = vec![b'x'; MAX_EVENT_BYTES];
        let fits = read(&[b"data: ", &most[6..], b"\n\n"]).unwrap();
        assert_eq!(fits[0].data.len(), MAX_EVENT_BYTES - 6);
        assert_eq!(read(&[&most, b"x"]), Err(TooLong));
        let half = [b"data: ", &most[..600_000], b"\n"].concat();
        assert_eq!(read(&[&half, &half]), Err(TooLong));
    }
}
