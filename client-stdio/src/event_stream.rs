//! The events of one HTTP response with the content type `text/event-stream`.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use crate::sse::{SseDecoder, SseEvent};

/// An HTTP response that is an event stream.
pub(crate) struct SseResponse {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    decoder: SseDecoder,
}

/// How an event stream ended.
pub(crate) enum StreamEnd {
    /// The bridge closed the stream.
    Closed,
    /// The connection broke.
    Broken,
}

impl SseResponse {
    /// Reads a response as events whose data has at most `max_message_bytes` bytes.
    pub(crate) fn new(response: reqwest::Response, max_message_bytes: usize) -> Self {
        Self {
            chunks: response.bytes_stream().boxed(),
            decoder: SseDecoder::new(max_message_bytes),
        }
    }

    /// Waits for the next event. This method is cancel safe.
    pub(crate) async fn next(&mut self) -> Result<SseEvent, StreamEnd> {
        loop {
            if let Some(event) = self.decoder.next_event() {
                return Ok(event);
            }
            match self.chunks.next().await {
                Some(Ok(chunk)) => self.decoder.decode(&chunk),
                Some(Err(error)) => {
                    tracing::debug!("an event stream broke off: {error}");
                    return Err(StreamEnd::Broken);
                }
                None => return Err(StreamEnd::Closed),
            }
        }
    }
}
