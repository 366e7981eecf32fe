//! Errors that a page receives when the provider fails, in each of the four formats. Afterwards nothing
//! runs, and nothing counts against the limits.

use std::time::Duration;

use e2e::{
    AgentEndpoint, AgentService, BreakMode, ExchangeOutcome, Format, MockProvider, Script, Scripts,
    StopReason, TestBed, Turn,
};
use serde_json::json;

use crate::test_bed::{QueryEvents, QueryTestBed, query, query_tool};

/// How the provider fails, and how the query ends.
struct FailureCase {
    name: &'static str,
    turn: Turn,
    code: &'static str,
    /// The number of requests to the provider.
    requests: usize,
}

fn case(name: &'static str, turn: Turn, code: &'static str, requests: usize) -> FailureCase {
    FailureCase {
        name,
        turn,
        code,
        requests,
    }
}

fn cases() -> Vec<FailureCase> {
    let text = || Turn::from_text("I begin").text(" and go on");
    let call = || Turn::from_call("look", json!({ "where": "everywhere" }));
    let busy = |status| Turn::rejected(status).header("retry-after-ms", "10");
    vec![
        case("401", Turn::rejected(401), "ModelUnauthorized", 1),
        case("403", Turn::rejected(403), "ModelUnauthorized", 1),
        case("404", Turn::rejected(404), "ModelRequestRefused", 1),
        case("413", Turn::rejected(413), "ModelInputTooLong", 1),
        case("429", busy(429), "ModelRateLimited", 3),
        case("500", busy(500), "ModelUnavailable", 3),
        case("503", busy(503), "ModelUnavailable", 3),
        case("529", busy(529), "ModelUnavailable", 3),
        case(
            "error",
            text().broken(1, BreakMode::Error),
            "ModelStreamBroken",
            1,
        ),
        case(
            "cut",
            text().broken(1, BreakMode::Cut),
            "ModelStreamBroken",
            1,
        ),
        case(
            "end",
            text().broken(1, BreakMode::End),
            "ModelStreamUnfinished",
            1,
        ),
        case(
            "end-call",
            call().broken(2, BreakMode::End),
            "ModelStreamUnfinished",
            1,
        ),
        case(
            "hang",
            text().broken(1, BreakMode::Hang),
            "ModelUnavailable",
            1,
        ),
        case("silent", Turn::silent(), "ModelUnavailable", 1),
        case(
            "length",
            text().stop(StopReason::Length),
            "ModelLengthReached",
            1,
        ),
        case(
            "refusal",
            text().stop(StopReason::Refusal),
            "ModelRefused",
            1,
        ),
    ]
}

async fn check_failures(format: Format) {
    let mut scripts = Scripts::from(Turn::from_text("Fine."));
    for case in cases() {
        scripts = scripts.with(case.name, case.turn);
    }
    let limits = ["--provider-silence", "1s", "--first-token-within", "1s"];
    // The limit is one query: a failed one that still counted would prevent the next.
    let bed = QueryTestBed::start_with(format, scripts, &limits, &["--max-queries", "1"]).await;
    let page = bed.page(vec![e2e::PageTool::echo()]).await;
    let mut requests = 0;
    for case in cases() {
        let prompt = format!("Hello [[{}]]", case.name);
        let events = QueryEvents::run(&page, query(&format!("q-{}", case.name), &prompt)).await;
        let last = events.last();
        assert_eq!(
            last["code"], case.code,
            "{format:?}, {}: {events:?}",
            case.name
        );
        assert_eq!(events.0[0]["type"], "query_accepted");
        let text = last.to_string();
        assert!(
            !text.contains(MockProvider::KEY) && text.contains(format.provider()),
            "{text}"
        );
        if ["error", "cut", "end", "hang"].contains(&case.name) {
            assert_eq!(
                events.summary()[1],
                "says I begin",
                "{format:?}: {events:?}"
            );
        }
        assert_eq!(events.notes().len(), case.requests - 1, "{events:?}");
        bed.assert_idle_without_leaks().await;
        let exchanges = bed.provider.exchanges().split_off(requests);
        assert_eq!(exchanges.len(), case.requests, "{format:?}, {}", case.name);
        requests += case.requests;
    }
    let events = QueryEvents::run(&page, query("q-last", "Hello")).await;
    assert_eq!(events.last()["result"], "Fine.");
    bed.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn failures_of_anthropic_have_the_expected_codes() {
    check_failures(Format::Anthropic).await;
}

#[tokio::test]
async fn failures_of_openai_have_the_expected_codes() {
    check_failures(Format::OpenAi).await;
}

#[tokio::test]
async fn failures_of_gemini_have_the_expected_codes() {
    check_failures(Format::Gemini).await;
}

#[tokio::test]
async fn failures_of_the_responses_of_openai_have_the_expected_codes() {
    check_failures(Format::OpenAiResponses).await;
}

#[tokio::test]
async fn arguments_that_are_not_json_are_an_error_that_the_model_reads() {
    let script = Script::new([
        Turn::from_call("echo", json!({ "text": "Milk" })).arguments_cut_off(),
        Turn::from_call("echo", json!({ "text": "Milk" })),
        Turn::from_text("Said."),
    ]);
    for format in Format::ALL {
        let bed = QueryTestBed::start(format, script.clone()).await;
        let page = bed.page(vec![e2e::PageTool::echo()]).await;
        let events = QueryEvents::run(&page, query("q-1", "Say Milk")).await;
        let exchanges = bed.provider.exchanges();
        if format == Format::Gemini {
            // Its provider does not pass such a call on. The turn is asked for once more.
            assert_eq!(events.last()["code"], "ModelCallInvalid", "{events:?}");
            assert_eq!(exchanges.len(), 2, "{events:?}");
        } else {
            assert_eq!(events.last()["result"], "Said.", "{format:?}: {events:?}");
            let told = exchanges[1].body.to_string();
            assert!(told.contains("the arguments are not JSON"), "{told}");
        }
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_busy_provider_is_retried_after_the_delay_it_demands() {
    let busy = Turn::rejected(429)
        .header("retry-after", "1")
        .text("At last.")
        .times(1);
    let overloaded = Turn::rejected(529).text("At last.").times(2);
    let without = Turn::rejected(429).text("At last.").times(1);
    let scripts = Scripts::from(busy)
        .with("overloaded", overloaded)
        .with("without", without);
    let bed = QueryTestBed::start(Format::Anthropic, scripts).await;
    let page = bed.page(vec![]).await;
    let events = QueryEvents::run(&page, query("q-1", "Hello")).await;
    assert_eq!(events.last()["result"], "At last.", "{events:?}");
    assert_eq!(events.notes().len(), 1, "{events:?}");
    let (first, second) = (
        bed.provider.wait_for_end(0).await,
        bed.provider.wait_for_end(1).await,
    );
    assert_eq!(first.outcome(), Some(ExchangeOutcome::Rejected(429)));
    let waited = second.arrived - first.end.unwrap().1;
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
    let events = QueryEvents::run(&page, query("q-2", "Hello [[overloaded]]")).await;
    assert_eq!(events.last()["result"], "At last.", "{events:?}");
    assert_eq!(events.notes().len(), 2, "{events:?}");
    let events = QueryEvents::run(&page, query("q-3", "Hello [[without]]")).await;
    assert_eq!(events.last()["result"], "At last.", "{events:?}");
    assert_eq!(events.notes().len(), 1, "{events:?}");
    bed.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn a_response_that_has_started_is_not_retried() {
    let script = Script::new([
        Turn::from_call("echo", json!({})),
        Turn::from_text("I begin")
            .text("…")
            .broken(1, BreakMode::Error)
            .times(1),
    ]);
    let bed = QueryTestBed::start(Format::OpenAi, script).await;
    let page = bed.page(vec![e2e::PageTool::echo()]).await;
    let events = QueryEvents::run(&page, query("q-1", "Hello")).await;
    assert_eq!(events.last()["code"], "ModelStreamBroken", "{events:?}");
    bed.assert_idle_without_leaks().await;
    assert_eq!(bed.provider.exchanges().len(), 2);
}

#[tokio::test]
async fn a_wrong_key_and_an_unreachable_provider_have_different_codes() {
    for format in Format::ALL {
        let provider = MockProvider::start(Turn::from_text("Hello")).await;
        let endpoint = AgentEndpoint::reserve();
        let bridge = endpoint.start_bridge(&[]).await;
        let key = "sk-a-key-that-nobody-knows-0123456789";
        let start = AgentService::start_with_key;
        let unreachable = AgentEndpoint::reserve().url();
        let agent = start(&endpoint, &bridge, &provider, format, key, &[]).await;
        let page = e2e::QueryPage::open(&bridge, "board", vec![]).await;
        let events = QueryEvents::run(&page, query("q-1", "Hello")).await;
        assert_eq!(
            events.last()["code"],
            "ModelUnauthorized",
            "{format:?}: {events:?}"
        );
        assert!(!format!("{events:?}{}", agent.log()).contains(key));
        drop(page);
        drop(agent);
        let arguments = ["--base-url", &unreachable, "--retries", "1"];
        let _agent = start(&endpoint, &bridge, &provider, format, key, &arguments).await;
        let page = e2e::QueryPage::open(&bridge, "another", vec![]).await;
        let events = QueryEvents::run(&page, query("q-2", "Hello")).await;
        assert_eq!(
            events.last()["code"],
            "ModelUnavailable",
            "{format:?}: {events:?}"
        );
    }
}

#[tokio::test]
async fn the_log_of_the_demo_has_no_bodies_of_the_provider() {
    // Without a key the provider refuses every request, with a body that states this.
    let provider = MockProvider::start(Turn::from_text("Hello")).await;
    let url = provider.base_url(Format::OpenAi);
    let model = ["--agent-model", "local", "--agent-base-url", &url];
    let demo = TestBed::demo_with(&model).await;
    let page = e2e::QueryPage::open(&demo, "board", vec![]).await;
    let events = QueryEvents::run(&page, query("q-1", "Hello")).await;
    assert_eq!(events.last()["code"], "ModelUnauthorized", "{events:?}");
    assert_eq!(provider.exchanges().len(), 1);
    let log = demo.log();
    for content in ["API key", "invalid_request_error"] {
        assert!(!log.contains(content), "{log}");
    }
}

#[tokio::test]
async fn a_missing_call_of_the_response_tool_and_a_timeout_are_failures() {
    let bed = QueryTestBed::start(
        Format::Anthropic,
        Scripts::from(Script::new((0..9).map(|_| Turn::from_text("No."))))
            .with("silent", Turn::silent()),
    )
    .await;
    let page = bed.page(vec![e2e::PageTool::echo()]).await;
    let mut request = query("q-1", "Hello");
    request.response_tool = Some(query_tool("echo"));
    let events = QueryEvents::run(&page, request).await;
    assert_eq!(events.last()["code"], "ResponseToolNotCalled", "{events:?}");
    let mut request = query("q-2", "Hello [[silent]]");
    request.timeout = Some(300);
    let events = QueryEvents::run(&page, request).await;
    assert_eq!(events.last()["code"], "QueryTimeout", "{events:?}");
    bed.assert_idle_without_leaks().await;
    let last = bed.provider.exchanges().pop().unwrap();
    assert_eq!(last.outcome(), Some(ExchangeOutcome::ClosedByClient));
}
