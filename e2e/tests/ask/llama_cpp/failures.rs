//! Errors that a page receives when the server fails or refuses.

use std::time::{Duration, Instant};

use e2e::{AgentEndpoint, AgentService, LlamaCpp, PageTool, QueryPage};
use serde_json::json;

use super::{ANSWER, Arguments, KEY, LlamaCppTestBed, TEXT};
use crate::test_bed::{QueryEvents, adding_tool, query, query_tool};

#[tokio::test]
async fn a_server_that_is_killed_in_the_middle_breaks_the_answer() {
    for format in LlamaCpp::FORMATS {
        let mut bed = LlamaCppTestBed::start(format).await;
        let page = bed.page(vec![]).await;
        page.send_query(query("q-1", "Go on [[endless]]")).await;
        let mut events = QueryEvents::default();
        events.collect_until(&page, "q-1", "text").await;
        let killed = Instant::now();
        bed.server.kill().await;
        events.collect_until(&page, "q-1", "query_failure").await;
        let duration = killed.elapsed();
        println!("{format:?}: the page knows {duration:?} after the kill");
        assert!(duration < Duration::from_secs(2), "{duration:?}");
        assert_eq!(events.last()["code"], "ModelStreamBroken", "{events:?}");
        bed.server.restart().await;
        let events = QueryEvents::run(&page, query("q-2", "Is anything late?")).await;
        assert_eq!(events.last()["result"], TEXT, "{format:?}: {events:?}");
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_server_that_is_back_while_the_agent_retries_answers() {
    for format in LlamaCpp::FORMATS {
        let mut bed = LlamaCppTestBed::start(format).await;
        let page = bed.page(vec![adding_tool(1)]).await;
        bed.server.kill().await;
        page.send_query(query("q-1", "Add a card")).await;
        let mut events = QueryEvents::default();
        events.collect_until(&page, "q-1", "note").await;
        bed.server.restart().await;
        events.collect_until(&page, "q-1", "query_complete").await;
        assert_eq!(events.last()["result"], ANSWER, "{format:?}: {events:?}");
        let note = events.notes()[0];
        assert!(note.starts_with("the model is not available"), "{note}");
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_prompt_that_exceeds_the_context_is_refused_with_a_remedy() {
    for format in LlamaCpp::FORMATS {
        let arguments = Arguments {
            server: &["--context", "4096"],
            ..Arguments::default()
        };
        let bed = LlamaCppTestBed::start_with(format, arguments).await;
        let page = bed.page(vec![]).await;
        let events = QueryEvents::run(&page, query("q-1", &"Look! ".repeat(1000))).await;
        let last = events.last();
        assert_eq!(last["code"], "ModelInputTooLong", "{events:?}");
        let error = last["error"].as_str().unwrap();
        let subject = format!("the model server ({} API)", format.name());
        for text in [
            &subject,
            "cannot read so much at once (HTTP 400)",
            "ask with less context",
        ] {
            assert!(last.to_string().contains(text), "{format:?}: {error}");
        }
        // The words of the server are for the operator.
        let words = "exceeds the available context size (4096 tokens)";
        assert!(
            !format!("{events:?}").contains(words),
            "{format:?}: {events:?}"
        );
        let events = QueryEvents::run(&page, query("q-2", "Is anything late?")).await;
        assert_eq!(events.last()["result"], TEXT, "{format:?}: {events:?}");
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_schema_that_the_server_does_not_support_is_refused_with_a_remedy() {
    let schema = json!({ "type": "object", "properties": { "child": { "$ref": "#" } } });
    for format in LlamaCpp::FORMATS {
        let bed = LlamaCppTestBed::start(format).await;
        let tree = PageTool::new("tree", async |input| Ok(input)).input_schema(schema.clone());
        let page = bed.page(vec![tree, adding_tool(1)]).await;
        let events = QueryEvents::run(&page, query("q-1", "Add a card")).await;
        let last = events.last();
        assert_eq!(last["code"], "ModelRequestRefused", "{format:?}: {last}");
        let remedy = last["reason"].as_str().unwrap();
        assert!(remedy.contains("`restrictTools`"), "{format:?}: {last}");
        // The remedy helps.
        let mut request = query("q-2", "Add a card");
        request.tools = Some(vec![query_tool("add_card")]);
        request.restrict_tools = Some(true);
        let events = QueryEvents::run(&page, request).await;
        assert_eq!(events.last()["result"], ANSWER, "{format:?}: {events:?}");
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn an_answer_that_fills_the_context_has_reached_its_length() {
    for format in LlamaCpp::FORMATS {
        let arguments = Arguments {
            server: &["--context", "2048"],
            ..Arguments::default()
        };
        let bed = LlamaCppTestBed::start_with(format, arguments).await;
        let page = bed.page(vec![]).await;
        let events = QueryEvents::run(&page, query("q-1", "Go on [[endless]]")).await;
        assert_eq!(events.last()["code"], "ModelLengthReached", "{events:?}");
        let tokens = bed.server.metric("tokens_predicted_total").await;
        assert!(tokens < 2048, "{tokens} tokens");
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_turn_ends_at_the_output_limit_of_the_agent() {
    for format in LlamaCpp::FORMATS {
        let arguments = Arguments {
            agent: &["--max-output-tokens", "30"],
            ..Arguments::default()
        };
        let bed = LlamaCppTestBed::start_with(format, arguments).await;
        let page = bed.page(vec![adding_tool(1)]).await;
        let events = QueryEvents::run(&page, query("q-1", "Go on [[endless]]")).await;
        assert_eq!(events.last()["code"], "ModelLengthReached", "{events:?}");
        assert_eq!(bed.server.metric("tokens_predicted_total").await, 30);
        // The 30 tokens end before the arguments do.
        let events = QueryEvents::run(&page, query("q-2", "Add a card")).await;
        assert_eq!(
            events.summary(),
            ["accepted", "fails ModelArgumentsCutOff"],
            "{format:?}: {events:?}"
        );
        bed.assert_idle_without_leaks().await;
    }
}

#[tokio::test]
async fn a_wrong_key_and_a_wrong_base_url_have_different_codes() {
    for format in LlamaCpp::FORMATS {
        let server = LlamaCpp::start(&["--api-key", KEY]).await;
        let url = server.base_url(format);
        let wrong_url = format!("{url}missing/");
        let wrong_key = "sk-a-key-that-nobody-knows-0123456789";
        for (url, key, code) in [
            (&url, KEY, None),
            (&url, wrong_key, Some("ModelUnauthorized")),
            (&wrong_url, KEY, Some("ModelRequestRefused")),
        ] {
            let endpoint = AgentEndpoint::reserve();
            let bridge = endpoint.start_bridge(&[]).await;
            let agent =
                AgentService::start_with_base_url(&endpoint, &bridge, format, url, key, &[]).await;
            let page = QueryPage::open(&bridge, "board", vec![]).await;
            let events = QueryEvents::run(&page, query("q-1", "Is anything late?")).await;
            let last = events.last();
            match code {
                None => assert_eq!(last["result"], TEXT, "{format:?}: {events:?}"),
                Some(code) => assert_eq!(last["code"], code, "{format:?}: {events:?}"),
            }
            assert!(!format!("{events:?}{}", agent.log()).contains(key));
        }
    }
}
