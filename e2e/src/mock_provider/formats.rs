//! How each provider encodes a turn, and what it requires of a request.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod provider_request;
mod responses;
mod turn_frames;

pub(super) use self::provider_request::{KEY, ProviderError, ProviderRequest};
pub(super) use self::turn_frames::{TurnContext, TurnFrames};

use self::provider_request::array;
use super::format::Format;
use super::script::Script;

impl Format {
    /// Rejects a request that the provider would reject.
    pub(super) fn validate(
        self,
        request: &ProviderRequest<'_>,
        script: &Script,
    ) -> Result<(), ProviderError> {
        match self {
            Self::Anthropic => anthropic::request::validate(request, script),
            Self::OpenAi => openai::request::validate(request),
            Self::OpenAiResponses => responses::validate(request),
            Self::Gemini => gemini::request::validate(request, script),
            Self::Ollama => ollama::validate(request),
        }
    }

    /// Returns how many turns of the model are in the history of a request.
    pub(super) fn turns_before(self, request: &ProviderRequest<'_>) -> usize {
        let (list, role) = match self {
            Self::Anthropic | Self::OpenAi | Self::Ollama => ("messages", "assistant"),
            Self::Gemini => ("contents", "model"),
            Self::OpenAiResponses => return responses::turns_before(request),
        };
        let messages = array(&request.body[list]).iter();
        messages.filter(|message| message["role"] == role).count()
    }

    pub(super) fn encode(self, context: &TurnContext<'_>) -> TurnFrames {
        match self {
            Self::Anthropic => anthropic::encode(context),
            Self::OpenAi => openai::encode(context),
            Self::OpenAiResponses => responses::encode(context),
            Self::Gemini => gemini::encode(context),
            Self::Ollama => ollama::encode(context),
        }
    }

    /// Returns the provider's error response with this status and, if there is none given, its
    /// usual message.
    pub(super) fn error_response(self, status: u16, message: Option<String>) -> ProviderError {
        match self {
            Self::Anthropic => anthropic::error_response(status, message),
            Self::OpenAi | Self::OpenAiResponses => openai::error_response(status, message),
            Self::Gemini => gemini::error_response(status, message),
            Self::Ollama => ollama::error_response(status, message),
        }
    }

    /// Returns an error in the middle of a stream.
    pub(super) fn stream_error(self) -> String {
        match self {
            Self::Anthropic => anthropic::stream_error(),
            Self::OpenAi => openai::stream_error(),
            Self::OpenAiResponses => responses::stream_error(),
            Self::Gemini => gemini::stream_error(),
            Self::Ollama => ollama::stream_error(),
        }
    }
}
