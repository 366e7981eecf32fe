//! The events of one HTTP response with the content type `text/event-stream`.

use bridge_protocol::sse::{SseDecoder, SseEvent};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use crate::oversized::{BoundedBuffer, OversizedMessage};
use crate::silence::SilenceLimit;

/// An HTTP response that is an event stream.
pub(crate) struct SseResponse {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    decoder: SseDecoder<BoundedBuffer>,
    max_message_bytes: usize,
    silence: SilenceLimit,
    /// Whether anything has arrived.
    has_begun: bool,
}

/// The data of an event.
pub(crate) type EventData = Result<Vec<u8>, OversizedMessage>;

/// How an event stream ended.
pub(crate) enum StreamEnd {
    /// The bridge closed the stream.
    Closed,
    /// The connection broke.
    Broken,
    /// The connection stayed open, and nothing arrived for too long.
    Silent,
}

impl SseResponse {
    /// Reads a response as events whose data has at most `max_message_bytes` bytes.
    pub(crate) fn new(
        response: reqwest::Response,
        max_message_bytes: usize,
        silence: SilenceLimit,
    ) -> Self {
        Self {
            chunks: response.bytes_stream().boxed(),
            decoder: SseDecoder::new(max_message_bytes),
            max_message_bytes,
            silence,
            has_begun: false,
        }
    }

    /// Returns whether anything has arrived.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Waits for the next event. This method is cancel safe.
    pub(crate) async fn next(&mut self) -> Result<SseEvent<EventData>, StreamEnd> {
        loop {
            if let Some(Ok(event)) = self.decoder.next_event() {
                return Ok(event.map_data(|data| data.finish(self.max_message_bytes)));
            }
            let next = self.chunks.next();
            match self.silence.within(self.silence.limit(), next).await {
                Some(Some(Ok(chunk))) => {
                    self.has_begun = true;
                    self.silence.record(&chunk);
                    self.decoder.decode(&chunk);
                }
                Some(Some(Err(error))) => {
                    tracing::debug!("an event stream broke off: {error}");
                    return Err(StreamEnd::Broken);
                }
                Some(None) => return Err(StreamEnd::Closed),
                None => {
                    tracing::info!("a connection to the bridge is silent");
                    return Err(StreamEnd::Silent);
                }
            }
        }
    }
}
