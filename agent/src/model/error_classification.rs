//! Classifies an error of a provider by its names, numbers and headers.

use std::time::Duration;

use chrono::{DateTime, Utc};
use http::HeaderMap;
use serde_json::Value;

use crate::model::retry::RetryDecision;

/// Decides whether and when to retry after an error response.
pub(super) fn retry_decision(headers: &HeaderMap, body: &Value) -> RetryDecision {
    let must_not_retry = headers
        .get("x-should-retry")
        .is_some_and(|should| should == "false");
    // OpenAI answers 429 also when an account has not been paid for, and Anthropic when it has reached
    // a limit of its spending.
    const UNPAID: [&str; 9] = [
        "insufficient_quota",
        "credit_balance_exhausted",
        "billing_hard_limit_reached",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "PerDay",
    ];
    let words = own_words(body);
    if must_not_retry || UNPAID.iter().any(|name| words.contains(name)) {
        return RetryDecision::Never;
    }
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let seconds = number("retry-after-ms")
        .map(|milliseconds| milliseconds / 1000.0)
        .or_else(|| number("retry-after"))
        .or_else(|| seconds_until(text("retry-after")?, Utc::now()))
        .or_else(|| retry_info(body));
    match seconds.map(Duration::try_from_secs_f64) {
        Some(Ok(delay)) => RetryDecision::After(delay),
        _ => RetryDecision::Backoff,
    }
}

/// Returns the seconds until a day and time in the format of HTTP, if they are later than now.
fn seconds_until(time: &str, now: DateTime<Utc>) -> Option<f64> {
    let time = DateTime::parse_from_rfc2822(time).ok()?;
    let delay = time.signed_duration_since(now).to_std().ok()?;
    Some(delay.as_secs_f64())
}

/// Returns the body of an error. Text that is not JSON is the error itself, unless it is the HTML page of
/// a proxy.
pub(super) fn parse_body(body: &str) -> Value {
    let parsed = serde_json::from_str(body);
    parsed.unwrap_or_else(|_| {
        if body.contains('<') {
            Value::Null
        } else {
            body.into()
        }
    })
}

/// The beginnings of quotations of the request: Python writes them into the text of an error.
const QUOTATIONS: [&str; 3] = ["'input':", "\"input\":", "input_value="];

/// Returns the text of an error before its first quotation of the request.
pub(super) fn without_quotation(text: &str) -> &str {
    let quotations = QUOTATIONS.iter().filter_map(|begin| text.find(begin));
    &text[..quotations.min().unwrap_or(text.len())]
}

/// Returns the error of the server behind a router, which OpenRouter passes as text.
pub(super) fn upstream_error(body: &Value) -> Option<Value> {
    let raw = error_of(body).pointer("/metadata/raw")?.as_str()?;
    let raw = serde_json::from_str(raw).ok()?;
    let message = error_of(&raw).get("message")?.as_str()?;
    Some(serde_json::json!({ "error": { "message": message } }))
}

/// Returns the words of an error that are the server's own: its message and names. Other fields may
/// repeat the request.
fn own_words(body: &Value) -> String {
    let upstream = upstream_error(body);
    let errors = [Some(error_of(body)), upstream.as_ref().map(error_of)];
    let mut words = Vec::new();
    for error in errors.into_iter().flatten() {
        let fields = ["message", "detail", "code", "type", "status"].into_iter();
        words.extend(fields.map(|field| error.get(field)).chain([Some(error)]));
        for details in [
            error.get("details"),
            error.get("detail"),
            error.pointer("/message/detail"),
        ] {
            let list = details.and_then(Value::as_array).into_iter().flatten();
            for detail in list.chain(details) {
                let fields = ["reason", "msg", "code", "error_code"].into_iter();
                words.extend(fields.map(|field| detail.get(field)));
                let violations = detail.get("violations").and_then(Value::as_array);
                let violations = violations.into_iter().flatten();
                words.extend(violations.map(|violation| violation.get("quotaId")));
            }
        }
    }
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    words.map(without_quotation).collect::<Vec<_>>().join("\n")
}

/// Whether an error says that the key is invalid. Gemini answers 400 then.
pub(super) fn is_bad_key(body: &Value) -> bool {
    own_words(body).contains("API_KEY_INVALID")
}

/// Returns whether an error response says that the input is longer than the context of the model. Only
/// OpenAI and llama.cpp have a name for it; the others say it in words.
pub(super) fn is_input_too_long(body: &Value) -> bool {
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
    let words = own_words(body).to_ascii_lowercase();
    PARTS.iter().any(|part| words.contains(part))
}

/// The codes with which a provider declines the content of a request.
const POLICY_CODES: [&str; 6] = [
    // OpenAI
    "bio_policy",
    "content_policy_violation",
    "invalid_prompt",
    "misalignment_policy_violation",
    // Azure
    "content_filter",
    "ResponsibleAIPolicyViolation",
];

/// Whether this is a code with which a provider declines the content of a request.
pub(super) fn is_policy_code(code: &str) -> bool {
    POLICY_CODES.contains(&code)
}

/// Returns whether a provider declines the content of a request: asking again, or with other settings,
/// does not help.
pub(super) fn is_declined(body: &Value) -> bool {
    const PARTS: [&str; 4] = [
        "flagged",
        "content filter",
        "content management policy",
        "usage policy",
    ];
    let error = error_of(body);
    let string = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let message = error.as_str().unwrap_or(string("message"));
    let message = message.to_ascii_lowercase();
    ["code", "type"]
        .iter()
        .any(|name| is_policy_code(string(name)))
        || PARTS.iter().any(|part| message.contains(part))
}

/// Returns whether an error says that the server does not have the model, which only some report as 404.
pub(super) fn is_about_model(body: &Value) -> bool {
    const PARTS: [&str; 6] = [
        // OpenAI
        "model_not_found",
        "model not found",
        // OpenRouter
        "not a valid model",
        // LiteLLM, Mistral
        "invalid model",
        // DeepSeek
        "model not exist",
        "unknown model",
    ];
    let error = error_of(body);
    let string = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let text = [string("code"), error.as_str().unwrap_or(string("message"))].join(" ");
    let text = text.to_ascii_lowercase();
    string("param") == "model" || PARTS.iter().any(|part| text.contains(part))
}

/// Returns the error in the body of a response. Gemini may answer with a list.
pub(super) fn error_of(body: &Value) -> &Value {
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").filter(|error| !error.is_null());
    error.unwrap_or(body)
}

/// Returns the delay in Gemini's format: a `google.rpc.RetryInfo` among the details, with
/// `"retryDelay": "34.07s"`.
fn retry_info(body: &Value) -> Option<f64> {
    let details = error_of(body).get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay"))?;
    delay.as_str()?.strip_suffix('s')?.parse().ok()
}

/// Returns the name of an error, if it is one that providers document. Any other text in its place may
/// quote the input.
pub(super) fn known_name(body: &Value) -> Option<&'static str> {
    let error = error_of(body);
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
    "invalid_prompt",
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
    InputTooLong,
    /// The provider declines the content of the request.
    Declined,
    RateLimited,
    Unavailable,
    Other,
}

/// Classifies an error event by its number, or by one of its names.
pub(super) fn error_kind(body: &Value) -> ErrorKind {
    const RATE_LIMITED: [&str; 4] = [
        "rate_limit",
        "resource_exhausted",
        "too_many_requests",
        "slow_down",
    ];
    const UNAVAILABLE: [&str; 6] = [
        "overloaded",
        "unavailable",
        "server_error",
        "api_error",
        "timeout",
        "internal",
    ];
    if is_input_too_long(body) {
        return ErrorKind::InputTooLong;
    }
    if is_declined(body) {
        return ErrorKind::Declined;
    }
    let error = error_of(body);
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
    fn a_provider_declines_content_by_a_code_or_in_words() {
        for (body, expected) in [
            (
                // https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
                json!({ "error": {
                    "message": "The response was filtered due to the prompt triggering Azure \
                                OpenAI's content management policy. Please modify your prompt and \
                                retry.",
                    "type": null, "param": "prompt", "code": "content_filter", "status": 400,
                    "innererror": { "code": "ResponsibleAIPolicyViolation",
                        "content_filter_result": { "hate": { "filtered": true } } }
                } }),
                true,
            ),
            (
                json!({ "error": { "code": "invalid_prompt", "message": "No." } }),
                true,
            ),
            (
                json!({ "error": { "code": 403,
                    "message": "Your input was flagged", "metadata": { "reasons": ["x"] } } }),
                true,
            ),
            (
                json!({ "error": { "code": "invalid_value", "param": "metadata",
                    "message": "Invalid value", "input": "flagged" } }),
                false,
            ),
            (
                json!({ "detail": [{ "loc": ["body"], "msg": "wrong", "input": "flagged" }] }),
                false,
            ),
        ] {
            assert_eq!(is_declined(&body), expected, "{body}");
            let is_declined_event = matches!(error_kind(&body), ErrorKind::Declined);
            assert_eq!(is_declined_event, expected, "{body}");
        }
    }

    #[test]
    fn a_server_that_does_not_have_the_model_says_so_by_a_code_or_in_words() {
        for (error, expected) in [
            (json!({ "code": "model_not_found", "message": "No." }), true),
            (json!({ "param": "model", "message": "No." }), true),
            (
                json!({ "code": 400, "message": "x/y is not a valid model ID" }),
                true,
            ),
            (
                json!({ "message": "Invalid model: tiny", "code": "1500" }),
                true,
            ),
            (json!({ "message": "Model Not Exist" }), true),
            (json!("unknown model: tiny"), true),
            (
                json!({ "message": "This model does not support image input" }),
                false,
            ),
            (
                json!({ "param": "messages", "message": "Unknown role." }),
                false,
            ),
        ] {
            let body = json!({ "error": error });
            assert_eq!(is_about_model(&body), expected, "{body}");
        }
    }

    #[test]
    fn only_the_own_words_of_a_server_classify_an_error() {
        let violation = |quota: &str| {
            json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Wait",
                "details": [{ "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                    "violations": [{ "quotaId": quota, "quotaMetric": "PerDay" }] }] } })
        };
        let bad_key = |field: &str| json!([{ "error": { "code": 400, "message": "No", "details": [{ field: "API_KEY_INVALID" }] } }]);
        let raw = |message: &str| {
            let raw = json!({ "error": { "message": message, "input": "context window" } });
            json!({ "error": { "code": 400, "message": "Provider returned error",
                "metadata": { "raw": raw.to_string(), "provider_name": "Acme" } } })
        };
        // Whether the input is too long, the key is invalid, and a retry is of no use.
        for (body, expected) in [
            (
                violation("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
                [false, false, true],
            ),
            (
                violation("GenerateRequestsPerMinutePerProjectPerModel"),
                [false, false, false],
            ),
            (bad_key("reason"), [false, true, false]),
            (bad_key("metadata"), [false, false, false]),
            (raw("prompt is too long"), [true, false, false]),
            (raw("no"), [false, false, false]),
            (
                json!({ "error": { "code": "context_length_exceeded" } }),
                [true, false, false],
            ),
            (
                json!("the request exceeds the available context size"),
                [true, false, false],
            ),
            (
                json!({ "detail": [{ "loc": ["body", "seed"], "msg": "Extra inputs are not permitted",
                    "input": "context length API_KEY_INVALID PerDay" }] }),
                [false, false, false],
            ),
            (
                json!({ "error": { "message": "[{'loc': ('body', 'seed'), 'input': 'context length \
                    API_KEY_INVALID PerDay insufficient_quota'}]" } }),
                [false, false, false],
            ),
            (
                json!({ "error": { "message": "Failed to call a function.",
                    "failed_generation": "context length API_KEY_INVALID PerDay" } }),
                [false, false, false],
            ),
        ] {
            let retry = retry_decision(&HeaderMap::new(), &body);
            let found = [
                is_input_too_long(&body),
                is_bad_key(&body),
                retry == RetryDecision::Never,
            ];
            assert_eq!(found, expected, "{body}");
        }
    }

    #[test]
    fn a_time_to_retry_is_a_delay_until_it_has_passed() {
        let now = "2026-11-30T07:28:00Z".parse().unwrap();
        for (time, expected) in [
            ("Mon, 30 Nov 2026 07:28:07 GMT", Some(7.0)),
            ("Mon, 30 Nov 2026 07:27:00 GMT", None),
            ("soon", None),
        ] {
            assert_eq!(seconds_until(time, now), expected, "{time}");
        }
    }

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
