//! Keys and schemas that the provider would reject are rejected with its error. Other requests are in
//! the tests of the mock itself.

use e2e::{ExchangeOutcome, Format, MockProvider, Turn};
use serde_json::{Value, json};

use super::{first_request, headers, send, send_with};

fn error_message(body: &Value) -> &str {
    let message = &body["error"]["message"];
    message.as_str().unwrap_or_else(|| panic!("{body}"))
}

#[tokio::test]
async fn a_missing_or_unknown_key_is_rejected() {
    let provider = MockProvider::start(Turn::from_text("Hello")).await;
    for (format, missing, unknown) in [
        (
            Format::Anthropic,
            (401, "x-api-key header is required"),
            (401, "invalid x-api-key"),
        ),
        (
            Format::OpenAi,
            (401, "You didn't provide an API key"),
            (401, "Incorrect API key"),
        ),
        (
            Format::Gemini,
            (403, "unregistered callers"),
            (400, "API key not valid"),
        ),
    ] {
        let mut without = headers(format, "");
        for name in ["x-api-key", "authorization", "x-goog-api-key"] {
            without.remove(name);
        }
        for (headers, (status, text)) in
            [(without, missing), (headers(format, "sk-another"), unknown)]
        {
            let answer =
                send_with(&provider, format, headers, &first_request(format, "Hello")).await;
            assert_eq!(answer.status(), status, "{format:?}");
            let body: Value = answer.json().await.unwrap();
            assert!(error_message(&body).contains(text), "{body}");
        }
    }
    let exchanges = provider.exchanges();
    assert_eq!(exchanges[0].outcome(), Some(ExchangeOutcome::Rejected(401)));
    assert_eq!(exchanges[1].headers["x-api-key"], "***");
    assert!(
        !format!("{exchanges:?}").contains("sk-another"),
        "no key is stored"
    );
}

/// A request whose only tool has this input schema.
fn request_with_schema(format: Format, schema: &Value) -> Value {
    let mut body = first_request(format, "Hello");
    body["tools"] = match format {
        Format::Anthropic => json!([{ "name": "a", "input_schema": schema }]),
        Format::Gemini => {
            json!([{ "functionDeclarations": [{ "name": "a", "parametersJsonSchema": schema }] }])
        }
        Format::OpenAiResponses => json!([{ "type": "namespace", "name": "n", "tools": [
            { "type": "function", "name": "a", "parameters": schema }] }]),
        _ => json!([{ "type": "function", "function": { "name": "a", "parameters": schema } }]),
    };
    body
}

#[tokio::test]
async fn schemas_that_a_provider_refuses_are_rejected() {
    const UNION: [Format; 4] = [
        Format::Anthropic,
        Format::OpenAi,
        Format::OpenAiResponses,
        Format::Gemini,
    ];
    const OPENAI: [Format; 2] = [Format::OpenAi, Format::OpenAiResponses];
    let cases: [(Value, &[Format], &str); 9] = [
        (json!({ "oneOf": [{}] }), &UNION, ""),
        (json!({ "anyOf": [{}] }), &UNION, ""),
        (json!({ "allOf": [{}] }), &UNION, ""),
        (json!({ "not": {} }), &OPENAI, "at the top level"),
        (json!({ "enum": [{}] }), &OPENAI, "at the top level"),
        (
            json!({ "properties": { "a": { "type": ["string", "null"] } } }),
            &[Format::Gemini],
            "Proto field is not repeating",
        ),
        (
            json!({ "properties": { "a": { "items": { "nullable": true } } } }),
            &[Format::Gemini],
            "a field of OpenAPI in `parametersJsonSchema`",
        ),
        (
            json!({ "properties": { "nullable": { "required": ["b"] } } }),
            &[Format::Gemini],
            "property is not defined",
        ),
        (
            json!({ "properties": { "größe": {} } }),
            &[Format::Anthropic],
            "Property keys should match pattern",
        ),
    ];
    let provider = MockProvider::start(Turn::from_text("Hello")).await;
    for (mut schema, refusing, text) in cases {
        schema["type"] = json!("object");
        for format in UNION {
            let answer = send(&provider, format, &request_with_schema(format, &schema)).await;
            let status = if refusing.contains(&format) { 400 } else { 200 };
            assert_eq!(answer.status(), status, "{format:?}: {schema}");
            if status == 400 {
                let error: Value = answer.json().await.unwrap();
                assert!(error_message(&error).contains(text), "{error}");
            }
        }
    }
}
