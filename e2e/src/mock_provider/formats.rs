//! How each provider checks a request, encodes a turn and writes its errors.

mod anthropic;
mod gemini;
mod openai;
mod responses;
mod turn_frames;

pub(super) use self::turn_frames::{TurnContext, TurnFrames};
use self::turn_frames::{named_event, unnamed_event};

use serde_json::{Value, json};

use super::format::Format;
use crate::provider_rules as rules;
use crate::provider_rules::{
    Accepted, ChatServer, Check, Issued, ProviderRequest, Refusal, refuse,
};

/// The only key that the mock provider accepts.
pub(super) const KEY: &str = "sk-of-the-mock-provider-0123456789abcdef";

/// An error response in the shape of the provider.
#[derive(Debug, PartialEq)]
pub(super) struct ProviderError {
    pub(super) status: u16,
    pub(super) body: Value,
}

/// The parts of an error.
struct ErrorFields<'a> {
    status: u16,
    kind: &'a str,
    code: Option<&'a str>,
    param: Option<&'a str>,
    message: &'a str,
}

impl ErrorFields<'_> {
    /// Returns the shape of OpenAI and of most servers that have its API.
    fn of_openai(&self) -> Value {
        json!({ "error": {
            "message": self.message, "type": self.kind, "param": self.param, "code": self.code
        } })
    }
}

impl Format {
    /// Checks a request by the rules of its provider.
    pub(super) fn check(
        self,
        request: &ProviderRequest<'_>,
        server: ChatServer,
        issued: &Issued,
    ) -> Check<Accepted> {
        let content_type = request.header("content-type").unwrap_or_default();
        if !content_type.starts_with("application/json") || !request.body.is_object() {
            return Err(refuse("mock.json", &[]));
        }
        match self {
            Self::Anthropic => rules::anthropic::check(request, &issued.anthropic),
            Self::OpenAi => rules::chat::check(request, server, &issued.chat),
            Self::OpenAiResponses => rules::responses::check(request, &issued.responses),
            Self::Gemini => rules::gemini::check(request, &issued.gemini),
        }
    }

    /// Returns whether a request has another key than the one that is accepted.
    pub(super) fn has_unknown_key(self, request: &ProviderRequest<'_>) -> bool {
        let key = match self {
            Self::Anthropic => request.header("x-api-key").or(request.bearer()),
            Self::OpenAi | Self::OpenAiResponses => request.bearer(),
            Self::Gemini => request.header("x-goog-api-key"),
        };
        key.is_some_and(|key| key != KEY)
    }

    /// Returns how many turns of the model are in the history of a request.
    pub(super) fn turns_before(self, body: &Value) -> usize {
        let (list, role) = match self {
            Self::Anthropic | Self::OpenAi => ("messages", "assistant"),
            Self::Gemini => ("contents", "model"),
            Self::OpenAiResponses => return responses::turns_before(body),
        };
        let messages = body[list].as_array().into_iter().flatten();
        messages.filter(|message| message["role"] == role).count()
    }

    pub(super) fn encode(self, context: &TurnContext<'_>, issued: &mut Issued) -> TurnFrames {
        match self {
            Self::Anthropic => anthropic::encode(context, issued),
            Self::OpenAi => openai::encode(context, issued),
            Self::OpenAiResponses => responses::encode(context, issued),
            Self::Gemini => gemini::encode(context, issued),
        }
    }

    /// Returns the provider's usual error response with this status.
    pub(super) fn error_response(self, status: u16) -> ProviderError {
        let (kind, code, message) = match self {
            Self::Anthropic => anthropic::usual_error(status),
            Self::OpenAi | Self::OpenAiResponses => openai::usual_error(status),
            Self::Gemini => gemini::usual_error(status),
        };
        self.error(
            ChatServer::OpenAi,
            &ErrorFields {
                status,
                kind,
                code,
                param: None,
                message,
            },
        )
    }

    /// Returns the error response for an unknown key.
    pub(super) fn unknown_key(self) -> ProviderError {
        match self {
            Self::Gemini => {
                let mut error = self.error_response(400);
                gemini::describe_unknown_key(&mut error.body["error"]);
                error
            }
            _ => self.error_response(401),
        }
    }

    /// Returns the error response for a request that the rules refuse.
    pub(super) fn refusal(self, server: ChatServer, refusal: &Refusal) -> ProviderError {
        self.error(
            server,
            &ErrorFields {
                status: refusal.status,
                kind: refusal.kind,
                code: refusal.code,
                param: refusal.param.as_deref(),
                message: &refusal.message,
            },
        )
    }

    fn error(self, server: ChatServer, fields: &ErrorFields<'_>) -> ProviderError {
        let ErrorFields { status, kind, .. } = *fields;
        let message = fields.message;
        let body = match (self, server) {
            (Self::Anthropic, _) => json!({
                "type": "error",
                "error": { "type": kind, "message": message },
                "request_id": "req_011CMockRequest",
            }),
            (Self::Gemini, _) => {
                let kind = match kind {
                    "invalid_request_error" => "INVALID_ARGUMENT",
                    kind => kind,
                };
                json!({ "error": { "code": status, "message": message, "status": kind } })
            }
            (Self::OpenAi, ChatServer::Mistral) => json!({
                "object": "error", "type": kind, "param": null, "code": null,
                "raw_status_code": status,
                "message": serde_json::from_str(message).unwrap_or_else(|_| json!(message)),
            }),
            (Self::OpenAi, ChatServer::LlamaCpp) => {
                json!({ "error": { "code": status, "message": message, "type": kind } })
            }
            _ => fields.of_openai(),
        };
        ProviderError { status, body }
    }

    /// Returns an error in the middle of a stream.
    pub(super) fn stream_error(self) -> String {
        match self {
            Self::Anthropic => named_event(&self.error_response(529).body),
            Self::OpenAi => unnamed_event(&self.error_response(500).body),
            Self::OpenAiResponses => responses::stream_error(),
            Self::Gemini => gemini::event(&self.error_response(503).body),
        }
    }
}
