//! A request to a provider, and what the rules conclude from it.

use http::HeaderMap;
use serde_json::Value;

/// The server whose chat completions are played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChatServer {
    /// api.openai.com. A model that OpenAI does not have is at a server with the same API, which has
    /// the rules that are not about models.
    #[default]
    OpenAi,
    /// Ollama's `/v1`.
    Ollama,
    /// The server of llama.cpp.
    LlamaCpp,
    /// vLLM with `--enable-auto-tool-choice`.
    Vllm,
    /// api.mistral.ai.
    Mistral,
    /// api.deepseek.com.
    DeepSeek,
}

/// A request as it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProviderRequest<'a> {
    pub(crate) headers: &'a HeaderMap,
    /// The path and the query.
    pub(crate) path: &'a str,
    pub(crate) body: &'a Value,
}

impl<'a> ProviderRequest<'a> {
    /// Returns the name of the model, which Gemini has in the path.
    pub(crate) fn model(&self) -> &'a str {
        let in_path = self.path.strip_prefix("/v1beta/models/");
        let in_path = in_path.and_then(|name| name.split(':').next());
        in_path.or(self.body["model"].as_str()).unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the key in the header that most providers read.
    pub(crate) fn bearer(&self) -> Option<&'a str> {
        let key = self.header("authorization")?.strip_prefix("Bearer ")?;
        (!key.is_empty()).then_some(key)
    }
}

/// The wishes of an accepted request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accepted {
    /// Whether the model thinks before it answers.
    pub(crate) thinks: bool,
    /// Whether the thinking is shown as text.
    pub(crate) shows_thinking: bool,
    /// Whether the answer must be JSON.
    pub(crate) wants_json: bool,
    /// The names of the tools.
    pub(crate) tools: Vec<String>,
    /// Ids of what the provider would silently do.
    pub(crate) effects: Vec<&'static str>,
}
