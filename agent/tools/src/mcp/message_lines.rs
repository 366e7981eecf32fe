//! The messages of the other end of a connection over stdio, a line each.

use std::io;

use bridge_edge::body::repair_surrogates;
use futures_util::StreamExt;
use rmcp::model::ErrorData;
use rmcp::service::{RxJsonRpcMessage, ServiceRole};
use serde_json::Value;
use serde_json::error::Category;
use tokio::io::AsyncRead;
use tokio::task::consume_budget;
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder, FramedRead};

/// Optional beginning of a text. It is not a part of the first message.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The messages of the other end, a line each.
pub(super) struct MessageLines<R>(FramedRead<R, LineDecoder>);

impl<R: AsyncRead + Unpin> MessageLines<R> {
    /// Lines with more than `max_bytes` are dropped.
    pub(super) fn new(input: R, max_bytes: usize) -> Self {
        Self(FramedRead::new(input, LineDecoder::new(max_bytes)))
    }

    /// Returns the next message, or why a line is not one; `None` at the end. The last line needs
    /// no line break. Nothing is lost if the future is dropped.
    pub(super) async fn next<Role: ServiceRole>(
        &mut self,
    ) -> Option<Result<RxJsonRpcMessage<Role>, ErrorData>> {
        loop {
            // Other tasks run also if there is always one more line.
            consume_budget().await;
            match self.0.next().await?.ok()? {
                Line::Complete(line) => match parse::<Role>(line) {
                    Ok(Some(message)) => return Some(Ok(message)),
                    Ok(None) => {}
                    Err(error) => return Some(Err(error)),
                },
                Line::TooLong => tracing::warn!("a message that is too long is dropped"),
            }
        }
    }
}

/// Parses a line. `None` if there is nothing to answer: it is empty, or a notification that is malformed.
/// Surrogates without a partner become U+FFFD.
fn parse<Role: ServiceRole>(line: Bytes) -> Result<Option<RxJsonRpcMessage<Role>>, ErrorData> {
    let line = repair_surrogates(line);
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Ok(Some(message)),
        Err(error) => error,
    };
    if error.classify() != Category::Data {
        return Err(ErrorData::parse_error("the line is not JSON", None));
    }
    let value: Value = serde_json::from_slice(line).unwrap_or_default();
    if value.get("method").is_some() && value.get("id").is_none() {
        return Ok(None);
    }
    let message = "the line is not a message of JSON-RPC 2.0";
    Err(ErrorData::invalid_request(message, None))
}

/// A line of the input.
enum Line {
    Complete(Bytes),
    TooLong,
}

/// Splits the input into lines.
struct LineDecoder(AnyDelimiterCodec);

impl LineDecoder {
    fn new(max_bytes: usize) -> Self {
        let no_delimiters = Vec::new();
        Self(AnyDelimiterCodec::new_with_max_length(
            b"\n".to_vec(),
            no_delimiters,
            max_bytes,
        ))
    }
}

impl Decoder for LineDecoder {
    type Item = Line;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Line>> {
        line(self.0.decode(buffer))
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Line>> {
        line(self.0.decode_eof(buffer))
    }
}

fn line(decoded: Result<Option<Bytes>, AnyDelimiterCodecError>) -> io::Result<Option<Line>> {
    match decoded {
        Ok(line) => Ok(line.map(Line::Complete)),
        Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => Ok(Some(Line::TooLong)),
        Err(AnyDelimiterCodecError::Io(error)) => Err(error),
    }
}
