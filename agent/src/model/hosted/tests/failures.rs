//! Tests of failures, each with every API that can fail in that way.

use super::fake_provider::ReplyEnd;
use super::streams::{error_event, frame, start, stopped};
use super::*;

/// Returns the output of a turn with this reply, without retries. The failure must not show the key.
async fn output_for(api: Api, reply: Reply) -> TurnOutput {
    let server = FakeProvider::new([reply]).await;
    let output = collect_turn(&model_for(api, &settings(&server)), first_request()).await;
    let failure = output.failure();
    assert!(failure.message.chars().count() <= 300, "{failure}");
    assert!(!format!("{failure:?}").contains(KEY), "{failure:?}");
    output
}

async fn failure_for(api: Api, reply: Reply) -> AgentFailure {
    output_for(api, reply).await.end.unwrap_err()
}

fn log_message(failure: &AgentFailure) -> &str {
    failure.log_message.as_deref().unwrap_or_default()
}

#[tokio::test]
async fn every_status_has_its_code_and_the_text_of_the_provider_is_only_in_the_log() {
    for api in ALL {
        for (status, code) in [
            (302, ErrorCode::ModelRequestRefused),
            (400, ErrorCode::ModelRequestRefused),
            (401, ErrorCode::ModelUnauthorized),
            (403, ErrorCode::ModelUnauthorized),
            (404, ErrorCode::ModelRequestRefused),
            (408, ErrorCode::ModelUnavailable),
            (413, ErrorCode::ModelInputTooLong),
            (422, ErrorCode::ModelRequestRefused),
            (429, ErrorCode::ModelRateLimited),
            (500, ErrorCode::ModelUnavailable),
            (503, ErrorCode::ModelUnavailable),
            (529, ErrorCode::ModelUnavailable),
        ] {
            let text = format!("Of {KEY} in org-123 {}", "we have enough ".repeat(100));
            let body = json!({ "error": { "message": text } }).to_string();
            let failure = failure_for(api, Reply::status(status, body)).await;
            assert_eq!(failure.code, code, "{api:?} {status}: {failure}");
            assert!(failure.message.contains(&status.to_string()), "{failure}");
            assert!(!failure.to_string().contains("org-123"), "{failure}");
            // The text about an invalid key shows parts of it.
            let is_logged = log_message(&failure).contains("org-123 we have enough");
            assert_eq!(is_logged, status != 401, "{failure:?}");
            assert!(log_message(&failure).chars().count() <= 300, "{failure:?}");
            assert!(failure.remedy.is_some(), "{failure}");
        }
    }
}

#[tokio::test]
async fn a_page_of_a_proxy_is_an_error_without_its_text() {
    for api in ALL {
        let reply = Reply::status(502, "<html><h1>Bad gateway of acme</h1></html>");
        let failure = failure_for(api, reply).await;
        assert_eq!(failure.code, ErrorCode::ModelUnavailable);
        assert!(!format!("{failure:?}").contains("acme"), "{failure:?}");
        let reply = Reply::new("<html>Please log in at acme</html>\n\n");
        let failure = failure_for(api, reply.header("content-type", "text/html")).await;
        assert_eq!(failure.code, ErrorCode::ModelStreamUnfinished);
        assert!(failure.remedy.unwrap().contains("base URL"));
    }
}

#[tokio::test]
async fn an_unknown_gemini_key_is_unauthorized() {
    // https://ai.google.dev/gemini-api/docs/api-key: 400, not 401.
    let body = r#"{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]}}"#;
    let failure = failure_for(Api::Gemini, Reply::status(400, body)).await;
    assert_eq!(failure.code, ErrorCode::ModelUnauthorized);
    assert!(failure.remedy.unwrap().contains("GEMINI_API_KEY"));
}

#[tokio::test]
async fn a_model_that_needs_another_api_is_refused_with_that_remedy() {
    for (status, message) in [
        (
            400,
            "Function tools with reasoning_effort are not supported for o4-pro in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
        ),
        (
            404,
            "This model is only supported in v1/responses and not in v1/chat/completions.",
        ),
    ] {
        let body = json!({ "error": { "message": message } }).to_string();
        let failure = failure_for(Api::ChatCompletions, Reply::status(status, body)).await;
        assert_eq!(failure.code, ErrorCode::ModelRequestRefused, "{failure}");
        let remedy = failure.remedy.as_deref().unwrap();
        assert!(remedy.contains("`openai_api` to `responses`"), "{remedy}");
    }
}

#[tokio::test]
async fn input_that_is_too_long_is_refused_with_a_remedy() {
    for (api, status, body) in [
        (
            Api::Messages,
            400,
            json!({ "type": "error", "error": { "type": "invalid_request_error",
                "message": "prompt is too long: 200534 tokens > 200000 maximum" } }),
        ),
        (
            Api::Responses,
            400,
            json!({ "error": { "message": "Your input is more than this model takes.",
                "type": "invalid_request_error", "code": "context_length_exceeded" } }),
        ),
        (
            Api::ChatCompletions,
            400,
            json!({ "error": { "code": 400, "message": "the request exceeds the available size",
                "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096 } }),
        ),
        (
            Api::Gemini,
            400,
            json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT", "message":
                "The input token count (314175) exceeds the maximum number of tokens allowed." } }),
        ),
    ] {
        let failure = failure_for(api, Reply::status(status, body.to_string())).await;
        assert_eq!(failure.code, ErrorCode::ModelInputTooLong, "{failure}");
        assert!(failure.message.contains("cannot read so much"), "{failure}");
        assert!(failure.remedy.unwrap().contains("less context"));
        // Some gateways send the error as an event.
        let failure = failure_for(api, Reply::new(frame(api, &body))).await;
        assert_eq!(failure.code, ErrorCode::ModelInputTooLong, "{failure}");
    }
    let other = Reply::status(400, r#"{"error": {"message": "Unknown role."}}"#);
    let other = failure_for(Api::ChatCompletions, other).await;
    assert!(other.remedy.unwrap().contains("in its log"));
}

#[tokio::test]
async fn the_messages_may_be_the_reason_only_if_nothing_else_is_named() {
    for (status, message, expected) in [
        (400, "Could not process image", true),
        (422, "Input should be a valid string", true),
        (302, "Moved", false),
        (404, "Not found", false),
        (405, "Method not allowed", false),
        (400, "tiny is not a valid model ID", false),
        (400, "tools.0.input_schema: JSON schema is invalid", false),
        (400, "This model is only supported in v1/responses", false),
    ] {
        let body = json!({ "error": { "message": message } }).to_string();
        let failure = failure_for(Api::ChatCompletions, Reply::status(status, body)).await;
        assert_eq!(failure.code, ErrorCode::ModelRequestRefused, "{failure}");
        assert_eq!(failure.is_about_messages, expected, "{status} {message}");
    }
}

#[tokio::test]
async fn a_schema_that_is_not_supported_is_refused_with_a_remedy() {
    for (api, message) in [
        // llama.cpp
        (
            Api::ChatCompletions,
            "Automatic parser generation failed: JSON schema error at #/properties/n: unsupported $ref #",
        ),
        (
            Api::Messages,
            "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
        ),
        (
            Api::Responses,
            "Invalid schema for function 'get_weather': In context=(), array schema missing items.",
        ),
    ] {
        let body = json!({ "error": { "type": "invalid_request_error", "message": message } });
        let failure = failure_for(api, Reply::status(400, body.to_string())).await;
        assert_eq!(failure.code, ErrorCode::ModelRequestRefused, "{failure}");
        assert!(failure.remedy.unwrap().contains("a simpler schema"));
    }
}

#[tokio::test]
async fn errors_name_a_compatible_server_by_its_api() {
    for (api, subject) in [
        (Api::Messages, "the model server (anthropic API) "),
        (Api::Responses, "the model server (openai API) "),
        (Api::ChatCompletions, "the model server (openai API) "),
        (Api::Gemini, "the model server (gemini API) "),
    ] {
        let failure = failure_for(api, Reply::status(404, "")).await;
        assert!(failure.message.starts_with(subject), "{failure}");
        assert!(!failure.to_string().contains("127.0.0.1"), "{failure}");
    }
    let server = FakeProvider::new([Reply::status(404, "")]).await;
    let access = ProviderAccess {
        provider: Provider::Ollama,
        model: "llama3.2".to_owned(),
        key: None,
    };
    let ollama = RetryingModel::new(HostedModel::new(access, &settings(&server)).unwrap(), 0);
    let output = collect_turn(&ollama, first_request()).await;
    let failure = output.failure();
    assert!(failure.message.starts_with("ollama "), "{failure}");
}

#[tokio::test]
async fn a_disconnect_is_broken_and_a_missing_end_is_unfinished() {
    for api in ALL {
        for chunk_size in [3, usize::MAX] {
            let reply = Reply::new(start(api)).with_chunk_size(chunk_size);
            let broken = failure_for(api, reply.clone().ending_with(ReplyEnd::Disconnect)).await;
            let code = ErrorCode::ModelStreamBroken;
            assert_eq!(broken.code, code, "{api:?}: {broken}");
            let unfinished = failure_for(api, reply).await;
            let code = ErrorCode::ModelStreamUnfinished;
            assert_eq!(unfinished.code, code, "{api:?}: {unfinished}");
            assert_eq!(unfinished.remedy.as_deref(), Some("retry"));
        }
        let empty = failure_for(api, Reply::new("")).await;
        assert_eq!(empty.code, ErrorCode::ModelStreamUnfinished);
        assert!(empty.remedy.unwrap().contains("base URL"), "{api:?}");
    }
}

#[tokio::test]
async fn a_stream_error_is_classified_only_before_the_first_output() {
    for api in ALL {
        let error = frame(api, &error_event(api));
        let late = failure_for(api, Reply::new(start(api) + &error)).await;
        assert_eq!(late.code, ErrorCode::ModelStreamBroken, "{api:?}: {late}");
        let early = failure_for(api, Reply::new(error)).await;
        assert_eq!(early.code, ErrorCode::ModelUnavailable, "{api:?}: {early}");
        for failure in [late, early] {
            assert!(!failure.to_string().contains("Overloaded"), "{failure}");
            assert!(
                log_message(&failure).contains(": Overloaded"),
                "{failure:?}"
            );
        }
    }
    let limited = json!({ "type": "error",
        "error": { "type": "rate_limit_error", "message": "Slow down" } });
    let limited = frame(Api::Messages, &limited);
    let failure = failure_for(Api::Messages, Reply::new(limited)).await;
    assert_eq!(failure.code, ErrorCode::ModelRateLimited);
    // Gemini may send a list.
    let list = frame(Api::Gemini, &json!([error_event(Api::Gemini)]));
    let failure = failure_for(Api::Gemini, Reply::new(list)).await;
    assert_eq!(failure.code, ErrorCode::ModelUnavailable, "{failure}");
    // Errors of Ollama do not name a kind.
    let nameless = Reply::new("data: {\"error\":\"Overloaded\"}\n\n");
    let failure = failure_for(Api::ChatCompletions, nameless).await;
    assert_eq!(failure.code, ErrorCode::ModelStreamBroken, "{failure}");
}

#[tokio::test]
async fn an_error_in_json_with_the_status_of_a_success_is_classified() {
    for api in ALL {
        let failure = failure_for(api, Reply::json(&error_event(api))).await;
        assert_eq!(
            failure.code,
            ErrorCode::ModelUnavailable,
            "{api:?}: {failure}"
        );
        assert!(!failure.to_string().contains("Overloaded"), "{failure}");
        assert!(
            log_message(&failure).contains(": Overloaded"),
            "{failure:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_not_a_stream_names_the_base_url() {
    for api in ALL {
        let reply = |text: &str| Reply::new(text).header("content-type", "application/json");
        for (text, is_error) in [
            (
                r#"{"id":"1","choices":[{"message":{"content":"Hi"}}],"error":null}"#,
                false,
            ),
            (r#"[{"candidates":[]}]"#, false),
            ("\u{feff}\n {\"message\":{}}\n{\"done\":true}", false),
            ("[", false),
            ("", false),
            ("data: {}\n\n", false),
            (r#"{"detail":"Not Found"}"#, true),
            (r#"{"error":{"code":3}}"#, true),
        ] {
            let failure = failure_for(api, reply(text)).await;
            let code = if is_error {
                ErrorCode::ModelStreamBroken
            } else {
                ErrorCode::ModelStreamUnfinished
            };
            assert_eq!(failure.code, code, "{api:?} {text}: {failure}");
            let names_url = failure.remedy.unwrap().contains("base URL");
            assert_eq!(names_url, !is_error, "{text}");
        }
    }
}

#[tokio::test]
async fn the_type_in_the_header_does_not_decide_whether_a_response_is_a_stream() {
    for api in ALL {
        let stream = WholeStream::of(api);
        for content_type in ["application/json", "text/event-stream", "text/html", "x"] {
            for start in ["", "\n", ": hi\n\n"] {
                let reply = Reply::new(format!("{start}{}", stream.text()));
                let reply = reply.header("content-type", content_type);
                let server = FakeProvider::new([reply.with_chunk_size(3)]).await;
                let model = model_for(api, &settings(&server));
                let output = collect_turn(&model, first_request()).await;
                assert_eq!(output.turn().calls.len(), 2, "{api:?} {content_type}");
            }
            let error = error_event(api).to_string();
            let reply = Reply::new(format!("\n{error}")).header("content-type", content_type);
            let failure = failure_for(api, reply.with_chunk_size(1)).await;
            assert_eq!(
                failure.code,
                ErrorCode::ModelUnavailable,
                "{api:?} {failure}"
            );
        }
    }
}

#[tokio::test]
async fn every_abnormal_stop_reason_has_its_code_and_its_tokens_are_counted() {
    use ErrorCode::{ModelCallInvalid, ModelLengthReached, ModelRefused, ModelStreamBroken};
    for (api, reason, code) in [
        (Api::Messages, "max_tokens", ModelLengthReached),
        (
            Api::Messages,
            "model_context_window_exceeded",
            ModelLengthReached,
        ),
        (Api::Messages, "refusal", ModelRefused),
        (Api::Messages, "pause_turn", ModelStreamBroken),
        (Api::Messages, "x_unknown", ModelStreamBroken),
        (Api::Responses, "max_output_tokens", ModelLengthReached),
        (Api::Responses, "content_filter", ModelRefused),
        (Api::Responses, "x_unknown", ModelStreamBroken),
        (Api::ChatCompletions, "length", ModelLengthReached),
        (Api::ChatCompletions, "content_filter", ModelRefused),
        (Api::ChatCompletions, "error", ModelStreamBroken),
        (Api::ChatCompletions, "x_unknown", ModelStreamBroken),
        (Api::Gemini, "MAX_TOKENS", ModelLengthReached),
        (Api::Gemini, "SAFETY", ModelRefused),
        (Api::Gemini, "OTHER", ModelStreamBroken),
        (Api::Gemini, "TOO_MANY_TOOL_CALLS", ModelStreamBroken),
        (Api::Gemini, "MALFORMED_FUNCTION_CALL", ModelCallInvalid),
    ] {
        let output = output_for(api, Reply::new(stopped(api, reason))).await;
        let failure = output.failure();
        assert_eq!(failure.code, code, "{api:?} {reason}: {failure}");
        let [spent] = output.spent[..] else {
            panic!("{api:?} {reason}: {:?}", output.spent);
        };
        assert_eq!(spent.input, 472, "{api:?} {reason}");
        assert!(spent.output > 0, "{api:?} {reason}");
    }
}

#[tokio::test]
async fn truncated_arguments_are_never_used() {
    for api in [Api::Messages, Api::Responses, Api::ChatCompletions] {
        let mut stream = WholeStream::of(api);
        match api {
            Api::Messages => {
                // The second piece of the arguments, and the second call.
                stream.events.drain(13..18);
                let end = stream.events.iter_mut().rev().nth(1).unwrap();
                end["delta"]["stop_reason"] = "max_tokens".into();
            }
            Api::Responses => {
                let end = stream.events.pop().unwrap();
                stream.events.truncate(17);
                let mut item = stream.events[15]["item"].clone();
                item["arguments"] = "{\"location\":".into();
                item["status"] = "incomplete".into();
                let mut response = end["response"].clone();
                response["status"] = "incomplete".into();
                response["output"] = json!([item]);
                response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
                let end = json!({ "type": "response.incomplete", "response": response });
                stream.events.push(end);
            }
            Api::ChatCompletions | Api::Gemini => {
                stream.events.drain(7..9);
                stream.events[7]["choices"][0]["finish_reason"] = "length".into();
            }
        }
        let failure = failure_for(api, Reply::new(stream.text())).await;
        assert_eq!(failure.code, ErrorCode::ModelArgumentsCutOff, "{failure}");
        assert!(failure.message.contains("get_weather"), "{failure}");
        assert!(
            !log_message(&failure).contains("get_weather"),
            "{failure:?}"
        );
    }
}

#[tokio::test]
async fn arguments_that_are_not_an_object_are_an_error_that_the_model_reads() {
    for api in ALL {
        let text = WholeStream::of(api).text();
        let text = match api {
            Api::Gemini => text.replace("{\"location\":\"San Francisco\"}", "\"{\\\"a\\\": 1,}\""),
            _ => text.replace("San Francisco\\\"}", "San Francisco\\\",}"),
        };
        let server = FakeProvider::new([Reply::new(text)]).await;
        let output = collect_turn(&model_for(api, &settings(&server)), first_request()).await;
        let calls = &output.turn().calls;
        let reason = calls[0].unreadable.as_deref().unwrap();
        assert!(reason.starts_with("the arguments are not JSON"), "{reason}");
        assert_eq!(calls[1].unreadable, None, "{api:?}");
    }
}

#[tokio::test]
async fn a_user_gets_the_category_of_a_refusal_and_the_debug_log_its_words() {
    for (api, events, category, words) in [
        (
            Api::ChatCompletions,
            vec![
                json!({ "choices": [{ "index": 0, "delta": { "refusal": "I'm sorry, " } }] }),
                json!({ "choices": [{ "index": 0, "delta": { "refusal": "I cannot." } }] }),
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }),
            ],
            "",
            "I'm sorry, I cannot.",
        ),
        (
            Api::Responses,
            vec![
                json!({ "type": "response.refusal.delta", "output_index": 0, "delta": "I ca" }),
                json!({ "type": "response.output_item.done", "output_index": 0, "item": {
                    "type": "message", "role": "assistant", "status": "completed",
                    "content": [{ "type": "refusal", "refusal": "I cannot." }] } }),
                json!({ "type": "response.completed", "response": { "status": "completed" } }),
            ],
            "",
            "I cannot.",
        ),
        (
            Api::Messages,
            vec![
                json!({ "type": "message_start", "message": {} }),
                json!({ "type": "message_delta", "delta": { "stop_reason": "refusal",
                    "stop_details": { "category": "cyber", "explanation": "No." } } }),
                json!({ "type": "message_stop" }),
            ],
            ": cyber",
            "No.",
        ),
        (
            Api::Gemini,
            vec![json!({ "promptFeedback": { "blockReason": "SAFETY",
                "blockReasonMessage": "It is about germs." } })],
            ": SAFETY",
            "It is about germs.",
        ),
    ] {
        let text: String = events.iter().map(|event| frame(api, event)).collect();
        let (log, _guard) = CapturedLog::start();
        let failure = failure_for(api, Reply::new(text)).await;
        assert_eq!(failure.code, ErrorCode::ModelRefused, "{failure}");
        let expected = format!(" declines to answer{category}");
        assert!(failure.message.ends_with(&expected), "{failure}");
        // The words may quote the conversation.
        assert!(!log_message(&failure).contains(words), "{failure:?}");
        let log = log.text();
        let line = log.lines().find(|it| it.contains("the model declines"));
        let line = line.unwrap_or_else(|| panic!("{log}"));
        assert!(line.contains("DEBUG") && line.contains(words), "{line}");
    }
}

#[tokio::test]
async fn a_missing_provider_is_unreachable() {
    let server = FakeProvider::new([]).await;
    let settings = settings(&server);
    drop(server);
    for api in ALL {
        let output = collect_turn(&model_for(api, &settings), first_request()).await;
        let failure = output.failure();
        assert_eq!(failure.code, ErrorCode::ModelUnavailable, "{failure}");
        assert!(failure.message.contains("cannot be reached"), "{failure}");
        assert!(!failure.to_string().contains("127.0.0.1"), "{failure}");
    }
}

#[tokio::test]
async fn neither_the_model_nor_the_log_shows_the_key() {
    let (log, _guard) = CapturedLog::start();
    for api in ALL {
        let error = json!({ "error": { "message": format!("Bad 'temperature' for {KEY}") } });
        let replies = [
            Reply::status(400, error.to_string()),
            Reply::status(400, error.to_string()),
            Reply::status(401, error.to_string()),
        ];
        let server = FakeProvider::new(replies).await;
        let settings = ModelSettings {
            temperature: Some(0.5),
            ..settings(&server)
        };
        let model = model_for(api, &settings);
        assert!(!format!("{model:?}").contains(KEY), "{model:?}");
        for _ in 0..2 {
            let output = collect_turn(&model, first_request()).await;
            assert!(!format!("{output:?}").contains(KEY), "{output:?}");
        }
    }
    assert!(!log.text().contains(KEY), "{}", log.text());
}
