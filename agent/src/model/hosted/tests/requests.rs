//! Tests of what arrives at a server. The whole bodies are in the tests of the wires.

use bridge_protocol::Query;

use super::streams::{TEXT, answer};
use super::*;
use crate::agent_loop::FinishedTranscript;
use crate::conversations::StoredQuery;

#[tokio::test]
async fn each_api_has_its_path_and_the_header_of_its_key() {
    for (api, path, key) in [
        (Api::Messages, "/v1/messages", "x-api-key"),
        (Api::Responses, "/v1/responses", "authorization"),
        (
            Api::ChatCompletions,
            "/v1/chat/completions",
            "authorization",
        ),
        (
            Api::Gemini,
            "/v1/models/gemini-4-argon:streamGenerateContent?alt=sse",
            "x-goog-api-key",
        ),
    ] {
        let server = FakeProvider::new([Reply::new(answer(api, "Hi"))]).await;
        let output = collect_turn(&model_for(api, &settings(&server)), first_request()).await;
        assert_eq!(output.turn().text, "Hi");
        let received = server.requests().remove(0);
        assert_eq!(received.path, path);
        let value = match key {
            "authorization" => format!("Bearer {KEY}"),
            _ => KEY.to_owned(),
        };
        assert_eq!(received.headers[key], value.as_str(), "{api:?}");
        let holders = received.headers.iter();
        let holders = holders.filter(|(_, value)| value.to_str().unwrap().contains(KEY));
        assert_eq!(holders.count(), 1, "{api:?}");
        assert!(!received.body.to_string().contains(KEY), "{api:?}");
        assert_eq!(received.headers["content-type"], "application/json");
        assert_eq!(received.headers["accept"], "text/event-stream");
        let version = received.headers.get("anthropic-version");
        assert_eq!(version.is_some(), api == Api::Messages);
    }
}

#[tokio::test]
async fn a_server_without_a_key_gets_no_header_and_only_common_fields() {
    let api = Api::ChatCompletions;
    let server = FakeProvider::new([Reply::new(answer(api, "Hi"))]).await;
    let access = ProviderAccess {
        provider: Provider::Openai,
        model: "mistral-medium".to_owned(),
        key: None,
    };
    let model = RetryingModel::new(HostedModel::new(access, &settings(&server)).unwrap(), 0);
    collect_turn(&model, first_request()).await.turn();
    let received = server.requests().remove(0);
    assert!(!received.headers.contains_key("authorization"));
    let fields: Vec<_> = received.body.as_object().unwrap().keys().collect();
    let common = [
        "model",
        "max_tokens",
        "messages",
        "tools",
        "stream",
        "stream_options",
    ];
    assert_eq!(fields, common);
}

#[tokio::test]
async fn chat_completions_of_ollama_are_below_v1() {
    for (base_url, path) in [
        ("", "/v1/chat/completions"),
        ("v1/", "/v1/chat/completions"),
        ("ollama/", "/ollama/chat/completions"),
    ] {
        let reply = Reply::new(answer(Api::ChatCompletions, "Hi"));
        let server = FakeProvider::new([reply]).await;
        let access = ProviderAccess {
            provider: Provider::Ollama,
            model: "llama3.2".to_owned(),
            key: None,
        };
        let settings = ModelSettings {
            base_url: Some(server.root_url().join(base_url).unwrap()),
            retries: 0,
            ..ModelSettings::default()
        };
        let model = HostedModel::new(access, &settings).unwrap();
        let label = format!("ollama llama3.2 at {}", server.root_url());
        assert_eq!(model.label(), label.trim_end_matches('/'));
        let output = collect_turn(&RetryingModel::new(model, 0), first_request()).await;
        assert_eq!(output.turn().text, "Hi");
        let received = server.requests().remove(0);
        assert_eq!(received.path, path);
        assert_eq!(received.body["reasoning_effort"], "none");
    }
}

/// Returns the model `m` of a provider, or of a server with its API.
fn model_at(provider: Provider, base_url: Option<&str>, pictures: Pictures) -> HostedModel {
    let access = ProviderAccess {
        provider,
        model: "m".to_owned(),
        key: None,
    };
    let settings = ModelSettings {
        base_url: base_url.map(|url| url.parse().unwrap()),
        pictures,
        ..ModelSettings::default()
    };
    HostedModel::new(access, &settings).unwrap()
}

#[test]
fn a_label_names_provider_model_and_a_foreign_server() {
    let label = |provider, base_url| {
        let model = model_at(provider, base_url, Pictures::Auto);
        model.label().to_owned()
    };
    for (provider, base_url, expected) in [
        (Provider::Anthropic, None, "anthropic m"),
        (
            Provider::Openai,
            Some("https://api.openai.com/v1/"),
            "openai m",
        ),
        // A region of OpenAI
        (
            Provider::Openai,
            Some("https://eu.api.openai.com/v1/"),
            "openai m",
        ),
        (
            Provider::Openai,
            Some("https://fakeapi.openai.com/v1/"),
            "openai m at https://fakeapi.openai.com",
        ),
        (Provider::Gemini, None, "gemini m"),
        (Provider::Ollama, None, "ollama m"),
        (
            Provider::Openai,
            Some("http://user:secret@127.0.0.1:8000/v1/"),
            "openai m at http://127.0.0.1:8000",
        ),
    ] {
        assert_eq!(label(provider, base_url), expected);
    }
}

#[test]
fn a_model_reads_pictures_and_at_its_own_api_pdf_files() {
    let reads = |provider, base_url, pictures, mime_type| {
        let model = model_at(provider, base_url, pictures);
        model.reads_media(mime_type)
    };
    let other = Some("http://127.0.0.1:9/v1/");
    for (provider, base_url, pictures, mime_type, expected) in [
        (Provider::Openai, None, Pictures::Auto, "image/webp", true),
        (Provider::Openai, None, Pictures::Off, "image/webp", false),
        (Provider::Openai, None, Pictures::Auto, "image/tiff", false),
        (Provider::Openai, other, Pictures::Auto, "image/webp", false),
        (Provider::Openai, other, Pictures::On, "image/webp", true),
        (Provider::Gemini, None, Pictures::Auto, "image/gif", false),
        (Provider::Anthropic, None, Pictures::Auto, "image/gif", true),
        (Provider::Ollama, None, Pictures::Auto, "image/png", false),
        (Provider::Ollama, None, Pictures::On, "image/png", true),
        (
            Provider::Gemini,
            None,
            Pictures::Auto,
            "application/pdf",
            true,
        ),
        (
            Provider::Openai,
            None,
            Pictures::Auto,
            "application/pdf",
            true,
        ),
        (
            Provider::Gemini,
            other,
            Pictures::On,
            "application/pdf",
            false,
        ),
        (
            Provider::Ollama,
            None,
            Pictures::On,
            "application/pdf",
            false,
        ),
    ] {
        let actual = reads(provider, base_url, pictures, mime_type);
        assert_eq!(actual, expected, "{provider} {base_url:?} {mime_type}");
    }
}

/// Returns the calls with the ids that a request sends back, and the ids of the results.
fn sent_ids(api: Api, body: &Value) -> (Vec<String>, Vec<String>) {
    let (calls, results): (Vec<_>, Vec<_>) = match api {
        Api::Messages => (
            find(body, "tool_use", "id"),
            find(body, "tool_result", "tool_use_id"),
        ),
        Api::Responses => (
            find(body, "function_call", "call_id"),
            find(body, "function_call_output", "call_id"),
        ),
        Api::ChatCompletions => {
            let messages = body["messages"].as_array().unwrap().iter();
            let results = messages.filter_map(|message| message["tool_call_id"].as_str());
            let results = results.map(str::to_owned).collect();
            (find(&body["messages"], "function", "id"), results)
        }
        Api::Gemini => {
            let contents = body["contents"].as_array().unwrap().iter();
            let parts = contents.flat_map(|content| content["parts"].as_array().unwrap());
            let ids = |name: &'static str| {
                let ids = parts
                    .clone()
                    .filter_map(move |part| part[name]["id"].as_str());
                ids.map(str::to_owned).collect()
            };
            (ids("functionCall"), ids("functionResponse"))
        }
    };
    (calls, results)
}

/// Returns a field of each object of this type.
fn find(value: &Value, kind: &str, field: &str) -> Vec<String> {
    match value {
        Value::Object(fields) if fields.get("type").is_some_and(|it| it == kind) => {
            let found = fields.get(field).and_then(Value::as_str);
            found.map(str::to_owned).into_iter().collect()
        }
        Value::Object(fields) => {
            let values = fields.values();
            values.flat_map(|it| find(it, kind, field)).collect()
        }
        Value::Array(elements) => {
            let elements = elements.iter();
            elements.flat_map(|it| find(it, kind, field)).collect()
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn a_turn_goes_back_with_its_thoughts_and_a_result_for_each_call() {
    for api in ALL {
        let calls = Reply::new(WholeStream::of(api).text());
        let done = Reply::new(answer(api, "Done"));
        let server = FakeProvider::new([calls, done]).await;
        let model = model_for(api, &settings(&server));
        let (turn, _) = collect_turn(&model, first_request()).await.end.unwrap();
        let ids: Vec<_> = turn.calls.iter().map(|call| call.id.clone()).collect();
        let results = results(&turn);
        let history = vec![question(), ModelMessage::Model(turn), results];
        collect_turn(&model, request(history)).await.turn();
        let requests = server.requests();
        let body = &requests[1].body;
        assert_eq!(sent_ids(api, body), (ids.clone(), ids), "{api:?}: {body:#}");
        let body = body.to_string();
        let thought = match api {
            Api::Messages => "EqQBCgIYAhIM1gbc",
            Api::Responses => "gAAAA",
            Api::ChatCompletions => streams::THOUGHTS,
            Api::Gemini => "QUFB",
        };
        for text in [TEXT, thought, "result 0", "result 1"] {
            assert!(body.contains(text), "{api:?} {text}: {body}");
        }
        // The first request is the beginning of the second.
        let first = requests[0].body.as_object().unwrap();
        let second = requests[1].body.as_object().unwrap();
        for (name, value) in first {
            match (value, &second[name]) {
                (Value::Array(first), Value::Array(second)) => {
                    assert_eq!(first[..], second[..first.len()], "{api:?} {name}");
                }
                (first, second) => assert_eq!(first, second, "{api:?} {name}"),
            }
        }
    }
}

/// Returns a history as a conversation stores it and reads it again.
fn stored(messages: Vec<ModelMessage>) -> Vec<ModelMessage> {
    let transcript = FinishedTranscript {
        messages,
        tool_names: Default::default(),
    };
    let query = StoredQuery::new(&Query::new("q", "What is the weather?"), transcript);
    let json = serde_json::to_string(&query).unwrap();
    assert!(!json.contains(KEY), "{json}");
    let query: StoredQuery = serde_json::from_str(&json).unwrap();
    query.into_messages().collect()
}

#[tokio::test]
async fn a_stored_turn_goes_back_as_text_and_calls_to_another_model_server_or_account() {
    for api in ALL {
        let model = |server: &FakeProvider, name: &str, key: &str| {
            let access = ProviderAccess {
                provider: provider(api),
                model: name.to_owned(),
                key: Some(Secret::from_trusted(key.to_owned())),
            };
            let settings = ModelSettings {
                openai_api: (api == Api::Responses).then_some(OpenaiApi::Responses),
                ..settings(server)
            };
            RetryingModel::new(HostedModel::new(access, &settings).unwrap(), 0)
        };
        let (name, thought, other_name) = match api {
            Api::Messages => ("claude-sonnet-5", "EqQBCgIYAhIM1gbc", "claude-opus-5"),
            Api::Responses => ("gpt-6.2-sol", "gAAAA", "gpt-6.1-sol"),
            Api::ChatCompletions => ("qwen3", streams::THOUGHTS, "qwen3-coder"),
            Api::Gemini => ("gemini-4-argon", "QUFB", "gemini-3.8-flash"),
        };
        let first = Reply::new(WholeStream::of(api).text());
        let done = || Reply::new(answer(api, "Done"));
        let server = FakeProvider::new([first, done(), done(), done()]).await;
        let other = FakeProvider::new([done()]).await;
        let (turn, _) = collect_turn(&model(&server, name, KEY), first_request())
            .await
            .end
            .unwrap();
        let results = results(&turn);
        let history = stored(vec![question(), ModelMessage::Model(turn), results]);
        let binds_account = matches!(api, Api::Messages | Api::Responses);
        for (to, name, key, has_thoughts) in [
            (&server, name, KEY, true),
            (&server, name, "another-key", !binds_account),
            (&server, other_name, KEY, false),
            (&other, name, KEY, false),
        ] {
            let model = model(to, name, key);
            collect_turn(&model, request(history.clone())).await.turn();
            let body = to.requests().pop().unwrap().body.to_string();
            for part in [TEXT, "San Francisco", "result 0", "result 1"] {
                assert!(body.contains(part), "{api:?} {name} {key} {part}: {body}");
            }
            assert_eq!(
                body.contains(thought),
                has_thoughts,
                "{api:?} {name} {key}: {body}"
            );
        }
    }
}

#[tokio::test]
async fn a_turn_of_another_api_goes_back_as_text_and_calls() {
    for from in ALL {
        let server = FakeProvider::new([Reply::new(WholeStream::of(from).text())]).await;
        let model = model_for(from, &settings(&server));
        let (turn, _) = collect_turn(&model, first_request()).await.end.unwrap();
        let history = vec![
            question(),
            ModelMessage::Model(turn.clone()),
            results(&turn),
        ];
        for to in ALL.into_iter().filter(|to| *to != from) {
            let server = FakeProvider::new([Reply::new(answer(to, "Done"))]).await;
            let model = model_for(to, &settings(&server));
            collect_turn(&model, request(history.clone())).await.turn();
            let body = server.requests().remove(0).body;
            let text = body.to_string();
            for part in [
                TEXT,
                "San Francisco",
                "Europe/Berlin",
                "result 0",
                "result 1",
            ] {
                assert!(text.contains(part), "{from:?} to {to:?}: {text}");
            }
            for thought in ["EqQBCgIYAhIM1gbc", "gAAAA", streams::THOUGHTS, "QUFB"] {
                assert!(!text.contains(thought), "{from:?} to {to:?}: {text}");
            }
        }
    }
}

#[test]
fn a_model_that_gets_no_tools_in_chat_completions_is_refused_at_the_start() {
    let start = |model: &str, openai_api, base_url: Option<&str>| {
        let access = ProviderAccess {
            provider: Provider::Openai,
            model: model.to_owned(),
            key: None,
        };
        let settings = ModelSettings {
            base_url: base_url.map(|url| url.parse().unwrap()),
            openai_api,
            ..ModelSettings::default()
        };
        HostedModel::new(access, &settings)
    };
    let chat = Some(OpenaiApi::ChatCompletions);
    for base_url in [None, Some("https://us.api.openai.com/v1/")] {
        for model in ["gpt-6.2-sol", "gpt-6.1-terra", "gpt-5.4-pro"] {
            let failure = start(model, chat, base_url).unwrap_err();
            assert_eq!(failure.code, ErrorCode::ModelRequestRefused);
            assert!(failure.message.contains(model), "{failure}");
            let remedy = failure.remedy.unwrap();
            assert!(remedy.contains("`openai_api` to `responses`"), "{remedy}");
        }
    }
    for (model, openai_api, base_url) in [
        ("gpt-6.2-sol", None, None),
        ("gpt-5.6-sol", chat, None),
        // It may be a model without that limit.
        ("o4-pro", chat, None),
        (
            "openai/gpt-6.2-sol",
            chat,
            Some("https://openrouter.ai/api/v1/"),
        ),
    ] {
        assert!(start(model, openai_api, base_url).is_ok(), "{model}");
    }
}
