//! What the client is to read. A task of its own writes it: a client that is busy with a large
//! answer is listened to meanwhile.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::message::Message;
use crate::text::Text;

/// Messages that wait for the client to read. Full: it is not read from either.
const WAITING: usize = 1024;

/// When so many bytes wait for the client to read, nothing more is taken from the bridge.
const WAITING_BYTES: usize = 1024 * 1024;

/// At the end, for what the client has not read yet.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// The way to the client.
pub(crate) struct Output {
    queue: mpsc::Sender<Text>,
    bytes: watch::Sender<usize>,
    task: JoinHandle<io::Result<()>>,
}

/// Tells when the client has read enough.
#[derive(Clone)]
pub(crate) struct Room(watch::Receiver<usize>);

impl Room {
    /// Waits until the client can take more.
    pub(crate) async fn wait(&mut self) {
        // Without a writer there is nothing to wait for: the next message says so.
        let _ = self.0.wait_for(|bytes| *bytes < WAITING_BYTES).await;
    }
}

impl Output {
    pub(crate) fn new(output: impl AsyncWrite + Send + Unpin + 'static) -> (Self, Room) {
        let (queue, waiting) = mpsc::channel(WAITING);
        let (bytes, room) = watch::channel(0);
        let task = tokio::spawn(write(output, waiting, bytes.clone()));
        let output = Self { queue, bytes, task };
        (output, Room(room))
    }

    /// Adds a message to what the client is to read.
    ///
    /// # Errors
    /// When it does not read any more.
    pub(crate) async fn send(&self, message: Message) -> io::Result<()> {
        let text = message.into_text();
        self.bytes.send_modify(|bytes| *bytes += text.len());
        let queued = self.queue.send(text).await;
        queued.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Waits until the client does not read any more. May be dropped and called again.
    pub(crate) async fn broken(&self) {
        self.queue.closed().await;
    }

    /// Writes what waits, if the client reads it in time.
    pub(crate) async fn close(self) {
        drop(self.queue);
        let abort = self.task.abort_handle();
        if tokio::time::timeout(CLOSE_WITHIN, self.task).await.is_err() {
            abort.abort();
        }
    }
}

async fn write(
    output: impl AsyncWrite + Unpin,
    mut waiting: mpsc::Receiver<Text>,
    bytes: watch::Sender<usize>,
) -> io::Result<()> {
    // Large messages go past its buffer.
    let mut output = BufWriter::new(output);
    while let Some(text) = waiting.recv().await {
        output.write_all(text.as_bytes()).await?;
        output.write_all(b"\n").await?;
        if waiting.is_empty() {
            output.flush().await?;
        }
        bytes.send_modify(|bytes| *bytes -= text.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_does_not_read_fills_its_room_and_empties_it() {
        let (far, near) = tokio::io::duplex(1024);
        let (output, mut room) = Output::new(near);
        room.wait().await;
        let large = format!(r#"{{"method":"{}"}}"#, "x".repeat(WAITING_BYTES));
        let lines = [large, r#"{"method":"small"}"#.to_owned()];
        for line in &lines {
            output
                .send(Message::parse(line.as_str()).unwrap())
                .await
                .unwrap();
        }
        assert!(*room.0.borrow() > WAITING_BYTES);
        let reading = async {
            let mut text = String::new();
            let mut far = far;
            tokio::io::AsyncReadExt::read_to_string(&mut far, &mut text)
                .await
                .unwrap();
            text
        };
        let closing = async {
            room.wait().await;
            output.close().await;
        };
        let (text, ()) = tokio::join!(reading, closing);
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }

    #[tokio::test]
    async fn a_client_that_is_gone_is_noticed() {
        let (far, near) = tokio::io::duplex(1024);
        let (output, _room) = Output::new(near);
        drop(far);
        let message = || Message::parse(r#"{"method":"m"}"#).unwrap();
        output.send(message()).await.unwrap();
        output.broken().await;
        assert!(output.send(message()).await.is_err());
    }
}
