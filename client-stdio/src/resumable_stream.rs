//! The messages of an event stream, which is reopened and resumed after it ended.

use bridge_protocol::sse::SseEvent;

use crate::bridge_http::BridgeHttp;
use crate::connect_error::BridgeError;
use crate::event_stream::{EventData, SseResponse, StreamEnd};
use crate::oversized::OversizedMessage;
use crate::reopen_backoff::ReopenBackoff;

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
    backoff: ReopenBackoff,
    /// Whether the stream may also be opened anew, with an unlimited number of attempts. This is
    /// true for the stream of the MCP session, which belongs to no request.
    restarts: bool,
}

impl<'a> ResumableStream<'a> {
    /// Creates a stream of the messages that belong to one request.
    pub(crate) fn for_request(http: &'a BridgeHttp, response: SseResponse) -> Self {
        Self {
            http,
            response,
            last_event_id: None,
            backoff: ReopenBackoff::default(),
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
            let item = match event.data.map(|data| data.map(String::from_utf8)) {
                None => continue,
                Some(Ok(Ok(text))) if text.trim().is_empty() => continue,
                Some(Ok(Ok(text))) => StreamItem::Text(text),
                Some(Ok(Err(_))) => return Err(BridgeError::not_mcp()),
                Some(Err(oversized)) => StreamItem::TooLong(oversized),
            };
            self.backoff.message_received();
            return Ok(item);
        }
    }

    fn record(&mut self, event: &SseEvent<EventData>) {
        if let Some(id) = event.id.as_ref().filter(|id| !id.is_empty()) {
            self.backoff.id_received();
            self.last_event_id = Some(id.clone());
        }
        if let Some(retry) = event.retry {
            self.backoff.retry_received(retry);
        }
    }

    async fn reopen(&mut self, end: &StreamEnd) -> Result<(), BridgeError> {
        let is_resumable =
            self.http.has_session() && (self.last_event_id.is_some() || self.restarts);
        let is_silent = matches!(end, StreamEnd::Silent);
        let is_dead = is_silent && !self.response.has_begun();
        let is_exhausted = (self.backoff.is_exhausted() || is_dead) && !self.restarts;
        if !is_resumable || is_exhausted {
            return Err(BridgeError::ConnectionLost);
        }
        tokio::time::sleep(self.backoff.next_delay(end)).await;
        let last_event_id = self.last_event_id.as_deref();
        // The stream of the session must not end the calls of others sooner than their own silence.
        let is_short = is_silent && !self.restarts;
        self.response = match self.http.get(last_event_id, is_short).await {
            // The bridge does not resume streams, or not this one.
            Err(BridgeError::Refused { .. }) if !self.restarts => {
                return Err(BridgeError::ConnectionLost);
            }
            response => response?,
        };
        Ok(())
    }
}
