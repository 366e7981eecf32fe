//! Calls that go wrong are the model's to read, not the end of the query.

use crate::test_bed;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use e2e::{Format, NativeItem, Script, Turn};
use serde_json::json;

use crate::test_bed::{QueryEvents, QueryTestBed, query, query_tool};

/// A tool that counts its calls.
fn counting_tool(name: &str, count: &Arc<AtomicUsize>) -> NativeItem {
    let count = count.clone();
    NativeItem::tool(name, move |call| {
        count.fetch_add(1, Ordering::Relaxed);
        async move { Ok(call.input().into()) }
    })
}

#[tokio::test]
async fn unknown_tools_throwing_tools_and_bad_arguments_go_back_to_the_model() {
    for format in Format::AGENT_FORMATS {
        let script = Script::new([
            Turn::from_call("no_such_tool", json!({}))
                .call("throwing", json!({}))
                .call("add_card", json!({ "name": 1 })),
            Turn::from_text("I could not."),
        ]);
        let asking = QueryTestBed::start(format, script).await;
        let throwing = NativeItem::tool("throwing", async |_| Err("the disk is full".into()));
        let page = asking.page(vec![throwing, test_bed::adding_tool(1)]).await;
        let heard = QueryEvents::run(&page, query("q-1", "Hello")).await;
        let mut story = heard.summary();
        story[1..7].sort();
        assert_eq!(
            story[4..],
            [
                "failed 1 no_such_tool",
                "failed 2 throwing",
                "failed 3 add_card",
                "says I could not.",
                r#"completes "I could not.""#,
            ],
            "{format:?}"
        );
        let finished = |tool: &str| {
            let mut contents = heard.0.iter().map(|event| &event["content"]);
            let of_tool = contents.find(|it| it["type"] == "tool-finished" && it["tool"] == tool);
            of_tool.unwrap()["error"].as_str().unwrap().to_owned()
        };
        assert!(finished("no_such_tool").contains("There is no tool `no_such_tool`"));
        assert!(finished("throwing").contains("the disk is full"));
        assert!(
            finished("add_card").contains("title"),
            "{}",
            finished("add_card")
        );
        let told = asking.provider.wait_for_end(1).await.body.to_string();
        for words in ["There is no tool", "the disk is full", "title"] {
            assert!(told.contains(words), "{format:?}: {told}");
        }
        asking.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_tool_that_the_query_does_not_allow_is_not_called() {
    let script = Script::new([
        Turn::from_call("delete_all", json!({})).call("look", json!({})),
        Turn::from_text("I may not."),
    ]);
    let asking = QueryTestBed::start(Format::Anthropic, script).await;
    let (deleted, looked) = (Arc::default(), Arc::default());
    let tools = vec![
        counting_tool("delete_all", &deleted),
        counting_tool("look", &looked),
    ];
    let page = asking.page(tools).await;
    let mut asked = query("q-1", "Clean up");
    asked.tools = Some(vec![query_tool("look")]);
    asked.restrict_tools = Some(true);
    let heard = QueryEvents::run(&page, asked).await;
    let story = heard.summary();
    assert!(
        story.contains(&"failed 1 delete_all".to_owned()),
        "{story:?}"
    );
    assert!(story.contains(&"ended 2 look".to_owned()), "{story:?}");
    assert_eq!(heard.last()["result"], "I may not.");
    assert_eq!(deleted.load(Ordering::Relaxed), 0);
    assert_eq!(looked.load(Ordering::Relaxed), 1);
    let exchange = asking.provider.wait_for_end(0).await;
    let offered = exchange.body["tools"].to_string();
    assert!(!offered.contains("delete_all"), "{offered}");
    asking.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn a_large_result_is_cut_for_the_model_with_a_note() {
    let script = Script::new([
        Turn::from_call("large", json!({})),
        Turn::from_text("Much."),
    ]);
    let asking = QueryTestBed::start(Format::OpenAi, script).await;
    let large = NativeItem::tool("large", async |_| Ok(json!("ä".repeat(60_000)).into()));
    let page = asking.page(vec![large]).await;
    let heard = QueryEvents::run(&page, query("q-1", "How much?")).await;
    assert_eq!(heard.last()["result"], "Much.");
    let told = asking.provider.wait_for_end(1).await.body.to_string();
    assert!(
        told.contains("54464 of its 120000 bytes are missing"),
        "{}",
        &told[told.len() - 900..]
    );
    assert!(told.len() < 80_000, "{}", told.len());
}

#[tokio::test]
async fn what_a_query_may_use_is_limited() {
    let again = || {
        let turn = Turn::from_call("look", json!({}));
        turn.call("look", json!({})).usage(900, 100)
    };
    let scripts = || Script::new((0..9).map(|_| again()));
    let rows = [
        (["--max-rounds", "3"], "3 rounds", 4),
        (["--max-calls", "3"], "3 calls", 3),
        (["--max-tokens", "3000"], "3000 tokens", 6),
    ];
    for (limits, words, most) in rows {
        let asking = QueryTestBed::start_with(Format::Anthropic, scripts(), &limits, &[]).await;
        let count = Arc::new(AtomicUsize::new(0));
        let page = asking.page(vec![counting_tool("look", &count)]).await;
        let heard = QueryEvents::run(&page, query("q-1", &"Look! ".repeat(400))).await;
        let last = heard.last();
        assert_eq!(last["code"], "QueryBudgetExceeded", "{limits:?}: {heard:?}");
        assert!(last["error"].as_str().unwrap().contains(words), "{last}");
        let called = count.load(Ordering::Relaxed);
        assert!(called <= most, "{limits:?}: {called} calls");
        asking.assert_idle_without_leaks().await;
    }
}
