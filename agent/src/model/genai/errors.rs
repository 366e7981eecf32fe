//! Maps errors to failures: the one table from HTTP statuses, error events and broken streams to
//! error codes.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use agent_tools::{AgentFailure, text};
use bridge_edge::http_client;
use bridge_protocol::ErrorCode;
use bridge_settings::Secret;
use genai::Error;
use http::HeaderMap;
use serde_json::Value;

use super::error_classification::{self, ErrorKind};
use super::error_text;
use crate::model::Provider;
use crate::model::retry::{AttemptError, RetryDecision};

/// The remedy for a request that is longer than the context of the model.
const SHORTER_INPUT: &str = "ask with less context, offer fewer tools, or let tools return less";

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
    key: Option<Secret>,
}

impl ErrorMapper {
    pub(super) fn new(
        provider: Provider,
        is_official_api: bool,
        label: String,
        key: Option<Secret>,
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

    pub(super) fn provider(&self) -> Provider {
        self.provider
    }

    /// Maps an error of `genai`. The error's own text is never shown, because it may contain whole
    /// bodies.
    pub(super) fn map_error(&self, error: Error, has_output: bool) -> AttemptError {
        match error {
            Error::HttpError {
                status,
                body,
                headers,
                ..
            } => self.map_status(status.as_u16(), &headers, &body),
            Error::WebStream { error, .. } => match error.downcast::<Error>() {
                Ok(error) => self.map_error(*error, has_output),
                Err(error) => self.map_connection_error(&*error),
            },
            Error::ChatResponse { body, .. } => self.map_event(&body, has_output),
            Error::StreamParse { .. } | Error::JsonValueExt(_) | Error::SerdeJson(_) => {
                AttemptError::permanent(self.unreadable())
            }
            _ => AttemptError::permanent(self.failure(
                ErrorCode::AgentFailed,
                "cannot be used: the request cannot be written",
                None,
            )),
        }
    }

    fn map_status(&self, status: u16, headers: &HeaderMap, body: &str) -> AttemptError {
        let text = error_text::from_body(body, self.key.as_ref());
        // Gemini answers 400 when the key is invalid.
        let is_bad_key = matches!(status, 401 | 403) || body.contains("API_KEY_INVALID");
        let retry = error_classification::retry_decision(headers, body);
        let name = serde_json::from_str(body).ok();
        let name = name.and_then(|body| error_classification::known_name(&body));
        let error = match status {
            _ if is_bad_key => AttemptError::permanent(self.unauthorized(status, text)),
            429 => AttemptError {
                failure: self.rate_limited(&format!(" (HTTP {status})"), text),
                retry,
            },
            408 | 500.. => AttemptError {
                failure: self.unavailable(&format!(" (HTTP {status})"), text),
                retry,
            },
            413 => AttemptError::permanent(self.input_too_long(status, text)),
            400 | 422 if error_classification::is_input_too_long(body) => {
                AttemptError::permanent(self.input_too_long(status, text))
            }
            _ => AttemptError::permanent(self.request_refused(status, text)),
        };
        AttemptError {
            failure: log_name(error.failure, name),
            ..error
        }
    }

    /// Maps an error event of the stream. After the first output, any error means that the answer
    /// is broken.
    pub(super) fn map_event(&self, body: &Value, has_output: bool) -> AttemptError {
        let text = error_text::from_value(body, self.key.as_ref());
        let (failure, retry) = match error_classification::error_kind(body) {
            ErrorKind::RateLimited if !has_output => {
                (self.rate_limited("", text), RetryDecision::Backoff)
            }
            ErrorKind::Unavailable if !has_output => {
                (self.unavailable("", text), RetryDecision::Backoff)
            }
            _ => {
                let text = text.unwrap_or_else(|| "it reports an error".to_owned());
                (self.stream_broken(&text), RetryDecision::Never)
            }
        };
        let name = error_classification::known_name(body);
        AttemptError {
            failure: log_name(failure, name),
            retry,
        }
    }

    fn map_connection_error(&self, error: &(dyn std::error::Error + 'static)) -> AttemptError {
        let Some(error) = error.downcast_ref::<reqwest::Error>() else {
            let failure = self.stream_broken("its response is not text");
            return AttemptError::permanent(failure.with_loggable_message());
        };
        let cause = http_client::last_cause(error.source().unwrap_or(error));
        if error.is_connect() || error.is_request() {
            let code = ErrorCode::ModelUnavailable;
            let failure = self.failure(code, "cannot be reached", Some(cause));
            return AttemptError {
                failure: failure.with_loggable_message(),
                retry: RetryDecision::Backoff,
            };
        }
        let failure = self.stream_broken(&format!("the connection was lost: {cause}"));
        AttemptError::permanent(failure.with_loggable_message())
    }

    fn unauthorized(&self, status: u16, text: Option<String>) -> AgentFailure {
        let problem = match self.key {
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

    fn request_refused(&self, status: u16, text: Option<String>) -> AgentFailure {
        let problem = match status {
            300..400 => format!("redirects to another address (HTTP {status})"),
            _ => format!("does not accept the request (HTTP {status})"),
        };
        let failure = self.failure(ErrorCode::ModelRequestRefused, &problem, text);
        match status {
            300..400 | 404 => {
                failure.with_remedy("the operator of the agent must check model and base URL")
            }
            _ if is_about_schema(&failure.message) => failure.with_remedy(SIMPLER_SCHEMA),
            // OpenAI's newer models do not accept tools in chat completions while they think.
            _ if failure.message.contains("reasoning_effort") => {
                failure.with_remedy("the operator of the agent must set `thinking` to off")
            }
            _ => failure,
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
        failure.with_remedy("retry in a while")
    }

    fn stream_broken(&self, reason: &str) -> AgentFailure {
        let problem = "did not finish its answer";
        let failure = self.failure(
            ErrorCode::ModelStreamBroken,
            problem,
            Some(reason.to_owned()),
        );
        failure.with_remedy("retry")
    }

    /// Creates the failure for a model that stopped for an abnormal reason.
    pub(super) fn stopped(&self, reason: &str) -> AgentFailure {
        let reason = text::shorten_name(reason);
        self.stream_broken(&format!("it stopped with the reason {reason}"))
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

    /// Creates the failure for a request that the model, or a filter of its provider, declined.
    pub(super) fn refused(&self, reason: &str) -> AgentFailure {
        let reason = error_text::redact(reason, self.key.as_ref());
        self.failure(ErrorCode::ModelRefused, "declines to answer", reason)
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

    /// Creates the failure for an answer that reached the maximum output of one turn.
    pub(super) fn length_reached(&self) -> AgentFailure {
        let problem = "reached the maximum output of one turn before it was done";
        let failure = self.failure(ErrorCode::ModelLengthReached, problem, None);
        failure.with_remedy("ask for less, or raise `max_output_tokens`")
    }

    /// Creates a failure. The log shows the problem, and not the text, which may quote the input.
    fn failure(&self, code: ErrorCode, problem: &str, text: Option<String>) -> AgentFailure {
        let problem = format!("{} {problem}", self.subject);
        let message = match text {
            Some(text) => format!("{problem}: {text}"),
            None => problem.clone(),
        };
        AgentFailure::new(code, message).with_log_message(problem)
    }
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

/// Returns whether an error names a schema: those of tools are the only ones in a request.
fn is_about_schema(message: &str) -> bool {
    message.to_ascii_lowercase().contains("schema")
}
