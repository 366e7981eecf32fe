//! Messages and frames: long messages travel in parts, and are read off the I/O threads.

use std::borrow::Cow;
use std::time::Duration;

use axum::extract::ws::{Message, Utf8Bytes};
use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::parts::{self, PartError, Taken};
use bridge_protocol::{CloseCode, DecodeError, PageToBridge};
use futures_util::SinkExt;
use tokio::time::timeout;

use super::Sink;
use crate::page_wire::Closing;

/// Longer messages than this, in bytes, are read on a thread of their own: other pages have calls
/// meanwhile.
pub(super) const READ_HERE_BYTES: usize = 128 * 1024;

/// The peer does not read, or is gone.
pub(super) struct NotSent;

/// Sends a message, in parts if it is long. Each frame has its own time.
pub(super) async fn send(
    sink: &mut Sink,
    message: String,
    in_parts: &mut u64,
    within: Duration,
) -> Result<(), NotSent> {
    if message.len() <= PART_BYTES {
        return put(sink, Message::Text(message.into()), within).await;
    }
    *in_parts += 1;
    for part in parts::split(&message, *in_parts) {
        put(sink, Message::Text(part.into()), within).await?;
    }
    Ok(())
}

/// Sends one frame.
pub(super) async fn put(sink: &mut Sink, frame: Message, within: Duration) -> Result<(), NotSent> {
    match timeout(within, sink.send(frame)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(NotSent),
    }
}

/// Puts messages together from frames.
pub(super) struct Assembler(parts::Assembler);

/// The text of a whole message.
pub(super) enum Text {
    Frame(Utf8Bytes),
    Parts(String),
}

impl Assembler {
    pub(super) fn new(limit: usize) -> Self {
        Self(parts::Assembler::new(limit))
    }

    /// Takes a frame; `None` when more of its message follows.
    pub(super) fn take(&mut self, frame: Utf8Bytes) -> Result<Option<Text>, Closing> {
        let message = match self.0.take(&frame) {
            Ok(Taken::Unfinished) => return Ok(None),
            // Lengths would not tell: the last part of a message can be as long as the message.
            Ok(Taken::Message(Cow::Borrowed(text))) if text.len() == frame.len() => None,
            Ok(Taken::Message(message)) => Some(message.into_owned()),
            Err(error) => return Err(refused(error)),
        };
        Ok(Some(message.map_or(Text::Frame(frame), Text::Parts)))
    }
}

fn refused(error: PartError) -> Closing {
    let code = match error {
        PartError::Malformed => CloseCode::UnsupportedData,
        PartError::TooLarge { .. } | PartError::TooMany => CloseCode::MessageTooBig,
    };
    Closing::new(code, error.to_string())
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Text::Frame(text) => text,
            Text::Parts(text) => text,
        }
    }

    pub(super) async fn decode(self) -> Result<PageToBridge, DecodeError> {
        if self.as_str().len() <= READ_HERE_BYTES {
            return PageToBridge::decode(self.as_str());
        }
        let decoding = tokio::task::spawn_blocking(move || PageToBridge::decode(self.as_str()));
        decoding.await.unwrap_or_else(|stopped| {
            let error = serde::de::Error::custom(stopped);
            Err(DecodeError::NotAMessage(error))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_last_part_as_long_as_its_message_is_not_the_message() {
        let mut assembler = Assembler::new(1024);
        let frames = ["#+1 {\"ty", "#.1 pe\":\"leaving\"}"];
        assert!(assembler.take(frames[0].into()).unwrap().is_none());
        let whole = assembler.take(frames[1].into()).unwrap().unwrap();
        assert_eq!(whole.as_str().len(), frames[1].len());
        let message = whole.decode().await;
        assert!(
            matches!(message, Ok(PageToBridge::Leaving {})),
            "{message:?}"
        );
    }
}
