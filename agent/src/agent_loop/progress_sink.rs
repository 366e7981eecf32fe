//! Sends the output of a turn to the page while the model produces it.
//!
//! A model produces a turn in many small pieces. They are sent at once while the reader keeps up.
//! Pieces that wait for a slow reader are merged, and when they are too many, the stream of the
//! model is not read until there is room again.

use std::collections::VecDeque;

use bridge_protocol::QueryContent;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// The total size of the pending pieces, in bytes, at which the model must wait. It is far below
/// the largest event that a bridge accepts.
const MAX_BACKLOG_BYTES: usize = 64 * 1024;

/// Sends pieces of progress in order, and merges those that are pending.
#[derive(Debug)]
pub(super) struct ProgressSink<'a> {
    sender: &'a mpsc::Sender<QueryContent>,
    pending: VecDeque<QueryContent>,
    pending_bytes: usize,
}

impl<'a> ProgressSink<'a> {
    pub(super) fn new(sender: &'a mpsc::Sender<QueryContent>) -> Self {
        Self {
            sender,
            pending: VecDeque::new(),
            pending_bytes: 0,
        }
    }

    /// Sends a piece now, or stores it until there is room. A closed channel is not an error: a
    /// receiver that does not need the answer any more drops it.
    pub(super) fn push(&mut self, piece: QueryContent) {
        let mut piece = piece;
        if self.pending.is_empty() {
            match self.sender.try_send(piece) {
                Err(TrySendError::Full(unsent)) => piece = unsent,
                Ok(()) | Err(TrySendError::Closed(_)) => return,
            }
        }
        self.pending_bytes += text_bytes(&piece);
        match (self.pending.back_mut(), piece) {
            (Some(QueryContent::Text { text: last }), QueryContent::Text { text })
            | (Some(QueryContent::Thinking { text: last }), QueryContent::Thinking { text }) => {
                last.push_str(&text);
            }
            (
                Some(QueryContent::ToolArguments {
                    id: last_id,
                    delta: last,
                    ..
                }),
                QueryContent::ToolArguments { id, delta, .. },
            ) if *last_id == id => last.push_str(&delta),
            (_, piece) => self.pending.push_back(piece),
        }
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn is_backlogged(&self) -> bool {
        self.pending_bytes >= MAX_BACKLOG_BYTES
    }

    /// Sends the first of the pending pieces once there is room. This method is cancel safe.
    pub(super) async fn flush_next(&mut self) {
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
        while self.has_pending() {
            self.flush_next().await;
        }
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

    #[tokio::test]
    async fn backlog_is_bounded_and_a_closed_reader_is_no_failure() {
        let (sender, receiver) = mpsc::channel(1);
        let mut sink = ProgressSink::new(&sender);
        sink.push(text("first"));
        assert!(!sink.is_backlogged());
        sink.push(text(&"x".repeat(MAX_BACKLOG_BYTES)));
        assert!(sink.is_backlogged());
        drop(receiver);
        sink.flush().await;
        assert!(!sink.is_backlogged());
        sink.push(text("to nobody"));
        assert!(!sink.has_pending());
    }
}
