//! Inspects a response frame by frame, to find the actual end of the answer and the fields that
//! `genai` ignores.

use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::model::Provider;

/// The maximum size of an answer. No model produces this much in one turn, so a provider that sends
/// more is broken.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Inspects the frames of one response.
#[derive(Debug)]
pub(super) struct FrameInspector {
    provider: Provider,
    state: Mutex<FrameState>,
}

#[derive(Debug)]
struct FrameState {
    last_frame_at: Instant,
    bytes: usize,
    has_ended: bool,
    refusal: Option<String>,
    error: Option<Value>,
    /// Whether the last frame has no content. genai treats such a frame as an error.
    is_empty_frame: bool,
    wants_reasoning_back: bool,
    has_split_frame: bool,
}

impl FrameInspector {
    pub(super) fn new(provider: Provider) -> Self {
        let state = Mutex::new(FrameState {
            last_frame_at: Instant::now(),
            bytes: 0,
            has_ended: false,
            refusal: None,
            error: None,
            is_empty_frame: false,
            wants_reasoning_back: false,
            has_split_frame: false,
        });
        Self { provider, state }
    }

    /// Returns when the last frame was received.
    pub(super) fn last_frame_at(&self) -> Instant {
        self.lock().last_frame_at
    }

    /// Returns whether the provider has marked the end of its answer.
    pub(super) fn has_ended(&self) -> bool {
        self.lock().has_ended
    }

    /// Returns whether the answer is larger than the maximum size.
    pub(super) fn exceeds_limit(&self) -> bool {
        self.lock().bytes > MAX_ANSWER_BYTES
    }

    /// Returns the reason why the model declines, if the provider sends it separately from the
    /// text.
    pub(super) fn refusal(&self) -> Option<String> {
        self.lock().refusal.clone()
    }

    /// Returns an error that genai has ignored.
    pub(super) fn error(&self) -> Option<Value> {
        self.lock().error.clone()
    }

    /// Returns whether the last frame has no content, and clears that state.
    pub(super) fn take_empty_frame(&self) -> bool {
        std::mem::take(&mut self.lock().is_empty_frame)
    }

    /// Returns whether the server requires its reasoning to be sent back.
    pub(super) fn wants_reasoning_back(&self) -> bool {
        self.lock().wants_reasoning_back
    }

    /// Returns whether genai has split a frame in two.
    pub(super) fn has_split_frame(&self) -> bool {
        self.lock().has_split_frame
    }

    fn inspect(&self, event: Option<&str>, data: &str) {
        let mut state = self.lock();
        state.last_frame_at = Instant::now();
        state.bytes += data.len();
        state.is_empty_frame = false;
        match self.provider {
            // https://platform.claude.com/docs/en/build-with-claude/streaming#event-types
            Provider::Anthropic => {
                state.has_ended |= event == Some("message_stop") && !data.is_empty();
                // genai treats CR and LF that arrive separately as two line ends. It then parses
                // the name of an event and its data as two frames, and drops both.
                state.has_split_frame |= event.is_some() == data.is_empty();
            }
            Provider::Openai => state.inspect_openai(data),
            Provider::Gemini => state.inspect_gemini(data),
            Provider::Ollama | Provider::Commands => state.inspect_ollama(data),
        }
    }

    fn lock(&self) -> MutexGuard<'_, FrameState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for FrameInspector {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.inspect(frame.event, frame.data);
    }
}

impl FrameState {
    /// Inspects a chunk of <https://platform.openai.com/docs/api-reference/chat-streaming>.
    fn inspect_openai(&mut self, data: &str) {
        self.has_ended |= data == "[DONE]";
        // https://api-docs.deepseek.com/guides/thinking_mode: a server that sends this field
        // requires it back with the results of calls. OpenAI does not send it, and other servers
        // refuse it.
        self.wants_reasoning_back |= data.contains("\"reasoning_content\"");
        // Every chunk of a refusal has this field; in other chunks it is missing or null.
        if !data.contains("\"refusal\"") {
            return;
        }
        let chunk: Value = serde_json::from_str(data).unwrap_or_default();
        if let Some(text) = chunk
            .pointer("/choices/0/delta/refusal")
            .and_then(Value::as_str)
        {
            self.refusal.get_or_insert_default().push_str(text);
        }
    }

    /// Inspects a chunk of
    /// <https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse>. There is no
    /// separate frame for the end.
    fn inspect_gemini(&mut self, data: &str) {
        let Ok(chunk) = serde_json::from_str::<GeminiChunk>(data) else {
            return;
        };
        let candidate = chunk.candidates.as_ref().and_then(|it| it.first());
        self.has_ended |= candidate.is_some_and(|it| it.finish_reason.is_some());
        let blocked = chunk
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason);
        self.refusal = self.refusal.take().or(blocked);
        self.is_empty_frame = candidate.is_none()
            && self.refusal.is_none()
            && chunk.error.is_none()
            && !data.is_empty();
    }

    /// Inspects a line of <https://docs.ollama.com/api/streaming>, which may be an error
    /// (<https://docs.ollama.com/api/errors>).
    fn inspect_ollama(&mut self, data: &str) {
        if let Ok(chunk) = serde_json::from_str::<OllamaChunk>(data) {
            self.has_ended |= chunk.done;
            self.error = chunk.error.map(Value::String);
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiChunk {
    candidates: Option<Vec<GeminiCandidate>>,
    prompt_feedback: Option<GeminiFeedback>,
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCandidate {
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiFeedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
struct OllamaChunk {
    #[serde(default)]
    done: bool,
    error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_at_most_64_mib() {
        let inspector = FrameInspector::new(Provider::Anthropic);
        let chunk = "x".repeat(1024 * 1024);
        for _ in 0..64 {
            inspector.inspect(None, &chunk);
        }
        assert!(!inspector.exceeds_limit());
        inspector.inspect(None, "x");
        assert!(inspector.exceeds_limit());
    }

    #[test]
    fn only_the_final_frame_ends_the_answer() {
        for (provider, event, goes_on, end) in [
            (
                Provider::Anthropic,
                Some("message_stop"),
                "",
                r#"{"type":"message_stop"}"#,
            ),
            (Provider::Openai, None, r#"{"choices":[]}"#, "[DONE]"),
            (
                Provider::Gemini,
                None,
                r#"{"candidates":[{"finishReason":null}]}"#,
                r#"{"candidates":[{"finishReason":"STOP"}]}"#,
            ),
            (
                Provider::Ollama,
                None,
                r#"{"done": false}"#,
                r#"{"done": true}"#,
            ),
        ] {
            let inspector = FrameInspector::new(provider);
            inspector.inspect(event, goes_on);
            assert_eq!(inspector.has_split_frame(), provider == Provider::Anthropic);
            assert!(!inspector.has_ended(), "{provider}");
            inspector.inspect(event, end);
            assert!(inspector.has_ended(), "{provider}");
        }
    }
}
