//! Tests of servers that refuse a part of a request: it is repeated once without that part.

use super::streams::{answer, frame, start};
use super::*;
use crate::model::Thinking;

/// A part of a request, and how a server refuses it.
struct Refusal {
    api: Api,
    status: u16,
    /// A path in the body of the request.
    part: &'static str,
    message: &'static str,
    param: Option<&'static str>,
    capability: Capability,
    scope: Scope,
}

const REFUSALS: [Refusal; 14] = [
    Refusal {
        api: Api::ChatCompletions,
        status: 400,
        part: "/reasoning_effort",
        message: "\"qwen3\" does not support thinking",
        param: None,
        capability: Capability::Thinking,
        scope: Scope::Server,
    },
    Refusal {
        api: Api::Messages,
        status: 400,
        part: "/thinking",
        message: "\"thinking.type.enabled\" is not supported for this model.",
        param: None,
        capability: Capability::Thinking,
        scope: Scope::Server,
    },
    Refusal {
        api: Api::Messages,
        status: 400,
        part: "/stop_sequences",
        message: "stop_sequences: Extra inputs are not permitted",
        param: None,
        capability: Capability::StopSequences,
        scope: Scope::Server,
    },
    Refusal {
        api: Api::Responses,
        status: 400,
        part: "/reasoning",
        message: "Unsupported value: 'reasoning.effort' does not support 'low' with this model.",
        param: None,
        capability: Capability::Thinking,
        scope: Scope::Server,
    },
    Refusal {
        api: Api::Responses,
        status: 400,
        part: "/reasoning/summary",
        message: "Your organization must be verified to generate reasoning summaries.",
        param: Some("reasoning.summary"),
        capability: Capability::ThinkingSummary,
        scope: Scope::Server,
    },
    Refusal {
        api: Api::ChatCompletions,
        status: 400,
        part: "/reasoning_effort",
        message: "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead.",
        param: Some("reasoning_effort"),
        capability: Capability::Thinking,
        scope: Scope::Server,
    },
    Refusal {
        api: Api::Messages,
        status: 400,
        part: "/output_config/format",
        message: "output_config.format.schema: Grammar is too complex for compilation",
        param: None,
        capability: Capability::FormatWithTools,
        scope: Scope::Query,
    },
    Refusal {
        api: Api::Responses,
        status: 400,
        part: "/text",
        message: "Invalid parameter: 'text.format' of type 'json_schema' is not supported.",
        param: None,
        capability: Capability::FormatWithTools,
        scope: Scope::Query,
    },
    Refusal {
        api: Api::ChatCompletions,
        status: 400,
        part: "/temperature",
        message: "Unsupported value: 'temperature' does not support 0.5 with this model.",
        param: None,
        capability: Capability::Temperature,
        scope: Scope::Server,
    },
    Refusal {
        api: Api::ChatCompletions,
        status: 422,
        part: "/stream_options",
        message: "body.stream_options: Extra inputs are not permitted",
        param: None,
        capability: Capability::StreamUsage,
        scope: Scope::Server,
    },
    Refusal {
        api: Api::ChatCompletions,
        status: 400,
        part: "/stop",
        message: "Unsupported parameter: 'stop' is not supported with this model.",
        param: None,
        capability: Capability::StopSequences,
        scope: Scope::Server,
    },
    Refusal {
        api: Api::Gemini,
        status: 400,
        part: "/generationConfig/thinkingConfig",
        message: "Thinking level is not supported for this model.",
        param: None,
        capability: Capability::Thinking,
        scope: Scope::Server,
    },
    Refusal {
        api: Api::Gemini,
        status: 400,
        part: "/generationConfig/responseJsonSchema",
        message: "Function calling with a response mime type: 'application/json' is unsupported",
        param: None,
        capability: Capability::FormatWithTools,
        scope: Scope::Query,
    },
    Refusal {
        api: Api::ChatCompletions,
        status: 400,
        part: "/reasoning_effort",
        message: "invalid reasoning value",
        param: None,
        capability: Capability::Thinking,
        scope: Scope::Query,
    },
];

impl Refusal {
    fn reply(&self) -> Reply {
        let error = json!({ "error": { "message": self.message, "param": self.param } });
        Reply::status(self.status, error.to_string())
    }

    /// Returns a part of the message without quotation marks, which the log escapes.
    fn longest_words(&self) -> &'static str {
        let parts = self.message.split(['"', '\'']);
        parts.max_by_key(|part| part.len()).unwrap()
    }

    fn settings(server: &FakeProvider) -> ModelSettings {
        ModelSettings {
            thinking: Thinking::Low,
            temperature: Some(0.5),
            stop_sequences: vec!["END".to_owned()],
            ..settings(server)
        }
    }

    fn request(&self) -> TurnRequest {
        TurnRequest {
            answer_tool: (self.capability == Capability::FormatWithTools)
                .then(|| "get_time".to_owned()),
            ..first_request()
        }
    }
}

/// Returns which requests have the part.
fn has_part(server: &FakeProvider, part: &str) -> Vec<bool> {
    let requests = server.requests().into_iter();
    let has_part = requests.map(|request| request.body.pointer(part).is_some());
    has_part.collect()
}

#[tokio::test]
async fn a_refused_part_is_left_out_for_the_query_and_for_others_only_if_the_model_lacks_it() {
    for refusal in REFUSALS {
        let api = refusal.api;
        let (log, _guard) = CapturedLog::start();
        let whole = || Reply::new(WholeStream::of(api).text());
        let server = FakeProvider::new([refusal.reply(), whole(), whole(), whole()]).await;
        let model = model_for(api, &Refusal::settings(&server));
        let query = refusal.request();
        let other_query = refusal.request();
        for request in [query.clone(), query, other_query] {
            let output = collect_turn(&model, request).await;
            assert_eq!(output.turn().calls.len(), 2, "{api:?}");
            // A person need not know.
            assert!(output.notes.is_empty(), "{:?}", output.notes);
        }
        let is_for_all = refusal.scope == Scope::Server;
        let expected = [true, false, false, !is_for_all];
        let message = refusal.message;
        assert_eq!(has_part(&server, refusal.part), expected, "{message}");
        let log = log.text();
        for text in [
            model_name(api),
            refusal.longest_words(),
            &format!("{:?}", refusal.capability),
        ] {
            assert!(log.contains(text), "{text}: {log}");
        }
        for (text, count) in [
            ("the server refuses a part of the request", 1),
            ("for all users", usize::from(is_for_all)),
        ] {
            assert_eq!(log.matches(text).count(), count, "{text}: {log}");
        }
    }
}

#[tokio::test]
async fn a_repetition_that_fails_switches_nothing_off() {
    for refusal in REFUSALS {
        let error = json!({ "error": { "message": "wrong", "code": "invalid_value" } });
        for failed in [
            refusal.reply(),
            Reply::status(400, error.to_string()),
            Reply::status(503, error.to_string()),
            Reply::json(&error),
        ] {
            let whole = || Reply::new(WholeStream::of(refusal.api).text());
            let server = FakeProvider::new([refusal.reply(), failed, whole(), whole()]).await;
            let model = model_for(refusal.api, &Refusal::settings(&server));
            let query = refusal.request();
            let output = collect_turn(&model, query.clone()).await;
            assert!(output.end.is_err(), "{}", refusal.message);
            for request in [query, refusal.request()] {
                collect_turn(&model, request).await.turn();
            }
            let expected = [true, false, true, true];
            let message = refusal.message;
            assert_eq!(has_part(&server, refusal.part), expected, "{message}");
        }
    }
}

/// Returns how a server refuses the thoughts of a turn, and a part of these thoughts.
fn refused_thoughts(api: Api) -> (Value, &'static str) {
    let error = |message: &str| json!({ "error": { "message": message } });
    match api {
        Api::Messages => (
            error("messages.1.content.0: Invalid `signature` in `thinking` block"),
            "EqQBCgIYAhIM1gbc",
        ),
        Api::Responses => (
            json!({ "error": { "code": "invalid_encrypted_content", "param": null,
                "message": "The encrypted content gAAA could not be verified." } }),
            "gAAAA",
        ),
        Api::ChatCompletions => (
            json!({ "detail": [{ "loc": ["body", "messages", 1, "reasoning_content"],
                "msg": "Extra inputs are not permitted" }] }),
            "I need to find ",
        ),
        Api::Gemini => (error("Corrupted thought signature."), "QUFB"),
    }
}

#[tokio::test]
async fn refused_thoughts_are_first_those_of_earlier_queries_and_never_those_of_all() {
    for api in ALL {
        let (error, thoughts) = refused_thoughts(api);
        let refused = || Reply::status(400, error.to_string());
        let whole = || Reply::new(WholeStream::of(api).text());
        let server = FakeProvider::new([
            whole(),
            // The thoughts of the query itself are accepted, and then they are not.
            refused(),
            whole(),
            refused(),
            whole(),
            // Another query
            refused(),
            refused(),
            whole(),
            // One without earlier queries
            whole(),
        ])
        .await;
        let model = model_for(api, &Refusal::settings(&server));
        let output = collect_turn(&model, first_request()).await;
        let turn = output.turn();
        let round = [question(), ModelMessage::Model(turn.clone()), results(turn)];
        let rounds = [round.clone(), round.clone()].concat();
        let with_earlier = |history: &[ModelMessage]| TurnRequest {
            earlier_messages: round.len(),
            ..request(history.to_vec())
        };
        let query = with_earlier(&rounds);
        for request in [
            query.clone(),
            query,
            with_earlier(&rounds),
            request(round.to_vec()),
        ] {
            collect_turn(&model, request).await.turn();
        }
        let requests = server.requests().into_iter();
        let sent = requests.map(|it| it.body.to_string().matches(thoughts).count());
        assert_eq!(Vec::from_iter(sent), [0, 2, 1, 1, 0, 2, 1, 0, 1], "{api:?}");
    }
}

#[tokio::test]
async fn turns_that_are_refused_at_the_same_time_are_all_repeated() {
    for refusal in &REFUSALS {
        let api = refusal.api;
        let whole = || Reply::new(WholeStream::of(api).text());
        let refused = || refusal.reply().after_requests(2);
        let server = FakeProvider::new([refused(), refused(), whole(), whole()]).await;
        let model = model_for(api, &Refusal::settings(&server));
        let turn = || collect_turn(&model, refusal.request());
        let (first, second) = tokio::join!(turn(), turn());
        for output in [first, second] {
            assert_eq!(output.turn().calls.len(), 2, "{api:?}");
        }
        assert_eq!(server.requests().len(), 4);
    }
}

#[tokio::test]
async fn a_request_is_repeated_once_at_most() {
    for refusal in &REFUSALS {
        // The same words again, and those about another part.
        let other = match refusal.capability {
            Capability::Temperature => "'stop' is not supported",
            _ if refusal.api == Api::Responses => "'tool_choice' and 'reasoning' are wrong",
            _ => "'temperature' is not supported",
        };
        for second in [
            refusal.reply(),
            Reply::status(400, json!({ "error": { "message": other } }).to_string()),
        ] {
            let server = FakeProvider::new([refusal.reply(), second]).await;
            let settings = ModelSettings {
                retries: 2,
                ..Refusal::settings(&server)
            };
            let output = collect_turn(&model_for(refusal.api, &settings), refusal.request()).await;
            let code = output.failure().code;
            assert_eq!(code, ErrorCode::ModelRequestRefused, "{}", refusal.message);
            assert_eq!(server.requests().len(), 2, "{}", refusal.message);
        }
    }
}

#[tokio::test]
async fn only_a_refused_request_is_repeated() {
    for refusal in &REFUSALS {
        for status in [401, 403, 404, 413, 429, 500, 529] {
            let error = json!({ "error": { "message": refusal.message } });
            let reply = Reply::status(status, error.to_string());
            let server = FakeProvider::new([reply]).await;
            let model = model_for(refusal.api, &Refusal::settings(&server));
            let output = collect_turn(&model, refusal.request()).await;
            assert!(output.end.is_err());
            assert_eq!(server.requests().len(), 1, "{status} {}", refusal.message);
        }
        // Nor is one without the part that the server names.
        let reply = Reply::status(400, json!({ "error": "'top_k' is too large" }).to_string());
        let server = FakeProvider::new([reply]).await;
        let model = model_for(refusal.api, &settings(&server));
        let output = collect_turn(&model, first_request()).await;
        assert_eq!(output.failure().code, ErrorCode::ModelRequestRefused);
    }
}

#[tokio::test]
async fn an_input_that_is_too_long_switches_nothing_off() {
    for refusal in &REFUSALS {
        let message = format!("prompt is too long. {}", refusal.message);
        let error = json!({ "error": { "message": message } });
        let too_long = Reply::status(400, error.to_string());
        let whole = Reply::new(WholeStream::of(refusal.api).text());
        let server = FakeProvider::new([too_long, whole]).await;
        let model = model_for(refusal.api, &Refusal::settings(&server));
        let output = collect_turn(&model, refusal.request()).await;
        assert_eq!(output.failure().code, ErrorCode::ModelInputTooLong);
        collect_turn(&model, refusal.request()).await.turn();
        let sent = &server.requests()[1].body;
        assert!(sent.pointer(refusal.part).is_some(), "{sent:#}");
    }
}

#[tokio::test]
async fn nothing_is_repeated_or_switched_off_after_the_response_has_begun() {
    for refusal in &REFUSALS {
        let api = refusal.api;
        let error = json!({ "type": "error",
            "error": { "type": "invalid_request_error", "message": refusal.message } });
        let error = frame(api, &error);
        let whole = Reply::new(WholeStream::of(api).text());
        let server =
            FakeProvider::new([Reply::new(start(api) + &error), Reply::new(error), whole]).await;
        let model = model_for(api, &Refusal::settings(&server));
        for requests in 1..=2 {
            let output = collect_turn(&model, refusal.request()).await;
            assert!(output.end.is_err());
            assert_eq!(server.requests().len(), requests, "{}", refusal.message);
        }
        collect_turn(&model, refusal.request()).await.turn();
        let sent = &server.requests()[2].body;
        assert!(sent.pointer(refusal.part).is_some(), "{sent:#}");
    }
}

const PROSE: &str = "It is five o'clock.";

fn answer_request() -> TurnRequest {
    TurnRequest {
        tools: Arc::new([tool("get_time", "zone")]),
        answer_tool: Some("get_time".to_owned()),
        ..first_request()
    }
}

/// Returns which requests list a tool: those without a format.
fn lists_tool(api: Api, server: &FakeProvider) -> Vec<bool> {
    let tools = match api {
        Api::Gemini => "/tools/0/functionDeclarations/0",
        _ => "/tools/0",
    };
    has_part(server, tools)
}

#[tokio::test]
async fn a_query_whose_answer_ignores_its_format_continues_without_it() {
    for api in ALL {
        let ignoring = || Reply::new(answer(api, PROSE));
        let server = FakeProvider::new([ignoring(), ignoring(), ignoring()]).await;
        let model = model_for(api, &settings(&server));
        let query = answer_request();
        let output = collect_turn(&model, query.clone()).await;
        let [call] = &output.turn().calls[..] else {
            panic!("{:?}", output.turn());
        };
        assert!(call.unreadable.is_some(), "{call:?}");
        let output = collect_turn(&model, query).await;
        assert_eq!(output.turn().calls, []);
        assert_eq!(output.text, PROSE);
        let output = collect_turn(&model, answer_request()).await;
        assert_eq!(output.turn().calls.len(), 1);
        assert_eq!(lists_tool(api, &server), [false, true, false], "{api:?}");
    }
}

#[tokio::test]
async fn the_format_is_off_for_all_after_queries_of_three_users_in_a_row_that_ignored_it() {
    const JSON: &str = "{\"zone\": \"Europe/Berlin\"}";
    const CUT: &str = "{\"zone\": \"Europe/";
    let no_stop: &[&str] = &[];
    const USERS: [&str; 6] = ["ada", "bob", "eve", "dan", "fay", "gus"];
    for (answers, users, stop_sequences, is_off) in [
        ([PROSE, PROSE, PROSE, PROSE, PROSE], USERS, no_stop, true),
        ([PROSE, PROSE, JSON, PROSE, PROSE], USERS, no_stop, false),
        ([PROSE, CUT, PROSE, CUT, CUT], USERS, no_stop, false),
        ([PROSE, CUT, PROSE, CUT, PROSE], USERS, no_stop, true),
        // One person may have asked for prose.
        (
            [PROSE, PROSE, PROSE, PROSE, PROSE],
            ["ada"; 6],
            no_stop,
            false,
        ),
        // The answer may have ended before its format.
        (
            [PROSE, PROSE, PROSE, PROSE, PROSE],
            USERS,
            &["clock"][..],
            false,
        ),
    ] {
        for api in ALL {
            let (log, _guard) = CapturedLog::start();
            let replies = [&answers[..], &[JSON]].concat();
            let replies = replies.iter().map(|text| Reply::new(answer(api, text)));
            let server = FakeProvider::new(replies).await;
            let settings = ModelSettings {
                stop_sequences: stop_sequences.iter().map(|&it| it.to_owned()).collect(),
                ..settings(&server)
            };
            let model = model_for(api, &settings);
            for user in users {
                let request = TurnRequest {
                    user: user.into(),
                    ..answer_request()
                };
                collect_turn(&model, request).await.turn();
            }
            let lists_tool = lists_tool(api, &server).pop();
            assert_eq!(lists_tool, Some(is_off), "{api:?}: {answers:?}");
            let log = log.text();
            let warnings = log.matches("for all users").count();
            assert_eq!(warnings, usize::from(is_off), "{log}");
        }
    }
}

#[tokio::test]
async fn content_that_a_provider_declines_refuses_no_part_of_the_request() {
    for api in ALL {
        for error in [
            json!({ "error": {
                "message": "The response was filtered due to the prompt triggering Azure OpenAI's \
                            content management policy. Please modify your prompt and retry.",
                "type": null, "param": "prompt", "code": "content_filter", "status": 400,
                "innererror": { "code": "ResponsibleAIPolicyViolation" } } }),
            json!({ "error": {
                "message": "Invalid prompt: your prompt was flagged as potentially violating our \
                            usage policy. Please try again with a different prompt: \
                            https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
                "type": "invalid_request_error", "param": null, "code": "invalid_prompt" } }),
        ] {
            let server = FakeProvider::new([Reply::status(400, error.to_string())]).await;
            let model = model_for(api, &Refusal::settings(&server));
            let output = collect_turn(&model, first_request()).await;
            let failure = output.failure();
            assert_eq!(failure.code, ErrorCode::ModelRefused, "{error}");
            // The words of the provider are in the log only.
            assert!(!failure.message.contains("prompt"), "{failure}");
            let log = failure.log_message.as_deref().unwrap_or_default();
            assert!(log.contains("prompt"), "{failure:?}");
            assert_eq!(server.requests().len(), 1, "{error}");
        }
    }
}
