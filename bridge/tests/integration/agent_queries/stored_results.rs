//! What the calls of a query leave under handles: its agent reads it, while the query runs.

use std::time::Duration;

use bridge::{Config, Profile};
use serde_json::{Value, json};

use super::{at_work_with, query, told};
use crate::kit::mock_agent::send_for_json;
use crate::kit::{McpClient, Page, TOKEN, http_client, result_text, test_client_profile};

const OTHER: &str = "0e6f6f0e-3a51-4b7f-8d5e-6a1c8f5f0c22";

/// The query may call this one alone.
fn restricted() -> Value {
    json!({ "tools": [{ "name": "echo" }], "restrictTools": true })
}

/// The client of these tests takes so much, and waits so long.
fn takes(bytes: Option<usize>, patience: Option<Duration>) -> impl FnOnce(&mut Config) {
    move |config| {
        let profile = Profile {
            max_result_bytes: bytes,
            patience,
            ..Profile::default()
        };
        config.profiles = test_client_profile(profile);
    }
}

async fn called(client: &McpClient, page: &mut Page, result: &Value) -> Value {
    let (called, ()) = tokio::join!(client.call("echo", json!({})), async {
        let call = page.recv_call().await;
        page.respond(&call, result.clone()).await;
    });
    called["result"].clone()
}

fn code_of(result: &Value) -> &Value {
    assert_eq!(result["isError"], true, "{result}");
    &result["_meta"]["mcp-web/error"]["code"]
}

#[tokio::test]
async fn an_agent_reads_only_stored_results_of_its_own_query() {
    let (bridge, mut agent, mut page, first) =
        at_work_with(restricted(), takes(Some(20_000), None)).await;
    let token = first.token.as_deref().unwrap();
    let client = McpClient::connect(&bridge, token).await;
    let text = json!("x".repeat(30_000));
    let cut = called(&client, &mut page, &text).await;
    let handle = &cut["_meta"]["mcp-web/cut"]["handle"];
    let shown = |result: &Value| result["content"][1]["text"].as_str().unwrap().len();
    assert!(shown(&cut) < 20_000);
    let blocks = cut["content"].as_array().unwrap();
    // The token of a query reads no resources: a link would lead nowhere.
    assert!(
        blocks.iter().all(|block| block["type"] == "text"),
        "{cut:.200}"
    );

    let offset = shown(&cut);
    let rest = json!({ "handle": handle, "offset": offset });
    let read = client.call("get_result", rest.clone()).await;
    assert_eq!(shown(&read["result"]), 30_000 - offset);
    // Plain HTTP has no cap.
    let body = json!({ "toolName": "get_result", "toolInput": { "handle": handle } });
    let plain = http_client().post(format!("{}/tool-call", bridge.url()));
    let (_, plain) = send_for_json(plain.bearer_auth(token).json(&body)).await;
    assert_eq!(plain["content"][0]["text"], text);

    // Neither another query of the page nor, the other way round, this one what others left.
    page.send_json(query(OTHER)).await;
    let other = agent.accept_query().await;
    assert_eq!(told(&mut page).await["type"], "query_accepted");
    let stranger = McpClient::connect(&bridge, other.token.as_deref().unwrap()).await;
    let refused = stranger.call("get_result", rest.clone()).await;
    assert_eq!(code_of(&refused["result"]), "HandleNotFound");
    let of_page = McpClient::connect(&bridge, TOKEN).await;
    let foreign = called(&of_page, &mut page, &text).await;
    let foreign = json!({ "handle": foreign["_meta"]["mcp-web/cut"]["handle"] });
    let refused = client.call("get_result", foreign).await;
    assert_eq!(code_of(&refused["result"]), "HandleNotFound");

    // It is over with the query, for the agent.
    first
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    assert_eq!(told(&mut page).await["type"], "query_complete");
    let plain = http_client().post(format!("{}/tool-call", bridge.url()));
    let (status, _) = send_for_json(plain.bearer_auth(token).json(&body)).await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn an_agent_with_a_short_timeout_fetches_its_result_later() {
    let patience = Some(Duration::from_millis(50));
    let (bridge, _agent, mut page, query) = at_work_with(restricted(), takes(None, patience)).await;
    let client = McpClient::connect(&bridge, query.token.as_deref().unwrap()).await;
    let early = client.call("echo", json!({})).await;
    let handle = &early["result"]["_meta"]["mcp-web/handle"];
    assert!(handle.is_string(), "{early}");
    let call = page.recv_call().await;
    page.respond(&call, json!("at last")).await;
    let read = loop {
        let read = client.call("get_result", json!({ "handle": handle })).await;
        if read["result"]["_meta"]["mcp-web/handle"].is_null() {
            break read;
        }
    };
    assert_eq!(result_text(&read["result"]), "at last");
}
