//! A decoder for event streams (WHATWG HTML, section 9.2). It does not store an event that is too
//! large and continues with the next one.

use std::collections::VecDeque;

use crate::oversized::{BoundedBuffer, OversizedMessage};

/// The longest name of a field and the longest value of any field but `data` that is stored. Ids
/// and delays are shorter.
const MAX_FIELD_BYTES: usize = 4 * 1024;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    pub(crate) data: Option<Data>,
    pub(crate) id: Option<String>,
    /// The delay before the client reconnects, in milliseconds.
    pub(crate) retry: Option<u64>,
}

/// The data of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Data {
    Text(String),
    /// The data is not UTF-8.
    InvalidUtf8,
    /// The data exceeds the limit.
    TooLong(OversizedMessage),
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

/// An incremental decoder of an event stream.
#[derive(Debug)]
pub(crate) struct SseDecoder {
    /// The most bytes of data that an event may have.
    limit: usize,
    /// Whether the first field name has ended. Before it, there may be a byte order mark.
    has_begun: bool,
    state: ParseState,
    /// Whether the last byte was a carriage return. A line feed after it is part of the same line
    /// end.
    after_carriage_return: bool,
    name: Vec<u8>,
    /// The value of a field that is not `data`.
    value: Vec<u8>,
    data: Option<BoundedBuffer>,
    event: SseEvent,
    events: VecDeque<SseEvent>,
}

impl SseDecoder {
    /// Creates a decoder for events with at most `limit` bytes of data.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            has_begun: false,
            state: ParseState::default(),
            after_carriage_return: false,
            name: Vec::new(),
            value: Vec::new(),
            data: None,
            event: SseEvent::default(),
            events: VecDeque::new(),
        }
    }

    /// Takes the next complete event.
    pub(crate) fn next_event(&mut self) -> Option<SseEvent> {
        self.events.pop_front()
    }

    /// Decodes the next chunk of the stream, which may begin and end anywhere.
    pub(crate) fn decode(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(&first) = rest.first() {
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

    fn is_data(&self) -> bool {
        self.name == b"data"
    }

    fn begin_value(&mut self) {
        if self.is_data() {
            match &mut self.data {
                None => self.data = Some(BoundedBuffer::default()),
                Some(data) => data.push(b"\n", self.limit),
            }
        }
    }

    fn append(&mut self, text: &[u8]) {
        let field = match self.state {
            ParseState::Name => &mut self.name,
            _ if self.is_data() => {
                if let Some(data) = &mut self.data {
                    data.push(text, self.limit);
                }
                return;
            }
            _ => &mut self.value,
        };
        let capacity = MAX_FIELD_BYTES.saturating_sub(field.len());
        field.extend_from_slice(&text[..text.len().min(capacity)]);
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
            self.end_field();
        }
        self.state = ParseState::Name;
        self.name.clear();
        self.value.clear();
    }

    fn end_field(&mut self) {
        let value = || String::from_utf8_lossy(&self.value).into_owned();
        match self.name.as_slice() {
            b"id" if !self.value.contains(&0) => self.event.id = Some(value()),
            b"retry" if self.value.iter().all(u8::is_ascii_digit) => {
                self.event.retry = value().parse().ok().or(self.event.retry);
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let mut event = std::mem::take(&mut self.event);
        let data = self.data.take().map(|data| data.finish(self.limit));
        event.data = data.map(|data| match data {
            Ok(bytes) => String::from_utf8(bytes).map_or(Data::InvalidUtf8, Data::Text),
            Err(oversized) => Data::TooLong(oversized),
        });
        if event != SseEvent::default() {
            self.events.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_id::RequestId;

    /// Decodes a stream in chunks of several sizes, which must not make a difference.
    fn events(stream: &[u8], limit: usize) -> Vec<SseEvent> {
        let mut results = Vec::new();
        for size in [1, 2, 3, stream.len()] {
            let mut decoder = SseDecoder::new(limit);
            stream.chunks(size).for_each(|chunk| decoder.decode(chunk));
            results.push(std::iter::from_fn(|| decoder.next_event()).collect::<Vec<_>>());
        }
        assert!(
            results.windows(2).all(|pair| pair[0] == pair[1]),
            "{results:?}"
        );
        results.swap_remove(0)
    }

    fn text(text: &str) -> SseEvent {
        SseEvent {
            data: Some(Data::Text(text.to_owned())),
            ..SseEvent::default()
        }
    }

    #[test]
    fn events_are_decoded_as_the_standard_requires() {
        for (stream, expected) in [
            ("data: é 1\n\n", vec![text("é 1")]),
            ("\u{feff}data:x\r\n\r\n", vec![text("x")]),
            ("data: a\rdata:  b\r\r", vec![text("a\n b")]),
            ("data\n\ndata:\n\n", vec![text(""), text("")]),
            (
                ": a comment\n\nevent: message\ndata: 1\n\n",
                vec![text("1")],
            ),
            ("data: never ended\n", vec![]),
            // A byte order mark may only begin the stream.
            ("\u{feff}data\n\n", vec![text("")]),
            ("\n\u{feff}data: x\n\n", vec![]),
        ] {
            assert_eq!(events(stream.as_bytes(), 100), expected, "{stream:?}");
        }
        let with_id = SseEvent {
            data: None,
            id: Some("7/1".to_owned()),
            retry: Some(3000),
        };
        assert_eq!(events(b"id: 7/1\nretry: 3000\n\n", 100), [with_id]);
        let delay = |stream: &[u8]| events(stream, 100)[0].retry;
        assert_eq!(
            delay(b"retry: 3000\nretry: +5\nretry\ndata\n\n"),
            Some(3000)
        );
        let invalid = events(b"data: \xff\n\n", 100);
        assert_eq!(invalid[0].data, Some(Data::InvalidUtf8));
    }

    #[test]
    fn an_oversized_event_is_reported_and_the_next_is_decoded() {
        let large = format!(r#"{{"id":3,"result":"{}"}}"#, "x".repeat(100));
        let stream = format!("id: a\ndata: {large}\n\ndata: {{}}\n\n");
        let events = events(stream.as_bytes(), 99);
        let oversized = OversizedMessage {
            bytes: large.len() as u64,
            limit: 99,
            id: Some(RequestId::from_json(&3.into())),
            method: None,
        };
        let large = SseEvent {
            data: Some(Data::TooLong(oversized)),
            id: Some("a".to_owned()),
            retry: None,
        };
        assert_eq!(events, [large, text("{}")]);
    }
}
