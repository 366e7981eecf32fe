//! The event streams of the bridge, resumed where they broke off.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::time::Instant;

use crate::bridge_http::BridgeHttp;
use crate::connect_error::BridgeError;
use crate::oversized::OversizedMessage;
use crate::sse::{Data, SseDecoder, SseEvent};

/// The first pause before a stream is opened again, unless the bridge names another; doubled each
/// time that nothing came meanwhile.
const INITIAL_REOPEN_DELAY: Duration = Duration::from_millis(250);

/// The longest pause that the bridge can ask for, and the longest of our own.
const MAX_REOPEN_DELAY: Duration = Duration::from_secs(30);

/// How often the stream of a request is opened again in a row without an event on it.
const MAX_REOPENS: u32 = 6;

/// One response.
pub(crate) struct SseResponse {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    decoder: SseDecoder,
}

/// How a response ended.
enum StreamEnd {
    /// The bridge closed it.
    Closed,
    /// It broke off, or cannot be read.
    Broken,
}

/// What stands where a message should.
#[derive(Debug)]
pub(crate) enum StreamItem {
    Text(String),
    TooLong(OversizedMessage),
}

impl SseResponse {
    pub(crate) fn new(response: reqwest::Response, max_message_bytes: usize) -> Self {
        Self {
            chunks: response.bytes_stream().boxed(),
            decoder: SseDecoder::new(max_message_bytes),
        }
    }

    async fn next(&mut self) -> Result<SseEvent, StreamEnd> {
        loop {
            if let Some(event) = self.decoder.next_event() {
                return Ok(event);
            }
            match self.chunks.next().await {
                Some(Ok(piece)) => self.decoder.decode(&piece),
                Some(Err(error)) => {
                    tracing::debug!("an event stream broke off: {error}");
                    return Err(StreamEnd::Broken);
                }
                None => return Err(StreamEnd::Closed),
            }
        }
    }
}

/// A stream of messages that goes on after a break if the bridge gave its events ids.
pub(crate) struct ResumableStream<'a> {
    http: &'a BridgeHttp,
    response: SseResponse,
    last_event_id: Option<String>,
    /// The bridge's own pause.
    server_delay: Option<Duration>,
    reopen_count: u32,
    /// Whether it begins anew where it cannot go on: the stream of the MCP session, which belongs
    /// to no request.
    restarts: bool,
}

impl<'a> ResumableStream<'a> {
    /// The messages that belong to a request.
    pub(crate) fn for_request(http: &'a BridgeHttp, response: SseResponse) -> Self {
        Self {
            http,
            response,
            last_event_id: None,
            server_delay: None,
            reopen_count: 0,
            restarts: false,
        }
    }

    /// The messages that belong to none.
    pub(crate) fn for_session(http: &'a BridgeHttp, events: SseResponse) -> Self {
        Self {
            restarts: true,
            ..Self::for_request(http, events)
        }
    }

    /// The next message.
    ///
    /// # Errors
    /// When the stream ended and does not go on.
    pub(crate) async fn next(&mut self) -> Result<StreamItem, BridgeError> {
        loop {
            let event = match self.response.next().await {
                Ok(event) => event,
                Err(end) => {
                    self.reopen(&end).await?;
                    continue;
                }
            };
            self.record(&event);
            let incoming = match event.data {
                None => continue,
                Some(Data::Text(text)) if text.trim().is_empty() => continue,
                Some(Data::Text(text)) => StreamItem::Text(text),
                Some(Data::TooLong(oversized)) => StreamItem::TooLong(oversized),
                Some(Data::InvalidUtf8) => {
                    return Err(BridgeError::InvalidResponse(
                        "its answer is not MCP".to_owned(),
                    ));
                }
            };
            self.reopen_count = 0;
            return Ok(incoming);
        }
    }

    fn record(&mut self, event: &SseEvent) {
        if let Some(id) = event.id.as_ref().filter(|id| !id.is_empty()) {
            // A bridge that lets itself be asked again and again says at least this each time.
            self.reopen_count = 0;
            self.last_event_id = Some(id.clone());
        }
        if let Some(retry) = event.retry {
            self.server_delay = Some(Duration::from_millis(retry).min(MAX_REOPEN_DELAY));
        }
    }

    async fn reopen(&mut self, end: &StreamEnd) -> Result<(), BridgeError> {
        let resumable = self.http.has_session() && (self.last_event_id.is_some() || self.restarts);
        let given_up = self.reopen_count >= MAX_REOPENS && !self.restarts;
        if !resumable || given_up {
            return Err(BridgeError::ConnectionLost);
        }
        tokio::time::sleep_until(Instant::now() + self.reopen_delay(end)).await;
        self.reopen_count += 1;
        self.response = match self.http.get(self.last_event_id.as_deref()).await {
            // It does not resume, or not this one.
            Err(BridgeError::Refused { .. }) if !self.restarts => {
                return Err(BridgeError::ConnectionLost);
            }
            opened => opened?,
        };
        Ok(())
    }

    /// A bridge that closes a stream says when it wants to be asked again. A break tells that it may
    /// be gone, which is to be known at once.
    fn reopen_delay(&self, end: &StreamEnd) -> Duration {
        let own = INITIAL_REOPEN_DELAY * 2_u32.pow(self.reopen_count.min(MAX_REOPENS));
        match end {
            StreamEnd::Broken if self.reopen_count == 0 => Duration::ZERO,
            StreamEnd::Broken => own,
            StreamEnd::Closed => self.server_delay.unwrap_or(own),
        }
    }
}
