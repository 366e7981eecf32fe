//! Hears an answer to its end: to the one that the provider says, not the one that `genai` makes up.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use genai::chat::{ChatStream, ChatStreamEvent, StreamEnd};
use tokio::time::{Instant, timeout_at};

use super::completion;
use crate::model::genai::errors::ErrorMapper;
use crate::model::genai::frame_inspector::FrameInspector;
use crate::model::retry::AttemptError;
use crate::model::{Event, Tool};

/// How long to wait for a provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamTimeouts {
    pub(super) first_token: Duration,
    pub(super) idle: Duration,
}

/// An answer on its way. Dropping it closes the connection.
pub(super) struct ResponseStream {
    stream: ChatStream,
    inspector: Arc<FrameInspector>,
    errors: ErrorMapper,
    tools: Arc<[Tool]>,
    timeouts: StreamTimeouts,
    started_at: Instant,
    /// A word, a thought, or a piece of a call.
    has_output: bool,
}

impl ResponseStream {
    pub(super) fn new(
        stream: ChatStream,
        inspector: Arc<FrameInspector>,
        errors: ErrorMapper,
        tools: Arc<[Tool]>,
        timeouts: StreamTimeouts,
    ) -> Self {
        Self {
            stream,
            inspector,
            errors,
            tools,
            timeouts,
            started_at: Instant::now(),
            has_output: false,
        }
    }

    pub(super) fn into_events(self) -> BoxStream<'static, Result<Event, AttemptError>> {
        stream::unfold(Some(self), |listening| async {
            Some(listening?.step().await)
        })
        .boxed()
    }

    async fn step(mut self) -> (Result<Event, AttemptError>, Option<Self>) {
        match self.next_event().await {
            Ok(event @ Event::End { .. }) => (Ok(event), None),
            Ok(event) => (Ok(event), Some(self)),
            Err(trouble) => (Err(trouble), None),
        }
    }

    /// The next event that somebody wants to hear.
    async fn next_event(&mut self) -> Result<Event, AttemptError> {
        loop {
            let event = match self.next_chunk().await? {
                Some(Ok(event)) => event,
                Some(Err(_)) if self.inspector.take_empty_frame() => continue,
                Some(Err(error)) => return Err(self.map_error(error)),
                None => return Err(self.unfinished()),
            };
            if self.inspector.exceeds_limit() {
                return Err(AttemptError::permanent(self.errors.too_large()));
            }
            if self.inspector.has_split_frame() {
                return Err(AttemptError::permanent(self.errors.unreadable()));
            }
            match event {
                ChatStreamEvent::Chunk(piece) if !piece.content.is_empty() => {
                    self.has_output = true;
                    return Ok(Event::Text(piece.content));
                }
                ChatStreamEvent::ReasoningChunk(piece) if !piece.content.is_empty() => {
                    self.has_output = true;
                    return Ok(Event::Thinking(piece.content));
                }
                ChatStreamEvent::ToolCallChunk(_) => self.has_output = true,
                ChatStreamEvent::End(end) => return self.finish(end),
                _ => {}
            }
        }
    }

    async fn next_chunk(&mut self) -> Result<Option<genai::Result<ChatStreamEvent>>, AttemptError> {
        loop {
            let until = self.deadline();
            match timeout_at(until, self.stream.next()).await {
                Ok(event) => return Ok(event),
                // Something has come that is no event: a comment, a ping.
                Err(_) if self.deadline() > until => {}
                Err(_) => return Err(self.timed_out()),
            }
        }
    }

    fn deadline(&self) -> Instant {
        match self.has_output {
            false => self.started_at + self.timeouts.first_token,
            true => self.inspector.last_frame_at() + self.timeouts.idle,
        }
    }

    fn timed_out(&self) -> AttemptError {
        AttemptError::permanent(match self.has_output {
            false => self.errors.first_token_timeout(self.timeouts.first_token),
            true => self.errors.idle_timeout(self.timeouts.idle),
        })
    }

    fn map_error(&self, error: genai::Error) -> AttemptError {
        match self.inspector.refusal() {
            Some(words) => AttemptError::permanent(self.errors.refused(&words)),
            None => self.errors.map_error(error, self.has_output),
        }
    }

    /// The stream is at its end, and nobody has said so.
    fn unfinished(&self) -> AttemptError {
        match self.inspector.error() {
            Some(error) => self.errors.map_event(&error, self.has_output),
            None if self.inspector.has_split_frame() => {
                AttemptError::permanent(self.errors.unreadable())
            }
            None => AttemptError::permanent(self.errors.unfinished(self.has_output)),
        }
    }

    fn finish(&self, mut end: StreamEnd) -> Result<Event, AttemptError> {
        // genai makes up an end where the stream ends.
        if !self.inspector.has_ended() {
            return Err(self.unfinished());
        }
        if !self.inspector.wants_reasoning_back() {
            end.captured_reasoning_content = None;
        }
        let refusal = self.inspector.refusal();
        let (turn, usage) = completion::completed_turn(end, refusal, &self.errors, &self.tools)
            .map_err(AttemptError::permanent)?;
        Ok(Event::End { turn, usage })
    }
}
