//! The failure table: what a page hears when the provider fails, on each of the four wires, and that
//! nothing runs or counts afterwards.

use std::time::Duration;

use e2e::{
    AgentEndpoint, AgentService, BreakMode, ExchangeOutcome, Format, MockProvider, Script, Scripts,
    StopReason, TestBed, Turn,
};
use serde_json::json;

use crate::test_bed::{QueryEvents, QueryTestBed, query, query_tool};

/// How the provider fails, and what becomes of the query.
struct FailureCase {
    name: &'static str,
    turn: Turn,
    code: &'static str,
    /// How often the provider is asked.
    requests: usize,
    /// Whether this provider can fail so.
    formats: &'static [Format],
}

const NOT_OLLAMA: &[Format] = &[Format::Anthropic, Format::OpenAi, Format::Gemini];

fn case(name: &'static str, turn: Turn, code: &'static str, asked: usize) -> FailureCase {
    FailureCase {
        name,
        turn,
        code,
        requests: asked,
        formats: &Format::AGENT_FORMATS,
    }
}

fn cases() -> Vec<FailureCase> {
    let saying = || Turn::from_text("I begin").text(" and go on");
    let calling = || Turn::from_call("look", json!({ "where": "everywhere" }));
    let soon = |status| Turn::refused(status).header("retry-after-ms", "10");
    vec![
        case("401", Turn::refused(401), "ModelUnauthorized", 1),
        case("403", Turn::refused(403), "ModelUnauthorized", 1),
        case("404", Turn::refused(404), "ModelRequestRefused", 1),
        case("413", Turn::refused(413), "ModelRequestRefused", 1),
        case("429", soon(429), "ModelRateLimited", 3),
        case("500", soon(500), "ModelUnavailable", 3),
        case("503", soon(503), "ModelUnavailable", 3),
        case("529", soon(529), "ModelUnavailable", 3),
        case(
            "error",
            saying().broken(1, BreakMode::Error),
            "ModelStreamBroken",
            1,
        ),
        case(
            "cut",
            saying().broken(1, BreakMode::Cut),
            "ModelStreamBroken",
            1,
        ),
        case(
            "end",
            saying().broken(1, BreakMode::End),
            "ModelStreamUnfinished",
            1,
        ),
        case(
            "end-call",
            calling().broken(2, BreakMode::End),
            "ModelStreamUnfinished",
            1,
        ),
        case(
            "hang",
            saying().broken(1, BreakMode::Hang),
            "ModelUnavailable",
            1,
        ),
        case("silent", Turn::silent(), "ModelUnavailable", 1),
        FailureCase {
            formats: NOT_OLLAMA,
            ..case(
                "arguments",
                calling().arguments_cut_off(),
                "ModelArgumentsCutOff",
                1,
            )
        },
        case(
            "length",
            saying().stop(StopReason::Length),
            "ModelLengthReached",
            1,
        ),
        FailureCase {
            formats: NOT_OLLAMA,
            ..case(
                "refusal",
                saying().stop(StopReason::Refusal),
                "ModelRefused",
                1,
            )
        },
    ]
}

async fn fails_as_the_table_says(format: Format) {
    let mut scripts = Scripts::from(Turn::from_text("Fine."));
    for row in cases() {
        scripts = scripts.with(row.name, row.turn);
    }
    let limits = ["--provider-silence", "1s", "--first-token-within", "1s"];
    // Room for one query: what were still counted would keep the next one out.
    let asking = QueryTestBed::start_with(format, scripts, &limits, &["--max-queries", "1"]).await;
    let page = asking.page(vec![e2e::NativeItem::echo()]).await;
    let mut asked = 0;
    for row in cases()
        .into_iter()
        .filter(|row| row.formats.contains(&format))
    {
        let prompt = format!("Hello [[{}]]", row.name);
        let heard = QueryEvents::run(&page, query(&format!("q-{}", row.name), &prompt)).await;
        let last = heard.last();
        assert_eq!(
            last["code"], row.code,
            "{format:?}, {}: {heard:?}",
            row.name
        );
        assert_eq!(heard.0[0]["type"], "query_accepted");
        let text = last.to_string();
        assert!(
            !text.contains(MockProvider::KEY) && text.contains(format.name()),
            "{text}"
        );
        if ["error", "cut", "end", "hang"].contains(&row.name) {
            assert_eq!(heard.summary()[1], "says I begin", "{format:?}: {heard:?}");
        }
        assert_eq!(heard.notes().len(), row.requests - 1, "{heard:?}");
        asking.assert_idle_without_leaks().await;
        let exchanges = asking.provider.exchanges().split_off(asked);
        assert_eq!(exchanges.len(), row.requests, "{format:?}, {}", row.name);
        asked += row.requests;
    }
    let heard = QueryEvents::run(&page, query("q-last", "Hello")).await;
    assert_eq!(heard.last()["result"], "Fine.");
    asking.assert_idle_without_leaks().await;
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
    let asking = QueryTestBed::start(Format::Anthropic, scripts).await;
    let page = asking.page(vec![]).await;
    let heard = QueryEvents::run(&page, query("q-1", "Hello")).await;
    assert_eq!(heard.last()["result"], "At last.", "{heard:?}");
    assert_eq!(heard.notes().len(), 1, "{heard:?}");
    let (first, second) = (
        asking.provider.wait_for_end(0).await,
        asking.provider.wait_for_end(1).await,
    );
    assert_eq!(first.outcome(), Some(ExchangeOutcome::Refused(429)));
    let waited = second.arrived - first.end.unwrap().1;
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
    let heard = QueryEvents::run(&page, query("q-2", "Hello [[overloaded]]")).await;
    assert_eq!(heard.last()["result"], "At last.", "{heard:?}");
    assert_eq!(heard.notes().len(), 2, "{heard:?}");
    let heard = QueryEvents::run(&page, query("q-3", "Hello [[without]]")).await;
    assert_eq!(heard.last()["result"], "At last.", "{heard:?}");
    assert_eq!(heard.notes().len(), 1, "{heard:?}");
    asking.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn nothing_is_asked_again_once_something_was_said() {
    let script = Script::new([
        Turn::from_call("echo", json!({})),
        Turn::from_text("I begin")
            .text("…")
            .broken(1, BreakMode::Error)
            .times(1),
    ]);
    let asking = QueryTestBed::start(Format::OpenAi, script).await;
    let page = asking.page(vec![e2e::NativeItem::echo()]).await;
    let heard = QueryEvents::run(&page, query("q-1", "Hello")).await;
    assert_eq!(heard.last()["code"], "ModelStreamBroken", "{heard:?}");
    asking.assert_idle_without_leaks().await;
    assert_eq!(asking.provider.exchanges().len(), 2);
}

#[tokio::test]
async fn a_wrong_key_and_a_provider_that_is_not_there_are_told_apart() {
    for format in Format::AGENT_FORMATS {
        let provider = MockProvider::start(Turn::from_text("Hello")).await;
        let place = AgentEndpoint::reserve();
        let arguments = place.bridge_arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let world = TestBed::bridge_with(&arguments).await;
        let key = "sk-a-key-that-nobody-knows-0123456789";
        let start = AgentService::start_with_key;
        let gone = AgentEndpoint::reserve().url();
        if format.key_variable().is_some() {
            let agent = start(&place, &world, &provider, format, key, &[]).await;
            let page = e2e::NativePage::open(&world, "board", vec![]).await;
            let heard = QueryEvents::run(&page, query("q-1", "Hello")).await;
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
        let heard = QueryEvents::run(&page, query("q-2", "Hello")).await;
        assert_eq!(
            heard.last()["code"],
            "ModelUnavailable",
            "{format:?}: {heard:?}"
        );
    }
}

#[tokio::test]
async fn a_response_tool_that_is_never_called_and_too_little_time_are_failures() {
    let asking = QueryTestBed::start(
        Format::Anthropic,
        Scripts::from(Script::new((0..9).map(|_| Turn::from_text("No."))))
            .with("silent", Turn::silent()),
    )
    .await;
    let page = asking.page(vec![e2e::NativeItem::echo()]).await;
    let mut asked = query("q-1", "Hello");
    asked.response_tool = Some(query_tool("echo"));
    let heard = QueryEvents::run(&page, asked).await;
    assert_eq!(heard.last()["code"], "ResponseToolNotCalled", "{heard:?}");
    let mut asked = query("q-2", "Hello [[silent]]");
    asked.timeout = Some(300);
    let heard = QueryEvents::run(&page, asked).await;
    assert_eq!(heard.last()["code"], "QueryTimeout", "{heard:?}");
    asking.assert_idle_without_leaks().await;
    let last = asking.provider.exchanges().pop().unwrap();
    assert_eq!(last.outcome(), Some(ExchangeOutcome::ClosedByClient));
}
