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
                    if self.decoder.is_between_lines() {
                        self.silence.record(&chunk);
                    }
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

    const LIMIT: Duration = Duration::from_secs(30);

    const FIRST_LIMIT: Duration = Duration::from_secs(10);

    type BoxError = Box<dyn std::error::Error + Send + Sync>;

    /// Returns a response with these chunks, which then stays open.
    fn response(chunks: &[&'static str], silence: &SilenceLimit) -> SseResponse {
        let chunks: Vec<_> = chunks
            .iter()
            .map(|it| Ok::<_, BoxError>(Bytes::from(*it)))
            .collect();
        let body = stream::iter(chunks).chain(stream::pending());
        let response = http::Response::new(reqwest::Body::wrap_stream(body)).into();
        SseResponse::new(response, 100, silence.clone(), FIRST_LIMIT)
    }

    #[tokio::test(start_paused = true)]
    async fn a_silence_before_the_first_chunk_has_its_own_limit() {
        for (chunks, expected) in [(&[][..], FIRST_LIMIT), (&[":\n\n"], LIMIT)] {
            let silence = SilenceLimit::new(LIMIT);
            silence.record(b":\n\n");
            let mut response = response(chunks, &silence);
            let started = Instant::now();
            assert!(matches!(response.next().await, Err(StreamEnd::Silent)));
            assert_eq!(started.elapsed(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_of_a_line_is_not_a_comment() {
        for (chunks, is_comment) in [
            (&["data: {\"a\"", ":1}\n\n"][..], false),
            (&["data", ": 1\n\n"], false),
            (&[": a", ":\n\ndata: 1\n\n"], true),
            (&["data: 1\n\n", ":\n\n"], true),
        ] {
            let silence = SilenceLimit::new(LIMIT);
            let mut response = response(chunks, &silence);
            assert!(response.next().await.is_ok(), "{chunks:?}");
            let waiting = tokio::time::timeout(10 * LIMIT, response.next()).await;
            assert_eq!(waiting.is_ok(), is_comment, "{chunks:?}");
        }
    }
}
