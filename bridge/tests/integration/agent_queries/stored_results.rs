//! The stored results of a query's calls, which its agent can read while the query runs.

use std::time::Duration;

use bridge::{Config, Profile};
use serde_json::{Value, json};

use super::{OTHER_UUID, query_message, recv_query_event, start_query_with};
use crate::kit::*;

/// The members of a query that may only call `echo`.
fn only_echo() -> Value {
    json!({ "tools": [{ "name": "echo" }], "restrictTools": true })
}

/// A configuration change that sets these limits for the client of these tests.
fn client_limits(
    max_result_bytes: Option<usize>,
    patience: Option<Duration>,
) -> impl FnOnce(&mut Config) {
    move |config| {
        let profile = Profile {
            max_result_bytes,
            patience,
            ..Profile::default()
        };
        config.profiles = test_client_profile(profile);
    }
}

/// The result of a call to which the page responds with `result`.
async fn call_with_result(client: &McpClient, page: &mut Page, result: &Value) -> Value {
    let handler = page.serve_call(result.clone());
    let (answer, _call) = tokio::join!(client.call("echo", json!({})), handler);
    answer["result"].clone()
}

#[tokio::test]
async fn an_agent_reads_only_stored_results_of_its_query() {
    let (bridge, mut agent, mut page, first) =
        start_query_with(only_echo(), client_limits(Some(20_000), None)).await;
    let token = first.token.as_deref().unwrap();
    let client = McpClient::connect(&bridge, token).await;
    let text = json!("x".repeat(30_000));
    let truncated = call_with_result(&client, &mut page, &text).await;
    let handle = &truncated["_meta"]["mcp-web/cut"]["handle"];
    let shown_len = |result: &Value| result["content"][1]["text"].as_str().unwrap().len();
    assert!(shown_len(&truncated) < 20_000);
    let blocks = truncated["content"].as_array().unwrap();
    // There is no resource link, because the token of a query cannot read resources.
    assert!(
        blocks.iter().all(|block| block["type"] == "text"),
        "{truncated:.200}"
    );

    let offset = shown_len(&truncated);
    let next_part = json!({ "handle": handle, "offset": offset });
    let read = client.get_result(next_part.clone()).await;
    assert_eq!(shown_len(&read), 30_000 - offset);
    // REST has no limit.
    let url = bridge.url();
    let arguments = json!({ "handle": handle });
    let (_, complete) = post_tool_call_to(&url, token, "get_result", arguments.clone()).await;
    assert_eq!(complete["content"][0]["text"], text);

    // Another query of the page cannot read the result, and this query cannot read results of
    // others.
    page.send_json(query_message(OTHER_UUID)).await;
    let other = agent.accept_query().await;
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
    let stranger = McpClient::connect(&bridge, other.token.as_deref().unwrap()).await;
    let rejected = stranger.get_result(next_part.clone()).await;
    assert_eq!(error_code(&rejected), Some("HandleNotFound"));
    let page_client = McpClient::connect(&bridge, TOKEN).await;
    let foreign = call_with_result(&page_client, &mut page, &text).await;
    let foreign = json!({ "handle": foreign["_meta"]["mcp-web/cut"]["handle"] });
    let rejected = client.get_result(foreign).await;
    assert_eq!(error_code(&rejected), Some("HandleNotFound"));

    // The agent loses its access when the query ends.
    first
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    assert_eq!(recv_query_event(&mut page).await["type"], "query_complete");
    let (status, _) = post_tool_call_to(&url, token, "get_result", arguments).await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn an_agent_with_a_short_timeout_fetches_its_result_later() {
    let patience = Some(Duration::from_millis(50));
    let (bridge, _agent, mut page, query) =
        start_query_with(only_echo(), client_limits(None, patience)).await;
    let client = McpClient::connect(&bridge, query.token.as_deref().unwrap()).await;
    let first_answer = client.call("echo", json!({})).await;
    let handle = &first_answer["result"]["_meta"]["mcp-web/handle"];
    assert!(handle.is_string(), "{first_answer}");
    page.serve_call(json!("at last")).await;
    let read = loop {
        let read = client.get_result(json!({ "handle": handle })).await;
        if read["_meta"]["mcp-web/handle"].is_null() {
            break read;
        }
    };
    assert_eq!(result_text(&read), "at last");
}
