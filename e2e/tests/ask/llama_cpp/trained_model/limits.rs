//! Prompts, conversations and answers that exceed the context, and answers without an end.

use e2e::{Format, LlamaCpp};

use super::{APIS, Arguments, ONE_WORD, SHORT, TrainedTestBed, result, tokens};
use crate::test_bed::{QueryEvents, query};

#[tokio::test]
async fn a_prompt_beyond_the_context_is_refused() {
    for format in APIS {
        let arguments = Arguments {
            server: &[&ONE_WORD[..], &["--context", "1024"]].concat(),
            ..Arguments::default()
        };
        let bed = TrainedTestBed::start(format, arguments).await;
        let page = bed.page(vec![]).await;
        // About 1,500 tokens.
        let events = QueryEvents::run(&page, query("q-1", &"Look! ".repeat(750))).await;
        let last = events.last();
        assert_eq!(last["code"], "ModelInputTooLong", "{format:?}: {events:?}");
        let remedy = last.to_string();
        assert!(remedy.contains("ask with less context"), "{remedy}");
        let events = QueryEvents::run(&page, query("q-2", SHORT)).await;
        result(&events);
        bed.assert_idle_without_leaks().await;
        // The operator reads how much is too much.
        let log = bed.agent.log();
        let has_limit = log.contains("exceeds the available context size (1024 tokens)");
        assert!(has_limit, "{format:?}: {log}");
    }
}

#[tokio::test]
async fn a_conversation_beyond_the_context_is_shortened() {
    const CONTEXT: u64 = 1024;
    let arguments = Arguments {
        server: &[&ONE_WORD[..], &["--context", "1024"]].concat(),
        ..Arguments::default()
    };
    let bed = TrainedTestBed::start(Format::OpenAi, arguments).await;
    let page = bed.page(vec![]).await;
    let mut notes = Vec::new();
    let mut used = 0;
    for uuid in ["q-1", "q-2", "q-3"] {
        // 350 tokens, beside about 300 of the agent.
        let prompt = format!("{}\n\n{SHORT}", "Look! ".repeat(175));
        let mut query = query(uuid, &prompt);
        query.conversation = Some("c".to_owned());
        let events = QueryEvents::run(&page, query).await;
        result(&events);
        notes.extend(events.notes().into_iter().map(ToOwned::to_owned));
        let (input, output) = tokens(&events);
        assert!(input + output < CONTEXT, "{input} + {output}");
        used += input;
    }
    let shortened = notes
        .iter()
        .any(|note| note.contains("its beginning was left out"));
    assert!(shortened, "{notes:?}");
    assert!(used > CONTEXT, "{used} tokens");
    bed.assert_idle_without_leaks().await;
}

/// Asks for an answer that never ends by itself. Returns the tokens of the input and of the output.
async fn reach_the_length(format: Format, arguments: Arguments<'_>) -> (u64, u64) {
    let bed = TrainedTestBed::start(format, arguments).await;
    let page = bed.page(vec![]).await;
    let events = QueryEvents::run(&page, query("q-1", SHORT)).await;
    let code = &events.last()["code"];
    assert_eq!(code, "ModelLengthReached", "{format:?}: {events:?}");
    bed.assert_idle_without_leaks().await;
    tokens(&events)
}

#[tokio::test]
async fn an_answer_that_fills_the_context_reaches_its_length() {
    for format in LlamaCpp::FORMATS {
        let arguments = Arguments {
            server: &["--endless", "--context", "512"],
            ..Arguments::default()
        };
        let (input, output) = reach_the_length(format, arguments).await;
        assert_eq!(input + output, 512, "{format:?}: {input} + {output}");
    }
}

#[tokio::test]
async fn endless_output_ends_at_the_limit() {
    for format in APIS {
        let arguments = Arguments {
            server: &["--endless"],
            // A model with reasoning would get more tokens than these, and llama.cpp reports an answer that
            // fills its context as complete in the API for responses.
            agent: &["--max-output-tokens", "60", "--model", "gpt-4.1"],
            ..Arguments::default()
        };
        let (_, output) = reach_the_length(format, arguments).await;
        assert_eq!(output, 60, "{format:?}");
    }
}
