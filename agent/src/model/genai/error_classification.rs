//! Classifies an error of a provider by its names, numbers and headers.

use std::time::Duration;

use http::HeaderMap;
use serde_json::Value;

use crate::model::retry::RetryDecision;

/// Decides whether and when to retry after an error response.
pub(super) fn retry_decision(headers: &HeaderMap, body: &str) -> RetryDecision {
    let must_not_retry = headers
        .get("x-should-retry")
        .is_some_and(|should| should == "false");
    // OpenAI answers 429 also when an account has not been paid for.
    if must_not_retry || body.contains("insufficient_quota") {
        return RetryDecision::Never;
    }
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms")
        .map(|milliseconds| milliseconds / 1000.0)
        .or_else(|| number("retry-after"))
        .or_else(|| retry_info(body));
    match seconds.map(Duration::try_from_secs_f64) {
        Some(Ok(delay)) => RetryDecision::After(delay),
        _ => RetryDecision::Backoff,
    }
}

/// Returns whether an error response says that the input is longer than the context of the model. Only
/// OpenAI and llama.cpp have a name for it; the others say it in words.
pub(super) fn is_input_too_long(body: &str) -> bool {
    const PARTS: [&str; 8] = [
        // OpenAI, vLLM, OpenRouter
        "context_length_exceeded",
        "context length",
        // llama.cpp
        "exceed_context_size",
        "context size",
        // Anthropic
        "prompt is too long",
        "context limit",
        // Gemini
        "input token count",
        // LiteLLM
        "context window",
    ];
    let body = body.to_ascii_lowercase();
    PARTS.iter().any(|part| body.contains(part))
}

/// Returns the delay in Gemini's format: a `google.rpc.RetryInfo` among the details, with
/// `"retryDelay": "34.07s"`.
fn retry_info(body: &str) -> Option<f64> {
    let body: Value = serde_json::from_str(body).ok()?;
    let error = body
        .pointer("/error")
        .or_else(|| body.pointer("/0/error"))?;
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay"))?;
    delay.as_str()?.strip_suffix('s')?.parse().ok()
}

/// Returns the name of an error, if it is one that providers document. Any other text in its place may
/// quote the input.
pub(super) fn known_name(body: &Value) -> Option<&'static str> {
    let error = body.get("error").or_else(|| body.pointer("/0/error"));
    let error = error.unwrap_or(body);
    // The code says more than the type.
    let mut fields = ["code", "status", "type"].into_iter();
    fields.find_map(|field| {
        let name = error.get(field)?.as_str()?;
        let mut known = KNOWN_NAMES.iter().copied();
        known.find(|known| *known == name)
    })
}

/// The names of errors that providers document.
const KNOWN_NAMES: &[&str] = &[
    // Anthropic
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "timeout_error",
    "api_error",
    "overloaded_error",
    // OpenAI, and servers that are compatible with it
    "invalid_api_key",
    "insufficient_quota",
    "rate_limit_exceeded",
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_not_found",
    "unsupported_parameter",
    "unsupported_value",
    "missing_required_parameter",
    "invalid_function_parameters",
    "invalid_value",
    "invalid_image_format",
    "string_above_max_length",
    "content_policy_violation",
    "content_filter",
    "server_error",
    "unavailable_error",
    "BadRequestError",
    "NotFoundError",
    "InternalServerError",
    // Gemini
    "INVALID_ARGUMENT",
    "FAILED_PRECONDITION",
    "OUT_OF_RANGE",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "NOT_FOUND",
    "RESOURCE_EXHAUSTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
];

/// The kind of an error event.
pub(super) enum ErrorKind {
    RateLimited,
    Unavailable,
    Other,
}

/// Classifies an error event by its number, or by one of its names.
pub(super) fn error_kind(body: &Value) -> ErrorKind {
    const RATE_LIMITED: [&str; 2] = ["rate_limit", "resource_exhausted"];
    const UNAVAILABLE: [&str; 6] = [
        "overloaded",
        "unavailable",
        "server_error",
        "api_error",
        "timeout",
        "internal",
    ];
    let error = body.get("error").unwrap_or(body);
    match error.get("code").and_then(Value::as_u64) {
        Some(429) => return ErrorKind::RateLimited,
        Some(408 | 500..) => return ErrorKind::Unavailable,
        _ => {}
    }
    let names = ["type", "code", "status"].into_iter();
    let names = names.filter_map(|name| error.get(name)?.as_str());
    let names = names.collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    let contains_any = |parts: &[&str]| parts.iter().any(|part| names.contains(part));
    if contains_any(&RATE_LIMITED) {
        ErrorKind::RateLimited
    } else if contains_any(&UNAVAILABLE) {
        ErrorKind::Unavailable
    } else {
        ErrorKind::Other
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_names_that_providers_document_are_known() {
        for (body, expected) in [
            (
                json!({ "type": "error", "error": { "type": "overloaded_error" } }),
                Some("overloaded_error"),
            ),
            (
                json!({ "error": { "type": "invalid_request_error", "code": "model_not_found" } }),
                Some("model_not_found"),
            ),
            (
                json!({ "error": { "type": "invalid_request_error", "code": "swordfish" } }),
                Some("invalid_request_error"),
            ),
            (
                json!([{ "error": { "code": 503, "status": "UNAVAILABLE" } }]),
                Some("UNAVAILABLE"),
            ),
            (json!({ "error": "swordfish" }), None),
            (json!({ "type": "swordfish" }), None),
        ] {
            assert_eq!(known_name(&body), expected, "{body}");
        }
    }
}
