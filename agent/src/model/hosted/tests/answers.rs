//! Tests of answers that have a format: the text of the turn is the arguments of a tool.

use super::streams::answer;
use super::*;

const ANSWER: &str = "{\"zone\": \"Europe/Berlin\"}";

/// Returns a request whose answer has the schema of `get_time`.
fn answer_request(has_other_tools: bool, history: Vec<ModelMessage>) -> TurnRequest {
    let mut request = request(history);
    if !has_other_tools {
        request.tools = Arc::new([tool("get_time", "zone")]);
    }
    TurnRequest {
        answer_tool: Some("get_time".to_owned()),
        ..request
    }
}

/// The schema in the format of a request.
fn format(api: Api) -> &'static str {
    match api {
        Api::Messages => "/output_config/format/schema",
        Api::Responses => "/text/format/schema",
        Api::ChatCompletions => "/response_format/json_schema/schema",
        Api::Gemini => "/generationConfig/responseJsonSchema",
    }
}

fn messages(api: Api) -> &'static str {
    match api {
        Api::Messages | Api::ChatCompletions => "/messages",
        Api::Responses => "/input",
        Api::Gemini => "/contents",
    }
}

/// Returns role and text of the messages of a request. Other items have no role.
fn texts(api: Api, body: &Value) -> Vec<(String, String)> {
    let messages = body.pointer(messages(api)).unwrap().as_array().unwrap();
    let text = |message: &Value| {
        let content = message.get("content").or(message.get("parts"))?;
        let first = content.as_str().or_else(|| content[0]["text"].as_str())?;
        Some((message["role"].as_str()?.to_owned(), first.to_owned()))
    };
    messages.iter().filter_map(text).collect()
}

#[tokio::test]
async fn the_pieces_of_an_answer_are_arguments_of_its_tool() {
    for api in ALL {
        for has_other_tools in [false, true] {
            // A server that enforces a format only in a request without tools gets none with them.
            let has_format = !(has_other_tools && api == Api::ChatCompletions);
            let server = FakeProvider::new([Reply::new(answer(api, ANSWER))]).await;
            let model = model_for(api, &settings(&server));
            let output =
                collect_turn(&model, answer_request(has_other_tools, vec![question()])).await;
            let body = server.requests().remove(0).body;
            assert_eq!(body.pointer(format(api)).is_some(), has_format, "{api:?}");
            let listed = body.to_string().matches("get_weather").count();
            assert_eq!(listed > 0, has_other_tools, "{body:#}");
            if !has_format {
                assert_eq!(output.text, ANSWER);
                continue;
            }
            // The page gets the answer as arguments, and nothing of it as text.
            assert_eq!(output.text, "", "{api:?}");
            let expected = ("get_time".to_owned(), ANSWER.to_owned());
            assert_eq!(output.arguments, [expected], "{api:?}");
            let expected = ("get_time", json!({ "zone": "Europe/Berlin" }));
            assert_eq!(calls(output.turn()), [expected], "{api:?}");
            assert_arguments_are_complete(&output);
        }
    }
}

#[tokio::test]
async fn an_answer_beside_tools_is_not_text_and_calls_of_tools_are_not_an_answer() {
    for api in [Api::Messages, Api::Responses, Api::Gemini] {
        let stream = WholeStream::of(api);
        let server = FakeProvider::new([Reply::new(stream.text())]).await;
        let model = model_for(api, &settings(&server));
        let output = collect_turn(&model, answer_request(true, vec![question()])).await;
        // Text beside calls is not the answer.
        assert_eq!(output.text, streams::TEXT, "{api:?}");
        assert_eq!(output.turn().calls.len(), 2, "{api:?}");
        assert_eq!(output.turn().calls[0].tool, "get_weather");
        assert_arguments_are_complete(&output);
    }
}

#[tokio::test]
async fn an_answer_is_text_of_the_model_in_the_next_request() {
    for api in ALL {
        for is_error in [false, true] {
            let replies = [ANSWER, ANSWER].map(|text| Reply::new(answer(api, text)));
            let server = FakeProvider::new(replies).await;
            let model = model_for(api, &settings(&server));
            let output = collect_turn(&model, answer_request(false, vec![question()])).await;
            let (turn, _) = output.end.unwrap();
            let result = CallResult::new(&turn.calls[0], "no such zone".to_owned(), is_error);
            let mut history = vec![
                question(),
                ModelMessage::Model(turn),
                ModelMessage::Results(vec![result]),
            ];
            if !is_error {
                history.push(ModelMessage::from_text("And now?".to_owned()));
            }
            collect_turn(&model, answer_request(false, history))
                .await
                .turn();
            let body = server.requests().remove(1).body;
            let assistant = match api {
                Api::Gemini => "model",
                _ => "assistant",
            };
            let mut sent = texts(api, &body);
            sent.retain(|(role, _)| !["system", "developer"].contains(&role.as_str()));
            let [(user, _), (model, answer), (last, reason)] = &sent[..] else {
                panic!("{api:?}: {body:#}");
            };
            assert_eq!((user.as_str(), model.as_str()), ("user", assistant));
            assert_eq!(
                (answer.as_str(), last.as_str()),
                (ANSWER, "user"),
                "{api:?}"
            );
            // The provider knows of no call.
            let expected = if is_error { "no such zone" } else { "And now?" };
            assert!(reason.ends_with(expected), "{api:?}: {reason}");
            assert!(!body.to_string().contains("answer-text-"), "{body:#}");
            assert_eq!(
                body.to_string().contains("no such zone"),
                is_error,
                "{body:#}"
            );
        }
    }
}
