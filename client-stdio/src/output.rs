//! What the client is to read. A task of its own writes it: a client that is busy with a large
//! answer is listened to meanwhile.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::message::Message;
use crate::shared_text::SharedText;

/// Messages that wait for the client to read. Full: it is not read from either.
const QUEUE_CAPACITY: usize = 1024;

/// When so many bytes wait for the client to read, nothing more is taken from the bridge.
const MAX_UNREAD_BYTES: usize = 1024 * 1024;

/// At the end, for what the client has not read yet.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A message, and before when it is not written.
type QueuedMessage = (Option<Instant>, SharedText);

/// The way to the client.
pub(crate) struct Output {
    queue: mpsc::Sender<QueuedMessage>,
    unread_bytes: watch::Sender<usize>,
    task: JoinHandle<io::Result<()>>,
}

/// Tells when the client has read enough.
#[derive(Clone)]
pub(crate) struct Backpressure(watch::Receiver<usize>);

impl Backpressure {
    /// Waits until the client can take more.
    pub(crate) async fn writable(&mut self) {
        // Without a writer there is nothing to wait for: the next message says so.
        let _ = self.0.wait_for(|bytes| *bytes < MAX_UNREAD_BYTES).await;
    }
}

impl Output {
    pub(crate) fn new(output: impl AsyncWrite + Send + Unpin + 'static) -> (Self, Backpressure) {
        let (queue, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let (bytes, unread) = watch::channel(0);
        let task = tokio::spawn(run_writer(output, receiver, bytes.clone()));
        let output = Self {
            queue,
            unread_bytes: bytes,
            task,
        };
        (output, Backpressure(unread))
    }

    /// Adds a message to what the client is to read.
    ///
    /// # Errors
    /// When it does not read any more.
    pub(crate) async fn send(&self, message: Message) -> io::Result<()> {
        self.send_not_before(None, message).await
    }

    /// Queues a message that is not written before a time. Messages that come later may go first.
    ///
    /// # Errors
    /// When the client does not read any more.
    pub(crate) async fn send_not_before(
        &self,
        at: Option<Instant>,
        message: Message,
    ) -> io::Result<()> {
        let text = message.into_text();
        self.unread_bytes.send_modify(|bytes| *bytes += text.len());
        let queued = self.queue.send((at, text)).await;
        queued.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Waits until the client does not read any more. May be dropped and called again.
    pub(crate) async fn closed(&self) {
        self.queue.closed().await;
    }

    /// Writes what waits, if the client reads it in time.
    pub(crate) async fn close(self) {
        drop(self.queue);
        let abort = self.task.abort_handle();
        if tokio::time::timeout(CLOSE_TIMEOUT, self.task)
            .await
            .is_err()
        {
            abort.abort();
        }
    }
}

async fn run_writer(
    output: impl AsyncWrite + Unpin,
    mut waiting: mpsc::Receiver<QueuedMessage>,
    bytes: watch::Sender<usize>,
) -> io::Result<()> {
    // Large messages go past its buffer.
    let mut output = BufWriter::new(output);
    let mut held = DelayedMessages::default();
    loop {
        let text = match held.try_next(&mut waiting) {
            Some(text) => text,
            // What was written leaves before anything is waited for.
            None => {
                output.flush().await?;
                match held.next(&mut waiting).await {
                    Some(text) => text,
                    None => return Ok(()),
                }
            }
        };
        output.write_all(text.as_bytes()).await?;
        output.write_all(b"\n").await?;
        bytes.send_modify(|bytes| *bytes -= text.len());
    }
}

/// Messages that are not written before their time.
#[derive(Default)]
struct DelayedMessages {
    messages: BTreeMap<(Instant, u64), SharedText>,
    /// Counts up: two may have the same time.
    sequence: u64,
}

impl DelayedMessages {
    /// What may be written at once of what waits.
    fn try_next(&mut self, waiting: &mut mpsc::Receiver<QueuedMessage>) -> Option<SharedText> {
        while let Ok(message) = waiting.try_recv() {
            if let Some(text) = self.hold_if_delayed(message) {
                return Some(text);
            }
        }
        None
    }

    /// What is to be written next: what comes, or what was held back until now. `None`: that was all.
    async fn next(&mut self, waiting: &mut mpsc::Receiver<QueuedMessage>) -> Option<SharedText> {
        loop {
            let first = self.messages.first_key_value().map(|((at, _), _)| *at);
            let due = async {
                match first {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let message = tokio::select! {
                biased;
                () = due => None,
                message = waiting.recv() => message,
            };
            match message {
                Some(message) => {
                    if let Some(text) = self.hold_if_delayed(message) {
                        return Some(text);
                    }
                }
                // Its time has come, or the way is closed and nothing more follows.
                None => return self.messages.pop_first().map(|(_, text)| text),
            }
        }
    }

    /// The text, if it need not be held back.
    fn hold_if_delayed(&mut self, (at, text): QueuedMessage) -> Option<SharedText> {
        let Some(at) = at else {
            return Some(text);
        };
        self.sequence += 1;
        self.messages.insert((at, self.sequence), text);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unread_messages_apply_backpressure_until_they_are_read() {
        let (far, near) = tokio::io::duplex(1024);
        let (output, mut room) = Output::new(near);
        room.writable().await;
        let large = format!(r#"{{"method":"{}"}}"#, "x".repeat(MAX_UNREAD_BYTES));
        let lines = [large, r#"{"method":"small"}"#.to_owned()];
        for line in &lines {
            output
                .send(Message::parse(line.as_str()).unwrap())
                .await
                .unwrap();
        }
        assert!(*room.0.borrow() > MAX_UNREAD_BYTES);
        let reading = async {
            let mut text = String::new();
            let mut far = far;
            tokio::io::AsyncReadExt::read_to_string(&mut far, &mut text)
                .await
                .unwrap();
            text
        };
        let closing = async {
            room.writable().await;
            output.close().await;
        };
        let (text, ()) = tokio::join!(reading, closing);
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }

    #[tokio::test(start_paused = true)]
    async fn delayed_messages_are_written_on_time_and_block_nothing() {
        let (far, near) = tokio::io::duplex(1024);
        let (output, _room) = Output::new(near);
        let line = |name: &str| format!(r#"{{"method":"{name}"}}"#);
        let message = |name| Message::parse(line(name)).unwrap();
        let began = Instant::now();
        let at = |ms| Some(began + Duration::from_millis(ms));
        // The first of them waits for nothing, though others wait behind it.
        output.send(message("first")).await.unwrap();
        output
            .send_not_before(at(20), message("third"))
            .await
            .unwrap();
        output
            .send_not_before(at(10), message("second"))
            .await
            .unwrap();
        output
            .send_not_before(at(3_600_000), message("last"))
            .await
            .unwrap();
        let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(far));
        for (name, ms) in [("first", 0), ("second", 10), ("third", 20)] {
            assert_eq!(lines.next_line().await.unwrap(), Some(line(name)));
            // Timers are as fine as a millisecond.
            let late = began.elapsed() - Duration::from_millis(ms);
            assert!(late <= Duration::from_millis(1), "{name}: {late:?}");
        }
        output.close().await;
        assert_eq!(lines.next_line().await.unwrap(), Some(line("last")));
    }

    #[tokio::test]
    async fn a_client_that_is_gone_is_noticed() {
        let (far, near) = tokio::io::duplex(1024);
        let (output, _room) = Output::new(near);
        drop(far);
        let message = || Message::parse(r#"{"method":"m"}"#).unwrap();
        output.send(message()).await.unwrap();
        output.closed().await;
        assert!(output.send(message()).await.is_err());
    }
}
