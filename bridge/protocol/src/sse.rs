//! The decoder of all event streams that this project reads (WHATWG HTML, section 9.2.6).
//!
//! The `sse-stream` crate is not used: it stores a line of any length, and it fails at a field
//! without a colon and at unknown fields, which the standard permits.

use std::collections::VecDeque;

/// The longest name of a field and the longest value of any field but `data` that is stored. Ids,
/// types of events and delays are shorter. A field with a longer one is ignored: a part of an id
/// would be another id.
const MAX_FIELD_BYTES: usize = 4 * 1024;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One event of a stream. It may have no data: `id` and `retry` also take effect alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent<D> {
    /// The type of the event. The standard says `message` for an empty one.
    pub name: String,
    /// The data; `None` if the event has no such field.
    pub data: Option<D>,
    /// The id, which a client sends to resume the stream. It may be empty.
    pub id: Option<String>,
    /// The delay before the client reconnects, in milliseconds.
    pub retry: Option<u64>,
}

impl<D> Default for SseEvent<D> {
    fn default() -> Self {
        Self {
            name: String::new(),
            data: None,
            id: None,
            retry: None,
        }
    }
}

impl<D> SseEvent<D> {
    /// Converts the data.
    pub fn map_data<T>(self, convert: impl FnOnce(D) -> T) -> SseEvent<T> {
        SseEvent {
            name: self.name,
            data: self.data.map(convert),
            id: self.id,
            retry: self.retry,
        }
    }
}

/// Stores the data of an event, which arrives in pieces.
pub trait SseData: Default {
    /// The reason why the stream is not decoded any further.
    type Error;

    /// Adds the next piece of data that may have `limit` bytes.
    ///
    /// # Errors
    /// When the stream must not be decoded any further.
    fn push(&mut self, piece: &[u8], limit: usize) -> Result<(), Self::Error>;
}

/// The data of an event as text, for streams that end with the first event that is too long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseText(Vec<u8>);

/// The error for an event whose data has more bytes than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseTooLong {
    /// The maximum number of bytes.
    pub limit: usize,
}

impl SseText {
    /// Returns the text. Bytes that are not UTF-8 become U+FFFD, as the standard requires.
    pub fn into_string(self) -> String {
        String::from_utf8(self.0)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl SseData for SseText {
    type Error = SseTooLong;

    fn push(&mut self, piece: &[u8], limit: usize) -> Result<(), SseTooLong> {
        if piece.len() > limit.saturating_sub(self.0.len()) {
            return Err(SseTooLong { limit });
        }
        self.0.extend_from_slice(piece);
        Ok(())
    }
}

/// The position of the decoder in a line.
#[derive(Debug, Default)]
enum ParseState {
    /// In the name of a field.
    #[default]
    Name,
    /// After the colon, where one space is ignored.
    Colon,
    /// In the value of a field.
    Value,
}

/// An incremental decoder of one event stream. The events do not depend on how the stream is
/// divided into chunks.
///
/// ```
/// use bridge_protocol::sse::{SseDecoder, SseText};
///
/// let mut decoder = SseDecoder::<SseText>::new(100);
/// decoder.decode(b"data: one\r");
/// decoder.decode(b"\ndata: two\r\n\r\n");
/// let event = decoder.next_event().unwrap().unwrap();
/// assert_eq!(event.data.unwrap().into_string(), "one\ntwo");
/// ```
#[derive(Debug)]
pub struct SseDecoder<D: SseData> {
    /// The maximum number of bytes of data of an event.
    limit: usize,
    /// Whether the first field name has ended. Before it, there may be a byte order mark.
    has_begun: bool,
    /// Whether the data of an event could not be stored. Nothing after it is decoded.
    has_failed: bool,
    state: ParseState,
    /// Whether the last byte was a carriage return. A line feed after it is part of the same line
    /// end.
    after_carriage_return: bool,
    name: Vec<u8>,
    /// The value of a field that is not `data`.
    value: Vec<u8>,
    /// Whether a name or value of the line was too long to be stored.
    is_field_cut: bool,
    event: SseEvent<D>,
    /// Whether the event has a field that takes effect without data.
    is_effective: bool,
    events: VecDeque<Result<SseEvent<D>, D::Error>>,
}

impl<D: SseData> SseDecoder<D> {
    /// Creates a decoder for events with at most `limit` bytes of data.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            has_begun: false,
            has_failed: false,
            state: ParseState::default(),
            after_carriage_return: false,
            name: Vec::new(),
            value: Vec::new(),
            is_field_cut: false,
            event: SseEvent::default(),
            is_effective: false,
            events: VecDeque::new(),
        }
    }

    /// Returns whether the next byte begins a line.
    pub fn is_between_lines(&self) -> bool {
        matches!(self.state, ParseState::Name) && self.name.is_empty()
    }

    /// Takes the next complete event. An error is the last item.
    pub fn next_event(&mut self) -> Option<Result<SseEvent<D>, D::Error>> {
        self.events.pop_front()
    }

    /// Decodes the next chunk of the stream, which may begin and end anywhere.
    pub fn decode(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(&first) = rest.first()
            && !self.has_failed
        {
            if std::mem::take(&mut self.after_carriage_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = match self.state {
                ParseState::Name => memchr::memchr3(b':', b'\r', b'\n', rest),
                ParseState::Colon => {
                    self.state = ParseState::Value;
                    self.begin_value();
                    if first == b' ' {
                        rest = &rest[1..];
                    }
                    continue;
                }
                ParseState::Value => memchr::memchr2(b'\r', b'\n', rest),
            };
            let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.append(text);
            rest = after;
            if let Some(&delimiter) = rest.first() {
                rest = &rest[1..];
                self.on_delimiter(delimiter);
            }
        }
    }

    fn begin_value(&mut self) {
        if self.name != b"data" {
            return;
        }
        if self.event.data.is_some() {
            self.push_data(b"\n");
        } else {
            self.event.data = Some(D::default());
        }
    }

    fn append(&mut self, text: &[u8]) {
        let field = match self.state {
            ParseState::Name => &mut self.name,
            _ if self.name == b"data" => return self.push_data(text),
            _ => &mut self.value,
        };
        let capacity = MAX_FIELD_BYTES.saturating_sub(field.len());
        field.extend_from_slice(&text[..text.len().min(capacity)]);
        self.is_field_cut |= text.len() > capacity;
    }

    fn push_data(&mut self, piece: &[u8]) {
        let Some(data) = &mut self.event.data else {
            return;
        };
        if let Err(error) = data.push(piece, self.limit) {
            self.has_failed = true;
            self.event = SseEvent::default();
            self.events.push_back(Err(error));
        }
    }

    fn on_delimiter(&mut self, delimiter: u8) {
        if !std::mem::replace(&mut self.has_begun, true) && self.name.starts_with(BYTE_ORDER_MARK) {
            self.name.drain(..BYTE_ORDER_MARK.len());
        }
        if delimiter == b':' {
            self.state = ParseState::Colon;
            return;
        }
        self.after_carriage_return = delimiter == b'\r';
        if matches!(self.state, ParseState::Name) && self.name.is_empty() {
            self.dispatch();
        } else {
            if matches!(self.state, ParseState::Name | ParseState::Colon) {
                self.begin_value();
            }
            if !self.is_field_cut {
                self.end_field();
            }
        }
        self.is_field_cut = false;
        self.state = ParseState::Name;
        self.name.clear();
        self.value.clear();
    }

    fn end_field(&mut self) {
        let value = || String::from_utf8_lossy(&self.value).into_owned();
        match self.name.as_slice() {
            b"event" => self.event.name = value(),
            b"id" if !self.value.contains(&0) => {
                self.event.id = Some(value());
                self.is_effective = true;
            }
            b"retry" if self.value.iter().all(u8::is_ascii_digit) => {
                if let Ok(delay) = value().parse() {
                    self.event.retry = Some(delay);
                    self.is_effective = true;
                }
            }
            // Comments keep the connection alive, and unknown fields are ignored.
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.is_effective) || event.data.is_some() {
            self.events.push_back(Ok(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Event = SseEvent<String>;

    /// Decodes a stream in chunks of several sizes, which must not make a difference.
    fn decode(stream: &[u8], limit: usize) -> Vec<Result<Event, SseTooLong>> {
        let mut results = Vec::new();
        for size in [1, 2, 3, stream.len()] {
            let mut decoder = SseDecoder::<SseText>::new(limit);
            stream.chunks(size).for_each(|chunk| decoder.decode(chunk));
            let events = std::iter::from_fn(|| decoder.next_event());
            let events = events.map(|event| Ok(event?.map_data(SseText::into_string)));
            results.push(events.collect::<Vec<_>>());
        }
        assert!(
            results.windows(2).all(|pair| pair[0] == pair[1]),
            "{results:?}"
        );
        results.swap_remove(0)
    }

    fn event(name: &str, data: &str) -> Event {
        SseEvent {
            name: name.to_owned(),
            data: Some(data.to_owned()),
            ..SseEvent::default()
        }
    }

    #[test]
    fn events_are_decoded_as_the_standard_requires() {
        for (stream, expected) in [
            ("data: é 1\n\n", vec![event("", "é 1")]),
            ("\u{feff}data:x\r\n\r\n", vec![event("", "x")]),
            ("data: a\rdata:  b\r\r", vec![event("", "a\n b")]),
            (
                "data: a\ndata: b\rdata: c\r\n\n",
                vec![event("", "a\nb\nc")],
            ),
            (
                "data\n\ndata:\n\ndata\ndata\n\n",
                vec![event("", ""), event("", ""), event("", "\n")],
            ),
            (
                ": a comment\n\nevent: a\nevent: b\ndata: 1\n\n",
                vec![event("b", "1")],
            ),
            ("event: a\n\ndata: 1\n\n", vec![event("", "1")]),
            (
                "event\nunknown: 2\nunknown\n:\ndata: 1\n\n",
                vec![event("", "1")],
            ),
            ("Data: 1\ndata : 2\n data: 3\n\n", vec![]),
            ("data: never ended\n", vec![]),
            // A byte order mark may only begin the stream.
            ("\u{feff}data\n\n", vec![event("", "")]),
            ("\u{feff}\ndata: 1\n\n", vec![event("", "1")]),
            ("\u{feff}\u{feff}data: 1\n\n", vec![]),
            ("\n\u{feff}data: x\n\n", vec![]),
            ("data: \u{feff}1\n\n", vec![event("", "\u{feff}1")]),
            // These characters end lines elsewhere.
            (
                "data: 1\u{85}\u{2028}\u{2029}\u{b}\n\n",
                vec![event("", "1\u{85}\u{2028}\u{2029}\u{b}")],
            ),
        ] {
            let expected: Vec<_> = expected.into_iter().map(Ok).collect();
            assert_eq!(decode(stream.as_bytes(), 100), expected, "{stream:?}");
        }
        assert_eq!(decode(b"data: \xff\n\n", 100), [Ok(event("", "\u{fffd}"))]);
    }

    #[test]
    fn ids_and_delays_take_effect_without_data() {
        for (stream, id, retry) in [
            ("id: 7/1\nretry: 3000\n\n", Some("7/1"), Some(3000)),
            ("id: a\nid: b\n\n", Some("b"), None),
            ("id\n\n", Some(""), None),
            ("id: a\nid: b\0\n\n", Some("a"), None),
            (
                "retry: 3000\nretry: +5\nretry: 5 \nretry\n\n",
                None,
                Some(3000),
            ),
            ("retry: 99999999999999999999\nretry: 1\n\n", None, Some(1)),
        ] {
            let expected = Event {
                id: id.map(Into::into),
                retry,
                ..Event::default()
            };
            assert_eq!(decode(stream.as_bytes(), 100), [Ok(expected)], "{stream:?}");
        }
        for stream in ["id: \0\n\n", "retry: -1\n\n", "retry\n\n"] {
            assert!(decode(stream.as_bytes(), 100).is_empty(), "{stream:?}");
        }
    }

    #[test]
    fn a_field_that_is_too_long_is_ignored() {
        for bytes in [MAX_FIELD_BYTES, MAX_FIELD_BYTES + 1] {
            let value = "7".repeat(bytes);
            let stream = format!("id: a\nid: {value}\nevent: {value}\ndata: 1\n\nid: b\n\n");
            let events = decode(stream.as_bytes(), 100);
            let events: Vec<_> = events.into_iter().map(Result::unwrap).collect();
            let (id, name) = match bytes {
                MAX_FIELD_BYTES => (value.clone(), value),
                _ => ("a".to_owned(), String::new()),
            };
            assert_eq!((&events[0].id, &events[0].name), (&Some(id), &name));
            assert_eq!(events[0].data.as_deref(), Some("1"));
            assert_eq!(events[1].id.as_deref(), Some("b"));
        }
    }

    #[test]
    fn data_over_the_limit_ends_the_stream_after_the_events_before_it() {
        let too_long = Err(SseTooLong { limit: 8 });
        let fits = Ok(event("", "12345678"));
        for (stream, expected) in [
            ("data: 12345678\n\n", vec![fits.clone()]),
            (
                "data: 1234\ndata: 567\n\n",
                vec![Ok(event("", "1234\n567"))],
            ),
            (
                "data: 12345678\n\ndata: 123456789",
                vec![fits, too_long.clone()],
            ),
            ("data: 1234\ndata: 5678\n\ndata: 1\n\n", vec![too_long]),
        ] {
            assert_eq!(decode(stream.as_bytes(), 8), expected, "{stream:?}");
        }
    }

    #[test]
    fn lines_end_with_all_line_ends_and_before_colons_in_none() {
        let mut decoder = SseDecoder::<SseText>::new(100);
        assert!(decoder.is_between_lines());
        for (chunk, expected) in [
            ("d", false),
            ("ata", false),
            (":", false),
            (" 1", false),
            ("\r", true),
            ("\n", true),
            (":", false),
            ("\n", true),
            (": a comment\n\n", true),
        ] {
            decoder.decode(chunk.as_bytes());
            assert_eq!(decoder.is_between_lines(), expected, "{chunk:?}");
        }
    }

    #[test]
    fn endless_lines_take_no_memory() {
        let mut decoder = SseDecoder::<SseText>::new(8);
        for begin in ["name", "\n: comment", "\nid: "] {
            decoder.decode(begin.as_bytes());
            for _ in 0..16 {
                decoder.decode(&[b'x'; MAX_FIELD_BYTES]);
            }
            assert!(decoder.name.capacity() <= 2 * MAX_FIELD_BYTES);
            assert!(decoder.value.capacity() <= 2 * MAX_FIELD_BYTES);
        }
    }
}
