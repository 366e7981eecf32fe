//! One task for each page: it waits for the page, and for what the page is to be told, at the same
//! time, and holds next to nothing while neither says anything.

use std::task::{Context, Poll, ready};

use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::{
    BridgeToPage, CallId, CloseCode, DecodeError, ErrorCode, PageToBridge, parts,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{
    ConnectionEnd, MAX_LOGGED_CHARS, PageConnection, PageSession, PageSocket, binary_unsupported,
    compat, disconnect_for_code, error_excerpt, frame_too_big, invalid_json, reassembly,
};
use crate::compat::page_codec;
use crate::compat::page_codec::{BadFrame, CompatInbound};
use crate::http::page_socket::token_renewal::TokenRenewals;
use crate::hub::{OutboxReceiver, SocketCommand};
use crate::websocket::{Frame, SocketError};
use bridge_json::RawJson;
use bridge_realm::page_messages::{CloseFrame, parse_long_response};
use bridge_realm::realm::{Disconnect, PageProtocol};
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// The value of an answer that has so many bytes is left where it came. It keeps the message in memory,
/// and what was read with it.
const LONG_ANSWER_BYTES: usize = 16 * 1024;

/// One pass over so many bytes takes less than half a millisecond: longer to send for somebody.
const MAX_INLINE_SCAN_BYTES: usize = 1024 * 1024;

/// Longer messages than this, in bytes, are read on a thread of their own: other pages have calls
/// meanwhile.
const MAX_INLINE_DECODE_BYTES: usize = 128 * 1024;

/// With so much unsent, nothing more is taken out of the outbox: it counts what waits.
const MAX_UNSENT_BYTES: usize = 32 * 1024;

/// A message that was read.
pub(super) enum DecodedMessage {
    V2(Result<PageToBridge, DecodeError>),
    V1(Result<CompatInbound, BadFrame>),
    /// An answer that is long.
    LongAnswer(CallId, RawJson),
}

/// What a page's task knows from one message to the next.
#[derive(Default)]
pub(super) struct ConnectionState {
    reassembler: Option<Box<reassembly::Reassembler>>,
    /// A long message that is being read. Nothing that comes after it is looked at before.
    decoding: Option<BoxFuture<'static, DecodedMessage>>,
    renewals: Option<Box<TokenRenewals>>,
    /// Messages so far that were too long for one frame.
    split_messages: u64,
    /// Why the session ended, once the page has heard it.
    announced_end: Option<ErrorCode>,
    unknown_type_logged: bool,
    refused_resources: compat::RefusedResources,
}

/// What happened.
enum Event {
    Outgoing(Option<SocketCommand>),
    Frame(Result<Frame, SocketError>),
    Decoded(DecodedMessage),
}

type Flow = Result<(), ConnectionEnd>;

impl PageConnection {
    /// Until the socket ends.
    pub(super) async fn serve(&mut self) -> ConnectionEnd {
        let PageConnection {
            socket,
            page,
            outbox,
            state: serving,
        } = self;
        *serving = ConnectionState::default();
        std::future::poll_fn(|cx| {
            loop {
                let step = ready!(serving.poll_event(page, socket, outbox, cx));
                if let Err(end) = page.on_event(serving, socket, outbox, step) {
                    return Poll::Ready(end);
                }
            }
        })
        .await
    }
}

impl PageSession {
    fn on_event(
        &self,
        serving: &mut ConnectionState,
        socket: &mut PageSocket,
        outbox: &OutboxReceiver,
        step: Event,
    ) -> Flow {
        match step {
            Event::Outgoing(Some(outgoing)) => self.on_outgoing(serving, socket, outgoing),
            Event::Outgoing(None) => Err(ConnectionEnd::Aborted),
            Event::Frame(came) => {
                outbox.record_read();
                self.on_frame(serving, came)
            }
            Event::Decoded(read) => self.on_decoded(serving, read),
        }
    }

    fn on_outgoing(
        &self,
        serving: &mut ConnectionState,
        socket: &mut PageSocket,
        outgoing: SocketCommand,
    ) -> Flow {
        match (outgoing, self.protocol) {
            (SocketCommand::Ping, _) => socket.queue_ping(),
            (SocketCommand::Message(message), PageProtocol::V2) => {
                let text = message.encode();
                if text.len() <= PART_BYTES {
                    socket.queue_text(text);
                } else {
                    serving.split_messages += 1;
                    for part in parts::split(&text, serving.split_messages) {
                        socket.queue_text(part);
                    }
                }
            }
            (SocketCommand::Message(message), PageProtocol::V1) => {
                if let BridgeToPage::SessionClosed(ended) = &message {
                    serving.announced_end = Some(ended.code);
                }
                serving.refused_resources.log(self, &message);
                if let Some(text) = page_codec::encode(&message) {
                    socket.queue_text(text);
                }
            }
            (SocketCommand::Close { code, reason }, dialect) => {
                let closing = CloseFrame::new(code, reason);
                return Err(ConnectionEnd::Close(match dialect {
                    PageProtocol::V2 => closing,
                    PageProtocol::V1 => page_codec::close_frame(closing, serving.announced_end),
                }));
            }
        }
        Ok(())
    }

    fn on_frame(&self, serving: &mut ConnectionState, came: Result<Frame, SocketError>) -> Flow {
        match (came, self.protocol) {
            (Ok(Frame::PingPong), _) => Ok(()),
            (Ok(Frame::Text(text)), PageProtocol::V2) => self.on_text_frame(serving, text),
            (Ok(Frame::Text(text)), PageProtocol::V1) => {
                let strict = self.strict_mode();
                self.decode_message(serving, text, move |text| {
                    DecodedMessage::V1(page_codec::decode(text, strict))
                })
            }
            (Ok(Frame::Binary), PageProtocol::V2) => {
                Err(ConnectionEnd::Close(binary_unsupported()))
            }
            (Ok(Frame::Binary), PageProtocol::V1) => {
                Err(ConnectionEnd::Close(compat::invalid_frame()))
            }
            (Ok(Frame::Close(code)), _) => {
                Err(ConnectionEnd::Disconnected(disconnect_for_code(code)))
            }
            (Err(SocketError::MessageTooLarge), _) => Err(ConnectionEnd::Close(frame_too_big())),
            (Err(SocketError::Disconnected), _) => {
                Err(ConnectionEnd::Disconnected(Disconnect::ConnectionLost))
            }
        }
    }

    /// A whole message, or a part of one.
    fn on_text_frame(&self, serving: &mut ConnectionState, frame: Utf8Bytes) -> Flow {
        let text = if parts::is_part(&frame) {
            let limit = self.hub.config.max_message_bytes();
            let assembler = serving
                .reassembler
                .get_or_insert_with(|| Box::new(reassembly::Reassembler::new(limit)));
            match assembler.push(&frame).map_err(ConnectionEnd::Close)? {
                Some(message) => {
                    if !assembler.is_receiving() {
                        serving.reassembler = None;
                    }
                    message.into()
                }
                None => {
                    self.part_arrived();
                    return Ok(());
                }
            }
        } else {
            frame
        };
        if text.len() < LONG_ANSWER_BYTES {
            return self.on_decoded(serving, decode(&text));
        }
        if text.len() > MAX_INLINE_SCAN_BYTES {
            return self.decode_message(serving, text, |text| {
                decode_long_answer(text).unwrap_or_else(|| decode(text))
            });
        }
        match decode_long_answer(&text) {
            Some(read) => self.on_decoded(serving, read),
            None => self.decode_message(serving, text, |text| decode(text)),
        }
    }

    /// Reads a message, elsewhere if it is long.
    fn decode_message(
        &self,
        serving: &mut ConnectionState,
        text: Utf8Bytes,
        decode: impl FnOnce(&Utf8Bytes) -> DecodedMessage + Send + 'static,
    ) -> Flow {
        if text.len() <= MAX_INLINE_DECODE_BYTES {
            return self.on_decoded(serving, decode(&text));
        }
        let reading = tokio::task::spawn_blocking(move || decode(&text));
        let dialect = self.protocol;
        serving.decoding = Some(Box::pin(reading.map(move |read| match (read, dialect) {
            (Ok(read), _) => read,
            (Err(_), PageProtocol::V1) => DecodedMessage::V1(Err(BadFrame)),
            (Err(stopped), PageProtocol::V2) => {
                let error = serde::de::Error::custom(stopped);
                DecodedMessage::V2(Err(DecodeError::NotAMessage(error)))
            }
        })));
        Ok(())
    }

    fn on_decoded(&self, serving: &mut ConnectionState, read: DecodedMessage) -> Flow {
        match read {
            DecodedMessage::V2(Ok(PageToBridge::Leaving {})) => {
                Err(ConnectionEnd::Disconnected(Disconnect::DocumentGone))
            }
            DecodedMessage::V2(Ok(PageToBridge::Renew(fresh))) => {
                self.renew(&mut serving.renewals, fresh);
                Ok(())
            }
            DecodedMessage::V2(Ok(message)) => {
                self.on_message(message).map_err(ConnectionEnd::Close)
            }
            DecodedMessage::LongAnswer(call, value) => {
                self.on_long_answer(call, value);
                Ok(())
            }
            DecodedMessage::V2(Err(DecodeError::UnknownType(kind))) => {
                self.log_unknown_type(serving, &kind);
                Ok(())
            }
            DecodedMessage::V2(Err(error @ DecodeError::NotAMessage(_))) => {
                Err(ConnectionEnd::Close(invalid_json(&error)))
            }
            DecodedMessage::V2(Err(error @ DecodeError::BadFields { .. })) => {
                let reason = error_excerpt(&error);
                Err(ConnectionEnd::Close(CloseFrame::new(
                    CloseCode::PolicyViolation,
                    reason,
                )))
            }
            DecodedMessage::V1(Err(BadFrame)) => Err(ConnectionEnd::Close(compat::invalid_frame())),
            DecodedMessage::V1(Ok(CompatInbound::Unknown(kind))) => {
                self.log_unknown_type(serving, &kind);
                Ok(())
            }
            DecodedMessage::V1(Ok(heard)) => self.on_compat_message(heard),
        }
    }

    /// Told once for each connection.
    fn log_unknown_type(&self, serving: &mut ConnectionState, kind: &str) {
        if !std::mem::replace(&mut serving.unknown_type_logged, true) {
            let kind: String = kind.chars().take(MAX_LOGGED_CHARS).collect();
            tracing::info!(session = ?self.session, kind, "unknown message type ignored");
        }
    }
}

fn decode(text: &str) -> DecodedMessage {
    DecodedMessage::V2(PageToBridge::decode(text))
}

fn decode_long_answer(text: &Utf8Bytes) -> Option<DecodedMessage> {
    parse_long_response(text).map(|(call, value)| DecodedMessage::LongAnswer(call, value))
}

impl ConnectionState {
    /// What happens next. Everything that can go on does, whatever the rest waits for.
    fn poll_event(
        &mut self,
        page: &PageSession,
        socket: &mut PageSocket,
        outbox: &mut OutboxReceiver,
        cx: &mut Context<'_>,
    ) -> Poll<Event> {
        loop {
            let unsent = socket.unsent_bytes();
            if unsent < MAX_UNSENT_BYTES {
                if let Poll::Ready(outgoing) = outbox.poll_recv(cx) {
                    return Poll::Ready(Event::Outgoing(outgoing));
                }
            } else if outbox.poll_aborted(cx).is_ready() {
                return Poll::Ready(Event::Outgoing(None));
            }
            if let Poll::Ready(Err(broken)) = socket.poll_flush(cx) {
                return Poll::Ready(Event::Frame(Err(broken)));
            }
            if socket.unsent_bytes() < unsent {
                outbox.record_write();
            }
            // There is room again.
            if unsent < MAX_UNSENT_BYTES || socket.unsent_bytes() >= MAX_UNSENT_BYTES {
                break;
            }
        }
        if let Some(renewals) = &mut self.renewals
            && renewals.poll(page, cx).is_ready()
        {
            self.renewals = None;
        }
        match &mut self.decoding {
            None => socket.poll_next(cx).map(Event::Frame),
            Some(reading) => reading.poll_unpin(cx).map(|read| {
                self.decoding = None;
                Event::Decoded(read)
            }),
        }
    }
}
