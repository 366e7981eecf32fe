//! The decoder of event streams for the fuzz targets in `e2e/fuzz`.

use bridge_protocol::sse::{SseDecoder, SseEvent};

use crate::event_stream::EventData;
use crate::oversized::BoundedBuffer;

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
    let mut decoder = SseDecoder::<BoundedBuffer>::new(max_bytes);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.decode(chunk);
        while let Some(Ok(event)) = decoder.next_event() {
            let event = event.map_data(|data| data.finish(max_bytes));
            events.push(DecodedEvent::from(event));
        }
    }
    events
}

impl From<SseEvent<EventData>> for DecodedEvent {
    fn from(event: SseEvent<EventData>) -> Self {
        Self {
            data: event.data.map(|data| match data {
                Ok(bytes) => String::from_utf8(bytes).map_err(|_| UnusableData::InvalidUtf8),
                Err(oversized) => Err(UnusableData::TooLong(oversized.bytes)),
            }),
            id: event.id,
            retry: event.retry,
        }
    }
}
