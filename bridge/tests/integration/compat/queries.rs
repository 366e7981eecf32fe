//! Queries of mcp-web 0.1 pages, with agents that were written for mcp-web 0.1.

mod agent_calls;
mod agent_reports;

use bridge::{Agent, Compat, Config, ServerHandle};
use serde_json::{Value, json};

use self::agent_calls::{call_tool, request_as_agent};
use super::kit::*;
use super::mcp_client::{http_request, parse_text, send};
use crate::kit::mock_agent::{AcceptedQuery, MockAgent, UUID, report_request, send_for_json};
use crate::kit::*;

/// The configuration of a bridge with `--compat mcp-web` that sends its queries to this agent.
fn agent_config(agent: &MockAgent) -> Config {
    let mut config = agent.config();
    config.compatibility.compat = Some(Compat::McpWeb);
    config
}

/// A random-looking UUID for each number.
fn uuid(number: u32) -> String {
    format!("5f0c9a52-7d0e-4b3f-9c52-{number:012}")
}

fn query_message(uuid: &str, members: Value) -> Value {
    let context = json!([{ "name": "board", "value": { "z": 1, "a": 2.0 }, "type": "ephemeral" }]);
    let message = json!({ "type": "query", "uuid": uuid, "prompt": "what?", "context": context });
    with_members(message, members)
}

/// Starts a bridge with `--compat mcp-web`, its agent, and a page with a query that the agent has
/// accepted.
async fn start_query(members: Value) -> (ServerHandle, MockAgent, V1Page, AcceptedQuery) {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent_config(&agent)).await;
    let mut page = connect_page(&bridge, "asks").await;
    let accepted = send_query(&mut agent, &mut page, UUID, members).await;
    (bridge, agent, page, accepted)
}

/// Connects a page with the tools `t` and `answer`.
async fn connect_page(bridge: &ServerHandle, session: &str) -> V1Page {
    let mut page = V1Page::connect(bridge, session).await;
    for name in ["t", "answer"] {
        page.register_tool(tool(name)).await;
    }
    wait_for_tool(bridge, "answer").await;
    page
}

/// Sends a query, which the agent accepts.
async fn send_query(
    agent: &mut MockAgent,
    page: &mut V1Page,
    uuid: &str,
    members: Value,
) -> AcceptedQuery {
    page.send_json(query_message(uuid, members)).await;
    let query = agent.accept_query().await;
    let accepted = json!({ "type": "query_accepted", "uuid": uuid });
    assert_eq!(page.recv().await, accepted);
    query
}

fn query_failure(uuid: &str, error: &str) -> Value {
    json!({ "type": "query_failure", "uuid": uuid, "error": error })
}

fn query_complete(uuid: &str, message: &str, tool_calls: Value) -> Value {
    json!({ "type": "query_complete", "uuid": uuid, "message": message, "toolCalls": tool_calls })
}

#[tokio::test]
async fn the_agent_receives_the_page_message_and_no_token() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent_config(&agent)).await;
    let mut page = connect_page(&bridge, "asks").await;
    let tools = json!([{ "name": "t", "description": "d", "inputSchema": { "type": "object" } }]);
    let members = json!({ "responseTool": { "name": "answer", "description": "d" },
        "tools": tools, "restrictTools": false });
    page.send_json(query_message(UUID, members.clone())).await;
    let request = agent.next_request().await;
    assert_eq!(
        (request.method.as_str(), &*request.path),
        ("PUT", &*format!("/query/{UUID}"))
    );
    // The bridge preserves the order of keys and the spelling of numbers.
    let text = String::from_utf8(request.body.to_vec()).unwrap();
    assert!(text.contains(r#""value":{"z":1,"a":2.0}"#), "{text}");
    assert_eq!(request.json(), query_message(UUID, members));
    for absent in ["authorization", "mcp-web-query-token"] {
        assert!(request.headers.get(absent).is_none(), "{absent}");
    }
    request.respond(204);
    assert_eq!(page.recv().await["type"], "query_accepted");
}

#[tokio::test]
async fn agent_requests_use_the_path_of_agent_url_and_agent_token() {
    let mut agent = MockAgent::start().await;
    let mut config = agent_config(&agent);
    let secret = "an-agent-secret-of-32-characters";
    let url = format!("http://{}/my/agent/", agent.address);
    config.agent.agent_url = vec![url.parse().unwrap()];
    config.agent.agent_token = Some(secret.parse().unwrap());
    let bridge = start_bridge_with(config).await;
    let mut page = connect_page(&bridge, "asks").await;
    page.send_json(query_message(UUID, json!({}))).await;
    let request = agent.next_request().await;
    assert_eq!(request.path, format!("/my/agent/{UUID}"));
    assert_eq!(request.headers["authorization"], format!("Bearer {secret}"));
    request.respond(200);
}

#[tokio::test]
async fn acceptance_is_sent_before_progress_and_completion() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent_config(&agent)).await;
    let mut page = connect_page(&bridge, "asks").await;
    page.send_json(query_message(UUID, json!({}))).await;
    let request = agent.next_request().await;
    for message in ["one", "two"] {
        let report = report_request(&bridge, UUID, "progress").json(&json!({ "message": message }));
        assert_eq!(
            send_for_json(report).await,
            (200, json!({ "success": true }))
        );
    }
    request.respond(200);
    assert_eq!(
        page.recv().await,
        json!({ "type": "query_accepted", "uuid": UUID })
    );
    for message in ["one", "two"] {
        let progress = json!({ "type": "query_progress", "uuid": UUID, "message": message });
        assert_eq!(page.recv().await, progress);
    }
    // A uuid in the body is ignored.
    let body = json!({ "uuid": "another", "message": "done" });
    send_for_json(report_request(&bridge, UUID, "complete").json(&body)).await;
    assert_eq!(page.recv().await, query_complete(UUID, "done", json!([])));
}

#[tokio::test]
async fn an_agent_error_status_is_a_query_failure() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent_config(&agent)).await;
    let mut page = connect_page(&bridge, "asks").await;
    for (number, status, text) in [
        (1, 500, "500: Internal Server Error"),
        (2, 404, "404: Not Found"),
    ] {
        let uuid = uuid(number);
        page.send_json(query_message(&uuid, json!({}))).await;
        agent.next_request().await.respond(status);
        let expected = query_failure(&uuid, &format!("Agent responded with {text}"));
        assert_eq!(page.recv().await, expected);
    }
}

#[tokio::test]
async fn without_an_agent_url_every_query_fails() {
    let mut config = test_config();
    config.compatibility.compat = Some(Compat::McpWeb);
    let bridge = start_bridge_with(config).await;
    let mut page = V1Page::connect(&bridge, "asks").await;
    page.send_json(query_message(UUID, json!({}))).await;
    assert_eq!(page.recv().await, query_failure(UUID, "Missing Agent URL"));
}

#[tokio::test]
async fn every_end_of_a_query_frees_its_slot() {
    let mut agent = MockAgent::start().await;
    let mut config = agent_config(&agent);
    config.agent.max_queries = 1;
    let bridge = start_bridge_with(config).await;
    let mut page = connect_page(&bridge, "asks").await;
    let limit_exceeded = "Query limit exceeded. Wait for existing queries to complete.";
    let ends = [
        "complete",
        "fail",
        "cancel",
        "response tool",
        "page",
        "refused",
    ];
    for (number, end) in (0..).zip(ends) {
        let first = uuid(2 * number);
        let members = match end {
            "response tool" => json!({ "responseTool": { "name": "answer" } }),
            _ => json!({}),
        };
        page.send_json(query_message(&first, members)).await;
        let request = agent.next_request().await;
        let second = uuid(2 * number + 1);
        page.send_json(query_message(&second, json!({}))).await;
        assert_eq!(
            page.recv().await,
            query_failure(&second, limit_exceeded),
            "{end}"
        );
        request.respond(if end == "refused" { 503 } else { 200 });
        let message = page.recv().await;
        match end {
            "refused" => assert_eq!(message["type"], "query_failure"),
            "page" => {
                page.send_json(json!({ "type": "query_cancel", "uuid": first }))
                    .await;
                agent.recv_cancellation(&first).await;
            }
            "response tool" => {
                let call = call_tool(&bridge, &first, "answer", json!({}));
                let (_, ()) = tokio::join!(call, page.echo_call());
                assert_eq!(page.recv().await["type"], "query_complete");
            }
            report => {
                let body = json!({ "message": "m", "error": "e" });
                send_for_json(report_request(&bridge, &first, report).json(&body)).await;
                assert_eq!(page.recv().await["uuid"], *first);
            }
        }
    }
    send_query(&mut agent, &mut page, &uuid(99), json!({})).await;
}

#[tokio::test]
async fn only_a_page_cancel_sends_delete_to_the_agent() {
    let (bridge, mut agent, mut page, query) = start_query(json!({})).await;
    query
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    assert_eq!(page.recv().await["type"], "query_complete");
    let second = uuid(2);
    send_query(&mut agent, &mut page, &second, json!({})).await;
    page.send_json(json!({ "type": "query_cancel", "uuid": second, "reason": "enough" }))
        .await;
    // The agent receives nothing about the first query, because it was completed.
    let cancellation = agent.recv_cancellation(&second).await;
    // Until the agent responds to the cancellation, calls are rejected and reports find no query.
    let rejected = request_as_agent(&bridge, &second, "tools/list", json!({})).await;
    assert_eq!(rejected["error"]["code"], -32600);
    assert_eq!(rejected["error"]["message"], "QueryNotActive");
    let not_found = (404, json!({ "error": "QueryNotFound" }));
    let late = json!({ "message": "late" });
    assert_eq!(
        send_for_json(report_request(&bridge, &second, "progress").json(&late)).await,
        not_found
    );
    cancellation.respond(200);
    // The page receives no more messages about it: the next message is about the next query.
    send_query(&mut agent, &mut page, &uuid(3), json!({})).await;
    assert_eq!(
        send_for_json(report_request(&bridge, &second, "complete").json(&late)).await,
        not_found
    );
}

#[tokio::test]
async fn a_query_cancelled_before_acceptance_is_stopped() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent_config(&agent)).await;
    let mut page = connect_page(&bridge, "asks").await;
    page.send_json(query_message(UUID, json!({}))).await;
    let request = agent.next_request().await;
    page.send_json(json!({ "type": "query_cancel", "uuid": UUID }))
        .await;
    let cancellation = agent.recv_cancellation(UUID).await;
    request.respond(200);
    cancellation.respond(200);
    send_query(&mut agent, &mut page, &uuid(2), json!({})).await;
}

#[tokio::test]
async fn guessable_query_ids_are_rejected_when_they_are_credentials() {
    let agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent_config(&agent)).await;
    let mut page = connect_page(&bridge, "asks").await;
    for guessable in ["1", "00000000-0000-0000-0000-000000000000"] {
        page.send_json(query_message(guessable, json!({}))).await;
        let message = page.recv().await;
        assert_eq!(
            message,
            query_failure(guessable, "The uuid of the query can be guessed")
        );
    }
    assert!(agent.is_idle());
}

#[tokio::test]
async fn a_repeated_query_id_is_sent_to_the_agent_once() {
    let (bridge, mut agent, mut page, first) = start_query(json!({})).await;
    page.send_json(query_message(UUID, json!({}))).await;
    first
        .report_ok(&bridge, "progress", json!({ "message": "on" }))
        .await;
    // The running query is not affected.
    assert_eq!(page.recv().await["message"], "on");
    first
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    assert_eq!(page.recv().await["message"], "done");
    page.send_json(query_message(UUID, json!({}))).await;
    let repeated = query_failure(UUID, "A query with this uuid was asked before");
    assert_eq!(page.recv().await, repeated);
    send_query(&mut agent, &mut page, &uuid(2), json!({})).await;
}
