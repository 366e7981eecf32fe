//! Sets how much a model thinks, which each family of models expects in another form.

use genai::chat::ReasoningEffort;

use super::request::RequestBuilder;
use crate::model::{Provider, Thinking, ToolSelection};

impl RequestBuilder {
    /// Returns the number of tokens for thoughts, in addition to the maximum output: thoughts count
    /// as output.
    pub(super) fn thinking_budget(&self) -> u32 {
        // These are the budgets that genai sends to models that have a budget.
        match self.thinking {
            Thinking::Off => 0,
            Thinking::Low => 1024,
            Thinking::Medium => 8_000,
            Thinking::High => 24_000,
        }
    }

    /// Returns the effort for a turn. It is always set, because genai would otherwise parse the end
    /// of the model's name as the effort and remove it from the name.
    pub(super) fn reasoning_effort(&self, selection: &ToolSelection) -> ReasoningEffort {
        let effort = match self.thinking {
            Thinking::Off => return self.minimal_effort(),
            Thinking::Low => ReasoningEffort::Low,
            Thinking::Medium => ReasoningEffort::Medium,
            Thinking::High => ReasoningEffort::High,
        };
        match self.provider {
            _ if self.is_thinking_disabled(selection) => ReasoningEffort::Zero,
            // https://docs.ollama.com/capabilities/thinking: only gpt-oss has levels.
            Provider::Ollama if !self.model.contains("gpt-oss") => ReasoningEffort::Budget(1),
            _ => effort,
        }
    }

    /// Returns whether the model must not think in a turn: a Claude model that thinks cannot be
    /// forced to call a tool
    /// (<https://platform.claude.com/docs/en/build-with-claude/extended-thinking>).
    pub(super) fn is_thinking_disabled(&self, selection: &ToolSelection) -> bool {
        self.provider == Provider::Anthropic && *selection != ToolSelection::Auto
    }

    /// Returns the lowest effort that the model supports.
    fn minimal_effort(&self) -> ReasoningEffort {
        match self.provider {
            // Since 5.4 these models accept tools in chat completions only if they do not think,
            // and they think unless the request disables it.
            Provider::Openai if self.is_official_api && is_since_5_1(&self.model) => {
                ReasoningEffort::Zero
            }
            // genai sends no budget to OpenAI.
            Provider::Openai => ReasoningEffort::Budget(0),
            // https://ai.google.dev/gemini-api/docs/thinking: these models think unless the request
            // disables it, which the third generation does not allow.
            Provider::Gemini if self.model.starts_with("gemini-2.5-flash") => {
                ReasoningEffort::Budget(0)
            }
            Provider::Gemini if self.model.starts_with("gemini-3") => ReasoningEffort::Low,
            _ => ReasoningEffort::Zero,
        }
    }
}

/// Returns whether a model is GPT 5.1 or newer: 5.1 was the first model that can disable thinking.
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
