//! Which turn is played, how an answer breaks, and what is known of it afterwards.

use e2e::{
    Break, Ending, Format, Provider, Script, Scripts, Stop, Tape, Turn, Upstream, Voice, within,
};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{ask, first};

async fn text(provider: &Provider, format: Format, body: &Value) -> String {
    let answer = ask(provider, format, body).await;
    within("the whole answer", answer.text()).await.unwrap()
}

#[tokio::test]
async fn the_history_says_which_turn_is_next_and_a_name_in_the_prompt_which_script() {
    let script = Script::new([Turn::saying("one"), Turn::saying("two")]);
    let scripts = Scripts::from(script).with("other", Turn::saying("three"));
    let provider = Provider::start(scripts).await;
    for format in Format::ALL {
        let mut body = first(format, "Hello");
        let said = text(&provider, format, &body).await;
        assert!(said.contains("one") && !said.contains("two"), "{said}");
        let (list, answered) = match format {
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
        let said = body[list].as_array_mut().unwrap();
        let again = said[0].clone();
        said.extend([answered, again]);
        assert!(text(&provider, format, &body).await.contains("two"));
        let said = text(&provider, format, &first(format, "[[other]]")).await;
        assert!(said.contains("three"), "{said}");
    }
    provider.quiet().await;
    let exchanges = provider.exchanges();
    let turns: Vec<_> = exchanges.iter().map(|it| it.turn.unwrap()).collect();
    assert_eq!(turns, [0, 1, 0].repeat(5));
    assert!(
        exchanges
            .iter()
            .all(|it| it.ending() == Some(Ending::Whole))
    );
}

#[tokio::test]
async fn an_answer_breaks_as_the_script_says() {
    let saying = || Turn::saying("first").text("second");
    let scripts = Scripts::from(saying())
        .with("error", saying().broken(1, Break::Error))
        .with("cut", saying().broken(1, Break::Cut))
        .with("end", saying().broken(1, Break::End));
    let provider = Provider::start(scripts).await;
    for format in Format::ALL {
        let broken = text(&provider, format, &first(format, "[[error]]")).await;
        let error = match format {
            Format::Anthropic => r#"event: error"#,
            Format::OpenAi => r#"{"error":{"message":"The server had an error"#,
            Format::OpenAiResponses => r#"event: error"#,
            Format::Gemini => r#""status":"UNAVAILABLE""#,
            Format::Ollama => r#"{"error":"an error was encountered"#,
        };
        assert!(
            broken.contains("first") && broken.contains(error),
            "{broken}"
        );
        assert!(!broken.contains("second"), "{broken}");
        let ended = text(&provider, format, &first(format, "[[end]]")).await;
        assert!(
            ended.contains("first") && !ended.contains("second"),
            "{ended}"
        );
        let last = [
            "message_stop",
            "[DONE]",
            "response.completed",
            "finishReason",
            r#""done":true"#,
        ];
        for word in last {
            assert!(!ended.contains(word), "{ended}");
        }
        let mut cut = ask(&provider, format, &first(format, "[[cut]]"))
            .await
            .bytes_stream();
        let mut arrived = Vec::new();
        let error = within("the connection to be cut", async {
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
    let endings = provider
        .exchanges()
        .iter()
        .map(|it| it.ending())
        .collect::<Vec<_>>();
    assert_eq!(endings, [Some(Ending::Broken); 15]);
}

#[tokio::test]
async fn a_fault_may_pass_and_arguments_may_lack_their_end() {
    let busy = Turn::refused(429)
        .header("retry-after", "7")
        .text("at last")
        .times(2);
    let cut = Turn::calling("look", json!({ "where": "everywhere" })).arguments_cut_off();
    let provider = Provider::start(Scripts::from(busy).with("cut", cut)).await;
    for format in Format::ALL {
        let body = first(format, &format!("Hello {format:?}"));
        for _ in 0..2 {
            let answer = ask(&provider, format, &body).await;
            assert_eq!(answer.status(), 429);
            assert_eq!(answer.headers()["retry-after"], "7");
        }
        assert!(text(&provider, format, &body).await.contains("at last"));
        let said = text(&provider, format, &first(format, "[[cut]]")).await;
        let ends = match format {
            Format::Anthropic => said.contains("message_stop"),
            Format::OpenAi => said.contains("[DONE]"),
            Format::OpenAiResponses => said.contains("response.completed"),
            Format::Gemini => said.contains("MALFORMED_FUNCTION_CALL"),
            Format::Ollama => said.contains(r#""done_reason":"length""#),
        };
        assert!(ends && !said.contains("where\":\"everywhere"), "{said}");
    }
}

#[tokio::test]
async fn it_is_known_when_a_client_has_gone() {
    let scripts = Scripts::from(Turn::saying("one").text("two").broken(1, Break::Hang))
        .with("silent", Turn::silent())
        .with("held", Turn::saying("one").text("two").pausing(1));
    let provider = Provider::start(scripts).await;
    let mut number = 0;
    for format in Format::ALL {
        let mut answer = ask(&provider, format, &first(format, "Hello"))
            .await
            .bytes_stream();
        assert!(answer.next().await.unwrap().is_ok());
        assert_eq!(provider.open(), 1);
        drop(answer);
        let ended = provider.ended(number).await;
        assert_eq!(ended.ending(), Some(Ending::ClosedByClient));

        let silent = first(format, "[[silent]]");
        tokio::select! {
            answer = ask(&provider, format, &silent) => panic!("{answer:?}"),
            _ = provider.asked(number + 1) => {}
        }
        let ended = provider.ended(number + 1).await;
        assert_eq!(ended.ending(), Some(Ending::ClosedByClient));

        let held = first(format, "[[held]]");
        let said = text(&provider, format, &held);
        let go_on = async {
            provider.answering(number + 2).await;
            provider.go_on();
        };
        let (said, ()) = tokio::join!(said, go_on);
        assert!(said.contains("two"), "{said}");
        number += 3;
    }
    provider.quiet().await;
}

#[tokio::test]
async fn pieces_may_be_shreds_and_turns_may_stop_for_many_reasons() {
    let scripts = Scripts::from(Turn::saying("Käse 🧀").shredded(3))
        .with("length", Turn::saying("…").stop(Stop::Length))
        .with("refusal", Turn::saying("…").stop(Stop::Refusal));
    let provider = Provider::start(scripts).await;
    for (format, length, refusal) in [
        (Format::Anthropic, "max_tokens", "refusal"),
        (Format::OpenAi, "length", "content_filter"),
        (
            Format::OpenAiResponses,
            "max_output_tokens",
            "content_filter",
        ),
        (Format::Gemini, "MAX_TOKENS", "SAFETY"),
        (Format::Ollama, "length", "stop"),
    ] {
        let answer = ask(&provider, format, &first(format, "Hello")).await;
        let pieces: Vec<_> = answer.bytes_stream().map(Result::unwrap).collect().await;
        let whole = String::from_utf8(pieces.concat()).unwrap();
        assert!(whole.contains("Käse 🧀"), "{whole}");
        let said = text(&provider, format, &first(format, "[[length]]")).await;
        assert!(said.contains(&format!("\"{length}\"")), "{said}");
        let said = text(&provider, format, &first(format, "[[refusal]]")).await;
        assert!(said.contains(&format!("\"{refusal}\"")), "{said}");
    }
}

#[tokio::test]
async fn what_was_recorded_is_played_again_without_the_key() {
    let call = Turn::saying("Let me look").call("look", json!({ "where": "here" }));
    let real = Provider::start(Script::new([call, Turn::saying("Done: req_0123456789abc")])).await;
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::new(&real.url(), folder.path()).unwrap();
    let recording = Provider::start(Voice::Upstream(upstream.into())).await;
    let mut said = Vec::new();
    for format in Format::ALL {
        let prompt = format!("Hello with {} in it", Provider::KEY);
        said.push(text(&recording, format, &first(format, &prompt)).await);
    }
    recording.quiet().await;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = std::fs::read_to_string(file.unwrap().path()).unwrap();
        // Ollama sends no key, so there it is a word of the prompt that looks like one.
        assert!(!file.contains(Provider::KEY), "{file}");
    }
    let again = Provider::start(Voice::Tape(Tape::read(folder.path()).unwrap())).await;
    for (format, said) in Format::ALL.into_iter().zip(said) {
        assert_eq!(text(&again, format, &first(format, "Hello")).await, said);
    }
}
