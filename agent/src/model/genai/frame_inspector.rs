//! What came over the wire, frame by frame: whether the provider has said that its answer is at the
//! end, and what `genai` passes over.

use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::model::Provider;

/// More than any model says in a turn: a provider that sends more is broken.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Listens to one answer.
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
    /// The last frame has nothing in it, which genai takes for an error.
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

    /// When something came.
    pub(super) fn last_frame_at(&self) -> Instant {
        self.lock().last_frame_at
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().has_ended
    }

    pub(super) fn exceeds_limit(&self) -> bool {
        self.lock().bytes > MAX_ANSWER_BYTES
    }

    /// Why the model declines, where it says so beside its text.
    pub(super) fn refusal(&self) -> Option<String> {
        self.lock().refusal.clone()
    }

    /// An error that genai has not seen.
    pub(super) fn error(&self) -> Option<Value> {
        self.lock().error.clone()
    }

    /// Whether the last frame was one without anything in it; once.
    pub(super) fn take_empty_frame(&self) -> bool {
        std::mem::take(&mut self.lock().is_empty_frame)
    }

    /// Whether the server takes thoughts back as it gave them.
    pub(super) fn wants_reasoning_back(&self) -> bool {
        self.lock().wants_reasoning_back
    }

    /// Whether a frame has come in two.
    pub(super) fn has_split_frame(&self) -> bool {
        self.lock().has_split_frame
    }

    fn inspect(&self, event: Option<&str>, data: &str) {
        let mut heard = self.lock();
        heard.last_frame_at = Instant::now();
        heard.bytes += data.len();
        heard.is_empty_frame = false;
        match self.provider {
            // https://platform.claude.com/docs/en/build-with-claude/streaming#event-types
            Provider::Anthropic => {
                heard.has_ended |= event == Some("message_stop") && !data.is_empty();
                // genai takes the halves of a line's end (CR and LF) that come one after the other
                // for two, hence the name of an event and its data for two frames, and drops both.
                heard.has_split_frame |= event.is_some() == data.is_empty();
            }
            Provider::Openai => heard.inspect_openai(data),
            Provider::Gemini => heard.inspect_gemini(data),
            Provider::Ollama | Provider::Commands => heard.inspect_ollama(data),
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
    /// https://platform.openai.com/docs/api-reference/chat-streaming
    fn inspect_openai(&mut self, data: &str) {
        self.has_ended |= data == "[DONE]";
        // https://api-docs.deepseek.com/guides/thinking_mode: who says this wants to hear it again
        // with the results of calls. OpenAI says nothing of the kind, and others refuse it.
        self.wants_reasoning_back |= data.contains("\"reasoning_content\"");
        // Every chunk of a refusal has one; others have none, or null.
        if !data.contains("\"refusal\"") {
            return;
        }
        let chunk: Value = serde_json::from_str(data).unwrap_or_default();
        if let Some(words) = chunk
            .pointer("/choices/0/delta/refusal")
            .and_then(Value::as_str)
        {
            self.refusal.get_or_insert_default().push_str(words);
        }
    }

    /// https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse: no frame of its own
    /// says that it is the end.
    fn inspect_gemini(&mut self, data: &str) {
        let Ok(chunk) = serde_json::from_str::<GeminiChunk>(data) else {
            return;
        };
        let candidate = chunk.candidates.as_ref().and_then(|all| all.first());
        self.has_ended |= candidate.is_some_and(|one| one.finish_reason.is_some());
        let blocked = chunk
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason);
        self.refusal = self.refusal.take().or(blocked);
        self.is_empty_frame = candidate.is_none()
            && self.refusal.is_none()
            && chunk.error.is_none()
            && !data.is_empty();
    }

    /// https://docs.ollama.com/api/streaming and https://docs.ollama.com/api/errors
    fn inspect_ollama(&mut self, data: &str) {
        if let Ok(line) = serde_json::from_str::<OllamaChunk>(data) {
            self.has_ended |= line.done;
            self.error = line.error.map(Value::String);
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
        let frames = FrameInspector::new(Provider::Anthropic);
        let piece = "x".repeat(1024 * 1024);
        for _ in 0..64 {
            frames.inspect(None, &piece);
        }
        assert!(!frames.exceeds_limit());
        frames.inspect(None, "x");
        assert!(frames.exceeds_limit());
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
            let frames = FrameInspector::new(provider);
            frames.inspect(event, goes_on);
            assert_eq!(frames.has_split_frame(), provider == Provider::Anthropic);
            assert!(!frames.has_ended(), "{provider}");
            frames.inspect(event, end);
            assert!(frames.has_ended(), "{provider}");
        }
    }
}
