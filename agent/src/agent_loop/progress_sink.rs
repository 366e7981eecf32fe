//! What the page hears while a turn is said.
//!
//! A model says its turn in many small pieces. They go on as they come while the reader keeps up.
//! Those that a slow reader leaves waiting are joined, and once they are many the model has to wait
//! as well: its stream is not read.

use std::collections::VecDeque;

use bridge_protocol::QueryContent;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// What may wait before the model has to: far below what a bridge takes as one event.
const MAX_BACKLOG_BYTES: usize = 64 * 1024;

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

    /// Says this now, or as soon as there is room. Nobody listening is no failure: whoever does not
    /// want the answer drops it.
    pub(super) fn push(&mut self, piece: QueryContent) {
        let piece = match self.pending.is_empty() {
            true => match self.sender.try_send(piece) {
                Err(TrySendError::Full(piece)) => piece,
                Ok(()) | Err(TrySendError::Closed(_)) => return,
            },
            false => piece,
        };
        self.pending_bytes += text_bytes(&piece);
        match (self.pending.back_mut(), piece) {
            (Some(QueryContent::Text { text: last }), QueryContent::Text { text })
            | (Some(QueryContent::Thinking { text: last }), QueryContent::Thinking { text }) => {
                last.push_str(&text);
            }
            (_, piece) => self.pending.push_back(piece),
        }
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn is_backlogged(&self) -> bool {
        self.pending_bytes >= MAX_BACKLOG_BYTES
    }

    /// Says the first of what waits. May be dropped and called again.
    pub(super) async fn flush_next(&mut self) {
        let Ok(room) = self.sender.reserve().await else {
            self.pending.clear();
            self.pending_bytes = 0;
            return;
        };
        if let Some(first) = self.pending.pop_front() {
            self.pending_bytes -= text_bytes(&first);
            room.send(first);
        }
    }

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
        QueryContent::ToolStarted { .. } | QueryContent::ToolFinished { .. } => 0,
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
        let (say, mut heard) = mpsc::channel(1);
        let mut voice = ProgressSink::new(&say);
        for piece in ["a", "b", "c"] {
            voice.push(text(piece));
        }
        voice.push(thinking("d"));
        voice.push(thinking("e"));
        voice.push(text("f"));
        let listen = async {
            let mut all = Vec::new();
            while all.len() < 4 {
                all.push(json(heard.recv().await.unwrap()));
            }
            all
        };
        let (all, ()) = tokio::join!(listen, voice.flush());
        let expected = [text("a"), text("bc"), thinking("de"), text("f")];
        assert_eq!(all, expected.map(json));
        assert!(!voice.has_pending());
    }

    #[tokio::test]
    async fn backlog_is_bounded_and_a_closed_reader_is_no_failure() {
        let (say, heard) = mpsc::channel(1);
        let mut voice = ProgressSink::new(&say);
        voice.push(text("first"));
        assert!(!voice.is_backlogged());
        voice.push(text(&"x".repeat(MAX_BACKLOG_BYTES)));
        assert!(voice.is_backlogged());
        drop(heard);
        voice.flush().await;
        assert!(!voice.is_backlogged());
        voice.push(text("to nobody"));
        assert!(!voice.has_pending());
    }
}
