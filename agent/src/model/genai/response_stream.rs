//! Reads a response up to the end that the provider marks, because `genai` also reports an end when
//! a stream breaks off.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use genai::chat::{ChatStream, ChatStreamEvent, StreamEnd};
use tokio::time::{Instant, timeout_at};

use super::arguments_reader::ArgumentsReader;
use super::completion;
use super::errors::ErrorMapper;
use super::frame_inspector::FrameInspector;
use super::tool_names;
use crate::model::retry::AttemptError;
use crate::model::{ArgumentsDelta, ModelEvent, ModelTool};

/// How long a provider may be silent.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamTimeouts {
    /// The time up to the first output.
    pub(super) first_token: Duration,
    /// The time between two frames after that.
    pub(super) idle: Duration,
}

/// A response that is being received. Dropping it closes the connection.
pub(super) struct ResponseStream {
    stream: ChatStream,
    inspector: Arc<FrameInspector>,
    errors: ErrorMapper,
    tools: Arc<[ModelTool]>,
    timeouts: StreamTimeouts,
    started_at: Instant,
    arguments: ArgumentsReader,
    /// Whether any text, thought or piece of a call was received.
    has_output: bool,
}

impl ResponseStream {
    pub(super) fn new(
        stream: ChatStream,
        inspector: Arc<FrameInspector>,
        errors: ErrorMapper,
        tools: Arc<[ModelTool]>,
        timeouts: StreamTimeouts,
    ) -> Self {
        Self {
            stream,
            inspector,
            errors,
            tools,
            timeouts,
            started_at: Instant::now(),
            arguments: ArgumentsReader::default(),
            has_output: false,
        }
    }

    pub(super) fn into_events(self) -> BoxStream<'static, Result<ModelEvent, AttemptError>> {
        stream::unfold(Some(self), |response| async {
            Some(response?.step().await)
        })
        .boxed()
    }

    async fn step(mut self) -> (Result<ModelEvent, AttemptError>, Option<Self>) {
        match self.next_event().await {
            Ok(event @ ModelEvent::End { .. }) => (Ok(event), None),
            Ok(event) => (Ok(event), Some(self)),
            Err(error) => (Err(error), None),
        }
    }

    /// Returns the next event, and skips everything that is not one.
    async fn next_event(&mut self) -> Result<ModelEvent, AttemptError> {
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
                ChatStreamEvent::Chunk(chunk) if !chunk.content.is_empty() => {
                    self.has_output = true;
                    return Ok(ModelEvent::Text(chunk.content));
                }
                ChatStreamEvent::ReasoningChunk(chunk) if !chunk.content.is_empty() => {
                    self.has_output = true;
                    return Ok(ModelEvent::Thinking(chunk.content));
                }
                ChatStreamEvent::ToolCallChunk(chunk) => {
                    self.has_output = true;
                    if let Some((index, delta)) = self.arguments.read(&chunk.tool_call) {
                        let name = chunk.tool_call.fn_name;
                        let provider = self.errors.provider();
                        let tool = tool_names::from_provider(provider, name, &self.tools);
                        return Ok(ModelEvent::Arguments(ArgumentsDelta { index, tool, delta }));
                    }
                }
                ChatStreamEvent::End(end) => return self.finish(end),
                _ => {}
            }
        }
    }

    async fn next_chunk(&mut self) -> Result<Option<genai::Result<ChatStreamEvent>>, AttemptError> {
        loop {
            let deadline = self.deadline();
            match timeout_at(deadline, self.stream.next()).await {
                Ok(event) => return Ok(event),
                // A frame was received that is not an event, such as a comment or a ping.
                Err(_) if self.deadline() > deadline => {}
                Err(_) => return Err(self.timed_out()),
            }
        }
    }

    fn deadline(&self) -> Instant {
        if self.has_output {
            self.inspector.last_frame_at() + self.timeouts.idle
        } else {
            self.started_at + self.timeouts.first_token
        }
    }

    fn timed_out(&self) -> AttemptError {
        AttemptError::permanent(if self.has_output {
            self.errors.idle_timeout(self.timeouts.idle)
        } else {
            self.errors.first_token_timeout(self.timeouts.first_token)
        })
    }

    fn map_error(&self, error: genai::Error) -> AttemptError {
        match self.inspector.refusal() {
            Some(reason) => AttemptError::permanent(self.errors.refused(&reason)),
            None => self.errors.map_error(error, self.has_output),
        }
    }

    /// Creates the error for a stream that ended before the provider marked the end of its answer.
    fn unfinished(&self) -> AttemptError {
        match self.inspector.error() {
            Some(error) => self.errors.map_event(&error, self.has_output),
            None if self.inspector.has_split_frame() => {
                AttemptError::permanent(self.errors.unreadable())
            }
            None => AttemptError::permanent(self.errors.unfinished(self.has_output)),
        }
    }

    fn finish(&self, mut end: StreamEnd) -> Result<ModelEvent, AttemptError> {
        // genai also sends this event when the stream breaks off.
        if !self.inspector.has_ended() {
            return Err(self.unfinished());
        }
        if !self.inspector.wants_reasoning_back() {
            end.captured_reasoning_content = None;
        }
        let refusal = self.inspector.refusal();
        let (turn, usage) = completion::completed_turn(end, refusal, &self.errors, &self.tools)
            .map_err(AttemptError::permanent)?;
        Ok(ModelEvent::End { turn, usage })
    }
}
