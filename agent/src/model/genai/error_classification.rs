//! What a provider's error says by its names, numbers and headers.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::model::retry::RetryDecision;

/// Whether and when the provider wants to be asked again.
pub(super) fn retry_decision(headers: &HeaderMap, body: &str) -> RetryDecision {
    let is_unwanted = headers
        .get("x-should-retry")
        .is_some_and(|should| should == "false");
    // OpenAI says 429 to those who have not paid.
    if is_unwanted || body.contains("insufficient_quota") {
        return RetryDecision::Never;
    }
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms")
        .map(|milliseconds| milliseconds / 1000.0)
        .or_else(|| number("retry-after"))
        .or_else(|| retry_info(body));
    match seconds.map(Duration::try_from_secs_f64) {
        Some(Ok(time)) => RetryDecision::After(time),
        _ => RetryDecision::Backoff,
    }
}

/// Gemini's way to say it: `google.rpc.RetryInfo` among the details, `"retryDelay": "34.07s"`.
fn retry_info(body: &str) -> Option<f64> {
    let body: Value = serde_json::from_str(body).ok()?;
    let error = body
        .pointer("/error")
        .or_else(|| body.pointer("/0/error"))?;
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay"))?;
    delay.as_str()?.strip_suffix('s')?.parse().ok()
}

/// What an error event is about.
pub(super) enum ErrorKind {
    RateLimited,
    Unavailable,
    Other,
}

/// The kind of an error event: by its number, or by one of its names.
pub(super) fn error_kind(body: &Value) -> ErrorKind {
    let error = body.get("error").unwrap_or(body);
    match error.get("code").and_then(Value::as_u64) {
        Some(429) => return ErrorKind::RateLimited,
        Some(408 | 500..) => return ErrorKind::Unavailable,
        _ => {}
    }
    let names = ["type", "code", "status"].into_iter();
    let names = names.filter_map(|name| error.get(name)?.as_str());
    let names = names.collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    let is_one_of = |words: &[&str]| words.iter().any(|word| names.contains(word));
    if is_one_of(&["rate_limit", "resource_exhausted"]) {
        return ErrorKind::RateLimited;
    }
    const UNAVAILABLE: [&str; 6] = [
        "overloaded",
        "unavailable",
        "server_error",
        "api_error",
        "timeout",
        "internal",
    ];
    match is_one_of(&UNAVAILABLE) {
        true => ErrorKind::Unavailable,
        false => ErrorKind::Other,
    }
}
