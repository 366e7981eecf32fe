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
use crate::text::Text;

/// Messages that wait for the client to read. Full: it is not read from either.
const WAITING: usize = 1024;

/// When so many bytes wait for the client to read, nothing more is taken from the bridge.
const WAITING_BYTES: usize = 1024 * 1024;

/// At the end, for what the client has not read yet.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// A message, and before when it is not written.
type Waiting = (Option<Instant>, Text);

/// The way to the client.
pub(crate) struct Output {
    queue: mpsc::Sender<Waiting>,
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
        self.send_at(None, message).await
    }

    /// Queues a message that is not written before a time. Messages that come later may go first.
    ///
    /// # Errors
    /// When the client does not read any more.
    pub(crate) async fn send_at(&self, at: Option<Instant>, message: Message) -> io::Result<()> {
        let text = message.into_text();
        self.bytes.send_modify(|bytes| *bytes += text.len());
        let queued = self.queue.send((at, text)).await;
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
    mut waiting: mpsc::Receiver<Waiting>,
    bytes: watch::Sender<usize>,
) -> io::Result<()> {
    // Large messages go past its buffer.
    let mut output = BufWriter::new(output);
    let mut held = Held::default();
    loop {
        let text = match held.next_now(&mut waiting) {
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
struct Held {
    messages: BTreeMap<(Instant, u64), Text>,
    /// Counts up: two may have the same time.
    last: u64,
}

impl Held {
    /// What may be written at once of what waits.
    fn next_now(&mut self, waiting: &mut mpsc::Receiver<Waiting>) -> Option<Text> {
        while let Ok(message) = waiting.try_recv() {
            if let Some(text) = self.sort(message) {
                return Some(text);
            }
        }
        None
    }

    /// What is to be written next: what comes, or what was held back until now. `None`: that was all.
    async fn next(&mut self, waiting: &mut mpsc::Receiver<Waiting>) -> Option<Text> {
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
                    if let Some(text) = self.sort(message) {
                        return Some(text);
                    }
                }
                // Its time has come, or the way is closed and nothing more follows.
                None => return self.messages.pop_first().map(|(_, text)| text),
            }
        }
    }

    /// The text, if it need not be held back.
    fn sort(&mut self, (at, text): Waiting) -> Option<Text> {
        let Some(at) = at else {
            return Some(text);
        };
        self.last += 1;
        self.messages.insert((at, self.last), text);
        None
    }
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

    #[tokio::test(start_paused = true)]
    async fn what_is_held_back_is_written_in_its_time_and_holds_up_nothing() {
        let (far, near) = tokio::io::duplex(1024);
        let (output, _room) = Output::new(near);
        let line = |name: &str| format!(r#"{{"method":"{name}"}}"#);
        let message = |name| Message::parse(line(name)).unwrap();
        let began = Instant::now();
        let at = |ms| Some(began + Duration::from_millis(ms));
        // The first of them waits for nothing, though others wait behind it.
        output.send(message("first")).await.unwrap();
        output.send_at(at(20), message("third")).await.unwrap();
        output.send_at(at(10), message("second")).await.unwrap();
        output
            .send_at(at(3_600_000), message("last"))
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
        output.broken().await;
        assert!(output.send(message()).await.is_err());
    }
}
