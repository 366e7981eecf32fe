//! Hears an answer to its end: to the one that the provider says, not the one that `genai` makes up.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use genai::chat::{ChatStream, ChatStreamEvent, StreamEnd};
use tokio::time::{Instant, timeout_at};

use super::ending;
use super::frames::Frames;
use super::trouble::Teller;
use crate::model::retrying::Trouble;
use crate::model::{Event, Tool};

/// How long to wait for a provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) first_token_within: Duration,
    pub(super) silence: Duration,
}

/// An answer on its way. Dropping it closes the connection.
pub(super) struct Listening {
    stream: ChatStream,
    frames: Arc<Frames>,
    teller: Teller,
    tools: Arc<[Tool]>,
    patience: Patience,
    asked: Instant,
    /// A word, a thought, or a piece of a call.
    has_spoken: bool,
}

impl Listening {
    pub(super) fn new(
        stream: ChatStream,
        frames: Arc<Frames>,
        teller: Teller,
        tools: Arc<[Tool]>,
        patience: Patience,
    ) -> Self {
        Self {
            stream,
            frames,
            teller,
            tools,
            patience,
            asked: Instant::now(),
            has_spoken: false,
        }
    }

    pub(super) fn events(self) -> BoxStream<'static, Result<Event, Trouble>> {
        stream::unfold(Some(self), |listening| async {
            Some(listening?.next().await)
        })
        .boxed()
    }

    async fn next(mut self) -> (Result<Event, Trouble>, Option<Self>) {
        match self.hear().await {
            Ok(event @ Event::End { .. }) => (Ok(event), None),
            Ok(event) => (Ok(event), Some(self)),
            Err(trouble) => (Err(trouble), None),
        }
    }

    /// The next event that somebody wants to hear.
    async fn hear(&mut self) -> Result<Event, Trouble> {
        loop {
            let event = match self.wait().await? {
                Some(Ok(event)) => event,
                Some(Err(_)) if self.frames.take_idle() => continue,
                Some(Err(error)) => return Err(self.failed(error)),
                None => return Err(self.ended_early()),
            };
            if self.frames.is_too_much() {
                return Err(Trouble::last(self.teller.too_much()));
            }
            if self.frames.is_torn() {
                return Err(Trouble::last(self.teller.unreadable()));
            }
            match event {
                ChatStreamEvent::Chunk(piece) if !piece.content.is_empty() => {
                    self.has_spoken = true;
                    return Ok(Event::Text(piece.content));
                }
                ChatStreamEvent::ReasoningChunk(piece) if !piece.content.is_empty() => {
                    self.has_spoken = true;
                    return Ok(Event::Thinking(piece.content));
                }
                ChatStreamEvent::ToolCallChunk(_) => self.has_spoken = true,
                ChatStreamEvent::End(end) => return self.end(end),
                _ => {}
            }
        }
    }

    async fn wait(&mut self) -> Result<Option<genai::Result<ChatStreamEvent>>, Trouble> {
        loop {
            let until = self.until();
            match timeout_at(until, self.stream.next()).await {
                Ok(event) => return Ok(event),
                // Something has come that is no event: a comment, a ping.
                Err(_) if self.until() > until => {}
                Err(_) => return Err(self.silent()),
            }
        }
    }

    fn until(&self) -> Instant {
        match self.has_spoken {
            false => self.asked + self.patience.first_token_within,
            true => self.frames.last() + self.patience.silence,
        }
    }

    fn silent(&self) -> Trouble {
        Trouble::last(match self.has_spoken {
            false => self.teller.not_begun(self.patience.first_token_within),
            true => self.teller.silent(self.patience.silence),
        })
    }

    fn failed(&self, error: genai::Error) -> Trouble {
        match self.frames.refusal() {
            Some(words) => Trouble::last(self.teller.refused(&words)),
            None => self.teller.trouble(error, self.has_spoken),
        }
    }

    /// The stream is at its end, and nobody has said so.
    fn ended_early(&self) -> Trouble {
        match self.frames.error() {
            Some(error) => self.teller.event(&error, self.has_spoken),
            None if self.frames.is_torn() => Trouble::last(self.teller.unreadable()),
            None => Trouble::last(self.teller.unfinished(self.has_spoken)),
        }
    }

    fn end(&self, mut end: StreamEnd) -> Result<Event, Trouble> {
        // genai makes up an end where the stream ends.
        if !self.frames.has_ended() {
            return Err(self.ended_early());
        }
        if !self.frames.wants_thoughts() {
            end.captured_reasoning_content = None;
        }
        let refusal = self.frames.refusal();
        let (turn, usage) =
            ending::turn(end, refusal, &self.teller, &self.tools).map_err(Trouble::last)?;
        Ok(Event::End { turn, usage })
    }
}
