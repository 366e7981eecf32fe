//! The APIs by which models are reached.

use serde::{Deserialize, Serialize};

/// The API by which a model is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Api {
    /// Anthropic Messages: <https://platform.claude.com/docs/en/api/messages>
    Messages,
    /// OpenAI Responses: <https://developers.openai.com/api/docs/api-reference/responses>
    Responses,
    /// OpenAI chat completions, which Ollama and most other servers have:
    /// <https://developers.openai.com/api/docs/api-reference/chat>
    ChatCompletions,
    /// Gemini: <https://ai.google.dev/api/generate-content>
    Gemini,
}
