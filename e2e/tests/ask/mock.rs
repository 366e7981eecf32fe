//! The mock provider itself, without an agent.

mod documented_shapes;
mod rejections;
mod responses;

use axum::http::HeaderMap;
use e2e::{Format, MockProvider};
use serde_json::{Value, json};

/// Returns the headers that clients of this provider send with a key.
fn headers(format: Format, key: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |name: &'static str, value: String| {
        headers.insert(name, value.parse().unwrap());
    };
    add("content-type", "application/json".to_owned());
    match format {
        Format::Anthropic => {
            add("x-api-key", key.to_owned());
            add("anthropic-version", "2023-06-01".to_owned());
        }
        Format::OpenAi | Format::OpenAiResponses => {
            add("authorization", format!("Bearer {key}"));
        }
        Format::Gemini => add("x-goog-api-key", key.to_owned()),
    }
    headers
}

fn request_url(provider: &MockProvider, format: Format) -> String {
    let path = match format {
        Format::Anthropic => "messages",
        Format::OpenAi => "chat/completions",
        Format::OpenAiResponses => "responses",
        Format::Gemini => "models/mock:streamGenerateContent?alt=sse",
    };
    format!("{}{path}", provider.base_url(format))
}

/// Returns the first request of a conversation.
fn first_request(format: Format, prompt: &str) -> Value {
    match format {
        Format::Gemini => {
            json!({ "contents": [{ "role": "user", "parts": [{ "text": prompt }] }] })
        }
        Format::OpenAiResponses => json!({
            "model": "mock",
            "stream": true,
            "input": [{ "type": "message", "role": "user",
                "content": [{ "type": "input_text", "text": prompt }] }],
        }),
        _ => json!({
            "model": "mock",
            "max_tokens": 256,
            "stream": true,
            "messages": [{ "role": "user", "content": prompt }],
        }),
    }
}

/// Sends a request like a client with a valid key.
async fn send(provider: &MockProvider, format: Format, body: &Value) -> reqwest::Response {
    let headers = headers(format, MockProvider::KEY);
    send_with(provider, format, headers, body).await
}

async fn send_with(
    provider: &MockProvider,
    format: Format,
    headers: HeaderMap,
    body: &Value,
) -> reqwest::Response {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(request_url(provider, format)).headers(headers);
    request.json(body).send().await.unwrap()
}
