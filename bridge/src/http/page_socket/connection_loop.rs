//! The task of a connected page. It waits at the same time for frames of the page and for commands in
//! its outbox, and holds almost no memory while neither arrives.

use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bridge_protocol::{Leaving, PageToBridge};
use bridge_realm::page_messages::CloseFrame;
use bridge_realm::realm::Disconnect;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::codec::{CompatCodec, Decoding, InboundMessage, PageCodec, V2Codec};
use super::connection_end::{ConnectionEnd, disconnect_for_code};
use super::long_registration::{parser, work_order};
use super::memory::{DefinitionMemory, MessageMemory};
use super::page_protocol::PageProtocol;
use super::page_session::PageSession;
use super::probe::Probe;
use super::socket::{PageSocket, frame_too_big};
use super::token_renewal::TokenRenewals;
use crate::budget::WorkOrder;
use crate::hub::{OutboxReceiver, SocketCommand};
use crate::websocket::{Frame, SocketError};

/// The longest unknown message type in the log, in characters.
const MAX_LOGGED_CHARS: usize = 64;

/// How long what a former document has sent is read. Its calls end after this time.
const FORMER_DOCUMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// While this many bytes are unsent, nothing more is taken out of the outbox, which limits what waits.
const MAX_UNSENT_BYTES: usize = 32 * 1024;

/// The connection of an authenticated page.
pub(super) struct PageConnection {
    pub(super) socket: PageSocket,
    pub(super) page: PageSession,
    pub(super) outbox: OutboxReceiver,
    codec: Box<dyn PageCodec>,
    /// A long message that is being decoded, or a registration that is being parsed. Frames after
    /// it are not read before it is done.
    decoding: Option<BoxFuture<'static, InboundMessage>>,
    /// The length of that message.
    decoding_bytes: usize,
    memory: MessageMemory,
    definitions: DefinitionMemory,
    renewals: Option<Box<TokenRenewals>>,
    probe: Probe,
    unknown_type_logged: bool,
    /// The close frame is sent, so nothing else is.
    is_closing: bool,
}

/// An event that the task reacts to.
enum Event {
    Outgoing(Option<SocketCommand>),
    Frame(Result<Frame, SocketError>),
    Decoded(InboundMessage),
    /// There is no memory for what the page sends.
    NoMemory(CloseFrame),
    /// Everything that had arrived before the ping with this number has been read.
    ReadThrough(u64),
}

type Flow = Result<(), ConnectionEnd>;

/// Returns the codec for the protocol of a page.
fn codec_for(page: &PageSession) -> Box<dyn PageCodec> {
    let config = &page.hub.config;
    match page.protocol {
        PageProtocol::V2 => Box::new(V2Codec::new(config.max_message_bytes())),
        PageProtocol::Compat => Box::new(CompatCodec::new(config.compatibility.compat.is_some())),
    }
}

impl PageConnection {
    pub(super) fn new(socket: PageSocket, page: PageSession, outbox: OutboxReceiver) -> Self {
        Self {
            codec: codec_for(&page),
            socket,
            page,
            outbox,
            decoding: None,
            decoding_bytes: 0,
            memory: MessageMemory::default(),
            definitions: DefinitionMemory::default(),
            renewals: None,
            probe: Probe::default(),
            unknown_type_logged: false,
            is_closing: false,
        }
    }

    /// Begins the new session of a page that has authenticated again.
    pub(super) fn replace_session(&mut self, page: PageSession, outbox: OutboxReceiver) {
        self.codec = codec_for(&page);
        self.page = page;
        self.outbox = outbox;
        self.decoding = None;
        self.decoding_bytes = 0;
        self.memory = MessageMemory::default();
        self.definitions = DefinitionMemory::default();
        self.renewals = None;
        self.probe = Probe::default();
        self.unknown_type_logged = false;
    }

    /// Serves the page until its connection ends.
    pub(super) async fn serve(&mut self) -> ConnectionEnd {
        std::future::poll_fn(|cx| {
            loop {
                let event = ready!(self.poll_event(cx));
                let is_of_page = !matches!(event, Event::Outgoing(_));
                if let Err(end) = self.on_event(event) {
                    // Closing takes a while, and the last message is not needed any more.
                    let _ = self.hold_memory();
                    if let (true, ConnectionEnd::Close(close_frame)) = (is_of_page, &end) {
                        self.page.on_refused_message(close_frame.code);
                    }
                    return Poll::Ready(end);
                }
            }
        })
        .await
    }

    /// Closes the socket of a document that was superseded, and reads the messages that it has sent
    /// before: the next document continues the calls that it hands over.
    pub(super) async fn serve_former_document(&mut self, frame: CloseFrame) -> Disconnect {
        self.socket.queue_close(frame.code.code(), &frame.reason);
        self.is_closing = true;
        match timeout(FORMER_DOCUMENT_TIMEOUT, self.serve()).await {
            Ok(ConnectionEnd::Disconnected(disconnect)) => disconnect,
            _ => Disconnect::ConnectionLost,
        }
    }

    /// Polls for the next event. Writing, renewals and reading make progress independently of one
    /// another.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        loop {
            let unsent = self.socket.unsent_bytes();
            if self.is_closing {
                if let Poll::Ready(Err(error)) = self.socket.poll_flush(cx) {
                    return Poll::Ready(Event::Frame(Err(error)));
                }
                break;
            }
            if unsent < MAX_UNSENT_BYTES {
                if let Poll::Ready(command) = self.outbox.poll_recv(cx) {
                    return Poll::Ready(Event::Outgoing(command));
                }
            } else if let Poll::Ready(command) = self.outbox.poll_recv_probe(cx) {
                return Poll::Ready(Event::Outgoing(command));
            }
            if let Poll::Ready(Err(error)) = self.socket.poll_flush(cx) {
                return Poll::Ready(Event::Frame(Err(error)));
            }
            if self.socket.unsent_bytes() < unsent {
                self.outbox.record_write();
            }
            // Otherwise the flush has made room for another command.
            if unsent < MAX_UNSENT_BYTES || self.socket.unsent_bytes() >= MAX_UNSENT_BYTES {
                break;
            }
        }
        if let Some(renewals) = &mut self.renewals
            && renewals.poll(&self.page, cx).is_ready()
        {
            self.renewals = None;
        }
        match &mut self.decoding {
            None => {
                let frame = self.socket.poll_next(cx);
                if let Err(close_frame) = self.hold_memory() {
                    return Poll::Ready(Event::NoMemory(close_frame));
                }
                match frame {
                    Poll::Ready(frame) => Poll::Ready(Event::Frame(frame)),
                    Poll::Pending if self.socket.is_read_through() => {
                        self.probe.poll_read_through().map(Event::ReadThrough)
                    }
                    Poll::Pending => Poll::Pending,
                }
            }
            Some(task) => task.poll_unpin(cx).map(|message| {
                self.decoding = None;
                self.decoding_bytes = 0;
                Event::Decoded(message)
            }),
        }
    }

    /// Counts the bytes that have arrived of messages. The socket returns after at most 256 KiB.
    fn hold_memory(&mut self) -> Result<(), CloseFrame> {
        let incomplete = self.socket.unreturned_bytes() + self.codec.held_bytes();
        self.memory
            .set_used(&self.page, incomplete + self.decoding_bytes)
    }

    fn on_event(&mut self, event: Event) -> Flow {
        match event {
            Event::Outgoing(Some(command)) => self.on_outgoing(command),
            Event::Outgoing(None) => Err(ConnectionEnd::Aborted),
            Event::Frame(frame) => {
                self.outbox.record_read();
                self.on_frame(frame)
            }
            Event::Decoded(message) => self.on_decoded(message),
            Event::NoMemory(close_frame) => {
                Err(ConnectionEnd::Close(self.codec.close_frame(close_frame)))
            }
            Event::ReadThrough(probe) => {
                self.page.on_read_through(probe);
                Ok(())
            }
        }
    }

    fn on_outgoing(&mut self, command: SocketCommand) -> Flow {
        match command {
            SocketCommand::Ping => self.socket.queue_ping(),
            SocketCommand::Probe(number) => self.probe.send(&mut self.socket, number),
            SocketCommand::Message(message) => {
                self.codec.queue(&self.page, &mut self.socket, message);
            }
            SocketCommand::Close { code, reason } => {
                let close_frame = CloseFrame::new(code, reason);
                return Err(ConnectionEnd::Close(self.codec.close_frame(close_frame)));
            }
        }
        Ok(())
    }

    fn on_frame(&mut self, frame: Result<Frame, SocketError>) -> Flow {
        match frame {
            Ok(Frame::PingPong) => Ok(()),
            Ok(Frame::Pong(number)) => {
                if let Some(answer) = self.probe.answer(&self.socket, number) {
                    self.page.on_probe_answer(answer);
                }
                Ok(())
            }
            Ok(Frame::Text(text)) => {
                let decoding = self.codec.decode(text);
                self.on_decoding(decoding)
            }
            Ok(Frame::Binary) => {
                let reason = "binary frames are not understood";
                Err(ConnectionEnd::Close(self.codec.invalid_frame(reason)))
            }
            Ok(Frame::Close(code)) => Err(ConnectionEnd::Disconnected(disconnect_for_code(code))),
            Err(SocketError::MessageTooLarge) => Err(ConnectionEnd::Close(frame_too_big())),
            Err(SocketError::Disconnected) => {
                Err(ConnectionEnd::Disconnected(Disconnect::ConnectionLost))
            }
        }
    }

    fn on_decoding(&mut self, decoding: Decoding) -> Flow {
        match decoding {
            Decoding::Complete(message) => self.on_decoded(message),
            Decoding::Incomplete => {
                self.page.on_part();
                Ok(())
            }
            Decoding::Blocking { decode, bytes } => {
                self.decoding_bytes = bytes;
                self.hold_memory().map_err(|close_frame| {
                    ConnectionEnd::Close(self.codec.close_frame(close_frame))
                })?;
                let order = WorkOrder::for_json(self.page.realm, bytes);
                self.decode_in_pool(order, decode);
                Ok(())
            }
        }
    }

    /// Decodes a message in the CPU pool. A connection has one such message at a time.
    fn decode_in_pool(
        &mut self,
        order: WorkOrder,
        decode: impl FnOnce() -> InboundMessage + Send + 'static,
    ) {
        let reason = "the message could not be decoded";
        let invalid = self.codec.invalid_frame(reason);
        let hub = Arc::clone(&self.page.hub);
        self.decoding = Some(Box::pin(async move {
            let decoded = hub.budgets.cpu_pool.run_admitted(order, decode).await;
            decoded.unwrap_or(InboundMessage::Invalid(invalid))
        }));
    }

    fn on_decoded(&mut self, message: InboundMessage) -> Flow {
        match message {
            InboundMessage::Known(PageToBridge::Leaving(Leaving { hands_over })) => {
                let leaving = Disconnect::Leaving { hands_over };
                return Err(ConnectionEnd::Disconnected(leaving));
            }
            InboundMessage::Known(PageToBridge::CallHandOver(hand_over)) => {
                self.page.on_hand_over(hand_over);
            }
            InboundMessage::Known(PageToBridge::Renew(renewal)) => {
                self.page.renew(&mut self.renewals, renewal);
            }
            InboundMessage::Known(message) => {
                let reserved = self.definitions.reserve(&self.page, &message);
                reserved.map_err(|close_frame| {
                    ConnectionEnd::Close(self.codec.close_frame(close_frame))
                })?;
                if let Some(order) = work_order(self.page.realm, &message) {
                    let parse = parser(&self.page, message);
                    self.decode_in_pool(order, parse);
                    return Ok(());
                }
                let changes_definitions = matches!(
                    message,
                    PageToBridge::Register(_) | PageToBridge::Unregister(_)
                );
                self.page
                    .on_message(message)
                    .map_err(ConnectionEnd::Close)?;
                if changes_definitions {
                    self.definitions.settle(&self.page);
                }
            }
            InboundMessage::Event(event) => {
                self.page.apply(event);
                self.definitions.settle(&self.page);
            }
            InboundMessage::CompactResponse(call, value) => {
                self.page.on_compact_response(call, value)
            }
            InboundMessage::Activity(at_ms) => self.page.on_activity(at_ms),
            InboundMessage::ResourceResponse(call, content) => {
                self.page.on_resource_response(call, content);
            }
            InboundMessage::Reauthenticate(hello) => {
                return Err(ConnectionEnd::Reauthenticate(hello));
            }
            InboundMessage::UnknownType(kind) => self.log_unknown_type(&kind),
            InboundMessage::Invalid(close_frame) => return Err(ConnectionEnd::Close(close_frame)),
        }
        Ok(())
    }

    /// Logs an unknown message type, once for each connection.
    fn log_unknown_type(&mut self, kind: &str) {
        if !std::mem::replace(&mut self.unknown_type_logged, true) {
            let kind: String = kind.chars().take(MAX_LOGGED_CHARS).collect();
            tracing::info!(session = ?self.page.session, kind, "unknown message type ignored");
        }
    }
}
