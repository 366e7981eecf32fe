//! Requests of GitHub's REST API, and its limits:
//! <https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api>.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agent_tools::{CallOutput, ToolEffect};
use bridge_settings::Secret;
use http::header::{ACCEPT, AUTHORIZATION, LOCATION};
use http::{HeaderMap, Method};
use reqwest::RequestBuilder;
use serde_json::Value;

use crate::http_api::{ApiError, ApiResponse, ErrorResponse, HttpApi, retry_after};

/// JSON, in a search with the places in code where something was found.
const MEDIA_TYPE: &str = "application/vnd.github.text-match+json";

const API_VERSION: &str = "2022-11-28";

/// The quota is low when so many requests are left, as a part of all.
const LOW_QUOTA: u64 = 10;

/// The wait after a secondary limit for which GitHub names none.
const SECONDARY_WAIT: Duration = Duration::from_secs(60);

/// The API with the token of one user.
#[derive(Debug)]
pub(super) struct GithubClient(HttpApi);

impl GithubClient {
    pub(super) fn new(api: &HttpApi, token: Option<String>) -> Result<Self, CallOutput> {
        let api = api.clone();
        let Some(token) = token else {
            return Ok(Self(api));
        };
        let token = Secret::from_trusted(token);
        let api = api.with_credential(AUTHORIZATION, "Bearer ", token);
        api.map(Self).map_err(|_| {
            CallOutput::from_error("The token of this user cannot be used: it must be set again.")
        })
    }

    pub(super) async fn get(
        &self,
        route: &[&str],
        query: &[(&str, &str)],
    ) -> Result<ApiResponse, CallOutput> {
        let request = self.0.request(Method::GET, route, query);
        self.send(request, ToolEffect::Read).await
    }

    pub(super) async fn post(
        &self,
        route: &[&str],
        body: &Value,
    ) -> Result<ApiResponse, CallOutput> {
        let request = self.0.request(Method::POST, route, &[]).json(body);
        self.send(request, ToolEffect::Write).await
    }

    async fn send(
        &self,
        request: RequestBuilder,
        effect: ToolEffect,
    ) -> Result<ApiResponse, CallOutput> {
        let request = request.header(ACCEPT, MEDIA_TYPE);
        let request = request.header("X-GitHub-Api-Version", API_VERSION);
        self.0.send(request).await.map_err(|error| match &error {
            ApiError::Refused(response) => match response.status.as_u16() {
                403 | 429 if let Some(wait) = limit_wait(response, SystemTime::now()) => {
                    self.0.rate_limited(Some(wait))
                }
                // The new name may be one that the operator does not allow.
                300..=399 if is_rename(&response.headers) => CallOutput::from_error(
                    "The repository was renamed or moved (HTTP redirect): use its new name.",
                ),
                404 => CallOutput::from_error(
                    "Not found (HTTP 404): it does not exist, or the token cannot see it.",
                ),
                _ => self.0.failed(&error, effect),
            },
            _ => self.0.failed(&error, effect),
        })
    }

    pub(super) fn items<'a>(&self, items: &'a Value) -> Result<&'a [Value], CallOutput> {
        let items = items.as_array().ok_or_else(ApiError::unreadable);
        items
            .map(Vec::as_slice)
            .map_err(|error| self.0.failed(&error, ToolEffect::Read))
    }

    /// Creates the output of a call, with a note if few requests are left.
    pub(super) fn output(&self, text: String, response: &ApiResponse) -> CallOutput {
        let quota = low_quota(&response.headers, SystemTime::now());
        CallOutput::from_text(quota.map_or(text.clone(), |quota| format!("{text}\n[{quota}]")))
    }
}

/// Returns whether a redirect is that of a repository with another name, to its number.
fn is_rename(headers: &HeaderMap) -> bool {
    let location = headers.get(LOCATION).and_then(|it| it.to_str().ok());
    location.is_some_and(|location| location.contains("/repositories/"))
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

/// Returns the time until the quota resets.
fn reset_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let reset = Duration::from_secs(number(headers, "x-ratelimit-reset")?);
    let reset = UNIX_EPOCH.checked_add(reset)?;
    Some(reset.duration_since(now).unwrap_or_default())
}

/// Says how many requests are left, if they are few.
fn low_quota(headers: &HeaderMap, now: SystemTime) -> Option<String> {
    let remaining = number(headers, "x-ratelimit-remaining")?;
    let is_low = remaining <= number(headers, "x-ratelimit-limit")? / LOW_QUOTA;
    let wait = reset_wait(headers, now)?.as_secs();
    is_low
        .then(|| format!("Only {remaining} requests of this kind are left for the next {wait} s."))
}

/// Returns the wait if a response with the status 403 or 429 reports that a limit is exceeded. A
/// 403 may also be a lack of permission.
fn limit_wait(response: &ErrorResponse, now: SystemTime) -> Option<Duration> {
    let headers = &response.headers;
    if let Some(wait) = retry_after(headers) {
        return Some(wait);
    }
    if number(headers, "x-ratelimit-remaining") == Some(0) {
        return reset_wait(headers, now).or(Some(SECONDARY_WAIT));
    }
    let is_secondary = response
        .message
        .to_ascii_lowercase()
        .contains("secondary rate limit");
    (is_secondary || response.status == 429).then_some(SECONDARY_WAIT)
}
