//! Tests of failures, each with every provider that can fail in that way.

use super::fake_provider::ReplyEnd;
use super::*;

fn stream_start(provider: Provider) -> String {
    match provider {
        Provider::Anthropic => anthropic::STREAM_START.to_owned(),
        Provider::Openai => openai::stream_start(),
        Provider::Gemini => gemini::stream_start(),
        Provider::Ollama | Provider::Commands => ollama::stream_start(),
    }
}

fn stream_end(provider: Provider, reason: &str) -> String {
    match provider {
        Provider::Anthropic => anthropic::stream_end(reason),
        Provider::Openai => openai::stream_end(reason),
        Provider::Gemini => gemini::stream_end(reason),
        Provider::Ollama | Provider::Commands => ollama::stream_end(reason),
    }
}

/// Returns an error in the stream, in the provider's format.
fn error_event(provider: Provider) -> &'static str {
    match provider {
        // https://platform.claude.com/docs/en/build-with-claude/streaming#error-events
        Provider::Anthropic => {
            "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \
             \"message\": \"Overloaded\"}}\n\n"
        }
        // https://platform.openai.com/docs/guides/error-codes
        Provider::Openai => {
            "data: {\"error\": {\"message\": \"Overloaded\", \"type\": \"server_error\", \"param\": \
             null, \"code\": null}}\n\n"
        }
        // https://ai.google.dev/gemini-api/docs/troubleshooting
        Provider::Gemini => {
            "data: {\"error\": {\"code\": 503, \"message\": \"Overloaded\", \"status\": \
             \"UNAVAILABLE\"}}\r\n\r\n"
        }
        // https://docs.ollama.com/api/errors
        Provider::Ollama | Provider::Commands => "{\"error\":\"Overloaded\"}\n",
    }
}

/// Returns the failure of a turn with this reply, without retries.
async fn failure_for(provider: Provider, reply: Reply) -> AgentFailure {
    let server = FakeProvider::new([reply]).await;
    let model = model_for(provider, &settings(&server));
    let output = collect_turn(&model, request(vec![question()])).await;
    let failure = output.end.expect_err("the turn has not failed");
    assert!(failure.message.chars().count() <= 300, "{failure}");
    assert!(!failure.to_string().contains(KEY), "{failure}");
    failure
}

#[tokio::test]
async fn every_status_has_its_code() {
    for provider in ALL {
        for (status, code) in [
            (302, ErrorCode::ModelRequestRefused),
            (400, ErrorCode::ModelRequestRefused),
            (401, ErrorCode::ModelUnauthorized),
            (403, ErrorCode::ModelUnauthorized),
            (404, ErrorCode::ModelRequestRefused),
            (429, ErrorCode::ModelRateLimited),
            (500, ErrorCode::ModelUnavailable),
            (529, ErrorCode::ModelUnavailable),
        ] {
            let key = if provider == Provider::Ollama {
                ""
            } else {
                KEY
            };
            let text = format!("Of {key} {}", "we have enough ".repeat(100));
            let body = json!({"error": {"message": text}}).to_string();
            let failure = failure_for(provider, Reply::status(status, body)).await;
            assert_eq!(failure.code, code, "{provider} {status}: {failure}");
            assert!(failure.message.contains(&status.to_string()), "{failure}");
            let is_shown = failure.message.contains("we have enough");
            assert_eq!(is_shown, status != 401, "{failure}");
        }
    }
}

#[tokio::test]
async fn an_unknown_gemini_key_is_unauthorized() {
    // https://ai.google.dev/gemini-api/docs/api-key: 400, not 401.
    let body = r#"{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]}}"#;
    let failure = failure_for(Provider::Gemini, Reply::status(400, body)).await;
    assert_eq!(failure.code, ErrorCode::ModelUnauthorized);
    assert!(failure.remedy.unwrap().contains("GEMINI_API_KEY"));
}

#[tokio::test]
async fn input_that_is_too_long_is_refused_with_a_remedy() {
    for (provider, status, body) in [
        (
            Provider::Anthropic,
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error",
                "message": "prompt is too long: 200534 tokens > 200000 maximum"}}),
        ),
        (
            Provider::Openai,
            400,
            json!({"error": {"message": "Your input is more than this model takes.",
                "type": "invalid_request_error", "code": "context_length_exceeded"}}),
        ),
        (
            Provider::Openai,
            400,
            json!({"error": {"code": 400, "message": "the request exceeds the available size",
                "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}),
        ),
        (
            Provider::Gemini,
            400,
            json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
                "The input token count (314175) exceeds the maximum number of tokens allowed."}}),
        ),
    ] {
        let failure = failure_for(provider, Reply::status(status, body.to_string())).await;
        assert_eq!(failure.code, ErrorCode::ModelInputTooLong, "{failure}");
        assert!(failure.message.contains("cannot read so much"), "{failure}");
        assert!(failure.remedy.unwrap().contains("less context"));
    }
    let other = Reply::status(400, r#"{"error": {"message": "Unknown role."}}"#);
    let other = failure_for(Provider::Openai, other).await;
    assert_eq!(other.remedy, None);
}

#[tokio::test]
async fn a_schema_that_is_not_supported_is_refused_with_a_remedy() {
    // The answer of llama.cpp.
    let body = json!({"error": {"code": 400, "type": "invalid_request_error", "message":
        "Automatic parser generation failed: JSON schema error at #/properties/n: unsupported $ref #"}});
    let reply = Reply::status(400, body.to_string());
    let failure = failure_for(Provider::Openai, reply).await;
    assert_eq!(failure.code, ErrorCode::ModelRequestRefused, "{failure}");
    assert!(failure.remedy.unwrap().contains("a simpler schema"));
}

#[tokio::test]
async fn errors_name_a_compatible_server_by_its_api() {
    for (provider, subject) in [
        (Provider::Anthropic, "the model server (anthropic API) "),
        (Provider::Openai, "the model server (openai API) "),
        (Provider::Gemini, "the model server (gemini API) "),
        (Provider::Ollama, "ollama "),
    ] {
        let failure = failure_for(provider, Reply::status(404, "")).await;
        assert!(failure.message.starts_with(subject), "{failure}");
        assert!(!failure.message.contains("127.0.0.1"), "{failure}");
    }
}

#[tokio::test]
async fn reasoning_with_tools_is_refused_naming_the_setting() {
    // The text is quoted from openai/openai-openapi#541.
    let body = r#"{"error": {"message": "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead.", "type": "invalid_request_error", "param": "reasoning_effort", "code": null}}"#;
    let failure = failure_for(Provider::Openai, Reply::status(400, body)).await;
    assert_eq!(failure.code, ErrorCode::ModelRequestRefused);
    assert!(failure.remedy.unwrap().contains("`thinking` to off"));
}

#[tokio::test]
async fn a_disconnect_is_broken_and_a_missing_end_is_unfinished() {
    for provider in ALL {
        for chunk_size in [3, usize::MAX] {
            let reply = Reply::new(stream_start(provider)).with_chunk_size(chunk_size);
            let broken = reply.clone().ending_with(ReplyEnd::Disconnect);
            let broken = failure_for(provider, broken).await;
            let code = ErrorCode::ModelStreamBroken;
            assert_eq!(broken.code, code, "{provider}: {broken}");
            let unfinished = failure_for(provider, reply).await;
            let code = ErrorCode::ModelStreamUnfinished;
            assert_eq!(unfinished.code, code, "{provider}: {unfinished}");
        }
        let empty = failure_for(provider, Reply::new("")).await;
        assert_eq!(empty.code, ErrorCode::ModelStreamUnfinished);
        assert!(empty.remedy.unwrap().contains("base URL"), "{provider}");
    }
}

#[tokio::test]
async fn unreadable_data_breaks_the_answer() {
    for provider in [Provider::Openai, Provider::Gemini, Provider::Ollama] {
        let garbage = match provider {
            Provider::Ollama => "{\"message\":\n",
            _ => "data: {\"choices\":\n\n",
        };
        let reply = Reply::new(format!("{}{garbage}", stream_start(provider)));
        let failure = failure_for(provider, reply).await;
        assert_eq!(failure.code, ErrorCode::ModelStreamBroken, "{failure}");
    }
}

#[tokio::test]
async fn a_stream_error_is_classified_only_before_the_first_output() {
    for provider in ALL {
        let late = failure_for(
            provider,
            Reply::new(stream_start(provider) + error_event(provider)),
        )
        .await;
        assert_eq!(
            late.code,
            ErrorCode::ModelStreamBroken,
            "{provider}: {late}"
        );
        assert!(late.message.ends_with(": Overloaded"), "{provider}: {late}");
        let early = failure_for(provider, Reply::new(error_event(provider))).await;
        let code = match provider {
            // Errors of Ollama do not name a kind.
            Provider::Ollama => ErrorCode::ModelStreamBroken,
            _ => ErrorCode::ModelUnavailable,
        };
        assert_eq!(early.code, code, "{provider}: {early}");
    }
    let limited = error_event(Provider::Anthropic).replace("overloaded_error", "rate_limit_error");
    let failure = failure_for(Provider::Anthropic, Reply::new(limited)).await;
    assert_eq!(failure.code, ErrorCode::ModelRateLimited);
}

#[tokio::test]
async fn every_abnormal_stop_reason_has_its_code() {
    use ErrorCode::{ModelArgumentsCutOff, ModelLengthReached, ModelRefused, ModelStreamBroken};
    for (provider, reason, code) in [
        (Provider::Anthropic, "max_tokens", ModelLengthReached),
        (Provider::Anthropic, "refusal", ModelRefused),
        (Provider::Openai, "length", ModelLengthReached),
        (Provider::Openai, "content_filter", ModelRefused),
        (Provider::Openai, "error", ModelStreamBroken),
        (Provider::Gemini, "MAX_TOKENS", ModelLengthReached),
        (Provider::Gemini, "SAFETY", ModelRefused),
        (Provider::Gemini, "OTHER", ModelStreamBroken),
        (
            Provider::Gemini,
            "MALFORMED_FUNCTION_CALL",
            ModelArgumentsCutOff,
        ),
        (Provider::Ollama, "length", ModelLengthReached),
    ] {
        let reply = Reply::new(stream_start(provider) + &stream_end(provider, reason));
        let failure = failure_for(provider, reply).await;
        assert_eq!(failure.code, code, "{provider} {reason}: {failure}");
    }
}

#[tokio::test]
async fn truncated_arguments_are_never_used() {
    for (provider, answer) in [
        (Provider::Anthropic, anthropic::truncated_call()),
        (Provider::Openai, openai::truncated_call()),
    ] {
        let failure = failure_for(provider, Reply::new(answer)).await;
        assert_eq!(failure.code, ErrorCode::ModelArgumentsCutOff, "{failure}");
        assert!(failure.message.contains("get_weather"), "{failure}");
    }
}

#[tokio::test]
async fn a_missing_provider_is_unreachable() {
    let server = FakeProvider::new([]).await;
    let settings = settings(&server);
    drop(server);
    for provider in ALL {
        let model = model_for(provider, &settings);
        let failure = collect_turn(&model, request(vec![question()]))
            .await
            .end
            .unwrap_err();
        assert_eq!(failure.code, ErrorCode::ModelUnavailable, "{failure}");
        assert!(failure.message.contains("cannot be reached"), "{failure}");
    }
}

#[tokio::test]
async fn a_silent_provider_is_given_up_and_its_connection_closed() {
    let short = Duration::from_millis(50);
    let long = Duration::from_secs(600);
    for provider in ALL {
        for (start, first_token_within, provider_silence, expected) in [
            (
                String::new(),
                short,
                long,
                "has not begun to answer within 50ms",
            ),
            (
                stream_start(provider),
                long,
                short,
                "has sent nothing for 50ms",
            ),
        ] {
            let server = FakeProvider::new([Reply::new(start).ending_with(ReplyEnd::Hang)]).await;
            let settings = ModelSettings {
                first_token_within,
                provider_silence,
                ..settings(&server)
            };
            let model = model_for(provider, &settings);
            let failure = collect_turn(&model, request(vec![question()]))
                .await
                .end
                .unwrap_err();
            assert_eq!(failure.code, ErrorCode::ModelUnavailable, "{failure}");
            assert!(failure.message.contains(expected), "{provider}: {failure}");
            tokio::time::timeout(Duration::from_secs(20), server.disconnected())
                .await
                .expect("the connection is still open");
        }
    }
}

#[tokio::test]
async fn a_busy_provider_is_retried_unless_it_asks_for_too_long() {
    for provider in ALL {
        let answer =
            stream_start(provider) + &stream_end(provider, "stop").replace("\"stop\"", "\"STOP\"");
        let busy = || Reply::status(429, "");
        let server = FakeProvider::new([
            busy().header("retry-after-ms", "1"),
            Reply::status(529, "").header("retry-after", "0"),
            Reply::new(answer),
        ])
        .await;
        let twice = ModelSettings {
            retries: 2,
            ..settings(&server)
        };
        let output = collect_turn(&model_for(provider, &twice), request(vec![question()])).await;
        assert_eq!(output.text, "Okay, München – 天气:", "{provider}");
        assert!(output.notes[0].starts_with("the model is busy: trying again in"));
        assert!(output.notes[1].starts_with("the model is not available: trying"));
        assert_eq!(server.requests().len(), 3);
        let server = FakeProvider::new([
            busy().header("retry-after", "31"),
            busy().header("x-should-retry", "false"),
            Reply::status(
                429,
                r#"{"error":{"message":"Pay","code":"insufficient_quota"}}"#,
            ),
            Reply::status(
                429,
                r#"[{"error":{"message":"Wait","details":[{"retryDelay":"34.07s"}]}}]"#,
            ),
        ])
        .await;
        let twice = ModelSettings {
            base_url: Some(server.url()),
            ..twice
        };
        for expected in 1..=4 {
            let output =
                collect_turn(&model_for(provider, &twice), request(vec![question()])).await;
            let failure = output.end.unwrap_err();
            assert_eq!(failure.code, ErrorCode::ModelRateLimited, "{provider}");
            assert!(output.notes.is_empty(), "{:?}", output.notes);
            assert_eq!(server.requests().len(), expected);
        }
    }
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_given_up() {
    let start = stream_start(Provider::Ollama);
    let line = start.lines().next().unwrap();
    let line = line.replace("Okay, München", &"x".repeat(1024 * 1024));
    let reply = Reply::new([line.as_str(); 65].join("\n"));
    let failure = failure_for(Provider::Ollama, reply).await;
    assert_eq!(failure.code, ErrorCode::ModelStreamBroken);
    assert!(
        failure.message.contains("more than an answer can be"),
        "{failure}"
    );
}
