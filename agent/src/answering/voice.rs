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
const WAITING_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Voice<'a> {
    say: &'a mpsc::Sender<QueryContent>,
    waiting: VecDeque<QueryContent>,
    bytes: usize,
}

impl<'a> Voice<'a> {
    pub(super) fn new(say: &'a mpsc::Sender<QueryContent>) -> Self {
        Self {
            say,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Says this now, or as soon as there is room. Nobody listening is no failure: whoever does not
    /// want the answer drops it.
    pub(super) fn say(&mut self, piece: QueryContent) {
        let piece = match self.waiting.is_empty() {
            true => match self.say.try_send(piece) {
                Err(TrySendError::Full(piece)) => piece,
                Ok(()) | Err(TrySendError::Closed(_)) => return,
            },
            false => piece,
        };
        self.bytes += bytes_of(&piece);
        match (self.waiting.back_mut(), piece) {
            (Some(QueryContent::Text { text: last }), QueryContent::Text { text })
            | (Some(QueryContent::Thinking { text: last }), QueryContent::Thinking { text }) => {
                last.push_str(&text);
            }
            (_, piece) => self.waiting.push_back(piece),
        }
    }

    pub(super) fn has_more(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn is_far_behind(&self) -> bool {
        self.bytes >= WAITING_BYTES
    }

    /// Says the first of what waits. May be dropped and called again.
    pub(super) async fn say_first(&mut self) {
        let Ok(room) = self.say.reserve().await else {
            self.waiting.clear();
            self.bytes = 0;
            return;
        };
        if let Some(first) = self.waiting.pop_front() {
            self.bytes -= bytes_of(&first);
            room.send(first);
        }
    }

    pub(super) async fn say_all(&mut self) {
        while self.has_more() {
            self.say_first().await;
        }
    }
}

fn bytes_of(piece: &QueryContent) -> usize {
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
    async fn pieces_that_wait_are_joined_with_their_like_and_keep_their_order() {
        let (say, mut heard) = mpsc::channel(1);
        let mut voice = Voice::new(&say);
        for piece in ["a", "b", "c"] {
            voice.say(text(piece));
        }
        voice.say(thinking("d"));
        voice.say(thinking("e"));
        voice.say(text("f"));
        let listen = async {
            let mut all = Vec::new();
            while all.len() < 4 {
                all.push(json(heard.recv().await.unwrap()));
            }
            all
        };
        let (all, ()) = tokio::join!(listen, voice.say_all());
        let expected = [text("a"), text("bc"), thinking("de"), text("f")];
        assert_eq!(all, expected.map(json));
        assert!(!voice.has_more());
    }

    #[tokio::test]
    async fn what_waits_is_bounded_and_nobody_listening_is_no_failure() {
        let (say, heard) = mpsc::channel(1);
        let mut voice = Voice::new(&say);
        voice.say(text("first"));
        assert!(!voice.is_far_behind());
        voice.say(text(&"x".repeat(WAITING_BYTES)));
        assert!(voice.is_far_behind());
        drop(heard);
        voice.say_all().await;
        assert!(!voice.is_far_behind());
        voice.say(text("to nobody"));
        assert!(!voice.has_more());
    }
}
