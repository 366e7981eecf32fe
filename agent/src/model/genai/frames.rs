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
pub(super) struct Frames {
    provider: Provider,
    heard: Mutex<Heard>,
}

#[derive(Debug)]
struct Heard {
    last: Instant,
    bytes: usize,
    has_ended: bool,
    refusal: Option<String>,
    error: Option<Value>,
    /// The last frame has nothing in it, which genai takes for an error.
    is_idle: bool,
    wants_thoughts: bool,
    is_torn: bool,
}

impl Frames {
    pub(super) fn new(provider: Provider) -> Self {
        let heard = Mutex::new(Heard {
            last: Instant::now(),
            bytes: 0,
            has_ended: false,
            refusal: None,
            error: None,
            is_idle: false,
            wants_thoughts: false,
            is_torn: false,
        });
        Self { provider, heard }
    }

    /// When something came.
    pub(super) fn last(&self) -> Instant {
        self.heard().last
    }

    pub(super) fn has_ended(&self) -> bool {
        self.heard().has_ended
    }

    pub(super) fn is_too_much(&self) -> bool {
        self.heard().bytes > MAX_ANSWER_BYTES
    }

    /// Why the model declines, where it says so beside its text.
    pub(super) fn refusal(&self) -> Option<String> {
        self.heard().refusal.clone()
    }

    /// An error that genai has not seen.
    pub(super) fn error(&self) -> Option<Value> {
        self.heard().error.clone()
    }

    /// Whether the last frame was one without anything in it; once.
    pub(super) fn take_idle(&self) -> bool {
        std::mem::take(&mut self.heard().is_idle)
    }

    /// Whether the server takes thoughts back as it gave them.
    pub(super) fn wants_thoughts(&self) -> bool {
        self.heard().wants_thoughts
    }

    /// Whether a frame has come in two.
    pub(super) fn is_torn(&self) -> bool {
        self.heard().is_torn
    }

    fn hear(&self, event: Option<&str>, data: &str) {
        let mut heard = self.heard();
        heard.last = Instant::now();
        heard.bytes += data.len();
        heard.is_idle = false;
        match self.provider {
            // https://platform.claude.com/docs/en/build-with-claude/streaming#event-types
            Provider::Anthropic => {
                heard.has_ended |= event == Some("message_stop") && !data.is_empty();
                // genai takes the halves of a line's end (CR and LF) that come one after the other
                // for two, hence the name of an event and its data for two frames, and drops both.
                heard.is_torn |= event.is_some() == data.is_empty();
            }
            Provider::Openai => heard.openai(data),
            Provider::Gemini => heard.gemini(data),
            Provider::Ollama | Provider::Commands => heard.ollama(data),
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.hear(frame.event, frame.data);
    }
}

impl Heard {
    /// https://platform.openai.com/docs/api-reference/chat-streaming
    fn openai(&mut self, data: &str) {
        self.has_ended |= data == "[DONE]";
        // https://api-docs.deepseek.com/guides/thinking_mode: who says this wants to hear it again
        // with the results of calls. OpenAI says nothing of the kind, and others refuse it.
        self.wants_thoughts |= data.contains("\"reasoning_content\"");
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
    fn gemini(&mut self, data: &str) {
        let Ok(chunk) = serde_json::from_str::<GeminiChunk>(data) else {
            return;
        };
        let candidate = chunk.candidates.as_ref().and_then(|all| all.first());
        self.has_ended |= candidate.is_some_and(|one| one.finish_reason.is_some());
        let blocked = chunk
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason);
        self.refusal = self.refusal.take().or(blocked);
        self.is_idle = candidate.is_none()
            && self.refusal.is_none()
            && chunk.error.is_none()
            && !data.is_empty();
    }

    /// https://docs.ollama.com/api/streaming and https://docs.ollama.com/api/errors
    fn ollama(&mut self, data: &str) {
        if let Ok(line) = serde_json::from_str::<OllamaLine>(data) {
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
struct OllamaLine {
    #[serde(default)]
    done: bool,
    error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_at_most_64_mib() {
        let frames = Frames::new(Provider::Anthropic);
        let piece = "x".repeat(1024 * 1024);
        for _ in 0..64 {
            frames.hear(None, &piece);
        }
        assert!(!frames.is_too_much());
        frames.hear(None, "x");
        assert!(frames.is_too_much());
    }

    #[test]
    fn the_end_is_the_frame_that_says_so() {
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
            let frames = Frames::new(provider);
            frames.hear(event, goes_on);
            assert_eq!(frames.is_torn(), provider == Provider::Anthropic);
            assert!(!frames.has_ended(), "{provider}");
            frames.hear(event, end);
            assert!(frames.has_ended(), "{provider}");
        }
    }
}
