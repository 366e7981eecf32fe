//! Failed calls are reported to the model; they do not end the query.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use e2e::{Format, PageTool, Script, Turn};
use serde_json::json;

use crate::test_bed::{QueryEvents, QueryTestBed, adding_tool, query, query_tool};

/// Creates a tool that counts its calls.
fn counting_tool(name: &str, count: &Arc<AtomicUsize>) -> PageTool {
    let count = count.clone();
    PageTool::new(name, move |input| {
        count.fetch_add(1, Ordering::Relaxed);
        async move { Ok(input) }
    })
}

#[tokio::test]
async fn unknown_tools_failing_tools_and_bad_arguments_are_reported_to_the_model() {
    for format in Format::ALL {
        let script = Script::new([
            Turn::from_call("no_such_tool", json!({}))
                .call("throwing", json!({}))
                .call("add_card", json!({ "name": 1 })),
            Turn::from_text("I could not."),
        ]);
        let bed = QueryTestBed::start(format, script).await;
        let failing = PageTool::new("throwing", async |_| Err("the disk is full".into()));
        let page = bed.page(vec![failing, adding_tool(1)]).await;
        let events = QueryEvents::run(&page, query("q-1", "Hello")).await;
        let mut summary = events.summary();
        summary[1..7].sort();
        assert_eq!(
            summary[4..],
            [
                "failed 1 no_such_tool",
                "failed 2 throwing",
                "failed 3 add_card",
                "says I could not.",
                r#"completes "I could not.""#,
            ],
            "{format:?}"
        );
        let error = |tool: &str| {
            let mut contents = events.0.iter().map(|event| &event["content"]);
            let end = contents.find(|it| it["type"] == "tool-finished" && it["tool"] == tool);
            end.unwrap()["error"].as_str().unwrap().to_owned()
        };
        assert!(error("no_such_tool").contains("There is no tool `no_such_tool`"));
        assert!(error("throwing").contains("the disk is full"));
        assert!(error("add_card").contains("title"), "{}", error("add_card"));
        let body = bed.provider.wait_for_end(1).await.body.to_string();
        for text in ["There is no tool", "the disk is full", "title"] {
            assert!(body.contains(text), "{format:?}: {body}");
        }
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_tool_that_the_query_does_not_allow_is_not_called() {
    let script = Script::new([
        Turn::from_call("delete_all", json!({})).call("look", json!({})),
        Turn::from_text("I may not."),
    ]);
    let bed = QueryTestBed::start(Format::Anthropic, script).await;
    let (deleted, looked) = (Arc::default(), Arc::default());
    let tools = vec![
        counting_tool("delete_all", &deleted),
        counting_tool("look", &looked),
    ];
    let page = bed.page(tools).await;
    let mut request = query("q-1", "Clean up");
    request.tools = Some(vec![query_tool("look")]);
    request.restrict_tools = Some(true);
    let events = QueryEvents::run(&page, request).await;
    let summary = events.summary();
    assert!(
        summary.contains(&"failed 1 delete_all".to_owned()),
        "{summary:?}"
    );
    assert!(summary.contains(&"ended 2 look".to_owned()), "{summary:?}");
    assert_eq!(events.last()["result"], "I may not.");
    assert_eq!(deleted.load(Ordering::Relaxed), 0);
    assert_eq!(looked.load(Ordering::Relaxed), 1);
    let exchange = bed.provider.wait_for_end(0).await;
    let offered = exchange.body["tools"].to_string();
    assert!(!offered.contains("delete_all"), "{offered}");
    bed.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn a_large_result_is_truncated_for_the_model_with_a_note() {
    let script = Script::new([
        Turn::from_call("large", json!({})),
        Turn::from_text("Much."),
    ]);
    let bed = QueryTestBed::start(Format::OpenAi, script).await;
    let large = PageTool::new("large", async |_| Ok(json!("ä".repeat(60_000))));
    let page = bed.page(vec![large]).await;
    let events = QueryEvents::run(&page, query("q-1", "How much?")).await;
    assert_eq!(events.last()["result"], "Much.");
    let body = bed.provider.wait_for_end(1).await.body.to_string();
    assert!(
        body.contains("54464 of its 120000 bytes are missing"),
        "{}",
        &body[body.len() - 900..]
    );
    assert!(body.len() < 80_000, "{}", body.len());
}

#[tokio::test]
async fn the_budget_of_a_query_is_limited() {
    let looking = || {
        let turn = Turn::from_call("look", json!({}));
        turn.call("look", json!({})).usage(900, 100)
    };
    let scripts = || Script::new((0..9).map(|_| looking()));
    let cases = [
        (["--max-rounds", "3"], "3 rounds", 4),
        (["--max-calls", "3"], "3 calls", 3),
        (["--max-tokens", "3000"], "3000 tokens", 6),
    ];
    for (limits, text, max_calls) in cases {
        let bed = QueryTestBed::start_with(Format::Anthropic, scripts(), &limits, &[]).await;
        let count = Arc::new(AtomicUsize::new(0));
        let page = bed.page(vec![counting_tool("look", &count)]).await;
        let events = QueryEvents::run(&page, query("q-1", &"Look! ".repeat(400))).await;
        let last = events.last();
        assert_eq!(
            last["code"], "QueryBudgetExceeded",
            "{limits:?}: {events:?}"
        );
        assert!(last["error"].as_str().unwrap().contains(text), "{last}");
        let called = count.load(Ordering::Relaxed);
        assert!(called <= max_calls, "{limits:?}: {called} calls");
        bed.assert_idle_without_leaks().await;
    }
}
