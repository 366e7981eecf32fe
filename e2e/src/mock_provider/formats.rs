//! How each provider writes a turn, and what it demands of a request.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod responses;

use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::MockProvider;
use super::script::{Fault, Script, Step, Turn};

/// The wire of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `POST /v1/messages`, server-sent events with names.
    Anthropic,
    /// `POST /v1/chat/completions`, server-sent events that end with `[DONE]`.
    OpenAi,
    /// `POST /v1/responses`, server-sent events with names. Our agent does not speak it.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `POST /v1beta/models/{model}:streamGenerateContent?alt=sse`, server-sent events.
    Gemini,
    /// `POST /api/chat`, a line of JSON for each event.
    Ollama,
}

/// A request, as it came.
pub(super) struct ProviderRequest<'a> {
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a Value,
    /// Where the path names it.
    pub(super) model: Option<&'a str>,
    pub(super) query: &'a str,
}

/// A request that is not answered, in the provider's words.
#[derive(Debug, PartialEq)]
pub(super) struct ProviderError {
    pub(super) status: u16,
    pub(super) body: Value,
}

/// What a turn is written from.
pub(super) struct TurnContext<'a> {
    pub(super) request: &'a ProviderRequest<'a>,
    pub(super) turn: &'a Turn,
    /// How it goes wrong this time.
    pub(super) fault: Option<&'a Fault>,
    /// Which one it is in its query.
    pub(super) number: usize,
    pub(super) steps: &'a [Step],
}

/// A turn as it is sent.
#[derive(Debug, Default)]
pub(super) struct TurnFrames {
    pub(super) opening: Vec<String>,
    /// Of each step: none, one or several.
    pub(super) steps: Vec<Vec<String>>,
    pub(super) closing: Vec<String>,
}

impl Format {
    /// All there are.
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Gemini,
        Self::Ollama,
    ];

    /// Those that our agent speaks.
    pub const AGENT_FORMATS: [Self; 4] =
        [Self::Anthropic, Self::OpenAi, Self::Gemini, Self::Ollama];

    /// The provider, as configurations call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The environment variable that programs read its key from, if it demands one.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi | Self::OpenAiResponses => Some("OPENAI_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama => None,
        }
    }

    /// Of a request to this path, with the name of the model where the path has it.
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

    pub(super) fn base_path(self) -> &'static str {
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

    /// Refuses what the provider would refuse.
    pub(super) fn validate(
        self,
        asked: &ProviderRequest<'_>,
        script: &Script,
    ) -> Result<(), ProviderError> {
        match self {
            Self::Anthropic => anthropic::request::validate(asked, script),
            Self::OpenAi => openai::request::validate(asked),
            Self::OpenAiResponses => responses::validate(asked),
            Self::Gemini => gemini::request::validate(asked, script),
            Self::Ollama => ollama::validate(asked),
        }
    }

    /// How many turns the model has had in this query.
    pub(super) fn turns_before(self, asked: &ProviderRequest<'_>) -> usize {
        let (list, role) = match self {
            Self::Anthropic | Self::OpenAi | Self::Ollama => ("messages", "assistant"),
            Self::Gemini => ("contents", "model"),
            Self::OpenAiResponses => return responses::turns_before(asked),
        };
        let said = array(&asked.body[list]);
        said.iter()
            .filter(|message| message["role"] == role)
            .count()
    }

    pub(super) fn encode(self, scene: &TurnContext<'_>) -> TurnFrames {
        match self {
            Self::Anthropic => anthropic::encode(scene),
            Self::OpenAi => openai::encode(scene),
            Self::OpenAiResponses => responses::encode(scene),
            Self::Gemini => gemini::encode(scene),
            Self::Ollama => ollama::encode(scene),
        }
    }

    /// The body of a refusal with this status.
    pub(super) fn error_response(self, status: u16) -> ProviderError {
        match self {
            Self::Anthropic => anthropic::error_response(status, None),
            Self::OpenAi | Self::OpenAiResponses => openai::error_response(status, None),
            Self::Gemini => gemini::error_response(status, None),
            Self::Ollama => ollama::error_response(status, None),
        }
    }

    /// An error in the midst of a stream.
    pub(super) fn stream_error(self) -> String {
        match self {
            Self::Anthropic => anthropic::stream_error(),
            Self::OpenAi => openai::stream_error(),
            Self::OpenAiResponses => responses::stream_error(),
            Self::Gemini => gemini::stream_error(),
            Self::Ollama => ollama::stream_error(),
        }
    }

    /// A refusal in the provider's shape for what the mock itself has no answer to.
    pub(super) fn unexpected_request(self, message: &str) -> ProviderError {
        let message = Some(message.to_owned());
        match self {
            Self::Anthropic => anthropic::error_response(400, message),
            Self::OpenAi | Self::OpenAiResponses => openai::error_response(400, message),
            Self::Gemini => gemini::error_response(400, message),
            Self::Ollama => ollama::error_response(400, message),
        }
    }
}

impl ProviderRequest<'_> {
    pub(super) fn model(&self) -> &str {
        self.model
            .or(self.body["model"].as_str())
            .unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Whether this is the key that the mock takes.
fn is_key(key: &str) -> bool {
    key == MockProvider::KEY
}

/// The elements, or none where it is no array.
fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text that is there and not empty.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// An event without a name.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}
