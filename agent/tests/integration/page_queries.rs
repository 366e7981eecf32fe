//! Queries that a page sends to its bridge, which forwards them to the agent.

use serde_json::{Value, json};

use crate::kit::*;

fn query(uuid: &str, prompt: &str, more: Value) -> Value {
    let mut query = json!({ "type": "query", "uuid": uuid, "prompt": prompt, "context": [] });
    for (key, value) in more.as_object().unwrap() {
        query[key] = value.clone();
    }
    query
}

/// Receives the final event of a query, and skips those before it.
async fn recv_final_event(page: &mut Page) -> Value {
    loop {
        let event = page.recv_type("query_").await;
        if !["query_accepted", "query_progress"].contains(&event["type"].as_str().unwrap()) {
            return event;
        }
    }
}

#[tokio::test]
async fn a_page_receives_progress_and_one_final_event() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let prompt = "/add_card {\"title\": \"Milk\"}";
    page.send_json(query(UUID, prompt, json!({}))).await;
    assert_eq!(page.recv_type("query_").await["type"], "query_accepted");
    let call = page.recv_call().await;
    assert_eq!(call.tool_name, "add_card");
    assert_eq!(call.context.query_id.as_ref().unwrap().as_str(), UUID);
    page.respond(&call, json!({ "id": 7 })).await;
    let mut kinds = Vec::new();
    let last = loop {
        let event = page.recv_type("query_").await;
        assert_eq!(event["uuid"], UUID);
        if event["type"] != "query_progress" {
            break event;
        }
        kinds.push(event["content"]["type"].as_str().unwrap().to_owned());
    };
    assert_eq!(last["type"], "query_complete", "{last}");
    assert_eq!(last["toolCalls"][0]["tool"], "add_card");
    assert_eq!(last["toolCalls"][0]["result"], json!({ "id": 7 }));
    assert!(
        kinds.contains(&"tool-finished".to_owned()) && kinds.contains(&"text".to_owned()),
        "{kinds:?}"
    );
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn mistakes_of_a_page_that_the_agent_finds_are_named() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let attached = |mime_type: &str, data: &str| json!({ "attachments": [{ "mimeType": mime_type, "data": data }] });
    for (more, code, part) in [
        (
            json!({ "responseSchema": { "type": 7 } }),
            "ProtocolViolation",
            "`responseSchema` cannot be used",
        ),
        (
            attached("image/png", "no base64"),
            "ProtocolViolation",
            "not base64",
        ),
        (attached("png", "AAAA"), "ProtocolViolation", "`mimeType`"),
        (
            json!({ "responseTool": { "name": "plans" } }),
            "ToolNotFound",
            "no tool `plans`",
        ),
        (
            json!({ "timeout": 0 }),
            "ProtocolViolation",
            "at least 1 ms",
        ),
    ] {
        let uuid = uuid::Uuid::new_v4().to_string();
        page.send_json(query(&uuid, "hello", more)).await;
        let last = recv_final_event(&mut page).await;
        assert_eq!(last["code"], code, "{last}");
        assert!(last["error"].as_str().unwrap().contains(part), "{last}");
    }
    let uuid = uuid::Uuid::new_v4().to_string();
    let text = attached("text/plain; charset=utf-8", "SGk=");
    page.send_json(query(&uuid, "hello", text)).await;
    let last = recv_final_event(&mut page).await;
    assert_eq!(last["type"], "query_complete", "{last}");
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn the_page_reads_why_the_agent_does_not_take_its_query() {
    let settings = agent::Config {
        max_all_body_bytes: 100_000,
        ..settings()
    };
    let bed = TestBed::start_with(settings).await;
    let mut page = bed.connect_page().await;
    let prompt = "x".repeat(150_000);
    page.send_json(query(UUID, &prompt, json!({}))).await;
    let last = recv_final_event(&mut page).await;
    assert_eq!(last["code"], "QueryLimitExceeded", "{last}");
    let reason = last["reason"].as_str().unwrap();
    assert!(reason.contains("`max_all_body_bytes`"), "{last}");
}

#[tokio::test]
async fn a_response_tool_completes_the_query() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let more = json!({ "responseTool": { "name": "plan" } });
    page.send_json(query(UUID, "/plan {\"order\": [2, 1]}", more))
        .await;
    let call = page.recv_call().await;
    page.respond(&call, json!("done")).await;
    let last = recv_final_event(&mut page).await;
    assert_eq!(last["type"], "query_complete", "{last}");
    assert!(last.get("result").is_none(), "{last}");
    assert_eq!(last["toolCalls"][0]["tool"], "plan");
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_page_that_cancels_stops_the_agent() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    page.send_json(query(UUID, "/add_card {}", json!({}))).await;
    let call = page.recv_call().await;
    page.send_json(json!({ "type": "query_cancel", "uuid": UUID }))
        .await;
    page.expect_cancel(&call).await;
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn an_agent_that_stops_fails_the_queries_of_pages() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    page.send_json(query(UUID, "/add_card {}", json!({}))).await;
    page.recv_call().await;
    let stopping = tokio::spawn(bed.agent.shutdown());
    let last = recv_final_event(&mut page).await;
    assert_eq!(
        (&last["type"], &last["code"]),
        (&json!("query_failure"), &json!("AgentUnavailable"))
    );
    with_deadline("end of the agent", stopping).await.unwrap();
}
