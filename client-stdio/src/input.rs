//! The messages of the client, one per line.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::message::{JsonRpcMessage, ParseError};
use crate::oversized::{BoundedBuffer, OversizedMessage};

/// The size of one read.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// The input of the client.
pub(crate) struct Input<R> {
    input: BufReader<R>,
    /// The part of the current line that has been read. It is stored here so that `recv` is cancel
    /// safe.
    line: BoundedBuffer,
    max_message_bytes: usize,
}

impl<R: AsyncRead + Unpin> Input<R> {
    /// Creates an input whose lines may have `max_message_bytes` bytes.
    pub(crate) fn new(input: R, max_message_bytes: usize) -> Self {
        Self {
            input: BufReader::with_capacity(READ_BUFFER_BYTES, input),
            line: BoundedBuffer::default(),
            max_message_bytes,
        }
    }

    /// Waits for the next message. Returns an error for a line that is not a message, and `None` at
    /// the end of input. This method is cancel safe.
    pub(crate) async fn recv(&mut self) -> Option<Result<JsonRpcMessage, ParseError>> {
        loop {
            match self.next_line().await? {
                Ok(line) if line.trim_ascii().is_empty() => {}
                Ok(line) => {
                    let text = String::from_utf8(line).map_err(|_| ParseError::NotJson);
                    return Some(text.and_then(JsonRpcMessage::parse));
                }
                Err(too_long) => return Some(Err(ParseError::TooLong(too_long))),
            }
        }
    }

    async fn next_line(&mut self) -> Option<Result<Vec<u8>, OversizedMessage>> {
        loop {
            // A broken pipe is treated like the end of input.
            let chunk = self.input.fill_buf().await.unwrap_or_default();
            let at_end = chunk.is_empty();
            if at_end && self.line.is_empty() {
                return None;
            }
            let end = memchr::memchr(b'\n', chunk);
            let length = end.unwrap_or(chunk.len());
            self.line.push(&chunk[..length], self.max_message_bytes);
            self.input.consume(length + usize::from(end.is_some()));
            if at_end || end.is_some() {
                let line = std::mem::take(&mut self.line);
                return Some(line.finish(self.max_message_bytes));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_id::RequestId;

    const LIMIT: usize = 100 * 1024;

    async fn read_lines(text: &[u8]) -> Vec<Result<String, ParseError>> {
        let mut input = Input::new(text, LIMIT);
        let mut lines = Vec::new();
        while let Some(result) = input.recv().await {
            lines.push(result.map(|message| message.text().trim().to_owned()));
        }
        lines
    }

    #[tokio::test]
    async fn every_non_empty_line_is_a_message() {
        let input = b"{\"method\":\"a\"}\r\n\n  \nno json\n\xff\n{\"method\":\"b\"}";
        let expected = [
            Ok(r#"{"method":"a"}"#.to_owned()),
            Err(ParseError::NotJson),
            Err(ParseError::NotJson),
            Ok(r#"{"method":"b"}"#.to_owned()),
        ];
        assert_eq!(read_lines(input).await, expected);
    }

    #[tokio::test]
    async fn an_oversized_line_is_reported_and_the_next_is_read() {
        let head = r#"{"id":7,"method":"m","params":""#;
        let line = |bytes: usize| format!("{head}{}\"}}", "x".repeat(bytes - head.len() - 2));
        let (allowed, too_long) = (line(LIMIT), line(LIMIT + 1));
        let expected = OversizedMessage {
            bytes: LIMIT as u64 + 1,
            limit: LIMIT,
            id: Some(RequestId::from_json(&7.into())),
            method: Some("m".to_owned()),
        };
        let lines = read_lines(format!("{too_long}\n{allowed}\n{too_long}").as_bytes()).await;
        let error = Err(ParseError::TooLong(expected));
        assert_eq!(lines, [error.clone(), Ok(allowed), error]);
    }
}
