//! One task for each page: it waits for the page, and for what the page is to be told, at the same
//! time, and holds next to nothing while neither says anything.

use std::task::{Context, Poll, ready};

use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::{
    BridgeToPage, CallId, CloseCode, DecodeError, ErrorCode, PageToBridge, parts,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::renewal::Renewals;
use super::{
    End, Line, Page, SHOWN_CHARS, Socket, bad_json, binary, frames, parting, shown, too_big, v1,
};
use crate::hub::{Outbox, Outgoing};
use crate::json::Json;
use crate::page_wire::{Closing, long_answer};
use crate::realm::{Dialect, Parting};
use crate::v1::page::{self, BadFrame, Heard};
use crate::websocket::{Broken, Frame};
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// The value of an answer that has so many bytes is left where it came. It keeps the message in memory,
/// and what was read with it.
const LONG_BYTES: usize = 16 * 1024;

/// One pass over so many bytes takes less than half a millisecond: longer to send for somebody.
const PASS_HERE_BYTES: usize = 1024 * 1024;

/// Longer messages than this, in bytes, are read on a thread of their own: other pages have calls
/// meanwhile.
const READ_HERE_BYTES: usize = 128 * 1024;

/// With so much unsent, nothing more is taken out of the outbox: it counts what waits.
const UNSENT_BYTES: usize = 32 * 1024;

/// A message that was read.
pub(super) enum Read {
    V2(Result<PageToBridge, DecodeError>),
    V1(Result<Heard, BadFrame>),
    /// An answer that is long.
    Answered(CallId, Json),
}

/// What a page's task knows from one message to the next.
#[derive(Default)]
pub(super) struct Serving {
    assembler: Option<Box<frames::Assembler>>,
    /// A long message that is being read. Nothing that comes after it is looked at before.
    reading: Option<BoxFuture<'static, Read>>,
    renewals: Option<Box<Renewals>>,
    /// Messages so far that were too long for one frame.
    in_parts: u64,
    /// Why the session ended, once the page has heard it.
    told: Option<ErrorCode>,
    told_of_unknown_type: bool,
    refused: v1::Refused,
}

/// What happened.
enum Step {
    Told(Option<Outgoing>),
    Came(Result<Frame, Broken>),
    Read(Read),
}

type Goes = Result<(), End>;

impl Line {
    /// Until the socket ends.
    pub(super) async fn serve(&mut self) -> End {
        let Line {
            socket,
            page,
            outbox,
            serving,
        } = self;
        *serving = Serving::default();
        std::future::poll_fn(|cx| {
            loop {
                let step = ready!(serving.poll(page, socket, outbox, cx));
                if let Err(end) = page.take_step(serving, socket, outbox, step) {
                    return Poll::Ready(end);
                }
            }
        })
        .await
    }
}

impl Page {
    fn take_step(
        &self,
        serving: &mut Serving,
        socket: &mut Socket,
        outbox: &Outbox,
        step: Step,
    ) -> Goes {
        match step {
            Step::Told(Some(outgoing)) => self.tell(serving, socket, outgoing),
            Step::Told(None) => Err(End::Cut),
            Step::Came(came) => {
                outbox.heard();
                self.came(serving, came)
            }
            Step::Read(read) => self.take(serving, read),
        }
    }

    fn tell(&self, serving: &mut Serving, socket: &mut Socket, outgoing: Outgoing) -> Goes {
        match (outgoing, self.dialect) {
            (Outgoing::Ping, _) => socket.queue_ping(),
            (Outgoing::Message(message), Dialect::V2) => {
                let text = message.encode();
                if text.len() <= PART_BYTES {
                    socket.queue_text(text);
                } else {
                    serving.in_parts += 1;
                    for part in parts::split(&text, serving.in_parts) {
                        socket.queue_text(part);
                    }
                }
            }
            (Outgoing::Message(message), Dialect::V1) => {
                if let BridgeToPage::SessionClosed(ended) = &message {
                    serving.told = Some(ended.code);
                }
                serving.refused.log(self, &message);
                if let Some(text) = page::encode(&message) {
                    socket.queue_text(text);
                }
            }
            (Outgoing::Close { code, reason }, dialect) => {
                let closing = Closing::new(code, reason);
                return Err(End::Closing(match dialect {
                    Dialect::V2 => closing,
                    Dialect::V1 => page::closing(closing, serving.told),
                }));
            }
        }
        Ok(())
    }

    fn came(&self, serving: &mut Serving, came: Result<Frame, Broken>) -> Goes {
        match (came, self.dialect) {
            (Ok(Frame::SignOfLife), _) => Ok(()),
            (Ok(Frame::Text(text)), Dialect::V2) => self.frame(serving, text),
            (Ok(Frame::Text(text)), Dialect::V1) => {
                let strict = self.strict();
                self.read(serving, text, move |text| {
                    Read::V1(page::decode(text, strict))
                })
            }
            (Ok(Frame::Binary), Dialect::V2) => Err(End::Closing(binary())),
            (Ok(Frame::Binary), Dialect::V1) => Err(End::Closing(v1::bad_frame())),
            (Ok(Frame::Close(code)), _) => Err(End::Parted(parting(code))),
            (Err(Broken::TooLong), _) => Err(End::Closing(too_big())),
            (Err(Broken::Lost), _) => Err(End::Parted(Parting::Broken)),
        }
    }

    /// A whole message, or a part of one.
    fn frame(&self, serving: &mut Serving, frame: Utf8Bytes) -> Goes {
        let text = if parts::is_part(&frame) {
            let limit = self.hub.config.max_message_bytes();
            let assembler = serving
                .assembler
                .get_or_insert_with(|| Box::new(frames::Assembler::new(limit)));
            match assembler.take(&frame).map_err(End::Closing)? {
                Some(message) => {
                    if !assembler.is_receiving() {
                        serving.assembler = None;
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
        if text.len() < LONG_BYTES {
            return self.take(serving, decoded(&text));
        }
        if text.len() > PASS_HERE_BYTES {
            return self.read(serving, text, |text| {
                answer(text).unwrap_or_else(|| decoded(text))
            });
        }
        match answer(&text) {
            Some(read) => self.take(serving, read),
            None => self.read(serving, text, |text| decoded(text)),
        }
    }

    /// Reads a message, elsewhere if it is long.
    fn read(
        &self,
        serving: &mut Serving,
        text: Utf8Bytes,
        decode: impl FnOnce(&Utf8Bytes) -> Read + Send + 'static,
    ) -> Goes {
        if text.len() <= READ_HERE_BYTES {
            return self.take(serving, decode(&text));
        }
        let reading = tokio::task::spawn_blocking(move || decode(&text));
        let dialect = self.dialect;
        serving.reading = Some(Box::pin(reading.map(move |read| match (read, dialect) {
            (Ok(read), _) => read,
            (Err(_), Dialect::V1) => Read::V1(Err(BadFrame)),
            (Err(stopped), Dialect::V2) => {
                let error = serde::de::Error::custom(stopped);
                Read::V2(Err(DecodeError::NotAMessage(error)))
            }
        })));
        Ok(())
    }

    fn take(&self, serving: &mut Serving, read: Read) -> Goes {
        match read {
            Read::V2(Ok(PageToBridge::Leaving {})) => Err(End::Parted(Parting::Gone)),
            Read::V2(Ok(PageToBridge::Renew(fresh))) => {
                self.renew(&mut serving.renewals, fresh);
                Ok(())
            }
            Read::V2(Ok(message)) => self.heard(message).map_err(End::Closing),
            Read::Answered(call, value) => {
                self.answered(call, value);
                Ok(())
            }
            Read::V2(Err(DecodeError::UnknownType(kind))) => {
                self.unknown(serving, &kind);
                Ok(())
            }
            Read::V2(Err(error @ DecodeError::NotAMessage(_))) => {
                Err(End::Closing(bad_json(&error)))
            }
            Read::V2(Err(error @ DecodeError::BadFields { .. })) => {
                let reason = shown(&error);
                Err(End::Closing(Closing::new(
                    CloseCode::PolicyViolation,
                    reason,
                )))
            }
            Read::V1(Err(BadFrame)) => Err(End::Closing(v1::bad_frame())),
            Read::V1(Ok(Heard::Unknown(kind))) => {
                self.unknown(serving, &kind);
                Ok(())
            }
            Read::V1(Ok(heard)) => self.heard_v1(heard),
        }
    }

    /// Told once for each connection.
    fn unknown(&self, serving: &mut Serving, kind: &str) {
        if !std::mem::replace(&mut serving.told_of_unknown_type, true) {
            let kind: String = kind.chars().take(SHOWN_CHARS).collect();
            tracing::info!(session = ?self.session, kind, "unknown message type ignored");
        }
    }
}

fn decoded(text: &str) -> Read {
    Read::V2(PageToBridge::decode(text))
}

fn answer(text: &Utf8Bytes) -> Option<Read> {
    long_answer(text).map(|(call, value)| Read::Answered(call, value))
}

impl Serving {
    /// What happens next. Everything that can go on does, whatever the rest waits for.
    fn poll(
        &mut self,
        page: &Page,
        socket: &mut Socket,
        outbox: &mut Outbox,
        cx: &mut Context<'_>,
    ) -> Poll<Step> {
        loop {
            let unsent = socket.unsent();
            if unsent < UNSENT_BYTES {
                if let Poll::Ready(outgoing) = outbox.poll_next(cx) {
                    return Poll::Ready(Step::Told(outgoing));
                }
            } else if outbox.poll_cut(cx).is_ready() {
                return Poll::Ready(Step::Told(None));
            }
            if let Poll::Ready(Err(broken)) = socket.poll_flush(cx) {
                return Poll::Ready(Step::Came(Err(broken)));
            }
            if socket.unsent() < unsent {
                outbox.taken();
            }
            // There is room again.
            if unsent < UNSENT_BYTES || socket.unsent() >= UNSENT_BYTES {
                break;
            }
        }
        if let Some(renewals) = &mut self.renewals
            && renewals.poll(page, cx).is_ready()
        {
            self.renewals = None;
        }
        match &mut self.reading {
            None => socket.poll_next(cx).map(Step::Came),
            Some(reading) => reading.poll_unpin(cx).map(|read| {
                self.reading = None;
                Step::Read(read)
            }),
        }
    }
}
