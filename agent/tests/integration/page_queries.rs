//! A page asks its bridge, which asks the agent.

use serde_json::{Value, json};

use crate::kit::*;

fn query(uuid: &str, prompt: &str, more: Value) -> Value {
    let mut query = json!({ "type": "query", "uuid": uuid, "prompt": prompt, "context": [] });
    for (key, value) in more.as_object().unwrap() {
        query[key] = value.clone();
    }
    query
}

#[tokio::test]
async fn a_page_hears_how_its_query_goes_to_its_one_end() {
    let world = TestBed::start().await;
    let mut page = world.connect_page().await;
    let prompt = "/add_card {\"title\": \"Milk\"}";
    page.send_json(query(UUID, prompt, json!({}))).await;
    assert_eq!(page.recv_query_event().await["type"], "query_accepted");
    let call = page.recv_call().await;
    assert_eq!(call.tool_name, "add_card");
    assert_eq!(call.context.query_id.as_ref().unwrap().as_str(), UUID);
    page.answer(&call, json!({ "id": 7 })).await;
    let mut kinds = Vec::new();
    let end = loop {
        let told = page.recv_query_event().await;
        assert_eq!(told["uuid"], UUID);
        if told["type"] != "query_progress" {
            break told;
        }
        kinds.push(told["content"]["type"].as_str().unwrap().to_owned());
    };
    assert_eq!(end["type"], "query_complete", "{end}");
    assert_eq!(end["toolCalls"][0]["tool"], "add_card");
    assert_eq!(end["toolCalls"][0]["result"], json!({ "id": 7 }));
    assert!(
        kinds.contains(&"tool-finished".to_owned()) && kinds.contains(&"text".to_owned()),
        "{kinds:?}"
    );
    world.wait_for_running(0).await;
}

#[tokio::test]
async fn a_response_tool_completes_the_query() {
    let world = TestBed::start().await;
    let mut page = world.connect_page().await;
    let more = json!({ "responseTool": { "name": "plan" } });
    page.send_json(query(UUID, "/plan {\"order\": [2, 1]}", more))
        .await;
    let call = page.recv_call().await;
    page.answer(&call, json!("done")).await;
    let end = loop {
        let told = page.recv_query_event().await;
        if !["query_accepted", "query_progress"].contains(&told["type"].as_str().unwrap()) {
            break told;
        }
    };
    assert_eq!(end["type"], "query_complete", "{end}");
    assert!(end.get("result").is_none(), "{end}");
    assert_eq!(end["toolCalls"][0]["tool"], "plan");
    world.wait_for_running(0).await;
}

#[tokio::test]
async fn a_page_that_cancels_stops_the_agent() {
    let world = TestBed::start().await;
    let mut page = world.connect_page().await;
    page.send_json(query(UUID, "/add_card {}", json!({}))).await;
    let call = page.recv_call().await;
    page.send_json(json!({ "type": "query_cancel", "uuid": UUID }))
        .await;
    page.expect_cancel(&call).await;
    world.wait_for_running(0).await;
}

#[tokio::test]
async fn an_agent_that_stops_fails_the_queries_of_pages() {
    let world = TestBed::start().await;
    let mut page = world.connect_page().await;
    page.send_json(query(UUID, "/add_card {}", json!({}))).await;
    page.recv_call().await;
    let stopping = tokio::spawn(world.agent.shutdown());
    let end = loop {
        let told = page.recv_query_event().await;
        if !["query_accepted", "query_progress"].contains(&told["type"].as_str().unwrap()) {
            break told;
        }
    };
    assert_eq!(
        (&end["type"], &end["code"]),
        (&json!("query_failure"), &json!("AgentUnavailable"))
    );
    with_deadline("end of the agent", stopping).await.unwrap();
}
