//! The event streams of the bridge, resumed where they broke off.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::time::Instant;

use crate::absence::Absence;
use crate::bridge_http::BridgeHttp;
use crate::oversized::Oversized;
use crate::sse::{Data, Decoder, Event};

/// The first pause before a stream is opened again, unless the bridge names another; doubled each
/// time that nothing came meanwhile.
const REOPEN_AFTER: Duration = Duration::from_millis(250);

/// The longest pause that the bridge can ask for, and the longest of our own.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often the stream of a request is opened again in a row without an event on it.
const MAX_REOPENED: u32 = 6;

/// One response.
pub(crate) struct Events {
    pieces: BoxStream<'static, reqwest::Result<Bytes>>,
    decoder: Decoder,
}

/// How a response ended.
enum End {
    /// The bridge closed it.
    Closed,
    /// It broke off, or cannot be read.
    Broken,
}

/// What stands where a message should.
#[derive(Debug)]
pub(crate) enum Incoming {
    Text(String),
    TooLong(Oversized),
}

impl Events {
    pub(crate) fn of(response: reqwest::Response, max_message_bytes: usize) -> Self {
        Self {
            pieces: response.bytes_stream().boxed(),
            decoder: Decoder::new(max_message_bytes),
        }
    }

    async fn next(&mut self) -> Result<Event, End> {
        loop {
            if let Some(event) = self.decoder.next() {
                return Ok(event);
            }
            match self.pieces.next().await {
                Some(Ok(piece)) => self.decoder.read(&piece),
                Some(Err(error)) => {
                    tracing::debug!("an event stream broke off: {error}");
                    return Err(End::Broken);
                }
                None => return Err(End::Closed),
            }
        }
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

    /// The next message.
    ///
    /// # Errors
    /// When the stream ended and does not go on.
    pub(crate) async fn next(&mut self) -> Result<Incoming, Absence> {
        loop {
            let event = match self.events.next().await {
                Ok(event) => event,
                Err(end) => {
                    self.reopen(&end).await?;
                    continue;
                }
            };
            self.note(&event);
            let incoming = match event.data {
                None => continue,
                Some(Data::Text(text)) if text.trim().is_empty() => continue,
                Some(Data::Text(text)) => Incoming::Text(text),
                Some(Data::TooLong(oversized)) => Incoming::TooLong(oversized),
                Some(Data::NoText) => {
                    return Err(Absence::Unusable("its answer is not MCP".to_owned()));
                }
            };
            self.reopened = 0;
            return Ok(incoming);
        }
    }

    fn note(&mut self, event: &Event) {
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
