//! Sends the output of a turn to the page while the model produces it.
//!
//! A model produces a turn in many small pieces. They are sent at once while the reader keeps up.
//! Pieces that wait for a slow reader are merged, and when they are too many, the stream of the
//! model is not read until there is room again.
//!
//! The arguments of calls are not text that a person reads word by word. Their pieces are sent at most
//! every [`ARGUMENTS_INTERVAL`], because each is an event that bridge and page store.

use std::collections::VecDeque;
use std::time::Duration;

use bridge_protocol::QueryContent;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, sleep_until};

/// The total size of the pending pieces, in bytes, at which the model must wait. It is far below
/// the largest event that a bridge accepts.
const MAX_BACKLOG_BYTES: usize = 64 * 1024;

/// The maximum length of a piece, in bytes. A longer one is sent in parts.
const MAX_PIECE_BYTES: usize = 64 * 1024;

/// The time between two pieces of the arguments of calls. A form in the page appears to be filled in
/// continuously at this rate.
const ARGUMENTS_INTERVAL: Duration = Duration::from_millis(50);

/// Sends pieces of progress in order, and merges those that are pending.
#[derive(Debug)]
pub(super) struct ProgressSink<'a> {
    sender: &'a mpsc::Sender<QueryContent>,
    pending: VecDeque<QueryContent>,
    pending_bytes: usize,
    /// A piece of arguments that is not sent yet, because one was sent a moment ago.
    held: Option<QueryContent>,
    /// When the next piece of arguments may be sent.
    arguments_at: Instant,
}

impl<'a> ProgressSink<'a> {
    pub(super) fn new(sender: &'a mpsc::Sender<QueryContent>) -> Self {
        Self {
            sender,
            pending: VecDeque::new(),
            pending_bytes: 0,
            held: None,
            arguments_at: Instant::now(),
        }
    }

    /// Sends a piece now, or stores it until there is room. A closed channel is not an error: a
    /// receiver that does not need the answer any more drops it.
    pub(super) fn push(&mut self, piece: QueryContent) {
        for piece in split(piece) {
            self.push_part(piece);
        }
    }

    fn push_part(&mut self, piece: QueryContent) {
        match (&mut self.held, piece) {
            (Some(held), piece @ QueryContent::ToolArguments { .. }) => {
                if let Some(other) = merge(held, piece) {
                    self.release_arguments();
                    self.held = Some(other);
                }
            }
            (None, piece @ QueryContent::ToolArguments { .. }) => self.held = Some(piece),
            (_, piece) => {
                self.release_arguments();
                return self.send(piece);
            }
        }
        if self.arguments_at <= Instant::now() {
            self.release_arguments();
        }
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.has_pending() || self.held.is_some()
    }

    /// Sends the first of the pending pieces once there is room, or the piece of arguments that is
    /// held back once its time has come. This method is cancel safe.
    pub(super) async fn advance(&mut self) {
        if self.has_pending() {
            return self.flush_next().await;
        }
        sleep_until(self.arguments_at).await;
        self.release_arguments();
    }

    fn release_arguments(&mut self) {
        if let Some(held) = self.held.take() {
            self.arguments_at = Instant::now() + ARGUMENTS_INTERVAL;
            self.send(held);
        }
    }

    fn send(&mut self, piece: QueryContent) {
        let mut piece = piece;
        if self.pending.is_empty() {
            match self.sender.try_send(piece) {
                Err(TrySendError::Full(unsent)) => piece = unsent,
                Ok(()) | Err(TrySendError::Closed(_)) => return,
            }
        }
        self.pending_bytes += text_bytes(&piece);
        let unmerged = match self.pending.back_mut() {
            Some(last) => merge(last, piece),
            None => Some(piece),
        };
        self.pending.extend(unmerged);
    }

    fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn is_backlogged(&self) -> bool {
        self.pending_bytes >= MAX_BACKLOG_BYTES
    }

    async fn flush_next(&mut self) {
        let Ok(permit) = self.sender.reserve().await else {
            self.pending.clear();
            self.pending_bytes = 0;
            return;
        };
        if let Some(first) = self.pending.pop_front() {
            self.pending_bytes -= text_bytes(&first);
            permit.send(first);
        }
    }

    /// Sends all pending pieces.
    pub(super) async fn flush(&mut self) {
        self.release_arguments();
        while self.has_pending() {
            self.flush_next().await;
        }
    }
}

/// Splits a long piece: an event can be six times as long as its text, because of escapes.
fn split(mut piece: QueryContent) -> Vec<QueryContent> {
    let text = match text_mut(&mut piece) {
        Some(text) if text.len() > MAX_PIECE_BYTES => std::mem::take(text),
        _ => return vec![piece],
    };
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (first, after) = rest.split_at(rest.floor_char_boundary(MAX_PIECE_BYTES));
        let mut part = piece.clone();
        if let Some(text) = text_mut(&mut part) {
            first.clone_into(text);
        }
        parts.push(part);
        rest = after;
    }
    parts
}

/// Returns the text of a piece that can be split.
fn text_mut(piece: &mut QueryContent) -> Option<&mut String> {
    match piece {
        QueryContent::Text { text } | QueryContent::Thinking { text } => Some(text),
        QueryContent::ToolArguments { delta, .. } => Some(delta),
        _ => None,
    }
}

/// Appends a piece to the one before it, or returns it if they do not belong together, or would be too
/// long together.
fn merge(last: &mut QueryContent, piece: QueryContent) -> Option<QueryContent> {
    if text_bytes(last) + text_bytes(&piece) > MAX_PIECE_BYTES {
        return Some(piece);
    }
    match (last, piece) {
        (QueryContent::Text { text: last }, QueryContent::Text { text })
        | (QueryContent::Thinking { text: last }, QueryContent::Thinking { text }) => {
            last.push_str(&text);
            None
        }
        (
            QueryContent::ToolArguments {
                id: last_id,
                delta: last,
                ..
            },
            QueryContent::ToolArguments { id, delta, .. },
        ) if *last_id == id => {
            last.push_str(&delta);
            None
        }
        (_, piece) => Some(piece),
    }
}

fn text_bytes(piece: &QueryContent) -> usize {
    match piece {
        QueryContent::Text { text }
        | QueryContent::Thinking { text }
        | QueryContent::Note { text } => text.len(),
        QueryContent::ToolArguments { delta, .. } => delta.len(),
        QueryContent::ToolStarted { .. }
        | QueryContent::ToolFinished { .. }
        | QueryContent::ApprovalRequested { .. }
        | QueryContent::Usage { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> QueryContent {
        let text = text.to_owned();
        QueryContent::Text { text }
    }

    fn thinking(text: &str) -> QueryContent {
        let text = text.to_owned();
        QueryContent::Thinking { text }
    }

    fn json(piece: QueryContent) -> String {
        piece.to_raw().get().to_owned()
    }

    #[tokio::test]
    async fn pending_pieces_of_one_kind_are_merged_in_order() {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut sink = ProgressSink::new(&sender);
        for piece in ["a", "b", "c"] {
            sink.push(text(piece));
        }
        sink.push(thinking("d"));
        sink.push(thinking("e"));
        sink.push(text("f"));
        let receive = async {
            let mut pieces = Vec::new();
            while pieces.len() < 4 {
                pieces.push(json(receiver.recv().await.unwrap()));
            }
            pieces
        };
        let (pieces, ()) = tokio::join!(receive, sink.flush());
        let expected = [text("a"), text("bc"), thinking("de"), text("f")];
        assert_eq!(pieces, expected.map(json));
        assert!(!sink.has_pending());
    }

    #[tokio::test(start_paused = true)]
    async fn arguments_are_sent_at_intervals_and_before_what_follows() {
        let arguments = |id: &str, delta: &str| QueryContent::ToolArguments {
            id: id.to_owned(),
            tool: "plan".to_owned(),
            delta: delta.to_owned(),
        };
        let (sender, mut receiver) = mpsc::channel(10);
        let mut sink = ProgressSink::new(&sender);
        for delta in ["{", "\"a\"", ":1"] {
            sink.push(arguments("1", delta));
        }
        assert_eq!(
            json(receiver.recv().await.unwrap()),
            json(arguments("1", "{"))
        );
        assert!(sink.has_unsent() && receiver.try_recv().is_err());
        let started = Instant::now();
        sink.advance().await;
        assert_eq!(started.elapsed(), ARGUMENTS_INTERVAL);
        for piece in [arguments("1", "}"), arguments("2", "{}"), text("done")] {
            sink.push(piece);
        }
        for expected in [
            arguments("1", "\"a\":1"),
            arguments("1", "}"),
            arguments("2", "{}"),
            text("done"),
        ] {
            assert_eq!(json(receiver.try_recv().unwrap()), json(expected));
        }
        assert!(!sink.has_unsent());
    }

    #[test]
    fn a_long_piece_is_sent_in_parts_between_characters() {
        let long = "ä".repeat(MAX_PIECE_BYTES);
        let parts = split(text(&long));
        assert!(parts.iter().all(|part| text_bytes(part) <= MAX_PIECE_BYTES));
        let texts = parts.iter().map(|part| match part {
            QueryContent::Text { text } => text.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(texts.collect::<String>(), long);
        assert_eq!(parts.len(), 2);
    }

    #[tokio::test]
    async fn backlog_is_bounded_and_a_closed_reader_is_not_a_failure() {
        let (sender, receiver) = mpsc::channel(1);
        let mut sink = ProgressSink::new(&sender);
        sink.push(text("first"));
        assert!(!sink.is_backlogged());
        sink.push(text(&"x".repeat(MAX_BACKLOG_BYTES)));
        assert!(sink.is_backlogged());
        drop(receiver);
        sink.flush().await;
        assert!(!sink.is_backlogged());
        sink.push(text("unread"));
        assert!(!sink.has_pending());
    }
}
