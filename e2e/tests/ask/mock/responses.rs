//! Which turn is sent, how responses break off, and what the log of exchanges contains.

use e2e::{
    BreakMode, ExchangeOutcome, Format, MockProvider, Recordings, ResponseSource, Script, Scripts,
    StopReason, Turn, Upstream, with_deadline,
};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{first_request, send};

async fn text(provider: &MockProvider, format: Format, body: &Value) -> String {
    let answer = send(provider, format, body).await;
    with_deadline("the whole answer", answer.text())
        .await
        .unwrap()
}

#[tokio::test]
async fn the_history_selects_the_turn_and_a_name_in_the_prompt_the_script() {
    let script = Script::new([Turn::from_text("one"), Turn::from_text("two")]);
    let scripts = Scripts::from(script).with("other", Turn::from_text("three"));
    let provider = MockProvider::start(scripts).await;
    for format in Format::ALL {
        let mut body = first_request(format, "Hello");
        let response = text(&provider, format, &body).await;
        assert!(
            response.contains("one") && !response.contains("two"),
            "{response}"
        );
        let (list, answer) = match format {
            Format::Gemini => (
                "contents",
                json!({ "role": "model", "parts": [{ "text": "one" }] }),
            ),
            Format::OpenAiResponses => (
                "input",
                json!({ "type": "message", "role": "assistant",
                    "content": [{ "type": "output_text", "text": "one" }] }),
            ),
            _ => ("messages", json!({ "role": "assistant", "content": "one" })),
        };
        let messages = body[list].as_array_mut().unwrap();
        let again = messages[0].clone();
        messages.extend([answer, again]);
        assert!(text(&provider, format, &body).await.contains("two"));
        let response = text(&provider, format, &first_request(format, "[[other]]")).await;
        assert!(response.contains("three"), "{response}");
    }
    provider.wait_until_idle().await;
    let exchanges = provider.exchanges();
    let turns: Vec<_> = exchanges.iter().map(|it| it.turn.unwrap()).collect();
    assert_eq!(turns, [0, 1, 0].repeat(4));
    assert!(
        exchanges
            .iter()
            .all(|it| it.outcome() == Some(ExchangeOutcome::Complete))
    );
}

#[tokio::test]
async fn responses_break_off_as_the_script_says() {
    let complete = || Turn::from_text("first").text("second");
    let scripts = Scripts::from(complete())
        .with("error", complete().broken(1, BreakMode::Error))
        .with("cut", complete().broken(1, BreakMode::Cut))
        .with("end", complete().broken(1, BreakMode::End));
    let provider = MockProvider::start(scripts).await;
    for format in Format::ALL {
        let broken = text(&provider, format, &first_request(format, "[[error]]")).await;
        let error = match format {
            Format::Anthropic => r#"event: error"#,
            Format::OpenAi => r#"{"error":{"message":"The server had an error"#,
            Format::OpenAiResponses => r#"event: error"#,
            Format::Gemini => r#""status":"UNAVAILABLE""#,
        };
        assert!(
            broken.contains("first") && broken.contains(error),
            "{broken}"
        );
        assert!(!broken.contains("second"), "{broken}");
        let ended = text(&provider, format, &first_request(format, "[[end]]")).await;
        assert!(
            ended.contains("first") && !ended.contains("second"),
            "{ended}"
        );
        let ends = [
            "message_stop",
            "[DONE]",
            "response.completed",
            "finishReason",
            r#""done":true"#,
        ];
        for end in ends {
            assert!(!ended.contains(end), "{ended}");
        }
        let mut cut = send(&provider, format, &first_request(format, "[[cut]]"))
            .await
            .bytes_stream();
        let mut arrived = Vec::new();
        let error = with_deadline("the connection to be cut", async {
            loop {
                match cut.next().await.unwrap() {
                    Ok(bytes) => arrived.extend_from_slice(&bytes),
                    Err(error) => return error,
                }
            }
        })
        .await;
        assert!(error.is_body() || error.is_decode(), "{error:?}");
        assert!(String::from_utf8(arrived).unwrap().contains("first"));
    }
    let outcomes = provider
        .exchanges()
        .iter()
        .map(|it| it.outcome())
        .collect::<Vec<_>>();
    assert_eq!(outcomes, [Some(ExchangeOutcome::Broken); 12]);
}

#[tokio::test]
async fn faults_can_be_temporary_and_arguments_can_be_cut_off() {
    let busy = Turn::rejected(429)
        .header("retry-after", "7")
        .text("at last")
        .times(2);
    let cut = Turn::from_call("look", json!({ "where": "everywhere" })).arguments_cut_off();
    let provider = MockProvider::start(Scripts::from(busy).with("cut", cut)).await;
    for format in Format::ALL {
        let body = first_request(format, &format!("Hello {format:?}"));
        for _ in 0..2 {
            let answer = send(&provider, format, &body).await;
            assert_eq!(answer.status(), 429);
            assert_eq!(answer.headers()["retry-after"], "7");
        }
        assert!(text(&provider, format, &body).await.contains("at last"));
        let response = text(&provider, format, &first_request(format, "[[cut]]")).await;
        let ends = match format {
            Format::Anthropic => response.contains("message_stop"),
            Format::OpenAi => response.contains("[DONE]"),
            Format::OpenAiResponses => response.contains("response.completed"),
            Format::Gemini => response.contains("MALFORMED_FUNCTION_CALL"),
        };
        assert!(
            ends && !response.contains("where\":\"everywhere"),
            "{response}"
        );
    }
}

#[tokio::test]
async fn a_client_disconnect_is_recorded() {
    let scripts = Scripts::from(
        Turn::from_text("one")
            .text("two")
            .broken(1, BreakMode::Hang),
    )
    .with("silent", Turn::silent())
    .with("held", Turn::from_text("one").text("two").pause_after(1));
    let provider = MockProvider::start(scripts).await;
    let mut number = 0;
    for format in Format::ALL {
        let mut answer = send(&provider, format, &first_request(format, "Hello"))
            .await
            .bytes_stream();
        assert!(answer.next().await.unwrap().is_ok());
        assert_eq!(provider.open_exchanges(), 1);
        drop(answer);
        let ended = provider.wait_for_end(number).await;
        assert_eq!(ended.outcome(), Some(ExchangeOutcome::ClosedByClient));

        let silent = first_request(format, "[[silent]]");
        tokio::select! {
            answer = send(&provider, format, &silent) => panic!("{answer:?}"),
            _ = provider.wait_for_request(number + 1) => {}
        }
        let ended = provider.wait_for_end(number + 1).await;
        assert_eq!(ended.outcome(), Some(ExchangeOutcome::ClosedByClient));

        let held = first_request(format, "[[held]]");
        let response = text(&provider, format, &held);
        let resume = async {
            provider.wait_for_first_byte(number + 2).await;
            provider.resume_one();
        };
        let (response, ()) = tokio::join!(response, resume);
        assert!(response.contains("two"), "{response}");
        number += 3;
    }
    provider.wait_until_idle().await;
}

#[tokio::test]
async fn chunks_may_split_characters_and_stop_reasons_are_sent() {
    let scripts = Scripts::from(Turn::from_text("Käse 🧀").max_chunk(3))
        .with("length", Turn::from_text("…").stop(StopReason::Length))
        .with("refusal", Turn::from_text("…").stop(StopReason::Refusal));
    let provider = MockProvider::start(scripts).await;
    for (format, length, refusal) in [
        (Format::Anthropic, "max_tokens", "refusal"),
        (Format::OpenAi, "length", "content_filter"),
        (
            Format::OpenAiResponses,
            "max_output_tokens",
            "content_filter",
        ),
        (Format::Gemini, "MAX_TOKENS", "SAFETY"),
    ] {
        let answer = send(&provider, format, &first_request(format, "Hello")).await;
        let pieces: Vec<_> = answer.bytes_stream().map(Result::unwrap).collect().await;
        let whole = String::from_utf8(pieces.concat()).unwrap();
        assert!(whole.contains("Käse 🧀"), "{whole}");
        let response = text(&provider, format, &first_request(format, "[[length]]")).await;
        assert!(response.contains(&format!("\"{length}\"")), "{response}");
        let response = text(&provider, format, &first_request(format, "[[refusal]]")).await;
        assert!(response.contains(&format!("\"{refusal}\"")), "{response}");
    }
}

#[tokio::test]
async fn recordings_are_replayed_without_the_key() {
    let call = Turn::from_text("Let me look").call("look", json!({ "where": "here" }));
    let real = MockProvider::start(Script::new([
        call,
        Turn::from_text("Done: req_0123456789abc"),
    ]))
    .await;
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::new(&real.url(), folder.path()).unwrap();
    let recording = MockProvider::start(ResponseSource::Upstream(upstream.into())).await;
    let mut responses = Vec::new();
    for format in Format::ALL {
        let prompt = format!("Hello with {} in it", MockProvider::KEY);
        responses.push(text(&recording, format, &first_request(format, &prompt)).await);
    }
    recording.wait_until_idle().await;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!file.contains(MockProvider::KEY), "{file}");
    }
    let replay = MockProvider::start(ResponseSource::Recordings(
        Recordings::load(folder.path()).unwrap(),
    ))
    .await;
    for (format, response) in Format::ALL.into_iter().zip(responses) {
        assert_eq!(
            text(&replay, format, &first_request(format, "Hello")).await,
            response
        );
    }
}
