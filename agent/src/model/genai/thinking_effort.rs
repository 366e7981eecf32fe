//! How much a model is told to think: each family of models wants to be told in another way.

use genai::chat::ReasoningEffort;

use crate::model::genai::request::RequestBuilder;
use crate::model::{Provider, Thinking, ToolSelection};

impl RequestBuilder {
    /// Thoughts count as output.
    pub(super) fn thinking_budget(&self) -> u32 {
        // The budgets that genai gives to models which want one.
        match self.thinking {
            Thinking::Off => 0,
            Thinking::Low => 1024,
            Thinking::Medium => 8_000,
            Thinking::High => 24_000,
        }
    }

    /// Never left out: genai would look for one at the end of the model's name, and cut that off.
    pub(super) fn reasoning_effort(&self, choice: &ToolSelection) -> ReasoningEffort {
        let effort = match self.thinking {
            Thinking::Off => return self.minimal_effort(),
            Thinking::Low => ReasoningEffort::Low,
            Thinking::Medium => ReasoningEffort::Medium,
            Thinking::High => ReasoningEffort::High,
        };
        match self.provider {
            _ if self.is_thinking_disabled(choice) => ReasoningEffort::Zero,
            // https://docs.ollama.com/capabilities/thinking: only gpt-oss has levels.
            Provider::Ollama if !self.model.contains("gpt-oss") => ReasoningEffort::Budget(1),
            _ => effort,
        }
    }

    /// A tool cannot be demanded of a Claude that thinks.
    /// https://platform.claude.com/docs/en/build-with-claude/extended-thinking
    pub(super) fn is_thinking_disabled(&self, choice: &ToolSelection) -> bool {
        self.provider == Provider::Anthropic && *choice != ToolSelection::Auto
    }

    fn minimal_effort(&self) -> ReasoningEffort {
        match self.provider {
            // Since 5.4 these models take tools by chat completions only if they do not think, and
            // think unless told not to.
            Provider::Openai if self.is_official_api && is_since_5_1(&self.model) => {
                ReasoningEffort::Zero
            }
            // Of a budget genai says nothing to OpenAI.
            Provider::Openai => ReasoningEffort::Budget(0),
            // https://ai.google.dev/gemini-api/docs/thinking: these think unless told not to; those
            // of the third generation cannot stop.
            Provider::Gemini if self.model.starts_with("gemini-2.5-flash") => {
                ReasoningEffort::Budget(0)
            }
            Provider::Gemini if self.model.starts_with("gemini-3") => ReasoningEffort::Low,
            _ => ReasoningEffort::Zero,
        }
    }
}

/// The first that can be told not to think was 5.1.
fn is_since_5_1(model: &str) -> bool {
    let Some(version) = model.strip_prefix("gpt-") else {
        return false;
    };
    let version = version.split('-').next().unwrap_or_default();
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let major = numbers.next().and_then(Result::ok).unwrap_or_default();
    let minor = numbers.next().and_then(Result::ok).unwrap_or_default();
    (major, minor) >= (5, 1)
}
