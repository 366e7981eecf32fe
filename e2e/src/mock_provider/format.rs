//! The formats of the providers that the mock supports.

use serde::{Deserialize, Serialize};

/// The wire protocol of a provider of language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `POST /v1/messages`, server-sent events with names.
    Anthropic,
    /// `POST /v1/chat/completions`, server-sent events that end with `[DONE]`.
    OpenAi,
    /// `POST /v1/responses`, server-sent events with names. The agent does not support it.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `POST /v1beta/models/{model}:streamGenerateContent?alt=sse`, server-sent events.
    Gemini,
    /// `POST /api/chat`, a line of JSON for each event.
    Ollama,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Gemini,
        Self::Ollama,
    ];

    /// The formats that the agent supports.
    pub const AGENT_FORMATS: [Self; 4] =
        [Self::Anthropic, Self::OpenAi, Self::Gemini, Self::Ollama];

    /// Returns the name of the provider in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the environment variable that programs read the provider's key from, if it demands
    /// one.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi | Self::OpenAiResponses => Some("OPENAI_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama => None,
        }
    }

    /// Returns the format of a request to this path, with the name of the model if the path
    /// contains it.
    pub(super) fn from_path(path: &str) -> Option<(Self, Option<&str>)> {
        match path {
            "/v1/messages" => Some((Self::Anthropic, None)),
            "/v1/chat/completions" => Some((Self::OpenAi, None)),
            "/v1/responses" => Some((Self::OpenAiResponses, None)),
            "/api/chat" => Some((Self::Ollama, None)),
            _ => {
                let model = path.strip_prefix("/v1beta/models/")?;
                let model = model.strip_suffix(":streamGenerateContent")?;
                Some((Self::Gemini, Some(model)))
            }
        }
    }

    pub(crate) fn base_path(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenAi | Self::OpenAiResponses => "/v1/",
            Self::Gemini => "/v1beta/",
            Self::Ollama => "/",
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenAi | Self::OpenAiResponses => {
                "text/event-stream; charset=utf-8"
            }
            Self::Gemini => "text/event-stream",
            Self::Ollama => "application/x-ndjson",
        }
    }
}
