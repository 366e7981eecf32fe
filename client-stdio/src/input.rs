//! What the client says: a message a line.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::message::{Message, ParseError};
use crate::oversized::{BoundedBuffer, OversizedMessage};

/// How much is read at once.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// The client's lines.
pub(crate) struct Input<R> {
    input: BufReader<R>,
    /// The line so far: a read may be given up and begun again.
    line: BoundedBuffer,
    max_message_bytes: usize,
}

impl<R: AsyncRead + Unpin> Input<R> {
    pub(crate) fn new(input: R, max_message_bytes: usize) -> Self {
        Self {
            input: BufReader::with_capacity(READ_BUFFER_BYTES, input),
            line: BoundedBuffer::default(),
            max_message_bytes,
        }
    }

    /// The next message, or what is wrong with the line where one should be; `None` at the end of
    /// input. May be dropped and called again without losing anything.
    pub(crate) async fn recv(&mut self) -> Option<Result<Message, ParseError>> {
        loop {
            match self.next_line().await? {
                Ok(line) if line.trim_ascii().is_empty() => {}
                Ok(line) => {
                    let text = String::from_utf8(line).map_err(|_| ParseError::NotJson);
                    return Some(text.and_then(Message::parse));
                }
                Err(too_long) => return Some(Err(ParseError::TooLong(too_long))),
            }
        }
    }

    async fn next_line(&mut self) -> Option<Result<Vec<u8>, OversizedMessage>> {
        loop {
            // A client whose pipe breaks is as gone as one that closes it.
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
    use crate::message::RequestId;

    const LIMIT: usize = 100 * 1024;

    async fn read_lines(text: &[u8]) -> Vec<Result<String, ParseError>> {
        let mut input = Input::new(text, LIMIT);
        let mut seen = Vec::new();
        while let Some(line) = input.recv().await {
            seen.push(line.map(|message| message.text().trim().to_owned()));
        }
        seen
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
        let (fits, too_long) = (line(LIMIT), line(LIMIT + 1));
        let expected = OversizedMessage {
            bytes: LIMIT as u64 + 1,
            limit: LIMIT,
            id: Some(RequestId::from_json(&7.into())),
            method: Some("m".to_owned()),
        };
        let seen = read_lines(format!("{too_long}\n{fits}\n{too_long}").as_bytes()).await;
        let refused = Err(ParseError::TooLong(expected));
        assert_eq!(seen, [refused.clone(), Ok(fits), refused]);
    }
}
