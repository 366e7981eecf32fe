//! Property test: an event stream has the same events however the network divides it, and they are
//! those of the standard's text.
#![allow(clippy::unwrap_used)]

use bridge_protocol::sse::{SseDecoder, SseText};
use proptest::prelude::*;

type Event = (String, Option<String>, Option<String>, Option<u64>);

/// Any stream of pieces that mean something to a decoder, with each kind of line end.
fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let pieces: [&[u8]; 24] = [
        b"\n",
        b"\r",
        b"\r\n",
        b"\r\n\r\n",
        b"\n\n",
        b":",
        b": ",
        b" ",
        b"data",
        b"data: ",
        b"data:x",
        b"event: ",
        b"event",
        b"id: 7",
        b"id: \0",
        b"retry: 10",
        b"retry: x",
        "\u{feff}".as_bytes(),
        "é".as_bytes(),
        "\u{2028}".as_bytes(),
        b"\xff",
        b"\0",
        b"{}",
        b"unknown: 1",
    ];
    let piece = prop::sample::select(pieces.to_vec());
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut decoder = SseDecoder::<SseText>::new(1_000);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.decode(chunk);
        while let Some(event) = decoder.next_event() {
            let event = event.unwrap();
            let data = event.data.map(SseText::into_string);
            events.push((event.name, data, event.id, event.retry));
        }
    }
    events
}

/// The steps of section 9.2.6 of the standard, line by line over the whole text.
fn reference(stream: &[u8]) -> Vec<Event> {
    let text = String::from_utf8_lossy(stream).into_owned();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<_> = text.split('\n').collect();
    // A line without its end does not count.
    lines.pop();
    let mut events = Vec::new();
    let mut event = Event::default();
    for line in lines {
        if line.is_empty() {
            let event = std::mem::take(&mut event);
            if event.1.is_some() || event.2.is_some() || event.3.is_some() {
                events.push(event);
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => event.0 = value.to_owned(),
            "data" => {
                event.1 = Some(match event.1.take() {
                    Some(data) => data + "\n" + value,
                    None => value.to_owned(),
                });
            }
            "id" if !value.contains('\0') => event.2 = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                event.3 = value.parse().ok().or(event.3);
            }
            _ => {}
        }
    }
    events
}

proptest! {
    #[test]
    fn events_do_not_depend_on_chunks(
        stream in any_stream(),
        lengths in prop::collection::vec(1..8_usize, 1..8),
    ) {
        let expected = reference(&stream);
        prop_assert_eq!(&decode([&*stream]), &expected);
        prop_assert_eq!(&decode(stream.chunks(1)), &expected);
        for cut in 0..=stream.len() {
            let (one, other) = stream.split_at(cut);
            prop_assert_eq!(&decode([one, other]), &expected, "cut at {}", cut);
        }
        let mut rest = &*stream;
        let mut chunks = Vec::new();
        for length in lengths.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at(rest.len().min(*length));
            chunks.push(chunk);
            rest = after;
        }
        prop_assert_eq!(&decode(chunks), &expected);
    }
}
