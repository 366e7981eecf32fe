//! The task of a connected page. It waits at the same time for frames of the page and for commands in
//! its outbox, and holds almost no memory while neither arrives.

use std::task::{Context, Poll, ready};

use bridge_json::RawJson;
use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::{
    BridgeToPage, CallId, CloseCode, DecodeError, ErrorCode, PageToBridge, parts,
};
use bridge_realm::page_messages::{CloseFrame, parse_long_response};
use bridge_realm::realm::{Disconnect, PageProtocol};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::compat::{self, RejectedResources};
use super::connection_end::{ConnectionEnd, disconnect_for_code};
use super::page_session::PageSession;
use super::reassembly::Reassembler;
use super::socket::{PageSocket, binary_unsupported, frame_too_big, invalid_message};
use super::token_renewal::TokenRenewals;
use crate::compat::page_codec;
use crate::compat::page_codec::{BadFrame, CompatInbound};
use crate::hub::{OutboxReceiver, SocketCommand};
use crate::websocket::{Frame, SocketError};

/// The longest unknown message type in the log, in characters.
const MAX_LOGGED_CHARS: usize = 64;

/// From this length, in bytes, the value of a response is not copied out of its message. The value
/// then keeps the message in memory, and whatever was read from the socket together with it.
const LONG_RESPONSE_BYTES: usize = 16 * 1024;

/// Up to this length, in bytes, a message is scanned on the task: one pass takes less than half a
/// millisecond, which is less than moving it to another thread costs.
const MAX_INLINE_SCAN_BYTES: usize = 1024 * 1024;

/// Messages longer than this, in bytes, are decoded on a thread for blocking work, so that they do
/// not delay the calls of other pages.
const MAX_INLINE_DECODE_BYTES: usize = 128 * 1024;

/// While this many bytes are unsent, nothing more is taken out of the outbox, which limits what waits.
const MAX_UNSENT_BYTES: usize = 32 * 1024;

/// The result of decoding one message.
enum DecodedMessage {
    V2(Result<PageToBridge, DecodeError>),
    V1(Result<CompatInbound, BadFrame>),
    /// A response of at least [`LONG_RESPONSE_BYTES`].
    LongResponse(CallId, RawJson),
}

/// The connection of an authenticated page.
pub(super) struct PageConnection {
    pub(super) socket: PageSocket,
    pub(super) page: PageSession,
    pub(super) outbox: OutboxReceiver,
    state: ConnectionState,
}

/// What the task keeps from one message to the next.
#[derive(Default)]
struct ConnectionState {
    reassembler: Option<Box<Reassembler>>,
    /// A long message that is being decoded. Frames after it are not read before it is done.
    decoding: Option<BoxFuture<'static, DecodedMessage>>,
    renewals: Option<Box<TokenRenewals>>,
    /// The number of messages so far that were too long for one frame.
    split_messages: u64,
    /// Why the session ended, once that was sent to the page.
    announced_end: Option<ErrorCode>,
    unknown_type_logged: bool,
    rejected_resources: RejectedResources,
}

/// What the task reacts to.
enum Event {
    Outgoing(Option<SocketCommand>),
    Frame(Result<Frame, SocketError>),
    Decoded(DecodedMessage),
}

type Flow = Result<(), ConnectionEnd>;

impl PageConnection {
    pub(super) fn new(socket: PageSocket, page: PageSession, outbox: OutboxReceiver) -> Self {
        Self {
            socket,
            page,
            outbox,
            state: ConnectionState::default(),
        }
    }

    /// Serves the page until its connection ends.
    pub(super) async fn serve(&mut self) -> ConnectionEnd {
        let PageConnection {
            socket,
            page,
            outbox,
            state,
        } = self;
        *state = ConnectionState::default();
        std::future::poll_fn(|cx| {
            loop {
                let event = ready!(state.poll_event(page, socket, outbox, cx));
                if let Err(end) = page.on_event(state, socket, outbox, event) {
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
        state: &mut ConnectionState,
        socket: &mut PageSocket,
        outbox: &OutboxReceiver,
        event: Event,
    ) -> Flow {
        match event {
            Event::Outgoing(Some(command)) => self.on_outgoing(state, socket, command),
            Event::Outgoing(None) => Err(ConnectionEnd::Aborted),
            Event::Frame(frame) => {
                outbox.record_read();
                self.on_frame(state, frame)
            }
            Event::Decoded(message) => self.on_decoded(state, message),
        }
    }

    fn on_outgoing(
        &self,
        state: &mut ConnectionState,
        socket: &mut PageSocket,
        command: SocketCommand,
    ) -> Flow {
        match (command, self.protocol) {
            (SocketCommand::Ping, _) => socket.queue_ping(),
            (SocketCommand::Message(message), PageProtocol::V2) => {
                let text = message.encode();
                if text.len() <= PART_BYTES {
                    socket.queue_text(text);
                } else {
                    state.split_messages += 1;
                    for part in parts::split(&text, state.split_messages) {
                        socket.queue_text(part);
                    }
                }
            }
            (SocketCommand::Message(message), PageProtocol::V1) => {
                if let BridgeToPage::SessionClosed(closed) = &message {
                    state.announced_end = Some(closed.code);
                }
                state.rejected_resources.log(self, &message);
                if let Some(text) = page_codec::encode(&message) {
                    socket.queue_text(text);
                }
            }
            (SocketCommand::Close { code, reason }, protocol) => {
                let close_frame = CloseFrame::new(code, reason);
                return Err(ConnectionEnd::Close(match protocol {
                    PageProtocol::V2 => close_frame,
                    PageProtocol::V1 => page_codec::close_frame(close_frame, state.announced_end),
                }));
            }
        }
        Ok(())
    }

    fn on_frame(&self, state: &mut ConnectionState, frame: Result<Frame, SocketError>) -> Flow {
        match (frame, self.protocol) {
            (Ok(Frame::PingPong), _) => Ok(()),
            (Ok(Frame::Text(text)), PageProtocol::V2) => self.on_text_frame(state, text),
            (Ok(Frame::Text(text)), PageProtocol::V1) => {
                let strict = self.strict_mode();
                self.decode_message(state, text, move |text| {
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

    /// Receives a whole message, or a part of one.
    fn on_text_frame(&self, state: &mut ConnectionState, frame: Utf8Bytes) -> Flow {
        let text = if parts::is_part(&frame) {
            let max_bytes = self.hub.config.max_message_bytes();
            let reassembler = state
                .reassembler
                .get_or_insert_with(|| Box::new(Reassembler::new(max_bytes)));
            match reassembler.push(&frame).map_err(ConnectionEnd::Close)? {
                Some(message) => {
                    if !reassembler.is_receiving() {
                        state.reassembler = None;
                    }
                    message.into()
                }
                None => {
                    self.on_part();
                    return Ok(());
                }
            }
        } else {
            frame
        };
        if text.len() < LONG_RESPONSE_BYTES {
            return self.on_decoded(state, decode(&text));
        }
        if text.len() > MAX_INLINE_SCAN_BYTES {
            return self.decode_message(state, text, |text| {
                decode_long_response(text).unwrap_or_else(|| decode(text))
            });
        }
        match decode_long_response(&text) {
            Some(message) => self.on_decoded(state, message),
            None => self.decode_message(state, text, |text| decode(text)),
        }
    }

    /// Decodes a message, on a thread for blocking work if it is long.
    fn decode_message(
        &self,
        state: &mut ConnectionState,
        text: Utf8Bytes,
        decode: impl FnOnce(&Utf8Bytes) -> DecodedMessage + Send + 'static,
    ) -> Flow {
        if text.len() <= MAX_INLINE_DECODE_BYTES {
            return self.on_decoded(state, decode(&text));
        }
        let task = tokio::task::spawn_blocking(move || decode(&text));
        let protocol = self.protocol;
        state.decoding = Some(Box::pin(task.map(move |message| {
            match (message, protocol) {
                (Ok(message), _) => message,
                (Err(_), PageProtocol::V1) => DecodedMessage::V1(Err(BadFrame)),
                (Err(stopped), PageProtocol::V2) => {
                    let error = serde::de::Error::custom(stopped);
                    DecodedMessage::V2(Err(DecodeError::NotAMessage(error)))
                }
            }
        })));
        Ok(())
    }

    fn on_decoded(&self, state: &mut ConnectionState, message: DecodedMessage) -> Flow {
        match message {
            DecodedMessage::V2(Ok(PageToBridge::Leaving {})) => {
                Err(ConnectionEnd::Disconnected(Disconnect::DocumentGone))
            }
            DecodedMessage::V2(Ok(PageToBridge::Renew(renewal))) => {
                self.renew(&mut state.renewals, renewal);
                Ok(())
            }
            DecodedMessage::V2(Ok(message)) => {
                self.on_message(message).map_err(ConnectionEnd::Close)
            }
            DecodedMessage::LongResponse(call, value) => {
                self.on_long_response(call, value);
                Ok(())
            }
            DecodedMessage::V2(Err(DecodeError::UnknownType(kind)))
            | DecodedMessage::V1(Ok(CompatInbound::Unknown(kind))) => {
                self.log_unknown_type(state, &kind);
                Ok(())
            }
            DecodedMessage::V2(Err(error @ DecodeError::NotAMessage(_))) => Err(
                ConnectionEnd::Close(invalid_message(CloseCode::UnsupportedData, &error)),
            ),
            DecodedMessage::V2(Err(error @ DecodeError::BadFields { .. })) => Err(
                ConnectionEnd::Close(invalid_message(CloseCode::PolicyViolation, &error)),
            ),
            DecodedMessage::V1(Err(BadFrame)) => Err(ConnectionEnd::Close(compat::invalid_frame())),
            DecodedMessage::V1(Ok(message)) => self.on_compat_message(message),
        }
    }

    /// Logs an unknown message type, once for each connection.
    fn log_unknown_type(&self, state: &mut ConnectionState, kind: &str) {
        if !std::mem::replace(&mut state.unknown_type_logged, true) {
            let kind: String = kind.chars().take(MAX_LOGGED_CHARS).collect();
            tracing::info!(session = ?self.session, kind, "unknown message type ignored");
        }
    }
}

fn decode(text: &str) -> DecodedMessage {
    DecodedMessage::V2(PageToBridge::decode(text))
}

fn decode_long_response(text: &Utf8Bytes) -> Option<DecodedMessage> {
    parse_long_response(text).map(|(call, value)| DecodedMessage::LongResponse(call, value))
}

impl ConnectionState {
    /// Polls for the next event. Writing, renewals and reading make progress independently of one
    /// another.
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
                if let Poll::Ready(command) = outbox.poll_recv(cx) {
                    return Poll::Ready(Event::Outgoing(command));
                }
            } else if outbox.poll_aborted(cx).is_ready() {
                return Poll::Ready(Event::Outgoing(None));
            }
            if let Poll::Ready(Err(error)) = socket.poll_flush(cx) {
                return Poll::Ready(Event::Frame(Err(error)));
            }
            if socket.unsent_bytes() < unsent {
                outbox.record_write();
            }
            // Otherwise the flush has made room for another command.
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
            Some(task) => task.poll_unpin(cx).map(|message| {
                self.decoding = None;
                Event::Decoded(message)
            }),
        }
    }
}
