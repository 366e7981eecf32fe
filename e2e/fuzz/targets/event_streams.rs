//! The decoder of event streams, with the data of the stdio client and with text.

use bridge_protocol::sse::{SseDecoder, SseText, SseTooLong};
use client_stdio::fuzz::{DecodedEvent, UnusableData, decode_events};

/// The most bytes of data that the stdio client stores of an event.
const MAX_DATA_BYTES: usize = 48;

/// The most bytes of an id or a delay that it stores.
const MAX_FIELD_BYTES: usize = 4 * 1024;

#[test]
fn events_do_not_depend_on_chunks() {
    bolero::check!()
        .with_iterations(0)
        .for_each(|input: &[u8]| {
            // The first bytes say where the stream is divided.
            let (lengths, stream) = input.split_at(input.len().min(4));
            let chunks = divide(stream, lengths);
            check_stdio(stream, &chunks);
            check_text(stream, &chunks);
        });
}

/// Divides a stream into chunks of these lengths, which repeat.
fn divide<'a>(stream: &'a [u8], lengths: &[u8]) -> Vec<&'a [u8]> {
    let mut rest = stream;
    let mut chunks = Vec::new();
    for length in lengths.iter().copied().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at(usize::from(length).clamp(1, rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

fn check_stdio(stream: &[u8], chunks: &[&[u8]]) {
    let expected = reference_events(stream);
    assert_eq!(decode_events(&[stream], MAX_DATA_BYTES), expected);
    assert_eq!(decode_events(chunks, MAX_DATA_BYTES), expected);
    let single: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(decode_events(&single, MAX_DATA_BYTES), expected);
}

fn check_text(stream: &[u8], chunks: &[&[u8]]) {
    let whole = decode_text(&[stream]);
    assert_eq!(decode_text(chunks), whole);
    let mut expected = Vec::new();
    for data in reference_data(stream) {
        if data.len() > MAX_DATA_BYTES {
            break;
        }
        expected.push(String::from_utf8_lossy(&data).into_owned());
    }
    assert_eq!(whole.0, expected);
}

/// The data of the events, and why the stream is not decoded any further.
fn decode_text(chunks: &[&[u8]]) -> (Vec<String>, Option<SseTooLong>) {
    let mut decoder = SseDecoder::<SseText>::new(MAX_DATA_BYTES);
    let mut data = Vec::new();
    for chunk in chunks {
        decoder.decode(chunk);
        while let Some(event) = decoder.next_event() {
            match event {
                Ok(event) => data.extend(event.data.map(SseText::into_string)),
                Err(too_long) => return (data, Some(too_long)),
            }
        }
    }
    (data, None)
}

/// The fields of each event that an empty line ends.
fn fields(stream: &[u8]) -> Vec<Vec<(&[u8], &[u8])>> {
    let stream = stream.strip_prefix("\u{feff}".as_bytes()).unwrap_or(stream);
    let mut lines = Vec::new();
    let mut rest = stream;
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        lines.push(&rest[..end]);
        let is_crlf = rest[end..].starts_with(b"\r\n");
        rest = &rest[end + if is_crlf { 2 } else { 1 }..];
    }
    let mut events = Vec::new();
    let mut event = Vec::new();
    for line in lines {
        if line.is_empty() {
            events.push(std::mem::take(&mut event));
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        event.push((name, value.strip_prefix(b" ").unwrap_or(value)));
    }
    events
}

/// The data of the events that have any, from the text of the standard.
fn reference_data(stream: &[u8]) -> Vec<Vec<u8>> {
    let events = fields(stream).into_iter();
    events.filter_map(|event| joined_data(&event)).collect()
}

fn joined_data(event: &[(&[u8], &[u8])]) -> Option<Vec<u8>> {
    let lines = event.iter().filter(|(name, _)| *name == b"data");
    let lines: Vec<&[u8]> = lines.map(|(_, value)| *value).collect();
    (!lines.is_empty()).then(|| lines.join(&b'\n'))
}

/// The events of the stdio client, from the text of the standard.
fn reference_events(stream: &[u8]) -> Vec<DecodedEvent> {
    let mut events = Vec::new();
    for fields in fields(stream) {
        let data = joined_data(&fields).map(|data| match data.len() {
            0..=MAX_DATA_BYTES => String::from_utf8(data).map_err(|_| UnusableData::InvalidUtf8),
            bytes => Err(UnusableData::TooLong(bytes as u64)),
        });
        let mut event = DecodedEvent {
            data,
            id: None,
            retry: None,
        };
        for (name, value) in fields {
            if value.len() > MAX_FIELD_BYTES {
                continue;
            }
            match name {
                b"id" if !value.contains(&0) => {
                    event.id = Some(String::from_utf8_lossy(value).into_owned());
                }
                b"retry" if value.iter().all(u8::is_ascii_digit) => {
                    let delay = String::from_utf8_lossy(value).parse().ok();
                    event.retry = delay.or(event.retry);
                }
                _ => {}
            }
        }
        if event.data.is_some() || event.id.is_some() || event.retry.is_some() {
            events.push(event);
        }
    }
    events
}
