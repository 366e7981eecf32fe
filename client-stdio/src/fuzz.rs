//! The decoder of event streams for the fuzz targets in `e2e/fuzz`.

use crate::sse::{Data, SseDecoder, SseEvent};

/// A decoded event.
#[derive(Debug, PartialEq, Eq)]
pub struct DecodedEvent {
    /// The data, or the number of bytes that were read and not stored.
    pub data: Option<Result<String, UnusableData>>,
    /// The id, which a client sends to resume the stream.
    pub id: Option<String>,
    /// The delay before the client reconnects, in milliseconds.
    pub retry: Option<u64>,
}

/// Why an event has no text.
#[derive(Debug, PartialEq, Eq)]
pub enum UnusableData {
    /// It is not UTF-8.
    InvalidUtf8,
    /// It has this number of bytes, which exceeds the limit.
    TooLong(u64),
}

/// Decodes the events of a bridge. Events whose data has more than `max_bytes` bytes are reported
/// without it.
pub fn decode_events(chunks: &[&[u8]], max_bytes: usize) -> Vec<DecodedEvent> {
    let mut decoder = SseDecoder::new(max_bytes);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.decode(chunk);
        events.extend(std::iter::from_fn(|| decoder.next_event()).map(DecodedEvent::from));
    }
    events
}

impl From<SseEvent> for DecodedEvent {
    fn from(event: SseEvent) -> Self {
        Self {
            data: event.data.map(|data| match data {
                Data::Text(text) => Ok(text),
                Data::InvalidUtf8 => Err(UnusableData::InvalidUtf8),
                Data::TooLong(oversized) => Err(UnusableData::TooLong(oversized.bytes)),
            }),
            id: event.id,
            retry: event.retry,
        }
    }
}
