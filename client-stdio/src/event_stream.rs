//! The events of one HTTP response with the content type `text/event-stream`.

use std::time::Duration;

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
    /// The limit of silence until anything has arrived.
    max_first_silence: Duration,
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
    /// Reads a response as events whose data has at most `max_message_bytes` bytes. It may be silent
    /// for `max_first_silence` before anything arrives.
    pub(crate) fn new(
        response: reqwest::Response,
        max_message_bytes: usize,
        silence: SilenceLimit,
        max_first_silence: Duration,
    ) -> Self {
        Self {
            chunks: response.bytes_stream().boxed(),
            decoder: SseDecoder::new(max_message_bytes),
            max_message_bytes,
            silence,
            max_first_silence,
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
            let max_silence = if self.has_begun {
                self.silence.limit()
            } else {
                self.max_first_silence
            };
            match self.silence.within(max_silence, self.chunks.next()).await {
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

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use tokio::time::Instant;

    use super::*;

    type BoxError = Box<dyn std::error::Error + Send + Sync>;

    #[tokio::test(start_paused = true)]
    async fn a_silence_before_the_first_chunk_has_its_own_limit() {
        let (limit, first_limit) = (Duration::from_secs(30), Duration::from_secs(10));
        for (chunks, expected) in [(vec![], first_limit), (vec![&b":\n\n"[..]], limit)] {
            let chunks = chunks
                .into_iter()
                .map(|it| Ok::<_, BoxError>(Bytes::from(it)));
            let body = stream::iter(chunks).chain(stream::pending());
            let response = http::Response::new(reqwest::Body::wrap_stream(body)).into();
            let silence = SilenceLimit::new(limit);
            silence.record(b":\n\n");
            let mut response = SseResponse::new(response, 100, silence, first_limit);
            let started = Instant::now();
            assert!(matches!(response.next().await, Err(StreamEnd::Silent)));
            assert_eq!(started.elapsed(), expected);
        }
    }
}
