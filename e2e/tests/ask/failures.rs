//! The failure table: what a page hears when the provider fails, on each of the four wires, and that
//! nothing runs or counts afterwards.

use std::time::Duration;

use e2e::{
    AgentPlace, AgentService, Break, Ending, Format, Provider, Script, Scripts, Stop, Turn, World,
};
use serde_json::json;

use crate::asking::{Asking, Heard, named, query};

/// How the provider fails, and what becomes of the query.
struct Row {
    name: &'static str,
    turn: Turn,
    code: &'static str,
    /// How often the provider is asked.
    asked: usize,
    /// Whether this provider can fail so.
    of: &'static [Format],
}

const NOT_OLLAMA: &[Format] = &[Format::Anthropic, Format::OpenAi, Format::Gemini];

fn row(name: &'static str, turn: Turn, code: &'static str, asked: usize) -> Row {
    Row {
        name,
        turn,
        code,
        asked,
        of: &Format::OF_OUR_AGENT,
    }
}

fn table() -> Vec<Row> {
    let saying = || Turn::saying("I begin").text(" and go on");
    let calling = || Turn::calling("look", json!({ "where": "everywhere" }));
    let soon = |status| Turn::refused(status).header("retry-after-ms", "10");
    vec![
        row("401", Turn::refused(401), "ModelUnauthorized", 1),
        row("403", Turn::refused(403), "ModelUnauthorized", 1),
        row("404", Turn::refused(404), "ModelRequestRefused", 1),
        row("413", Turn::refused(413), "ModelRequestRefused", 1),
        row("429", soon(429), "ModelRateLimited", 3),
        row("500", soon(500), "ModelUnavailable", 3),
        row("503", soon(503), "ModelUnavailable", 3),
        row("529", soon(529), "ModelUnavailable", 3),
        row(
            "error",
            saying().broken(1, Break::Error),
            "ModelStreamBroken",
            1,
        ),
        row(
            "cut",
            saying().broken(1, Break::Cut),
            "ModelStreamBroken",
            1,
        ),
        row(
            "end",
            saying().broken(1, Break::End),
            "ModelStreamUnfinished",
            1,
        ),
        row(
            "end-call",
            calling().broken(2, Break::End),
            "ModelStreamUnfinished",
            1,
        ),
        row(
            "hang",
            saying().broken(1, Break::Hang),
            "ModelUnavailable",
            1,
        ),
        row("silent", Turn::silent(), "ModelUnavailable", 1),
        Row {
            of: NOT_OLLAMA,
            ..row(
                "arguments",
                calling().arguments_cut_off(),
                "ModelArgumentsCutOff",
                1,
            )
        },
        row(
            "length",
            saying().stop(Stop::Length),
            "ModelLengthReached",
            1,
        ),
        Row {
            of: NOT_OLLAMA,
            ..row("refusal", saying().stop(Stop::Refusal), "ModelRefused", 1)
        },
    ]
}

async fn fails_as_the_table_says(format: Format) {
    let mut scripts = Scripts::from(Turn::saying("Fine."));
    for row in table() {
        scripts = scripts.with(row.name, row.turn);
    }
    let limits = ["--provider-silence", "1s", "--first-token-within", "1s"];
    // Room for one query: what were still counted would keep the next one out.
    let asking = Asking::start_with(format, scripts, &limits, &["--max-queries", "1"]).await;
    let page = asking.page(vec![e2e::NativeItem::echo()]).await;
    let mut asked = 0;
    for row in table().into_iter().filter(|row| row.of.contains(&format)) {
        let prompt = format!("Hello [[{}]]", row.name);
        let heard = Heard::of(&page, query(&format!("q-{}", row.name), &prompt)).await;
        let last = heard.last();
        assert_eq!(
            last["code"], row.code,
            "{format:?}, {}: {heard:?}",
            row.name
        );
        assert_eq!(heard.0[0]["type"], "query_accepted");
        let text = last.to_string();
        assert!(
            !text.contains(Provider::KEY) && text.contains(format.name()),
            "{text}"
        );
        if ["error", "cut", "end", "hang"].contains(&row.name) {
            assert_eq!(heard.story()[1], "says I begin", "{format:?}: {heard:?}");
        }
        assert_eq!(heard.notes().len(), row.asked - 1, "{heard:?}");
        asking.at_rest().await;
        let exchanges = asking.provider.exchanges().split_off(asked);
        assert_eq!(exchanges.len(), row.asked, "{format:?}, {}", row.name);
        asked += row.asked;
    }
    let heard = Heard::of(&page, query("q-last", "Hello")).await;
    assert_eq!(heard.last()["result"], "Fine.");
    asking.at_rest().await;
}

#[tokio::test]
async fn anthropic_fails_as_the_table_says() {
    fails_as_the_table_says(Format::Anthropic).await;
}

#[tokio::test]
async fn openai_fails_as_the_table_says() {
    fails_as_the_table_says(Format::OpenAi).await;
}

#[tokio::test]
async fn gemini_fails_as_the_table_says() {
    fails_as_the_table_says(Format::Gemini).await;
}

#[tokio::test]
async fn ollama_fails_as_the_table_says() {
    fails_as_the_table_says(Format::Ollama).await;
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_when_it_says_so() {
    let busy = Turn::refused(429)
        .header("retry-after", "1")
        .text("At last.")
        .times(1);
    let overloaded = Turn::refused(529).text("At last.").times(2);
    let without = Turn::refused(429).text("At last.").times(1);
    let scripts = Scripts::from(busy)
        .with("overloaded", overloaded)
        .with("without", without);
    let asking = Asking::start(Format::Anthropic, scripts).await;
    let page = asking.page(vec![]).await;
    let heard = Heard::of(&page, query("q-1", "Hello")).await;
    assert_eq!(heard.last()["result"], "At last.", "{heard:?}");
    assert_eq!(heard.notes().len(), 1, "{heard:?}");
    let (first, second) = (
        asking.provider.ended(0).await,
        asking.provider.ended(1).await,
    );
    assert_eq!(first.ending(), Some(Ending::Refused(429)));
    let waited = second.arrived - first.end.unwrap().1;
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
    let heard = Heard::of(&page, query("q-2", "Hello [[overloaded]]")).await;
    assert_eq!(heard.last()["result"], "At last.", "{heard:?}");
    assert_eq!(heard.notes().len(), 2, "{heard:?}");
    let heard = Heard::of(&page, query("q-3", "Hello [[without]]")).await;
    assert_eq!(heard.last()["result"], "At last.", "{heard:?}");
    assert_eq!(heard.notes().len(), 1, "{heard:?}");
    asking.at_rest().await;
}

#[tokio::test]
async fn nothing_is_asked_again_once_something_was_said() {
    let script = Script::new([
        Turn::calling("echo", json!({})),
        Turn::saying("I begin")
            .text("…")
            .broken(1, Break::Error)
            .times(1),
    ]);
    let asking = Asking::start(Format::OpenAi, script).await;
    let page = asking.page(vec![e2e::NativeItem::echo()]).await;
    let heard = Heard::of(&page, query("q-1", "Hello")).await;
    assert_eq!(heard.last()["code"], "ModelStreamBroken", "{heard:?}");
    asking.at_rest().await;
    assert_eq!(asking.provider.exchanges().len(), 2);
}

#[tokio::test]
async fn a_wrong_key_and_a_provider_that_is_not_there_are_told_apart() {
    for format in Format::OF_OUR_AGENT {
        let provider = Provider::start(Turn::saying("Hello")).await;
        let place = AgentPlace::find();
        let arguments = place.for_bridge();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let world = World::bridge_with(&arguments).await;
        let key = "sk-a-key-that-nobody-knows-0123456789";
        let start = AgentService::start_with_key;
        let gone = AgentPlace::find().url();
        if format.key_variable().is_some() {
            let agent = start(&place, &world, &provider, format, key, &[]).await;
            let page = e2e::NativePage::open(&world, "board", vec![]).await;
            let heard = Heard::of(&page, query("q-1", "Hello")).await;
            assert_eq!(
                heard.last()["code"],
                "ModelUnauthorized",
                "{format:?}: {heard:?}"
            );
            assert!(!format!("{heard:?}{}", agent.log()).contains(key));
        }
        let arguments = ["--base-url", &gone, "--retries", "1"];
        let _agent = start(&place, &world, &provider, format, key, &arguments).await;
        let page = e2e::NativePage::open(&world, "another", vec![]).await;
        let heard = Heard::of(&page, query("q-2", "Hello")).await;
        assert_eq!(
            heard.last()["code"],
            "ModelUnavailable",
            "{format:?}: {heard:?}"
        );
    }
}

#[tokio::test]
async fn a_response_tool_that_is_never_called_and_too_little_time_are_failures() {
    let asking = Asking::start(
        Format::Anthropic,
        Scripts::from(Script::new((0..9).map(|_| Turn::saying("No."))))
            .with("silent", Turn::silent()),
    )
    .await;
    let page = asking.page(vec![e2e::NativeItem::echo()]).await;
    let mut asked = query("q-1", "Hello");
    asked.response_tool = Some(named("echo"));
    let heard = Heard::of(&page, asked).await;
    assert_eq!(heard.last()["code"], "ResponseToolNotCalled", "{heard:?}");
    let mut asked = query("q-2", "Hello [[silent]]");
    asked.timeout = Some(300);
    let heard = Heard::of(&page, asked).await;
    assert_eq!(heard.last()["code"], "QueryTimeout", "{heard:?}");
    asking.at_rest().await;
    let last = asking.provider.exchanges().pop().unwrap();
    assert_eq!(last.ending(), Some(Ending::ClosedByClient));
}
