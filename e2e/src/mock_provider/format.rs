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
    /// `POST /v1/responses`, server-sent events with names.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `POST /v1beta/models/{model}:streamGenerateContent?alt=sse`, server-sent events.
    Gemini,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Gemini,
    ];

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiResponses => "openai-responses",
            _ => self.provider(),
        }
    }

    /// Returns the name of the provider in the settings of the agent.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi | Self::OpenAiResponses => "openai",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the API of OpenAI in the settings of the agent, if it is not that of other servers.
    pub fn openai_api(self) -> Option<&'static str> {
        (self == Self::OpenAiResponses).then_some("responses")
    }

    /// Returns the environment variable that programs read the provider's key from.
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi | Self::OpenAiResponses => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
        }
    }

    /// Returns the format of a request to this path.
    pub(super) fn from_path(path: &str) -> Option<Self> {
        match path {
            "/v1/messages" => Some(Self::Anthropic),
            "/v1/chat/completions" => Some(Self::OpenAi),
            "/v1/responses" => Some(Self::OpenAiResponses),
            _ => {
                let model = path.strip_prefix("/v1beta/models/")?;
                let streams = model.ends_with(":streamGenerateContent");
                streams.then_some(Self::Gemini)
            }
        }
    }

    pub(crate) fn base_path(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenAi | Self::OpenAiResponses => "/v1/",
            Self::Gemini => "/v1beta/",
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenAi | Self::OpenAiResponses => {
                "text/event-stream; charset=utf-8"
            }
            Self::Gemini => "text/event-stream",
        }
    }
}
