//! The rules and the streams: requests and what becomes of them. Requests that are accepted are the
//! examples of the documents, shortened; each refused one differs from an accepted one in what its rule
//! names.

mod anthropic;
mod gemini;
mod openai;

use http::HeaderMap;
use serde_json::{Value, json};

use super::server::{RequestPolicy, ServerState};
use super::{Format, MockProvider, Script, Turn};
use crate::provider_rules::fields::text;
use crate::provider_rules::{ChatServer, ProviderRequest, Refusal, rule_sources};

/// A provider without its HTTP server.
struct TestProvider {
    state: ServerState,
    script: Script,
}

impl TestProvider {
    fn new(server: ChatServer, turns: impl IntoIterator<Item = Turn>) -> Self {
        let script = Script::new(turns);
        let policy = RequestPolicy::ByRules(server);
        let state = ServerState::new(script.clone().into(), policy);
        Self { state, script }
    }
}

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "application/json"),
        ("authorization", "Bearer key"),
        ("x-api-key", "key"),
        ("x-goog-api-key", "key"),
        ("anthropic-version", "2023-06-01"),
    ] {
        headers.insert(name, value.parse().unwrap());
    }
    headers
}

/// Returns the path of a request, and its body as this format has it.
fn path_and_body(format: Format, body: &Value) -> (String, Value) {
    let mut body = body.clone();
    if format == Format::Gemini {
        let model = body.as_object_mut().unwrap().shift_remove("model");
        let model = model.as_ref().and_then(Value::as_str).unwrap_or_default();
        let path = format!("/v1beta/models/{model}:streamGenerateContent?alt=sse");
        return (path, body);
    }
    if body.get("stream").is_none() {
        body["stream"] = json!(true);
    }
    ("/v1".to_owned(), body)
}

/// Sends a request. Returns the data of the events, and the effects.
fn send_with(
    provider: &TestProvider,
    format: Format,
    headers: &HeaderMap,
    body: &Value,
) -> Result<(Vec<Value>, Vec<&'static str>), Refusal> {
    let (path, body) = path_and_body(format, body);
    let request = ProviderRequest {
        headers,
        path: &path,
        body: &body,
    };
    let answer = provider.state.answer(format, &request, &provider.script)?;
    let frames = answer.frames;
    let steps = frames.steps.concat();
    let events = [frames.opening, steps, frames.closing].concat();
    let events = events.iter().filter_map(|event| {
        let data = event.lines().find_map(|line| line.strip_prefix("data: "))?;
        serde_json::from_str(data).ok()
    });
    Ok((events.collect(), answer.accepted.effects))
}

fn send(provider: &TestProvider, format: Format, body: &Value) -> Result<Vec<Value>, Refusal> {
    send_with(provider, format, &headers(), body).map(|(events, _)| events)
}

/// Returns the rule that refuses a first request, its effect, or "ok".
fn verdict(server: ChatServer, format: Format, body: &Value) -> &'static str {
    let provider = TestProvider::new(server, []);
    let (path, body) = path_and_body(format, body);
    let request = ProviderRequest {
        headers: &headers(),
        path: &path,
        body: &body,
    };
    match provider.state.check(format, &request) {
        Ok(accepted) => accepted.effects.first().copied().unwrap_or("ok"),
        Err(refusal) => refusal.rule,
    }
}

/// A request that is accepted, in the shape of this API.
fn base(format: Format) -> Value {
    let message = json!([{ "role": "user", "content": "What is there?" }]);
    match format {
        Format::Anthropic => json!({ "max_tokens": 8192, "messages": message }),
        Format::OpenAiResponses => json!({ "input": message, "store": false }),
        Format::OpenAi => json!({ "messages": message }),
        Format::Gemini => {
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "What is there?" }] }] })
        }
    }
}

/// Checks rows of model, fields and verdict.
fn check_as(server: ChatServer, format: Format, rows: Vec<(&str, Value, &str)>) {
    for (model, fields, expected) in rows {
        let mut body = base(format);
        body["model"] = json!(model);
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        assert_eq!(verdict(server, format, &body), expected, "{body}");
    }
}

fn check(format: Format, rows: Vec<(&str, Value, &str)>) {
    check_as(ChatServer::OpenAi, format, rows);
}

#[test]
fn every_rule_has_a_document_and_a_date() {
    let sources = rule_sources();
    assert!(sources.len() > 150, "{}", sources.len());
    for rule in &sources {
        assert!(!rule.source.is_empty(), "{rule:?}");
        assert!(rule.date.starts_with("202"), "{rule:?}");
    }
}

/// Checks that these texts have the id of each rule and effect.
fn assert_ids_in(texts: &[&str]) {
    let with_api = |id: &str| id.contains('.') && !id.contains('-');
    for rule in rule_sources().iter().filter(|rule| with_api(rule.id)) {
        let id = format!("\"{}\"", rule.id);
        assert!(texts.iter().any(|text| text.contains(&id)), "{id}");
    }
}

#[test]
fn every_rule_is_checked_by_the_code() {
    assert_ids_in(&[
        include_str!("formats.rs"),
        include_str!("server.rs"),
        include_str!("../provider_rules/anthropic.rs"),
        include_str!("../provider_rules/anthropic/messages.rs"),
        include_str!("../provider_rules/anthropic/rule.rs"),
        include_str!("../provider_rules/anthropic/signatures.rs"),
        include_str!("../provider_rules/chat.rs"),
        include_str!("../provider_rules/chat/servers.rs"),
        include_str!("../provider_rules/gemini.rs"),
        include_str!("../provider_rules/gemini/contents.rs"),
        include_str!("../provider_rules/gemini/rule.rs"),
        include_str!("../provider_rules/openai.rs"),
        include_str!("../provider_rules/responses.rs"),
        include_str!("../provider_rules/responses/input.rs"),
    ]);
}

#[test]
fn every_rule_has_a_test() {
    assert_ids_in(&[
        include_str!("tests.rs"),
        include_str!("tests/anthropic.rs"),
        include_str!("tests/gemini.rs"),
        include_str!("tests/openai.rs"),
    ]);
}

#[test]
fn streams_have_the_events_of_each_provider() {
    let turn = || {
        Turn::default()
            .thinking("Hm.")
            .text("Yes.")
            .call("weather", json!({ "city": "Bern" }))
    };
    let types = |events: &[Value]| -> Vec<String> {
        let mut types: Vec<_> = events
            .iter()
            .map(|event| text(event, "type").to_owned())
            .collect();
        types.dedup();
        types
    };
    let (state, body) = anthropic::preserved("claude-opus-5-5");
    let events = send(&state, Format::Anthropic, &body).unwrap();
    assert_eq!(
        types(&events),
        [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    let ask = |format: Format, model: &str| {
        let mut body = base(format);
        body["model"] = json!(model);
        body
    };
    let state = TestProvider::new(ChatServer::OpenAi, [turn(), turn(), turn()]);
    let events = send(
        &state,
        Format::OpenAiResponses,
        &ask(Format::OpenAiResponses, "gpt-5.6-sol"),
    )
    .unwrap();
    let numbers: Vec<_> = events
        .iter()
        .map(|event| event["sequence_number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    assert_eq!(types(&events).last().unwrap(), "response.completed");
    assert_eq!(
        events.last().unwrap()["response"]["output"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let events = send(&state, Format::OpenAi, &ask(Format::OpenAi, "gpt-4.1")).unwrap();
    assert_eq!(
        events.last().unwrap()["choices"][0]["finish_reason"],
        "tool_calls"
    );
    let events = send(
        &state,
        Format::Gemini,
        &ask(Format::Gemini, "gemini-3.8-flash"),
    )
    .unwrap();
    let call = events
        .iter()
        .find(|event| event["candidates"][0]["content"]["parts"][0]["functionCall"].is_object())
        .unwrap();
    assert!(call["candidates"][0]["content"]["parts"][0]["thoughtSignature"].is_string());
    assert_eq!(
        events.last().unwrap()["candidates"][0]["finishReason"],
        "STOP"
    );
}

#[test]
fn malformed_requests_are_refused() {
    let user = |content: Value| json!([{ "role": "user", "content": content }]);
    let tool = json!({ "name": "a", "input_schema": { "type": "object" } });
    let call = json!({ "type": "tool_use", "id": "t1", "name": "a", "input": {} });
    let result = json!({ "type": "tool_result", "tool_use_id": "t1", "content": "b" });
    let marked =
        json!({ "type": "thinking", "thinking": "", "signature": "x", "cache_control": {} });
    let after = |blocks: Value| {
        json!({ "messages": [
            { "role": "user", "content": "a" }, { "role": "assistant", "content": blocks },
            { "role": "user", "content": [result] },
        ] })
    };
    check(
        Format::Anthropic,
        vec![
            (
                "claude-opus-4-8",
                json!({ "thinking": { "type": "auto" } }),
                "anthropic.type",
            ),
            (
                "claude-opus-4-8",
                json!({ "tools": [tool, tool] }),
                "anthropic.tool_names_unique",
            ),
            (
                "claude-opus-4-8",
                after(json!([call, call])),
                "anthropic.tool_use_duplicate",
            ),
            (
                "claude-opus-4-8",
                after(json!([marked, call])),
                "anthropic.mark_place",
            ),
            ("claude-opus-4-8", json!({ "stream": false }), "mock.stream"),
        ],
    );
    let named = |name: &str| json!([{ "type": "function", "name": name, "strict": false }]);
    let picture = json!([{ "type": "input_image", "detail": "auto", "image_url": "data:image/bmp;base64,AAAA" }]);
    check(
        Format::OpenAiResponses,
        vec![
            ("gpt-5.4", json!({ "input": null }), "openai.missing"),
            (
                "gpt-5.4",
                json!({ "input": [{ "role": "robot", "content": "a" }] }),
                "openai.value",
            ),
            (
                "gpt-5.4",
                json!({ "tools": named("a b") }),
                "openai.tool_name",
            ),
            ("gpt-5.4", json!({ "input": user(picture) }), "openai.image"),
        ],
    );
    let called = |id: &str, arguments: Value| {
        json!({ "messages": [{ "role": "user", "content": "a" }, {
            "role": "assistant", "content": null,
            "tool_calls": [{ "id": id, "type": "function", "function": { "name": "a", "arguments": arguments } }]
        }] })
    };
    let long = "c".repeat(41);
    check(
        Format::OpenAi,
        vec![
            ("gpt-4.1", called("c1", json!({})), "chat.arguments"),
            ("gpt-4.1", called(&long, json!("{}")), "chat.call_id_length"),
            (
                "gpt-4.1",
                json!({ "stream": false, "stream_options": {} }),
                "chat.stream_options",
            ),
        ],
    );
    let developer = json!({ "messages": [{ "role": "developer", "content": "a" }] });
    let mistral = vec![("mistral-large-4-0", developer, "mistral.role")];
    check_as(ChatServer::Mistral, Format::OpenAi, mistral);
    let ending = json!({ "messages": [{ "role": "assistant", "content": "a" }] });
    let tools = json!([{ "type": "function", "function": { "name": "a" } }]);
    let format = json!({ "type": "json_schema", "json_schema": { "schema": {} } });
    let both = json!({ "tools": tools, "response_format": format });
    let llama_cpp = vec![
        ("any", ending, "llama_cpp.prefill"),
        ("any", both, "llama_cpp.schema_wins"),
    ];
    check_as(ChatServer::LlamaCpp, Format::OpenAi, llama_cpp);
    let remote = json!([{ "type": "image_url", "image_url": { "url": "http://a/b.png" } }]);
    let ollama = vec![
        (
            "qwen3",
            json!({ "messages": user(Value::Null) }),
            "ollama.content",
        ),
        ("qwen3", json!({ "messages": user(remote) }), "ollama.image"),
    ];
    check_as(ChatServer::Ollama, Format::OpenAi, ollama);
}

#[test]
fn requests_without_a_key_are_refused() {
    let mut without_keys = headers();
    for name in ["authorization", "x-api-key", "x-goog-api-key"] {
        without_keys.remove(name);
    }
    for (format, model, expected) in [
        (Format::Anthropic, "claude-opus-4-8", "anthropic.key"),
        (Format::OpenAiResponses, "gpt-5.4", "openai.key"),
        (Format::OpenAi, "gpt-4.1", "openai.key"),
        (Format::Gemini, "gemini-3.8-flash", "gemini.key"),
    ] {
        let state = TestProvider::new(ChatServer::OpenAi, []);
        let mut body = base(format);
        body["model"] = json!(model);
        let refused = send_with(&state, format, &without_keys, &body).unwrap_err();
        assert_eq!(refused.rule, expected);
        let refused = send(&state, format, &body).unwrap_err();
        assert_eq!(refused.rule, "mock.script_end");
    }
    let request = ProviderRequest {
        headers: &headers(),
        path: "/",
        body: &json!([]),
    };
    let provider = TestProvider::new(ChatServer::OpenAi, []);
    let refused = provider.state.check(Format::OpenAi, &request);
    assert_eq!(refused.unwrap_err().rule, "mock.json");
}

#[tokio::test]
async fn a_refusal_has_the_body_of_its_provider() {
    let provider = MockProvider::start(Script::default()).await;
    let post = async |url: String| {
        let request = crate::clients::http().post(url);
        let request = request
            .header("x-goog-api-key", MockProvider::KEY)
            .json(&json!({}));
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json::<Value>().await.unwrap())
    };
    let (status, body) = post(format!("{}messages", provider.base_url(Format::Anthropic))).await;
    assert_eq!(
        (status, &body["error"]["type"]),
        (401, &json!("authentication_error"))
    );
    let (status, body) = post(format!(
        "{}responses",
        provider.base_url(Format::OpenAiResponses)
    ))
    .await;
    assert_eq!(
        (status, &body["error"]["code"]),
        (401, &json!("invalid_api_key"))
    );
    let model = "models/gemini-3.8-flash:streamGenerateContent?alt=sse";
    let (status, body) = post(format!("{}{model}", provider.base_url(Format::Gemini))).await;
    assert_eq!(
        (status, &body["error"]["status"]),
        (400, &json!("INVALID_ARGUMENT"))
    );
    let unknown = crate::clients::http().get(format!("{}/models", provider.url()));
    assert_eq!(unknown.send().await.unwrap().status(), 404);
    let rules: Vec<_> = provider
        .exchanges()
        .iter()
        .map(|it| it.refused_by)
        .collect();
    let expected = ["anthropic.key", "openai.key", "gemini.contents"].map(Some);
    assert_eq!(rules, expected);
}
