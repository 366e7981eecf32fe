//! The messages of a client, a line each. What is no message has an answer, so that a client does not
//! wait for one in vain.

use std::io;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use serde_json::error::Category;
use tokio::io::{AsyncRead, AsyncWrite, Empty, empty};
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder, FramedRead};

/// What text may begin with. It is no part of the first message.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A transport that reads messages, a line each.
pub(super) struct LineTransport<R, W: AsyncWrite> {
    lines: FramedRead<R, LineDecoder>,
    output: AsyncRwTransport<RoleServer, Empty, W>,
    /// The answer to what is no message. While it is sent, nothing is read.
    answering: Option<BoxFuture<'static, io::Result<()>>>,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Lines with more than `max_bytes` are dropped.
    pub(super) fn new(input: R, output: W, max_bytes: usize) -> Self {
        Self {
            lines: FramedRead::new(input, LineDecoder::new(max_bytes)),
            output: AsyncRwTransport::new(empty(), output),
            answering: None,
        }
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.output.send(message)
    }

    /// Nothing is lost if the future is dropped. The last line needs no line break.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                answering.await.ok()?;
                self.answering = None;
            }
            let line = match self.lines.next().await?.ok()? {
                Line::Complete(line) => line,
                Line::TooLong => {
                    tracing::warn!("a message that is too long is dropped");
                    continue;
                }
            };
            match parse(&line) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(error) => {
                    let answer = TxJsonRpcMessage::<RoleServer>::error(error, None);
                    self.answering = Some(Box::pin(self.output.send(answer)));
                }
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.output.close()
    }
}

/// Parses a line. `None` if there is nothing to answer: it is empty, or a notification that is malformed.
fn parse(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, ErrorData> {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
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
