//! Event streams (WHATWG HTML, section 9.2), byte by byte: an event that is too large is not kept,
//! and the next one is read all the same.

use std::collections::VecDeque;

use crate::oversized::{Gathered, Oversized};

/// No id, no pause and no name of a field that means something is longer.
const LONGEST_FIELD: usize = 4 * 1024;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) data: Option<Data>,
    pub(crate) id: Option<String>,
    /// In milliseconds.
    pub(crate) retry: Option<u64>,
}

/// The data of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Data {
    Text(String),
    /// Bytes that are no UTF-8.
    NoText,
    TooLong(Oversized),
}

/// Where in a line it reads.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Name,
    /// Behind the colon, where a space does not count.
    Colon,
    Value,
}

/// Takes a stream apart.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// The most bytes of data that an event may have.
    limit: usize,
    place: Place,
    /// A line feed now belongs to the line end before.
    after_return: bool,
    name: Vec<u8>,
    /// The value of a field that is not `data`.
    value: Vec<u8>,
    data: Option<Gathered>,
    event: Event,
    ready: VecDeque<Event>,
}

impl Decoder {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            place: Place::default(),
            after_return: false,
            name: Vec::new(),
            value: Vec::new(),
            data: None,
            event: Event::default(),
            ready: VecDeque::new(),
        }
    }

    /// The next whole event.
    pub(crate) fn next(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    /// Reads a piece of the stream, however it is cut.
    pub(crate) fn read(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = match self.place {
                Place::Name => memchr::memchr3(b':', b'\r', b'\n', rest),
                Place::Colon => {
                    self.place = Place::Value;
                    self.begin_value();
                    if first == b' ' {
                        rest = &rest[1..];
                    }
                    continue;
                }
                Place::Value => memchr::memchr2(b'\r', b'\n', rest),
            };
            let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.add(text);
            rest = after;
            if let Some(&delimiter) = rest.first() {
                rest = &rest[1..];
                self.ends(delimiter);
            }
        }
    }

    fn is_data(&self) -> bool {
        self.name == b"data"
    }

    fn begin_value(&mut self) {
        if self.is_data() {
            match &mut self.data {
                None => self.data = Some(Gathered::default()),
                Some(data) => data.add(b"\n", self.limit),
            }
        }
    }

    fn add(&mut self, text: &[u8]) {
        let field = match self.place {
            Place::Name => &mut self.name,
            _ if self.is_data() => {
                if let Some(data) = &mut self.data {
                    data.add(text, self.limit);
                }
                return;
            }
            _ => &mut self.value,
        };
        let room = LONGEST_FIELD.saturating_sub(field.len());
        field.extend_from_slice(&text[..text.len().min(room)]);
    }

    fn ends(&mut self, delimiter: u8) {
        if delimiter == b':' {
            if let Some(name) = self.name.strip_prefix(BYTE_ORDER_MARK) {
                self.name = name.to_vec();
            }
            self.place = Place::Colon;
            return;
        }
        self.after_return = delimiter == b'\r';
        if matches!(self.place, Place::Name) && self.name.is_empty() {
            self.dispatch();
        } else {
            if matches!(self.place, Place::Name | Place::Colon) {
                self.begin_value();
            }
            self.field();
        }
        self.place = Place::Name;
        self.name.clear();
        self.value.clear();
    }

    fn field(&mut self) {
        let value = || String::from_utf8_lossy(&self.value).into_owned();
        match self.name.as_slice() {
            b"id" if !self.value.contains(&0) => self.event.id = Some(value()),
            b"retry" => self.event.retry = value().parse().ok(),
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let mut event = std::mem::take(&mut self.event);
        let data = self.data.take().map(|data| data.finish(self.limit));
        event.data = data.map(|data| match data {
            Ok(bytes) => String::from_utf8(bytes).map_or(Data::NoText, Data::Text),
            Err(oversized) => Data::TooLong(oversized),
        });
        if event != Event::default() {
            self.ready.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a stream, however it is cut.
    fn events(stream: &[u8], limit: usize) -> Vec<Event> {
        let mut all = Vec::new();
        for size in [1, 2, 3, stream.len()] {
            let mut decoder = Decoder::new(limit);
            stream.chunks(size).for_each(|piece| decoder.read(piece));
            all.push(std::iter::from_fn(|| decoder.next()).collect::<Vec<_>>());
        }
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
        all.swap_remove(0)
    }

    fn text(text: &str) -> Event {
        Event {
            data: Some(Data::Text(text.to_owned())),
            ..Event::default()
        }
    }

    #[test]
    fn events_are_read_as_the_standard_has_them() {
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
        ] {
            assert_eq!(events(stream.as_bytes(), 100), expected, "{stream:?}");
        }
        let with_id = Event {
            data: None,
            id: Some("7/1".to_owned()),
            retry: Some(3000),
        };
        assert_eq!(events(b"id: 7/1\nretry: 3000\n\n", 100), [with_id]);
        let no_text = events(b"data: \xff\n\n", 100);
        assert_eq!(no_text[0].data, Some(Data::NoText));
    }

    #[test]
    fn an_event_over_the_limit_is_told_by_its_size_and_the_next_is_read() {
        let large = format!(r#"{{"id":3,"result":"{}"}}"#, "x".repeat(100));
        let stream = format!("id: a\ndata: {large}\n\ndata: {{}}\n\n");
        let read = events(stream.as_bytes(), 99);
        let oversized = Oversized {
            bytes: large.len() as u64,
            limit: 99,
            id: Some(crate::message::Id::new(&3.into())),
            method: None,
        };
        let large = Event {
            data: Some(Data::TooLong(oversized)),
            id: Some("a".to_owned()),
            retry: None,
        };
        assert_eq!(read, [large, text("{}")]);
    }
}
