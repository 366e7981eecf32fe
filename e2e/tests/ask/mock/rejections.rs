//! Requests that the provider would reject are rejected with its error.

use axum::http::HeaderMap;
use e2e::{ExchangeOutcome, Format, MockProvider, Script, Turn};
use serde_json::{Value, json};

use super::{first_request, headers, send, send_with};

fn error_message(format: Format, body: &Value) -> &str {
    let message = match format {
        Format::Ollama => &body["error"],
        _ => &body["error"]["message"],
    };
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
            assert!(error_message(format, &body).contains(text), "{body}");
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

#[tokio::test]
async fn tool_calls_without_results_are_rejected() {
    let call = Turn::from_call("look", json!({})).call("look", json!({}));
    let provider = MockProvider::start(Script::new([call, Turn::from_text("Done")])).await;
    for (format, list, call, text) in [
        (
            Format::Anthropic,
            "messages",
            json!({ "role": "assistant", "content": [
                { "type": "tool_use", "id": "a", "name": "look", "input": {} },
            ] }),
            "`tool_use` ids were found without `tool_result` blocks immediately after: a",
        ),
        (
            Format::OpenAi,
            "messages",
            json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": "a", "type": "function", "function": { "name": "look", "arguments": "{}" } },
            ] }),
            "The following tool_call_ids did not have response messages: a",
        ),
        (
            Format::Gemini,
            "contents",
            json!({ "role": "model", "parts": [{ "functionCall": { "name": "look", "args": {} } }] }),
            "the number of function response parts is equal to the number of function call parts",
        ),
    ] {
        let mut body = first_request(format, "Hello");
        let messages = body[list].as_array_mut().unwrap();
        let again = messages[0].clone();
        messages.extend([call, again]);
        let answer = send(&provider, format, &body).await;
        assert_eq!(answer.status(), 400, "{format:?}");
        let body: Value = answer.json().await.unwrap();
        assert!(error_message(format, &body).contains(text), "{body}");
    }
}

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let provider = MockProvider::start(Turn::from_text("Hello")).await;
    let anthropic = |change: fn(&mut Value)| changed_request(Format::Anthropic, change);
    let openai = |change: fn(&mut Value)| changed_request(Format::OpenAi, change);
    let gemini = |change: fn(&mut Value)| changed_request(Format::Gemini, change);
    let ollama = |change: fn(&mut Value)| changed_request(Format::Ollama, change);
    let cases = [
        (
            anthropic(|it| it["max_tokens"] = Value::Null),
            "max_tokens: Field required",
        ),
        (
            anthropic(|it| it["messages"] = json!([])),
            "at least one message is required",
        ),
        (
            anthropic(|it| {
                let message = it["messages"][0].clone();
                it["messages"].as_array_mut().unwrap().push(message);
            }),
            "roles must alternate",
        ),
        (
            anthropic(|it| {
                it["tools"] = json!([{ "name": "a b", "input_schema": { "type": "object" } }])
            }),
            "String should match pattern",
        ),
        (
            anthropic(|it| it["tools"] = json!([{ "name": "a", "input_schema": {} }])),
            "input_schema.type",
        ),
        (
            anthropic(|it| it["tool_choice"] = json!({ "type": "tool", "name": "a" })),
            "Tool 'a' not found",
        ),
        (
            anthropic(|it| it["thinking"] = json!({ "type": "enabled", "budget_tokens": 1024 })),
            "must be greater than `thinking.budget_tokens`",
        ),
        (openai(|it| it["messages"] = json!([])), "empty array"),
        (
            openai(|it| {
                it["tools"] =
                    json!([{ "type": "function", "function": { "name": "a", "parameters": {} } }])
            }),
            "schema must be a JSON Schema of 'type: \"object\"'",
        ),
        (
            gemini(|it| it["contents"] = json!([])),
            "contents is not specified",
        ),
        (
            gemini(|it| {
                it["tools"] = json!([{ "functionDeclarations": [
                { "name": "a", "parameters": { "type": "object", "additionalProperties": false } },
            ] }])
            }),
            "Unknown name \"additionalProperties\"",
        ),
        (
            gemini(|it| it["contents"][0]["role"] = json!("assistant")),
            "Please use a valid role: user, model.",
        ),
        (ollama(|it| it["model"] = json!("")), "model is required"),
        (
            ollama(|it| {
                it["messages"][0]["tool_calls"] = json!([{ "function": { "arguments": "{}" } }])
            }),
            "cannot unmarshal string",
        ),
    ];
    for ((format, body), text) in cases {
        let answer = send(&provider, format, &body).await;
        assert_eq!(answer.status(), 400, "{body}");
        let error: Value = answer.json().await.unwrap();
        assert!(error_message(format, &error).contains(text), "{error}");
    }
    let mut headers: HeaderMap = headers(Format::Anthropic, MockProvider::KEY);
    headers.remove("anthropic-version");
    let body = first_request(Format::Anthropic, "Hello");
    let answer = send_with(&provider, Format::Anthropic, headers, &body).await;
    let error: Value = answer.json().await.unwrap();
    assert!(
        error_message(Format::Anthropic, &error).contains("anthropic-version"),
        "{error}"
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
    let cases: [(Value, &[Format], &str); 10] = [
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
        (
            json!({ "properties": { "a": true } }),
            &[Format::Ollama],
            "cannot unmarshal bool",
        ),
    ];
    let provider = MockProvider::start(Turn::from_text("Hello")).await;
    for (mut schema, refusing, text) in cases {
        schema["type"] = json!("object");
        for format in [UNION.as_slice(), &[Format::Ollama]].concat() {
            let answer = send(&provider, format, &request_with_schema(format, &schema)).await;
            let status = if refusing.contains(&format) { 400 } else { 200 };
            assert_eq!(answer.status(), status, "{format:?}: {schema}");
            if status == 400 {
                let error: Value = answer.json().await.unwrap();
                assert!(error_message(format, &error).contains(text), "{error}");
            }
        }
    }
}

fn changed_request(format: Format, change: fn(&mut Value)) -> (Format, Value) {
    let mut body = first_request(format, "Hello");
    change(&mut body);
    (format, body)
}
