//! The client's side: a message a line.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};

use crate::MAX_MESSAGE_BYTES;
use crate::message::{Malformed, Message};

/// How much is read at once.
const READ_BUFFER: usize = 64 * 1024;

/// Lines in, lines out.
pub(crate) struct Stdio<R, W> {
    input: BufReader<R>,
    /// The line so far: a read may be given up and begun again.
    line: Vec<u8>,
    /// The rest of a line that is too long is not kept.
    skipping: bool,
    output: BufWriter<W>,
}

impl<R, W> Stdio<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    pub(crate) fn new(input: R, output: W) -> Self {
        Self {
            input: BufReader::with_capacity(READ_BUFFER, input),
            line: Vec::new(),
            skipping: false,
            output: BufWriter::new(output),
        }
    }

    /// The next message, or what is wrong with the line where one should be; `None` at the end of
    /// input. May be dropped and called again without losing anything.
    pub(crate) async fn receive(&mut self) -> Option<Result<Message, Malformed>> {
        loop {
            let line = self.next_line().await?;
            match line {
                Ok(line) if line.trim_ascii().is_empty() => {}
                Ok(line) => {
                    let text = String::from_utf8(line).map_err(|_| Malformed::NotJson);
                    return Some(text.and_then(Message::parse));
                }
                Err(malformed) => return Some(Err(malformed)),
            }
        }
    }

    async fn next_line(&mut self) -> Option<Result<Vec<u8>, Malformed>> {
        loop {
            // A client whose pipe breaks is as gone as one that closes it.
            let chunk = self.input.fill_buf().await.unwrap_or_default();
            if chunk.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return (!rest.is_empty()).then_some(Ok(rest));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            if !self.skipping {
                self.line.extend_from_slice(&chunk[..taken]);
            }
            self.input.consume(taken + usize::from(end.is_some()));
            if self.line.len() > MAX_MESSAGE_BYTES {
                self.line = Vec::new();
                self.skipping = true;
            }
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                let too_long = std::mem::take(&mut self.skipping);
                return Some(if too_long {
                    Err(Malformed::TooLong)
                } else {
                    Ok(line)
                });
            }
        }
    }

    /// Writes a message. Not to be given up in the middle.
    pub(crate) async fn send(&mut self, message: &Message) -> io::Result<()> {
        self.output.write_all(message.text().as_bytes()).await?;
        self.output.write_all(b"\n").await?;
        self.output.flush().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_messages_whatever_stands_between_them() {
        let input = b"{\"method\":\"a\"}\r\n\n  \nno json\n\xff\n{\"method\":\"b\"}";
        let mut stdio = Stdio::new(&input[..], tokio::io::sink());
        let mut seen = Vec::new();
        while let Some(line) = stdio.receive().await {
            seen.push(line.map(|message| message.text().trim().to_owned()));
        }
        let expected = [
            Ok(r#"{"method":"a"}"#.to_owned()),
            Err(Malformed::NotJson),
            Err(Malformed::NotJson),
            Ok(r#"{"method":"b"}"#.to_owned()),
        ];
        assert_eq!(seen, expected);
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_refused_and_the_next_is_read() {
        let mut input = vec![b'"'; MAX_MESSAGE_BYTES + 1];
        input.extend_from_slice(b"\n{\"method\":\"next\"}\n");
        let mut stdio = Stdio::new(&input[..], tokio::io::sink());
        assert_eq!(
            stdio.receive().await.map(|line| line.err()),
            Some(Some(Malformed::TooLong))
        );
        assert!(matches!(
            stdio.receive().await,
            Some(Ok(Message::Notification { .. }))
        ));
        assert!(stdio.receive().await.is_none());
    }
}
