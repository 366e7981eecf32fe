//! Parts of a request that the server ignores without an error, or refuses for one query.

use e2e::Format;
use serde_json::json;

use super::plans::{raw, schema};
use super::{APIS, Arguments, ONE_WORD, TrainedTestBed, result, texts};
use crate::test_bed::{QueryEvents, adding_tool, query, query_tool};

const ARGUMENTS: Arguments<'_> = Arguments {
    server: &ONE_WORD,
    agent: &[],
    bridge: &[],
};

/// The server has this API, and ignores the format of the text in it. Queries of one user do not
/// change what others get.
#[tokio::test]
async fn a_schema_that_the_server_ignores_is_not_a_result() {
    let api = Format::OpenAiResponses;
    let (bed, tap) = TrainedTestBed::start_with_tap(api, ARGUMENTS).await;
    let page = bed.page(vec![]).await;
    for (uuid, sent) in [("q-1", 1), ("q-2", 2)] {
        let mut plan = query(uuid, "Plan a day with two tasks.");
        plan.response_schema = Some(raw(&schema()));
        let events = QueryEvents::run(&page, plan).await;
        let code = &events.last()["code"];
        assert_eq!(code, "ResponseToolNotCalled", "{events:?}");
        assert_eq!(tap.count("\"json_schema\""), sent, "{events:?}");
    }
    let log = bed.agent.log();
    assert!(log.contains("does not follow it"), "{log}");
    bed.assert_idle_without_leaks().await;
}

/// The server also ignores the schema as a tool.
#[tokio::test]
async fn a_forced_call_that_the_server_ignores_ends_the_query() {
    for format in APIS {
        let bed = TrainedTestBed::start(format, ARGUMENTS).await;
        let page = bed.page(vec![adding_tool(1)]).await;
        let mut request = query("q-1", "Add a card for milk.");
        request.response_tool = Some(query_tool("add_card"));
        let events = QueryEvents::run(&page, request).await;
        let code = &events.last()["code"];
        assert_eq!(code, "ResponseToolNotCalled", "{format:?}: {events:?}");
        assert!(!texts(&events).is_empty(), "{format:?}: {events:?}");
        let summary = events.summary();
        let calls = summary.iter().find(|line| line.starts_with("calls "));
        assert_eq!(calls, None, "{format:?}");
        bed.assert_idle_without_leaks().await;
    }
}

/// A schema of one page must not change what others get.
#[tokio::test]
async fn an_unsupported_schema_does_not_switch_schemas_off() {
    let arguments = Arguments {
        agent: &["--max-output-tokens", "200"],
        ..Arguments::default()
    };
    let (bed, tap) = TrainedTestBed::start_with_tap(Format::OpenAi, arguments).await;
    let page = bed.page(vec![]).await;
    let recursive = json!({ "type": "object", "properties": { "child": { "$ref": "#" } } });
    let lookahead = json!({
        "type": "object",
        "properties": { "year": { "type": "string", "pattern": "^(?!0)[0-9]{4}$" } },
        "required": ["year"],
    });
    for (number, unsupported) in [recursive, lookahead].iter().enumerate() {
        let mut refused = query(&format!("unsupported-{number}"), "Write a plan.");
        refused.response_schema = Some(raw(unsupported));
        QueryEvents::run(&page, refused).await;
        let before = tap.count("\"response_format\"");
        let mut plan = query(&format!("plan-{number}"), "Plan a day with two tasks.");
        plan.response_schema = Some(raw(&schema()));
        let events = QueryEvents::run(&page, plan).await;
        result(&events);
        assert_eq!(
            tap.count("\"response_format\""),
            before + 1,
            "{unsupported}"
        );
    }
    bed.assert_idle_without_leaks().await;
}
