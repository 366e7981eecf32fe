//! The event streams of the bridge: read up to a size, and resumed where they broke off.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use sse_stream::{Sse, SseStream};
use tokio::time::Instant;

use crate::MAX_MESSAGE_BYTES;
use crate::absence::Absence;
use crate::bridge_http::BridgeHttp;

/// The first pause before a stream is opened again, unless the bridge names another; doubled each
/// time that nothing came meanwhile.
const REOPEN_AFTER: Duration = Duration::from_millis(250);

/// The longest pause that the bridge can ask for, and the longest of our own.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often the stream of a request is opened again in a row without an event on it.
const MAX_REOPENED: u32 = 6;

/// One response.
pub(crate) struct Events(BoxStream<'static, Result<Sse, sse_stream::Error>>);

/// How a response ended.
enum End {
    /// The bridge closed it.
    Closed,
    /// It broke off, or cannot be read.
    Broken,
}

impl Events {
    pub(crate) fn of(response: reqwest::Response) -> Self {
        let mut size = EventSize::default();
        let bounded = response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(std::io::Error::other)?;
            size.count(&chunk)
                .then_some(chunk)
                .ok_or_else(|| std::io::Error::other("an event is too large"))
        });
        Self(SseStream::from_bytes_stream(bounded).boxed())
    }

    async fn next(&mut self) -> Result<Sse, End> {
        match self.0.next().await {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                tracing::debug!("an event stream broke off: {error}");
                Err(End::Broken)
            }
            None => Err(End::Closed),
        }
    }
}

/// Counts the bytes of the event that is being received.
#[derive(Default)]
struct EventSize {
    bytes: usize,
    line_is_empty: bool,
}

impl EventSize {
    /// False if it is larger than what is read.
    fn count(&mut self, chunk: &Bytes) -> bool {
        for byte in chunk.iter() {
            self.bytes += 1;
            match byte {
                b'\n' if self.line_is_empty => self.bytes = 0,
                b'\n' => self.line_is_empty = true,
                b'\r' => {}
                _ => self.line_is_empty = false,
            }
        }
        self.bytes <= MAX_MESSAGE_BYTES
    }
}

/// A stream of messages that goes on after a break if the bridge gave its events ids.
pub(crate) struct Messages<'a> {
    http: &'a BridgeHttp,
    events: Events,
    last_event: Option<String>,
    /// The bridge's own pause.
    retry: Option<Duration>,
    reopened: u32,
    /// Whether it begins anew where it cannot go on: the stream of the MCP session, which belongs
    /// to no request.
    anew: bool,
}

impl<'a> Messages<'a> {
    /// The messages that belong to a request.
    pub(crate) fn of_request(http: &'a BridgeHttp, events: Events) -> Self {
        Self {
            http,
            events,
            last_event: None,
            retry: None,
            reopened: 0,
            anew: false,
        }
    }

    /// The messages that belong to none.
    pub(crate) fn of_session(http: &'a BridgeHttp, events: Events) -> Self {
        Self {
            anew: true,
            ..Self::of_request(http, events)
        }
    }

    /// The text of the next message.
    ///
    /// # Errors
    /// When the stream ended and does not go on.
    pub(crate) async fn next(&mut self) -> Result<String, Absence> {
        loop {
            match self.events.next().await {
                Ok(event) => {
                    self.note(&event);
                    if let Some(text) = event.data.filter(|text| !text.trim().is_empty()) {
                        self.reopened = 0;
                        return Ok(text);
                    }
                }
                Err(end) => self.reopen(&end).await?,
            }
        }
    }

    fn note(&mut self, event: &Sse) {
        if let Some(id) = event.id.as_ref().filter(|id| !id.is_empty()) {
            // A bridge that lets itself be asked again and again says at least this each time.
            self.reopened = 0;
            self.last_event = Some(id.clone());
        }
        if let Some(retry) = event.retry {
            self.retry = Some(Duration::from_millis(retry).min(LONGEST_PAUSE));
        }
    }

    async fn reopen(&mut self, end: &End) -> Result<(), Absence> {
        let resumable = self.http.has_session() && (self.last_event.is_some() || self.anew);
        let given_up = self.reopened >= MAX_REOPENED && !self.anew;
        if !resumable || given_up {
            return Err(Absence::Interrupted);
        }
        tokio::time::sleep_until(Instant::now() + self.pause(end)).await;
        self.reopened += 1;
        self.events = match self.http.get(self.last_event.as_deref()).await {
            // It does not resume, or not this one.
            Err(Absence::Refused { .. }) if !self.anew => return Err(Absence::Interrupted),
            opened => opened?,
        };
        Ok(())
    }

    /// A bridge that closes a stream says when it wants to be asked again. A break tells that it may
    /// be gone, which is to be known at once.
    fn pause(&self, end: &End) -> Duration {
        let own = REOPEN_AFTER * 2_u32.pow(self.reopened.min(MAX_REOPENED));
        match end {
            End::Broken if self.reopened == 0 => Duration::ZERO,
            End::Broken => own,
            End::Closed => self.retry.unwrap_or(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_that_of_one_event() {
        let mut size = EventSize::default();
        let event = Bytes::from(format!("data: {}\n\n", "x".repeat(MAX_MESSAGE_BYTES / 2)));
        for _ in 0..3 {
            assert!(size.count(&event));
        }
        let half = Bytes::from("x".repeat(MAX_MESSAGE_BYTES / 2 + 1));
        assert!(size.count(&half));
        assert!(!size.count(&half));
    }

    #[test]
    fn an_empty_line_ends_an_event_with_any_line_end() {
        for text in ["data: 1\n\n", "data: 1\r\n\r\n"] {
            let mut size = EventSize::default();
            size.count(&Bytes::from(text));
            assert_eq!(size.bytes, 0, "{text:?}");
        }
    }
}
