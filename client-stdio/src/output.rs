//! The messages to the client. A separate task writes them, so that the client's input is still
//! read while the client reads a large answer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::message::JsonRpcMessage;
use crate::shared_text::SharedText;
use crate::token_redactor::TokenRedactor;

/// The maximum number of messages that wait for the client. When it is reached, the client's input
/// is not read.
const QUEUE_CAPACITY: usize = 1024;

/// The number of bytes that wait for the client at which no more messages are received from the
/// bridge.
const MAX_UNREAD_BYTES: usize = 1024 * 1024;

/// How long the client may take, at the end, to read the messages that wait.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The text of a message, and the earliest time at which it may be written.
type QueuedMessage = (Option<Instant>, SharedText);

/// The queue of messages to the client, and the task that writes them.
pub(crate) struct Output {
    redactor: TokenRedactor,
    queue: mpsc::Sender<QueuedMessage>,
    unread_bytes: watch::Sender<usize>,
    task: JoinHandle<io::Result<()>>,
}

/// The number of bytes that wait for the client.
pub(crate) struct Backpressure(watch::Receiver<usize>);

impl Backpressure {
    /// Waits until fewer bytes wait than the limit. This method is cancel safe.
    pub(crate) async fn writable(&mut self) {
        // An error means that the writer has ended, which the next send reports.
        let _ = self.0.wait_for(|bytes| *bytes < MAX_UNREAD_BYTES).await;
    }
}

impl Output {
    /// Starts the task that writes to `output`, without the token that `redactor` knows.
    pub(crate) fn new(
        output: impl AsyncWrite + Send + Unpin + 'static,
        redactor: TokenRedactor,
    ) -> (Self, Backpressure) {
        let (queue, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let (unread_bytes, unread) = watch::channel(0);
        let task = tokio::spawn(run_writer(output, receiver, unread_bytes.clone()));
        let output = Self {
            redactor,
            queue,
            unread_bytes,
            task,
        };
        (output, Backpressure(unread))
    }

    /// Queues a message.
    ///
    /// # Errors
    /// Returns an error when the client does not read any more.
    pub(crate) async fn send(&self, message: JsonRpcMessage) -> io::Result<()> {
        self.send_not_before(None, message).await
    }

    /// Queues a message that must not be written before `not_before`. Messages that are queued
    /// later may overtake it.
    ///
    /// # Errors
    /// Returns an error when the client does not read any more.
    pub(crate) async fn send_not_before(
        &self,
        not_before: Option<Instant>,
        message: JsonRpcMessage,
    ) -> io::Result<()> {
        let text = match self.redactor.redact_json(message.text()) {
            Cow::Borrowed(_) => message.text().clone(),
            Cow::Owned(redacted) => redacted.into(),
        };
        self.unread_bytes.send_modify(|bytes| *bytes += text.len());
        let queued = self.queue.send((not_before, text)).await;
        queued.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Waits until the client does not read any more. This method is cancel safe.
    pub(crate) async fn closed(&self) {
        self.queue.closed().await;
    }

    /// Writes the messages that wait, if the client reads them in time.
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
    mut queue: mpsc::Receiver<QueuedMessage>,
    unread_bytes: watch::Sender<usize>,
) -> io::Result<()> {
    // Messages that are larger than its buffer are written directly.
    let mut output = BufWriter::new(output);
    let mut delayed = DelayedMessages::default();
    loop {
        let text = match delayed.try_next(&mut queue) {
            Some(text) => text,
            None => {
                output.flush().await?;
                match delayed.next(&mut queue).await {
                    Some(text) => text,
                    None => return Ok(()),
                }
            }
        };
        output.write_all(text.as_bytes()).await?;
        output.write_all(b"\n").await?;
        unread_bytes.send_modify(|bytes| *bytes -= text.len());
    }
}

/// The messages that must not be written yet.
#[derive(Default)]
struct DelayedMessages {
    /// By time and sequence number.
    messages: BTreeMap<(Instant, u64), SharedText>,
    /// The number of the last message. It distinguishes and orders messages with the same time.
    sequence: u64,
}

impl DelayedMessages {
    /// Takes the next message from the queue that may be written now, without waiting.
    fn try_next(&mut self, queue: &mut mpsc::Receiver<QueuedMessage>) -> Option<SharedText> {
        while let Ok(message) = queue.try_recv() {
            if let Some(text) = self.hold_if_delayed(message) {
                return Some(text);
            }
        }
        None
    }

    /// Waits for the next message that may be written: a new one, or a delayed one that is due.
    /// Returns `None` when the queue is closed and no message is left.
    async fn next(&mut self, queue: &mut mpsc::Receiver<QueuedMessage>) -> Option<SharedText> {
        loop {
            let first = self.messages.first_key_value();
            let first_due = first.map(|((not_before, _), _)| *not_before);
            let due = async {
                match first_due {
                    Some(time) => sleep_until(time).await,
                    None => std::future::pending().await,
                }
            };
            let message = tokio::select! {
                biased;
                () = due => None,
                message = queue.recv() => message,
            };
            match message {
                Some(message) => {
                    if let Some(text) = self.hold_if_delayed(message) {
                        return Some(text);
                    }
                }
                // The first delayed message is due, or the queue is closed.
                None => return self.messages.pop_first().map(|(_, text)| text),
            }
        }
    }

    /// Stores a message that has a time; returns any other.
    fn hold_if_delayed(&mut self, (not_before, text): QueuedMessage) -> Option<SharedText> {
        let Some(not_before) = not_before else {
            return Some(text);
        };
        self.sequence += 1;
        self.messages.insert((not_before, self.sequence), text);
        None
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

    use super::*;

    #[tokio::test]
    async fn unread_messages_apply_backpressure_until_they_are_read() {
        let (mut reader, writer) = tokio::io::duplex(1024);
        let (output, mut backpressure) = Output::new(writer, TokenRedactor::default());
        backpressure.writable().await;
        let large = format!(r#"{{"method":"{}"}}"#, "x".repeat(MAX_UNREAD_BYTES));
        let lines = [large, r#"{"method":"small"}"#.to_owned()];
        for line in &lines {
            output
                .send(JsonRpcMessage::parse(line.as_str()).unwrap())
                .await
                .unwrap();
        }
        assert!(*backpressure.0.borrow() > MAX_UNREAD_BYTES);
        let reading = async {
            let mut text = String::new();
            reader.read_to_string(&mut text).await.unwrap();
            text
        };
        let closing = async {
            backpressure.writable().await;
            output.close().await;
        };
        let (text, ()) = tokio::join!(reading, closing);
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }

    #[tokio::test(start_paused = true)]
    async fn delayed_messages_are_written_on_time_and_do_not_block_others() {
        let (reader, writer) = tokio::io::duplex(1024);
        let (output, _backpressure) = Output::new(writer, TokenRedactor::default());
        let line = |name: &str| format!(r#"{{"method":"{name}"}}"#);
        let message = |name| JsonRpcMessage::parse(line(name)).unwrap();
        let started = Instant::now();
        let at = |ms| Some(started + Duration::from_millis(ms));
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
        let mut lines = BufReader::new(reader).lines();
        for (name, ms) in [("first", 0), ("second", 10), ("third", 20)] {
            assert_eq!(lines.next_line().await.unwrap(), Some(line(name)));
            // Timers have a resolution of one millisecond.
            let delay = started.elapsed() - Duration::from_millis(ms);
            assert!(delay <= Duration::from_millis(1), "{name}: {delay:?}");
        }
        output.close().await;
        assert_eq!(lines.next_line().await.unwrap(), Some(line("last")));
    }

    #[tokio::test]
    async fn sending_to_a_client_that_is_gone_fails() {
        let (reader, writer) = tokio::io::duplex(1024);
        let (output, _backpressure) = Output::new(writer, TokenRedactor::default());
        drop(reader);
        let message = || JsonRpcMessage::parse(r#"{"method":"m"}"#).unwrap();
        output.send(message()).await.unwrap();
        output.closed().await;
        assert!(output.send(message()).await.is_err());
    }
}
