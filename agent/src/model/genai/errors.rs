//! How it goes wrong with a provider, in our words. The one table from statuses, error events and
//! broken streams to codes.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::ErrorCode;
use bridge_service::{Secret, http_client};
use genai::Error;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::error_classification;
use super::error_text;
use crate::failure::Failure;
use crate::model::Provider;
use crate::model::genai::error_classification::ErrorKind;
use crate::model::retry::{AttemptError, RetryDecision};

/// Says of one provider what went wrong.
#[derive(Clone, Debug)]
pub(super) struct ErrorMapper {
    provider: Provider,
    label: Arc<str>,
    key: Option<Secret>,
}

impl ErrorMapper {
    pub(super) fn new(provider: Provider, label: String, key: Option<Secret>) -> Self {
        let label = label.into();
        Self {
            provider,
            label,
            key,
        }
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn provider(&self) -> Provider {
        self.provider
    }

    /// What an error of `genai` means. Its own text may hold whole bodies: it is never shown.
    pub(super) fn map_error(&self, error: Error, has_spoken: bool) -> AttemptError {
        match error {
            Error::HttpError {
                status,
                body,
                headers,
                ..
            } => self.map_status(status.as_u16(), &headers, &body),
            Error::WebStream { error, .. } => match error.downcast::<Error>() {
                Ok(error) => self.map_error(*error, has_spoken),
                Err(error) => self.map_connection_error(&*error),
            },
            Error::ChatResponse { body, .. } => self.map_event(&body, has_spoken),
            Error::StreamParse { .. } | Error::JsonValueExt(_) | Error::SerdeJson(_) => {
                AttemptError::permanent(self.unreadable())
            }
            _ => AttemptError::permanent(self.failure(
                ErrorCode::AgentFailed,
                "cannot be asked: the request cannot be written",
                None,
            )),
        }
    }

    fn map_status(&self, status: u16, headers: &HeaderMap, body: &str) -> AttemptError {
        let words = error_text::from_body(body, self.key.as_ref());
        // Gemini says so with 400.
        let is_bad_key = matches!(status, 401 | 403) || body.contains("API_KEY_INVALID");
        let again = error_classification::retry_decision(headers, body);
        match status {
            _ if is_bad_key => AttemptError::permanent(self.unauthorized(status, words)),
            429 => AttemptError {
                failure: self.rate_limited(&format!(" (HTTP {status})"), words),
                retry: again,
            },
            408 | 500.. => AttemptError {
                failure: self.unavailable(&format!(" (HTTP {status})"), words),
                retry: again,
            },
            _ => AttemptError::permanent(self.request_refused(status, words)),
        }
    }

    /// An error that came in the stream.
    pub(super) fn map_event(&self, body: &Value, has_spoken: bool) -> AttemptError {
        let words = error_text::from_value(body, self.key.as_ref());
        let (failure, again) = match error_classification::error_kind(body) {
            ErrorKind::RateLimited if !has_spoken => {
                (self.rate_limited("", words), RetryDecision::Backoff)
            }
            ErrorKind::Unavailable if !has_spoken => {
                (self.unavailable("", words), RetryDecision::Backoff)
            }
            _ => {
                let words = words.unwrap_or_else(|| "it reports an error".to_owned());
                (self.stream_broken(&words), RetryDecision::Never)
            }
        };
        AttemptError {
            failure,
            retry: again,
        }
    }

    fn map_connection_error(&self, error: &(dyn std::error::Error + 'static)) -> AttemptError {
        let Some(error) = error.downcast_ref::<reqwest::Error>() else {
            return AttemptError::permanent(self.stream_broken("it sends what is no text"));
        };
        let cause = http_client::last_cause(error.source().unwrap_or(error));
        if error.is_connect() || error.is_request() {
            let failure = self.failure(
                ErrorCode::ModelUnavailable,
                "cannot be reached",
                Some(cause),
            );
            let again = RetryDecision::Backoff;
            return AttemptError {
                failure,
                retry: again,
            };
        }
        AttemptError::permanent(self.stream_broken(&format!("the connection was lost: {cause}")))
    }

    fn unauthorized(&self, status: u16, words: Option<String>) -> Failure {
        let what = match self.key {
            Some(_) => format!("refuses the key (HTTP {status})"),
            None => format!("wants a key (HTTP {status})"),
        };
        // What is said of a wrong key shows parts of it.
        let words = words.filter(|_| status == 403);
        let remedy = match self.provider.key_variable() {
            Some(variable) => format!("the operator of the agent must check {variable}"),
            None => "the operator of the agent must name a file with the key".to_owned(),
        };
        let failure = self.failure(ErrorCode::ModelUnauthorized, &what, words);
        failure.with_remedy(remedy)
    }

    fn rate_limited(&self, status: &str, words: Option<String>) -> Failure {
        let what = format!("takes no more requests for now{status}");
        let failure = self.failure(ErrorCode::ModelRateLimited, &what, words);
        failure.with_remedy("ask again in a while")
    }

    fn unavailable(&self, status: &str, words: Option<String>) -> Failure {
        let what = format!("is not available{status}");
        let failure = self.failure(ErrorCode::ModelUnavailable, &what, words);
        failure.with_remedy("ask again in a while")
    }

    fn request_refused(&self, status: u16, words: Option<String>) -> Failure {
        let what = match status {
            300..400 => format!("is somewhere else (HTTP {status})"),
            _ => format!("does not accept the request (HTTP {status})"),
        };
        let failure = self.failure(ErrorCode::ModelRequestRefused, &what, words);
        match status {
            300..400 | 404 => {
                failure.with_remedy("the operator of the agent must check model and base URL")
            }
            413 => failure.with_remedy("ask with less context"),
            // OpenAI's newer models do not take tools by chat completions while they think.
            _ if failure.message.contains("reasoning_effort") => {
                failure.with_remedy("the operator of the agent must set `thinking` to off")
            }
            _ => failure,
        }
    }

    pub(super) fn first_token_timeout(&self, within: Duration) -> Failure {
        let within = humantime::format_duration(within);
        let what = format!("has not begun to answer within {within}");
        let failure = self.failure(ErrorCode::ModelUnavailable, &what, None);
        failure.with_remedy(
            "ask again in a while; a model that thinks long, or is loaded first, needs a longer \
             `first_token_within`",
        )
    }

    pub(super) fn idle_timeout(&self, time: Duration) -> Failure {
        let time = humantime::format_duration(time);
        let what = format!("has sent nothing for {time} in the middle of its answer");
        let failure = self.failure(ErrorCode::ModelUnavailable, &what, None);
        failure.with_remedy("ask again in a while")
    }

    fn stream_broken(&self, why: &str) -> Failure {
        let what = "has not said its answer to the end";
        let failure = self.failure(ErrorCode::ModelStreamBroken, what, Some(why.to_owned()));
        failure.with_remedy("ask again")
    }

    pub(super) fn stopped(&self, reason: &str) -> Failure {
        self.stream_broken(&format!(
            "it stopped with the reason {}",
            truncate_name(reason)
        ))
    }

    pub(super) fn unreadable(&self) -> Failure {
        self.stream_broken("it sends what cannot be read")
    }

    pub(super) fn too_large(&self) -> Failure {
        self.stream_broken("it sends more than an answer can be")
    }

    pub(super) fn unfinished(&self, has_spoken: bool) -> Failure {
        let what = "ended its answer without saying that it was the end";
        let failure = self.failure(ErrorCode::ModelStreamUnfinished, what, None);
        match has_spoken {
            true => failure.with_remedy("ask again"),
            false => failure.with_remedy("the operator of the agent must check the base URL"),
        }
    }

    pub(super) fn refused(&self, why: &str) -> Failure {
        let why = error_text::redact(why, self.key.as_ref());
        self.failure(ErrorCode::ModelRefused, "declines to answer", why)
    }

    pub(super) fn arguments_cut_off(&self, tool: &str) -> Failure {
        let what = format!(
            "began to call {} and did not say the arguments to the end",
            truncate_name(tool)
        );
        let failure = self.failure(ErrorCode::ModelArgumentsCutOff, &what, None);
        failure.with_remedy("ask for less at once, or raise `max_output_tokens`")
    }

    pub(super) fn length_reached(&self) -> Failure {
        let what = "has said as much as it may in one turn, and was not done";
        let failure = self.failure(ErrorCode::ModelLengthReached, what, None);
        failure.with_remedy("ask for less, or raise `max_output_tokens`")
    }

    fn failure(&self, code: ErrorCode, what: &str, words: Option<String>) -> Failure {
        let provider = self.provider;
        match words {
            Some(words) => Failure::new(code, format!("{provider} {what}: {words}")),
            None => Failure::new(code, format!("{provider} {what}")),
        }
    }
}

/// A name that the provider chose.
fn truncate_name(name: &str) -> String {
    name.chars().take(64).collect()
}
