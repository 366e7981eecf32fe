//! The messages of an event stream, which is reopened and resumed after it ended.

use std::time::Duration;

use tokio::time::Instant;

use crate::bridge_http::BridgeHttp;
use crate::connect_error::BridgeError;
use crate::event_stream::{SseResponse, StreamEnd};
use crate::oversized::OversizedMessage;
use crate::sse::{Data, SseEvent};

/// The delay before the first attempt to reopen a stream, unless the bridge sets another one. It
/// doubles with each attempt after which no event arrived.
const INITIAL_REOPEN_DELAY: Duration = Duration::from_millis(250);

/// The longest delay that the bridge can set. It also bounds our own.
const MAX_REOPEN_DELAY: Duration = Duration::from_secs(30);

/// How often the stream of a request is reopened in a row without an event on it.
const MAX_REOPENS: u32 = 6;

/// An item of a stream of messages.
#[derive(Debug)]
pub(crate) enum StreamItem {
    /// The text of a message.
    Text(String),
    /// A message that exceeds the limit.
    TooLong(OversizedMessage),
}

/// A stream of messages that is resumed after it ended, if the bridge gives ids to its events.
pub(crate) struct ResumableStream<'a> {
    http: &'a BridgeHttp,
    response: SseResponse,
    last_event_id: Option<String>,
    /// The delay that the bridge set with `retry`.
    server_delay: Option<Duration>,
    /// Attempts to reopen the stream since its last event.
    reopen_count: u32,
    /// Whether the stream may also be opened anew, and without an end to the attempts. True for the
    /// stream of the MCP session, which belongs to no request.
    restarts: bool,
}

impl<'a> ResumableStream<'a> {
    /// Creates a stream of the messages that belong to one request.
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

    /// Creates a stream of the messages of the MCP session that belong to no request.
    pub(crate) fn for_session(http: &'a BridgeHttp, response: SseResponse) -> Self {
        Self {
            restarts: true,
            ..Self::for_request(http, response)
        }
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// Returns an error when the stream has ended and cannot be resumed.
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
            let item = match event.data {
                None => continue,
                Some(Data::Text(text)) if text.trim().is_empty() => continue,
                Some(Data::Text(text)) => StreamItem::Text(text),
                Some(Data::TooLong(oversized)) => StreamItem::TooLong(oversized),
                Some(Data::InvalidUtf8) => return Err(BridgeError::not_mcp()),
            };
            self.reopen_count = 0;
            return Ok(item);
        }
    }

    fn record(&mut self, event: &SseEvent) {
        if let Some(id) = event.id.as_ref().filter(|id| !id.is_empty()) {
            // A bridge that closes its streams on purpose, to be polled, sends at least an id on
            // each of them. Such a stream may be reopened without end.
            self.reopen_count = 0;
            self.last_event_id = Some(id.clone());
        }
        if let Some(retry) = event.retry {
            self.server_delay = Some(Duration::from_millis(retry).min(MAX_REOPEN_DELAY));
        }
    }

    async fn reopen(&mut self, end: &StreamEnd) -> Result<(), BridgeError> {
        let is_resumable =
            self.http.has_session() && (self.last_event_id.is_some() || self.restarts);
        let is_exhausted = self.reopen_count >= MAX_REOPENS && !self.restarts;
        if !is_resumable || is_exhausted {
            return Err(BridgeError::ConnectionLost);
        }
        tokio::time::sleep_until(Instant::now() + self.reopen_delay(end)).await;
        self.reopen_count += 1;
        self.response = match self.http.get(self.last_event_id.as_deref()).await {
            // The bridge does not resume streams, or not this one.
            Err(BridgeError::Refused { .. }) if !self.restarts => {
                return Err(BridgeError::ConnectionLost);
            }
            response => response?,
        };
        Ok(())
    }

    /// Returns the delay before the stream is reopened. A bridge that closes a stream also sets
    /// that delay. After a broken connection the first attempt is immediate, because it shows
    /// whether the bridge is gone.
    fn reopen_delay(&self, end: &StreamEnd) -> Duration {
        let backoff = INITIAL_REOPEN_DELAY * 2_u32.pow(self.reopen_count.min(MAX_REOPENS));
        match end {
            StreamEnd::Broken if self.reopen_count == 0 => Duration::ZERO,
            StreamEnd::Broken => backoff,
            StreamEnd::Closed => self.server_delay.unwrap_or(backoff),
        }
    }
}
