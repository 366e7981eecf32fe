//! Text and calls: free ones, those that the page restricts or requires, and those that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use e2e::{LlamaCpp, PageTool};
use serde_json::{Value, json};

use super::{ANSWER, LlamaCppTestBed, TEXT};
use crate::test_bed::{QueryEvents, adding_tool, query, query_tool};

fn named_tool(name: &str) -> PageTool {
    PageTool::new(name, async |_| Ok(json!("done")))
}

#[tokio::test]
async fn a_query_without_tools_is_answered_with_text() {
    for format in LlamaCpp::FORMATS {
        let bed = LlamaCppTestBed::start(format).await;
        let page = bed.page(vec![]).await;
        let events = QueryEvents::run(&page, query("q-1", "Is anything late?")).await;
        assert_eq!(events.last()["result"], TEXT, "{format:?}: {events:?}");
        // The agent reports the counts of the server.
        let usage = &events.last()["usage"]["models"]["mock"];
        let input = bed.server.metric("prompt_tokens_total").await;
        let output = bed.server.metric("tokens_predicted_total").await;
        assert_eq!(
            (&usage["input"], &usage["output"]),
            (&json!(input), &json!(output)),
            "{format:?}"
        );
        let line = bed.agent.log();
        let expected = [
            "query=q-1".to_owned(),
            "model=\"mock\"".to_owned(),
            "end=\"complete\"".to_owned(),
            format!("input_tokens={input} output_tokens={output}"),
            "calls=0".to_owned(),
        ];
        for part in expected {
            assert!(line.contains(&part), "{part}: {line}");
        }
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_is_answered() {
    for format in LlamaCpp::FORMATS {
        let bed = LlamaCppTestBed::start(format).await;
        let page = bed.page(vec![named_tool("look"), adding_tool(1)]).await;
        let events = QueryEvents::run(&page, query("q-1", "Add a card")).await;
        assert_eq!(
            events.summary(),
            [
                "accepted",
                r#"calls 1 add_card {"title":"Milk"}"#,
                "ended 1 add_card",
                "says Done now.",
                r#"completes "Done now.""#,
            ],
            "{format:?}"
        );
        let call = json!({ "tool": "add_card", "arguments": { "title": "Milk" }, "result": { "added": "Milk" } });
        assert_eq!(events.last()["toolCalls"], json!([call]), "{format:?}");
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn arguments_comply_with_the_schema_of_the_tool() {
    let schema = json!({
        "type": "object",
        "properties": {
            "card": { "$ref": "#/$defs/card" },
            "column": { "enum": ["todo", "done"] },
            "count": { "type": "integer", "minimum": 3 },
            "labels": { "type": "array", "items": { "type": "string", "maxLength": 6 }, "minItems": 2 },
            "date": { "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$" },
            "note": true,
            "span": { "type": "array", "prefixItems": [true, { "type": "integer" }], "items": false },
            "where": { "anyOf": [{ "type": "null" }, { "type": "boolean" }] },
        },
        "required": ["card", "column", "count", "labels", "date", "note", "span", "where"],
        "additionalProperties": false,
        "$defs": {
            "card": {
                "type": "object",
                "properties": { "title": { "type": "string", "minLength": 1 } },
                "required": ["title"],
            },
        },
    });
    for format in LlamaCpp::FORMATS {
        let bed = LlamaCppTestBed::start(format).await;
        // The bridge validates the arguments before the handler runs.
        let place = PageTool::new("place", async |input| Ok(input)).input_schema(schema.clone());
        let page = bed.page(vec![place]).await;
        let events = QueryEvents::run(&page, query("q-1", "Place a card")).await;
        assert_eq!(events.last()["result"], ANSWER, "{format:?}: {events:?}");
        let arguments = &events.last()["toolCalls"][0]["arguments"];
        assert_eq!(arguments["card"], json!({ "title": "Milk" }), "{format:?}");
        assert_eq!(arguments["labels"], json!(["Milk", "Milk"]), "{format:?}");
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn only_the_tools_that_the_page_allows_are_called() {
    for format in LlamaCpp::FORMATS {
        let bed = LlamaCppTestBed::start(format).await;
        let page = bed.page(vec![named_tool("look"), adding_tool(1)]).await;
        let mut request = query("q-1", "Look around");
        request.tools = Some(vec![query_tool("look")]);
        request.restrict_tools = Some(true);
        let events = QueryEvents::run(&page, request).await;
        assert_eq!(
            events.summary()[1..3],
            ["calls 1 look {}", "ended 1 look"],
            "{format:?}"
        );
        assert_eq!(events.last()["result"], ANSWER, "{format:?}: {events:?}");
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_model_that_answers_with_text_is_forced_to_call_the_response_tool() {
    for format in LlamaCpp::FORMATS {
        let bed = LlamaCppTestBed::start(format).await;
        let page = bed.page(vec![adding_tool(1), named_tool("arrange")]).await;
        let mut request = query("q-1", "Arrange the cards [[text]]");
        request.response_tool = Some(query_tool("arrange"));
        let events = QueryEvents::run(&page, request).await;
        // The second text is in the forced turn: the server allows a text before the call.
        assert_eq!(
            events.summary()[1..4],
            [
                &format!("says {TEXT}{TEXT}"),
                "calls 1 arrange {}",
                "ended 1 arrange",
            ],
            "{format:?}"
        );
        assert_is_response(
            &events,
            json!([{ "tool": "arrange", "arguments": {}, "result": "done" }]),
        );
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn the_response_tool_is_forced_after_another_call() {
    for format in LlamaCpp::FORMATS {
        let bed = LlamaCppTestBed::start(format).await;
        let page = bed.page(vec![adding_tool(1), named_tool("arrange")]).await;
        let mut request = query("q-1", "Add a card and arrange all");
        request.response_tool = Some(query_tool("arrange"));
        let events = QueryEvents::run(&page, request).await;
        assert_eq!(
            events.summary()[1..6],
            [
                r#"calls 1 add_card {"title":"Milk"}"#,
                "ended 1 add_card",
                "says Done now.",
                "calls 2 arrange {}",
                "ended 2 arrange",
            ],
            "{format:?}"
        );
        assert_eq!(events.last()["toolCalls"][1]["tool"], "arrange");
        bed.assert_idle_without_leaks().await;
    }
}

/// Checks that a call of the response tool has completed the query.
fn assert_is_response(events: &QueryEvents, calls: Value) {
    let last = events.last();
    assert_eq!(last["type"], "query_complete", "{events:?}");
    assert!(last.get("result").is_none(), "{events:?}");
    assert_eq!(last["toolCalls"], calls, "{events:?}");
}

#[tokio::test]
async fn a_call_that_fails_once_is_repeated() {
    for format in LlamaCpp::FORMATS {
        let bed = LlamaCppTestBed::start(format).await;
        let has_failed = Arc::new(AtomicBool::new(false));
        let saving = PageTool::new("save", move |_| {
            let is_first = !has_failed.swap(true, Ordering::Relaxed);
            async move {
                if is_first {
                    Err("the disk is full [[again]]".into())
                } else {
                    Ok(json!("saved"))
                }
            }
        });
        let page = bed.page(vec![saving]).await;
        let events = QueryEvents::run(&page, query("q-1", "Save the board")).await;
        assert_eq!(
            events.summary()[1..],
            [
                "calls 1 save {}",
                "failed 1 save",
                "calls 2 save {}",
                "ended 2 save",
                "says Done now.",
                r#"completes "Done now.""#,
            ],
            "{format:?}"
        );
        bed.assert_idle_without_leaks().await;
    }
}
