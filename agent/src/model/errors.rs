//! Maps errors to failures: the one table from HTTP statuses, error events and broken streams to
//! error codes.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use agent_tools::{AgentFailure, text};
use bridge_edge::http_client;
use bridge_protocol::ErrorCode;
use http::HeaderMap;
use serde_json::Value;

use super::error_classification::{self, ErrorKind};
use super::error_text;
use super::provider_key::ProviderKey;
use crate::model::Provider;
use crate::model::retry::{AttemptError, RetryDecision};

/// The remedy for a request that is longer than the context of the model.
const SHORTER_INPUT: &str = "ask with less context, offer fewer tools, or let tools return less";

/// The maximum length of a name of a provider that a user gets.
const MAX_NAME_LEN: usize = 40;

/// The remedy for a schema that the provider does not support.
const SIMPLER_SCHEMA: &str =
    "register the tool with a simpler schema, or leave it out of the query with `restrictTools`";

/// Maps the errors of one provider to failures.
#[derive(Clone, Debug)]
pub(super) struct ErrorMapper {
    provider: Provider,
    /// The provider, or the server that has its API, as the errors name it. Never an address: pages
    /// see the errors.
    subject: Arc<str>,
    label: Arc<str>,
    key: ProviderKey,
}

impl ErrorMapper {
    pub(super) fn new(
        provider: Provider,
        is_official_api: bool,
        label: String,
        key: ProviderKey,
    ) -> Self {
        let subject = match provider {
            Provider::Anthropic | Provider::Openai | Provider::Gemini if !is_official_api => {
                format!("the model server ({provider} API)")
            }
            _ => provider.to_string(),
        };
        Self {
            provider,
            subject: subject.into(),
            label: label.into(),
            key,
        }
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// Returns the text of an error for the log of the operator: short, without keys and without
    /// quotations of the conversation.
    pub(super) fn loggable_text(&self, body: &str) -> String {
        let text = error_text::from_body(body, self.key.last().as_ref()).unwrap_or_default();
        error_text::without_quotations(&text)
    }

    /// Creates the failure for a request that cannot be written.
    pub(super) fn unwritable(&self) -> AgentFailure {
        self.failure(
            ErrorCode::AgentFailed,
            "cannot be used: the request cannot be written",
            None,
        )
    }

    /// Maps a response that is an error.
    pub(super) fn map_status(&self, status: u16, headers: &HeaderMap, body: &str) -> AttemptError {
        let text = error_text::from_body(body, self.key.last().as_ref());
        let parsed = error_classification::parse_body(body);
        let is_bad_key = matches!(status, 401 | 403) || error_classification::is_bad_key(&parsed);
        let retry = error_classification::retry_decision(headers, &parsed);
        let name = error_classification::known_name(&parsed);
        let error = match status {
            // OpenRouter answers 403 when content needs moderation.
            400 | 403 | 422 if error_classification::is_declined(&parsed) => {
                AttemptError::permanent(self.declined(text))
            }
            _ if is_bad_key => AttemptError::permanent(self.unauthorized(status, text)),
            429 => AttemptError {
                failure: self.rate_limited(&format!(" (HTTP {status})"), text),
                retry,
            },
            // Anthropic and OpenAI answer 409 when something is locked for a moment.
            408 | 409 | 500.. => AttemptError {
                failure: self.unavailable(&format!(" (HTTP {status})"), text),
                retry,
            },
            413 => AttemptError::permanent(self.input_too_long(status, text)),
            400 | 422 if error_classification::is_input_too_long(&parsed) => {
                AttemptError::permanent(self.input_too_long(status, text))
            }
            _ => {
                let is_about_model = error_classification::is_about_model(&parsed);
                AttemptError::permanent(self.request_refused(status, text, is_about_model))
            }
        };
        AttemptError {
            failure: log_name(error.failure, name),
            ..error
        }
    }

    /// Maps an error event of the stream. After the first output, any error means that the answer
    /// is broken.
    pub(super) fn map_event(&self, body: &Value, has_output: bool) -> AttemptError {
        let text = error_text::from_value(body, self.key.last().as_ref());
        let (failure, retry) = match error_classification::error_kind(body) {
            ErrorKind::InputTooLong if !has_output => {
                (self.input_too_long(400, text), RetryDecision::Never)
            }
            ErrorKind::Declined => (self.declined(text), RetryDecision::Never),
            ErrorKind::RateLimited if !has_output => {
                (self.rate_limited("", text), RetryDecision::Backoff)
            }
            ErrorKind::Unavailable if !has_output => {
                (self.unavailable("", text), RetryDecision::Backoff)
            }
            _ => {
                let problem = "did not finish its answer: it reports an error";
                let failure = self.failure(ErrorCode::ModelStreamBroken, problem, text);
                (failure.with_remedy("retry"), RetryDecision::Never)
            }
        };
        let name = error_classification::known_name(body);
        AttemptError {
            failure: log_name(failure, name),
            retry,
        }
    }

    /// Maps JSON in the place of a stream: an error, or an answer of a server that does not stream.
    pub(super) fn map_json(&self, body: &str) -> AttemptError {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let is_error = body.get("error").is_some_and(|error| !error.is_null())
            || error_text::from_value(&body, self.key.last().as_ref()).is_some();
        if is_error {
            self.map_event(&body, false)
        } else {
            let problem = "answers with JSON in place of a stream of events";
            let failure = self.failure(ErrorCode::ModelStreamUnfinished, problem, None);
            AttemptError::permanent(failure.with_remedy(
                "the operator of the agent must check the base URL, and that no proxy collects the \
                 answer",
            ))
        }
    }

    /// Maps the error of a connection.
    pub(super) fn map_connection_error(&self, error: &reqwest::Error) -> AttemptError {
        let cause = http_client::last_cause(error.source().unwrap_or(error));
        if error.is_connect() || error.is_request() {
            let failure = self.failure(ErrorCode::ModelUnavailable, "cannot be reached", None);
            let log_message = format!("{} cannot be reached: {cause}", self.subject);
            let remedy = if cause.to_ascii_lowercase().contains("certificate") {
                "the operator of the agent must add the certificate of the server to those of the \
                 system, or name it in SSL_CERT_FILE"
            } else {
                "retry in a while; the operator of the agent must check that the server runs, and the \
                 base URL"
            };
            return AttemptError {
                failure: failure.with_log_message(log_message).with_remedy(remedy),
                retry: RetryDecision::Backoff,
            };
        }
        let failure = self.stream_broken("the connection was lost");
        let log_message = format!("{}: {cause}", failure.message);
        AttemptError::permanent(failure.with_log_message(log_message))
    }

    fn unauthorized(&self, status: u16, text: Option<String>) -> AgentFailure {
        let problem = match self.key.last() {
            Some(_) => format!("refuses the key (HTTP {status})"),
            None => format!("requires a key (HTTP {status})"),
        };
        // The text about an invalid key shows parts of it.
        let text = text.filter(|_| status == 403);
        let remedy = match self.provider.key_variable() {
            Some(variable) => format!("the operator of the agent must check {variable}"),
            None => "the operator of the agent must name a file with the key".to_owned(),
        };
        let failure = self.failure(ErrorCode::ModelUnauthorized, &problem, text);
        failure.with_remedy(remedy)
    }

    fn rate_limited(&self, status: &str, text: Option<String>) -> AgentFailure {
        let problem = format!("accepts no more requests for now{status}");
        let failure = self.failure(ErrorCode::ModelRateLimited, &problem, text);
        failure.with_remedy("retry in a while")
    }

    fn unavailable(&self, status: &str, text: Option<String>) -> AgentFailure {
        let problem = format!("is not available{status}");
        let failure = self.failure(ErrorCode::ModelUnavailable, &problem, text);
        failure.with_remedy("retry in a while")
    }

    fn request_refused(
        &self,
        status: u16,
        text: Option<String>,
        is_about_model: bool,
    ) -> AgentFailure {
        let problem = match status {
            300..400 => format!("redirects to another address (HTTP {status})"),
            _ => format!("does not accept the request (HTTP {status})"),
        };
        let is_about_schema = text.as_deref().is_some_and(is_about_schema);
        let needs_responses = text.as_deref().is_some_and(needs_responses);
        let failure = self.failure(ErrorCode::ModelRequestRefused, &problem, text);
        match status {
            _ if needs_responses => failure
                .with_remedy("the operator of the agent must set `openai_api` to `responses`"),
            _ if is_about_model || matches!(status, 300..400 | 404) => {
                failure.with_remedy("the operator of the agent must check model and base URL")
            }
            _ if is_about_schema => failure.with_remedy(SIMPLER_SCHEMA),
            _ => {
                let failure = failure.with_remedy(
                    "the operator of the agent finds the reason in its log, and can say in \
                     `model_rules` what the model accepts",
                );
                match status {
                    400 | 422 => failure.about_messages(),
                    _ => failure,
                }
            }
        }
    }

    fn input_too_long(&self, status: u16, text: Option<String>) -> AgentFailure {
        let problem = format!("cannot read so much at once (HTTP {status})");
        let failure = self.failure(ErrorCode::ModelInputTooLong, &problem, text);
        failure.with_remedy(SHORTER_INPUT)
    }

    /// Creates the failure for an answer that did not begin in time.
    pub(super) fn first_token_timeout(&self, timeout: Duration) -> AgentFailure {
        let timeout = humantime::format_duration(timeout);
        let problem = format!("has not begun to answer within {timeout}");
        let failure = self.failure(ErrorCode::ModelUnavailable, &problem, None);
        failure.with_remedy(
            "retry in a while; a model that thinks long, or is loaded first, needs a longer \
             `first_token_within`",
        )
    }

    /// Creates the failure for a provider that sent nothing for too long in the middle of its
    /// answer.
    pub(super) fn idle_timeout(&self, timeout: Duration) -> AgentFailure {
        let timeout = humantime::format_duration(timeout);
        let problem = format!("has sent nothing for {timeout} in the middle of its answer");
        let failure = self.failure(ErrorCode::ModelUnavailable, &problem, None);
        failure.with_remedy(
            "retry in a while; a model that thinks long without a word needs a longer \
             `provider_silence`",
        )
    }

    fn stream_broken(&self, reason: &str) -> AgentFailure {
        let problem = format!("did not finish its answer: {reason}");
        let failure = self.failure(ErrorCode::ModelStreamBroken, &problem, None);
        failure.with_remedy("retry")
    }

    /// Creates the failure for a model that stopped for an abnormal reason. A user gets only a name.
    pub(super) fn stopped(&self, reason: &str) -> AgentFailure {
        if is_name(reason) {
            return self.stream_broken(&format!("it stopped with the reason {reason}"));
        }
        let failure = self.stream_broken("it stopped before its end");
        let reason = error_text::redact(reason, self.key.last().as_ref()).unwrap_or_default();
        tracing::debug!(model = %self.label, reason, "the model has stopped");
        failure.with_loggable_message()
    }

    /// Creates the failure for a response that cannot be parsed.
    pub(super) fn unreadable(&self) -> AgentFailure {
        self.stream_broken("its response cannot be read")
            .with_loggable_message()
    }

    /// Creates the failure for a response that exceeds the maximum size of an answer.
    pub(super) fn too_large(&self) -> AgentFailure {
        self.stream_broken("it sends more than an answer can be")
            .with_loggable_message()
    }

    /// Creates the failure for a response that ended without its final event.
    pub(super) fn unfinished(&self, has_output: bool) -> AgentFailure {
        let problem = "ended its answer without the final event";
        let failure = self.failure(ErrorCode::ModelStreamUnfinished, problem, None);
        failure.with_remedy(if has_output {
            "retry"
        } else {
            "the operator of the agent must check the base URL"
        })
    }

    /// Creates the failure for an error with which a provider declines the content of a request.
    fn declined(&self, text: Option<String>) -> AgentFailure {
        let failure = self.failure(ErrorCode::ModelRefused, "declines to answer", text);
        failure.with_remedy("rephrase the prompt")
    }

    /// Creates the failure for a request that the model, or a filter of its provider, declined. A user
    /// gets the name of the category. The words may quote the conversation: the log has them only at the
    /// level at which it shows conversations.
    pub(super) fn refused(&self, category: &str, words: &str) -> AgentFailure {
        let text =
            |text: &str| error_text::redact(text, self.key.last().as_ref()).unwrap_or_default();
        let (full_category, words) = (text(category), text(words));
        tracing::debug!(model = %self.label, category = full_category, words, "the model declines");
        let problem = if is_name(category) {
            format!("declines to answer: {category}")
        } else {
            "declines to answer".to_owned()
        };
        self.failure(ErrorCode::ModelRefused, &problem, None)
    }

    /// Creates the failure for a call whose arguments are not a complete JSON object.
    pub(super) fn arguments_cut_off(&self, tool: &str) -> AgentFailure {
        let tool = text::shorten_name(tool);
        let problem = format!("began to call {tool} and did not finish the arguments");
        let failure = self.failure(ErrorCode::ModelArgumentsCutOff, &problem, None);
        let log_message = format!("{} began a call and did not finish it", self.subject);
        failure
            .with_log_message(log_message)
            .with_remedy("ask for less at once, or raise `max_output_tokens`")
    }

    /// Creates the failure for a call that the provider could not read, or that is missing.
    pub(super) fn invalid_call(&self) -> AgentFailure {
        let problem = "began to call a tool, and the call cannot be read";
        let failure = self.failure(ErrorCode::ModelCallInvalid, problem, None);
        failure.with_remedy("retry, or use another model")
    }

    /// Creates the failure for an answer that reached the maximum output of one turn.
    pub(super) fn length_reached(&self) -> AgentFailure {
        let problem = "reached the maximum output of one turn before it was done";
        let failure = self.failure(ErrorCode::ModelLengthReached, problem, None);
        failure.with_remedy("ask for less, or raise `max_output_tokens`")
    }

    /// Creates a failure. The text of the provider is only in the log: it can name the operator's
    /// account, and names nothing that a user can do. What it quotes may be of the conversation,
    /// so that the log has it only at the level at which it shows conversations.
    fn failure(&self, code: ErrorCode, problem: &str, text: Option<String>) -> AgentFailure {
        let problem = format!("{} {problem}", self.subject);
        let log_message = match text {
            Some(text) => {
                tracing::debug!(model = %self.label, text, "the words of the provider");
                format!("{problem}: {}", error_text::without_quotations(&text))
            }
            None => problem.clone(),
        };
        AgentFailure::new(code, problem).with_log_message(log_message)
    }
}

/// Returns whether a provider's text is a name, as documents have them (`content_filter`, `SAFETY`), and
/// not words or an id of an account.
fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_LEN).contains(&text.len())
        && text.chars().all(|it| it.is_ascii_alphabetic() || it == '_')
}

/// Adds the name of a provider's error to what the log shows.
fn log_name(failure: AgentFailure, name: Option<&str>) -> AgentFailure {
    match (name, &failure.log_message) {
        (Some(name), Some(problem)) => {
            let log_message = format!("{problem}: {name}");
            failure.with_log_message(log_message)
        }
        _ => failure,
    }
}

/// Returns whether an error of chat completions names the other API of OpenAI.
fn needs_responses(message: &str) -> bool {
    message.contains("v1/responses")
}

/// Returns whether an error names a schema: those of tools are the only ones in a request.
fn is_about_schema(message: &str) -> bool {
    message.to_ascii_lowercase().contains("schema")
}
