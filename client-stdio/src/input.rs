//! What the client says: a message a line.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::message::{Malformed, Message};
use crate::oversized::{Gathered, Oversized};

/// How much is read at once.
const READ_BUFFER: usize = 64 * 1024;

/// The client's lines.
pub(crate) struct Input<R> {
    input: BufReader<R>,
    /// The line so far: a read may be given up and begun again.
    line: Gathered,
    max_message_bytes: usize,
}

impl<R: AsyncRead + Unpin> Input<R> {
    pub(crate) fn new(input: R, max_message_bytes: usize) -> Self {
        Self {
            input: BufReader::with_capacity(READ_BUFFER, input),
            line: Gathered::default(),
            max_message_bytes,
        }
    }

    /// The next message, or what is wrong with the line where one should be; `None` at the end of
    /// input. May be dropped and called again without losing anything.
    pub(crate) async fn receive(&mut self) -> Option<Result<Message, Malformed>> {
        loop {
            match self.next_line().await? {
                Ok(line) if line.trim_ascii().is_empty() => {}
                Ok(line) => {
                    let text = String::from_utf8(line).map_err(|_| Malformed::NotJson);
                    return Some(text.and_then(Message::parse));
                }
                Err(too_long) => return Some(Err(Malformed::TooLong(too_long))),
            }
        }
    }

    async fn next_line(&mut self) -> Option<Result<Vec<u8>, Oversized>> {
        loop {
            // A client whose pipe breaks is as gone as one that closes it.
            let chunk = self.input.fill_buf().await.unwrap_or_default();
            let ended = chunk.is_empty();
            if ended && self.line.is_empty() {
                return None;
            }
            let end = memchr::memchr(b'\n', chunk);
            let taken = end.unwrap_or(chunk.len());
            self.line.add(&chunk[..taken], self.max_message_bytes);
            self.input.consume(taken + usize::from(end.is_some()));
            if ended || end.is_some() {
                let line = std::mem::take(&mut self.line);
                return Some(line.finish(self.max_message_bytes));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Id;

    const LIMIT: usize = 100 * 1024;

    async fn lines(text: &[u8]) -> Vec<Result<String, Malformed>> {
        let mut input = Input::new(text, LIMIT);
        let mut seen = Vec::new();
        while let Some(line) = input.receive().await {
            seen.push(line.map(|message| message.text().trim().to_owned()));
        }
        seen
    }

    #[tokio::test]
    async fn lines_are_messages_whatever_stands_between_them() {
        let input = b"{\"method\":\"a\"}\r\n\n  \nno json\n\xff\n{\"method\":\"b\"}";
        let expected = [
            Ok(r#"{"method":"a"}"#.to_owned()),
            Err(Malformed::NotJson),
            Err(Malformed::NotJson),
            Ok(r#"{"method":"b"}"#.to_owned()),
        ];
        assert_eq!(lines(input).await, expected);
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_told_by_its_id_and_the_next_is_read() {
        let head = r#"{"id":7,"method":"m","params":""#;
        let line = |bytes: usize| format!("{head}{}\"}}", "x".repeat(bytes - head.len() - 2));
        let (fits, too_long) = (line(LIMIT), line(LIMIT + 1));
        let expected = Oversized {
            bytes: LIMIT as u64 + 1,
            limit: LIMIT,
            id: Some(Id::new(&7.into())),
            method: Some("m".to_owned()),
        };
        let seen = lines(format!("{too_long}\n{fits}\n{too_long}").as_bytes()).await;
        let refused = Err(Malformed::TooLong(expected));
        assert_eq!(seen, [refused.clone(), Ok(fits), refused]);
    }
}
