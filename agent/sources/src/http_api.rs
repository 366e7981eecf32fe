//! The HTTP APIs behind built-in sources. Neither their responses nor their errors are trusted.
//!
//! - [`HttpApi`] sends a request. It follows no redirect, so that a credential is sent only to the
//!   host that the operator has set, and limits the size and the time of a response.
//! - [`ApiError`] describes why a response cannot be used; [`HttpApi::failed`] is the one table
//!   from it to outcomes of calls.
//! - [`credential`] loads the credential of an API from settings.

pub(super) mod credential;
#[cfg(test)]
pub(super) mod fake_api;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::io;
use std::iter::successors;
use std::time::Duration;

use agent_tools::text::shorten;
use agent_tools::{CallOutput, CallStatus, ToolEffect};
use bridge_edge::body::repair_surrogates;
use bridge_edge::http_client::{self, exposes_tokens, last_cause};
use bridge_protocol::invisible::without_invisible;
use bridge_settings::Secret;
use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, StatusCode};
use reqwest::{Client, Request, RequestBuilder, Response, Url};
use serde_json::Value;
use tokio::time::timeout;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum time of a request with its response, and with the attempt that is repeated.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The maximum size of a response: a file of 1 MiB as base64 has 1.4 MiB.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// The maximum length of what is quoted of an error, in characters.
const MAX_MESSAGE_CHARS: usize = 200;

/// GitHub refuses requests without one.
const USER_AGENT: &str = concat!("mcp-web-agent/", env!("CARGO_PKG_VERSION"));

/// An HTTP API of JSON that a source uses.
#[derive(Clone, Debug)]
pub(super) struct HttpApi {
    /// The source, for the log.
    source: String,
    /// The API, as messages name it.
    subject: &'static str,
    client: Client,
    base: Url,
    /// The header with the credential, and the credential itself.
    credential: Option<(HeaderName, HeaderValue, Secret)>,
    timeout: Duration,
}

/// A response with a status from 200 to 299.
#[derive(Debug)]
pub(super) struct ApiResponse {
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// Why a response cannot be used.
#[derive(Debug)]
pub(super) enum ApiError {
    /// No connection was made.
    NotSent(String),
    /// The request may have had its effect.
    NoResponse(String),
    ConnectionReset,
    Refused(Box<ErrorResponse>),
}

/// A response with another status.
#[derive(Debug)]
pub(super) struct ErrorResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// The message of the API, shortened to one line and without the credential. It may be empty.
    pub(super) message: String,
}

impl HttpApi {
    /// Creates the client of an API whose routes begin at this URL.
    pub(super) fn new(source: &str, subject: &'static str, url: &str) -> Result<Self, String> {
        let base = Url::parse(url).ok();
        let base = base.filter(|it| matches!(it.scheme(), "http" | "https"));
        let base = base.filter(|_| !url.contains(['@', '?', '#'])).ok_or(
            "`url` must be an http:// or https:// URL without user, password, query and fragment",
        )?;
        let client = http_client::builder(&base)?
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(USER_AGENT)
            .build();
        Ok(Self {
            source: source.to_owned(),
            subject,
            client: client.map_err(|error| last_cause(&error))?,
            base,
            credential: None,
            timeout: REQUEST_TIMEOUT,
        })
    }

    /// Lets each request have a credential in this header, after a prefix such as `Bearer `.
    pub(super) fn with_credential(
        self,
        header: HeaderName,
        prefix: &str,
        credential: Secret,
    ) -> Result<Self, String> {
        let value = HeaderValue::from_str(&format!("{prefix}{}", credential.expose()));
        let mut value = value.map_err(|_| "a header cannot contain the credential")?;
        value.set_sensitive(true);
        Ok(Self {
            credential: Some((header, value, credential)),
            ..self
        })
    }

    /// Warns the operator if a credential for this API can be read on the network.
    pub(super) fn warn_if_exposed(&self) {
        if exposes_tokens(&self.base) {
            self.warn("`url` sends a credential over http:// to another machine: use https://");
        }
    }

    /// Warns the operator. The problem has nothing that was sent or received.
    pub(super) fn warn(&self, problem: &str) {
        tracing::warn!(source = self.source, api = self.subject, "{problem}");
    }

    /// Begins a request of the route with these segments and this query, which are encoded. A segment
    /// must not be `.` or `..` when its line breaks and tabs are removed, as URLs do.
    pub(super) fn request(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.client.request(method, url);
        match &self.credential {
            Some((header, value, _)) => request.header(header, value),
            None => request,
        }
    }

    /// Sends a request and reads its response. A GET whose connection is reset is sent once more.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<ApiResponse, ApiError> {
        let request = request.build();
        let request = request.map_err(|error| ApiError::NotSent(last_cause(&error)))?;
        let is_get = request.method() == Method::GET;
        let repeated = is_get.then(|| request.try_clone()).flatten();
        let sending = async {
            match (self.send_once(request).await, repeated) {
                (Err(ApiError::ConnectionReset), Some(request)) => self.send_once(request).await,
                (result, _) => result,
            }
        };
        timeout(self.timeout, sending).await.unwrap_or_else(|_| {
            let problem = format!("it did not respond within {:?}", self.timeout);
            Err(ApiError::NoResponse(problem))
        })
    }

    async fn send_once(&self, request: Request) -> Result<ApiResponse, ApiError> {
        let mut response = self.client.execute(request).await?;
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        let body = read_json(response).await;
        if status.is_success() {
            return body.map(|body| ApiResponse { headers, body });
        }
        let message = body.as_ref().map_or("", error_message);
        Err(ApiError::Refused(Box::new(ErrorResponse {
            status,
            headers,
            message: match &self.credential {
                Some((.., credential)) => short_line(&message.replace(credential.expose(), "…")),
                None => short_line(message),
            },
        })))
    }

    /// Creates the output of a call for an error. The log shows what the operator must change.
    pub(super) fn failed(&self, error: &ApiError, effect: ToolEffect) -> CallOutput {
        let response = match error {
            ApiError::NotSent(cause) => return self.unavailable(cause, ToolEffect::Read),
            ApiError::NoResponse(problem) => return self.unavailable(problem, effect),
            ApiError::ConnectionReset => {
                return self.unavailable("the connection was reset", effect);
            }
            ApiError::Refused(response) => response,
        };
        let (status, subject) = (response.status.as_u16(), self.subject);
        let quote = match response.message.as_str() {
            // The message about an invalid credential may show parts of it.
            "" => String::new(),
            _ if status == 401 => String::new(),
            message => format!(": {message}"),
        };
        match status {
            401 | 403 => {
                self.warn(&format!(
                    "the API refuses the credential of a source (HTTP {status})"
                ));
                let problem = match (self.credential.is_some(), status) {
                    (false, _) => "requires a credential",
                    (true, 401) => "refuses the credential of the agent",
                    (true, _) => "does not allow this with the credential of the agent",
                };
                CallOutput::from_error(format!(
                    "{subject} {problem} (HTTP {status}){quote}. Continue without it, or say that the \
                     operator of the agent must check the credential."
                ))
            }
            300..=399 => {
                self.warn(&format!(
                    "the API redirects, which is not followed (HTTP {status})"
                ));
                CallOutput::from_error(format!(
                    "{subject} redirects to another address (HTTP {status}), which is not followed."
                ))
            }
            429 => self.rate_limited(retry_after(&response.headers)),
            408 | 500.. => self.unavailable(&format!("HTTP {status}"), effect),
            _ => CallOutput::from_error(format!(
                "{subject} does not accept the request (HTTP {status}){quote}"
            )),
        }
    }

    /// Creates the output of a call that the API accepts only after this time, if that is known.
    pub(super) fn rate_limited(&self, wait: Option<Duration>) -> CallOutput {
        let wait = wait.map(|wait| format!(" retryAfter: {} s.", wait.as_secs()));
        let reason = format!(
            "{} accepts no more requests for now.{} Continue without it, or say what could not be done.",
            self.subject,
            wait.unwrap_or_default()
        );
        CallOutput::failed(CallStatus::RateLimited, reason)
    }

    fn unavailable(&self, problem: &str, effect: ToolEffect) -> CallOutput {
        let consequence = match effect {
            ToolEffect::Read => "Continue without it.",
            _ => "It may have happened all the same: check before you request it again.",
        };
        let subject = self.subject;
        let reason = format!("{subject} cannot be used at the moment: {problem}. {consequence}");
        CallOutput::failed(CallStatus::Unavailable, reason)
    }
}

impl From<reqwest::Error> for ApiError {
    fn from(error: reqwest::Error) -> Self {
        let causes = successors(error.source(), |&cause| cause.source());
        let mut io = causes.filter_map(|cause| cause.downcast_ref::<io::Error>());
        if error.is_connect() {
            Self::NotSent(format!("it cannot be reached: {}", last_cause(&error)))
        } else if io.any(|cause| cause.kind() == io::ErrorKind::ConnectionReset) {
            Self::ConnectionReset
        } else {
            Self::NoResponse(format!("the connection was lost: {}", last_cause(&error)))
        }
    }
}

/// Reads a body up to the limit, regardless of its `Content-Length`. Surrogates without a partner
/// become U+FFFD.
async fn read_json(mut response: Response) -> Result<Value, ApiError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_BODY_BYTES {
            let problem = format!("its response has more than {MAX_BODY_BYTES} bytes");
            return Err(ApiError::NoResponse(problem));
        }
        body.extend_from_slice(&chunk);
    }
    let body = repair_surrogates(body.into());
    serde_json::from_slice(&body).map_err(|_| ApiError::unreadable())
}

impl ApiError {
    /// Creates the error for a response that is not what the API is documented to send.
    pub(super) fn unreadable() -> Self {
        Self::NoResponse(
            "its response is not that of its API, so its `url` may be wrong".to_owned(),
        )
    }
}

/// Returns the seconds of `Retry-After`. A date, which none of the APIs sends, is ignored.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Returns the message of an error, in the format of any of the APIs.
fn error_message(body: &Value) -> &str {
    const POINTERS: [&str; 5] = [
        "/message",
        "/detail/error",
        "/error/detail",
        "/errors/0/detail",
        "/error",
    ];
    let mut messages = POINTERS.iter().filter_map(|it| body.pointer(it)?.as_str());
    messages.next().unwrap_or_default()
}

/// Returns the beginning of a text as one line of visible characters.
pub(super) fn short_line(text: &str) -> String {
    let text = without_invisible(text);
    let words: Vec<_> = text.split_whitespace().collect();
    shorten(&words.join(" "), MAX_MESSAGE_CHARS)
}
