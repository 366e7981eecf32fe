//! The loops of a v1 page's socket.
//!
//! Its silence ends nothing: a page of v1 that was cut comes back late or not at all. The pings go
//! on all the same: they keep idle lines open in proxies, and let TCP notice a peer that is gone.

use std::time::Duration;

use axum::extract::ws::{Message, Utf8Bytes};
use bridge_protocol::{BridgeToPage, CallId, CloseCode, ErrorCode};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::Instant;

use super::frames::{self, NotSent, READ_HERE_BYTES};
use super::{End, Page, Sink, Stream, is_too_big, parting, too_big};
use crate::hub::{Outbox, Outgoing};
use crate::page_wire::{Closing, PageEvent};
use crate::realm::{Answer, Failure, Parting};
use crate::v1::page::{self, BadFrame, Content, Heard, Strict};

/// A page that does not read is cut by what piles up for it, not by a clock.
const NO_HURRY: Duration = Duration::MAX;

/// The close that answers a frame which is no message.
pub(super) fn bad_frame() -> Closing {
    Closing::new(CloseCode::UnsupportedData, BadFrame::REASON)
}

/// Whether this may come before a page of v1 has authenticated.
pub(super) fn may_come_first(text: &str) -> bool {
    matches!(page::decode(text, Strict(false)), Ok(Heard::Active(_)))
}

/// Sends a message, if v1 has words for it.
async fn say(sink: &mut Sink, message: &BridgeToPage) -> Result<(), NotSent> {
    match page::encode(message) {
        Some(text) => frames::put(sink, Message::Text(text.into()), NO_HURRY).await,
        None => Ok(()),
    }
}

/// Sends what waited for the page when it authenticated again: its calls go on.
pub(super) async fn send_rest(sink: &mut Sink, mut outbox: Outbox) {
    while let Some(Outgoing::Message(message)) = outbox.waiting() {
        let ends = matches!(message, BridgeToPage::SessionClosed(_));
        if ends || say(sink, &message).await.is_err() {
            return;
        }
    }
}

impl Page {
    pub(super) async fn serve_v1(
        &self,
        sink: &mut Sink,
        stream: &mut Stream,
        outbox: &mut Outbox,
    ) -> End {
        let cut = outbox.cut.clone();
        tokio::select! {
            end = self.read_v1(stream) => end,
            end = self.write_v1(sink, outbox) => end,
            () = cut.cancelled() => End::Cut,
        }
    }

    async fn write_v1(&self, sink: &mut Sink, outbox: &mut Outbox) -> End {
        let every = self.hub.config.heartbeat;
        let mut ping = tokio::time::interval_at(Instant::now() + every, every);
        // Why the session ended, once the page has heard it.
        let mut told = None;
        loop {
            let sent = tokio::select! {
                outgoing = outbox.next() => match outgoing {
                    Some(Outgoing::Message(message)) => {
                        if let BridgeToPage::SessionClosed(ended) = &message {
                            told = Some(ended.code);
                        }
                        say(sink, &message).await
                    }
                    Some(Outgoing::Close { code, reason }) => {
                        return End::Closing(page::closing(Closing::new(code, reason), told));
                    }
                    None => return End::Cut,
                },
                _ = ping.tick() => frames::put(sink, Message::Ping(Bytes::new()), NO_HURRY).await,
            };
            if sent.is_err() {
                return End::Parted(Parting::Broken);
            }
        }
    }

    async fn read_v1(&self, stream: &mut Stream) -> End {
        let mut told_of_unknown_type = false;
        loop {
            let text = match stream.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(frame))) => return End::Parted(parting(frame)),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Binary(_))) => return End::Closing(bad_frame()),
                Some(Err(error)) if is_too_big(&error) => return End::Closing(too_big()),
                Some(Err(_)) | None => return End::Parted(Parting::Broken),
            };
            match self.decode_v1(text).await {
                Err(BadFrame) => return End::Closing(bad_frame()),
                Ok(Heard::Said(message)) => {
                    if let Err(closing) = self.heard(message) {
                        return End::Closing(closing);
                    }
                }
                Ok(Heard::Authenticates(hello)) => return End::Again(hello),
                Ok(Heard::Active(at_ms)) => self.active(at_ms),
                Ok(Heard::Read(call, content)) => self.has_read(call, content),
                Ok(Heard::Unknown(kind)) => {
                    if !std::mem::replace(&mut told_of_unknown_type, true) {
                        let kind: String = kind.chars().take(super::SHOWN_CHARS).collect();
                        tracing::info!(session = ?self.session, kind, "unknown message type ignored");
                    }
                }
            }
        }
    }

    async fn decode_v1(&self, text: Utf8Bytes) -> Result<Heard, BadFrame> {
        let strict = Strict(self.hub.config.compat.is_some());
        if text.len() <= READ_HERE_BYTES {
            return page::decode(&text, strict);
        }
        let decoding = tokio::task::spawn_blocking(move || page::decode(&text, strict));
        decoding.await.unwrap_or(Err(BadFrame))
    }

    fn active(&self, at_ms: Option<u64>) {
        self.hub.change(self.realm, |realm, now| {
            let at_ms = at_ms.unwrap_or(now.unix_ms);
            realm.page_active(&self.session, self.connection, at_ms);
            ((), Vec::new())
        });
    }

    /// Its answer does not name the resource: the call does.
    fn has_read(&self, call: CallId, content: Result<Content, String>) {
        let uri = self.hub.read(self.realm, |realm| {
            realm.uri_of(&self.session, &call).map(str::to_owned)
        });
        let Some(uri) = uri.flatten() else { return };
        let failed = |message| Failure::new(ErrorCode::HandlerFailed, message);
        let contents = |content| page::contents(&uri, content);
        let answer = content.map(|content| Answer::Value(contents(content)));
        let event = PageEvent::Answered(call, answer.map_err(failed));
        self.hub.change(self.realm, |realm, now| {
            let effects = event.happen(realm, &self.session, self.connection, now);
            ((), effects)
        });
    }
}
