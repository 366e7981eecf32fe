//! Queries of v1 pages, with agents built for mcp-web 0.1.

mod agent_calls;
mod agent_reports;

use bridge::{Agent, Compat, Config, ServerHandle};
use serde_json::{Value, json};

use self::agent_calls::{call, mcp};
use super::kit::{CompatPage, tool};
use super::mcp_client::{http_request, parse_text, send};
use crate::kit::mock_agent::{AcceptedQuery, MockAgent, UUID, report_request, send_for_json};
use crate::kit::{TOKEN, start_bridge_with, test_config, with_deadline};

fn compat(agent: &MockAgent) -> Config {
    Config {
        compat: Some(Compat::McpWeb),
        ..agent.config()
    }
}

fn uuid(number: u32) -> String {
    format!("5f0c9a52-7d0e-4b3f-9c52-{number:012}")
}

fn query(uuid: &str, more: Value) -> Value {
    let context = json!([{ "name": "board", "value": { "z": 1, "a": 2.0 }, "type": "ephemeral" }]);
    let mut asked = json!({ "type": "query", "uuid": uuid, "prompt": "what?", "context": context });
    for (key, value) in more.as_object().unwrap() {
        asked[key] = value.clone();
    }
    asked
}

/// A bridge that is taken for its peer, an agent, and a page whose query the agent has taken.
async fn at_work(more: Value) -> (ServerHandle, MockAgent, CompatPage, AcceptedQuery) {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    let taken = ask(&mut agent, &mut page, UUID, more).await;
    (bridge, agent, page, taken)
}

async fn page_of(bridge: &ServerHandle, session: &str) -> CompatPage {
    let mut page = CompatPage::connect(bridge, session).await;
    for name in ["t", "answer"] {
        page.register_tool(tool(name)).await;
    }
    page.wait_for_tool(bridge, "answer").await;
    page
}

async fn ask(
    agent: &mut MockAgent,
    page: &mut CompatPage,
    uuid: &str,
    more: Value,
) -> AcceptedQuery {
    page.send(query(uuid, more)).await;
    let taken = agent.accept_query().await;
    let accepted = json!({ "type": "query_accepted", "uuid": uuid });
    assert_eq!(page.recv().await, accepted);
    taken
}

fn failure(uuid: &str, error: &str) -> Value {
    json!({ "type": "query_failure", "uuid": uuid, "error": error })
}

fn complete(uuid: &str, message: &str, tool_calls: Value) -> Value {
    json!({ "type": "query_complete", "uuid": uuid, "message": message, "toolCalls": tool_calls })
}

#[tokio::test]
async fn the_agent_receives_the_page_message_and_no_token() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    let tools = json!([{ "name": "t", "description": "d", "inputSchema": { "type": "object" } }]);
    let more = json!({ "responseTool": { "name": "answer", "description": "d" },
        "tools": tools, "restrictTools": false });
    page.send(query(UUID, more.clone())).await;
    let sent = agent.next_request().await;
    assert_eq!(
        (sent.method.as_str(), &*sent.path),
        ("PUT", &*format!("/query/{UUID}"))
    );
    // To the letter: the order of keys and the spelling of numbers are the page's.
    let text = String::from_utf8(sent.body.to_vec()).unwrap();
    assert!(text.contains(r#""value":{"z":1,"a":2.0}"#), "{text}");
    assert_eq!(sent.json(), query(UUID, more));
    for absent in ["authorization", "mcp-web-query-token"] {
        assert!(sent.headers.get(absent).is_none(), "{absent}");
    }
    sent.respond(204);
    assert_eq!(page.recv().await["type"], "query_accepted");
}

#[tokio::test]
async fn agent_requests_use_the_path_of_agent_url_and_agent_token() {
    let mut agent = MockAgent::start().await;
    let mut config = compat(&agent);
    let secret = "an-agent-secret-of-32-characters";
    config.agent.agent_url = Some(
        format!("http://{}/my/agent/", agent.address)
            .parse()
            .unwrap(),
    );
    config.agent.agent_token = Some(secret.parse().unwrap());
    let bridge = start_bridge_with(config).await;
    let mut page = page_of(&bridge, "asks").await;
    page.send(query(UUID, json!({}))).await;
    let sent = agent.next_request().await;
    assert_eq!(sent.path, format!("/my/agent/{UUID}"));
    assert_eq!(sent.headers["authorization"], format!("Bearer {secret}"));
    sent.respond(200);
}

#[tokio::test]
async fn acceptance_is_sent_before_progress_and_completion() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    page.send(query(UUID, json!({}))).await;
    let asked = agent.next_request().await;
    for message in ["one", "two"] {
        let report = report_request(&bridge, UUID, "progress").json(&json!({ "message": message }));
        assert_eq!(
            send_for_json(report).await,
            (200, json!({ "success": true }))
        );
    }
    asked.respond(200);
    assert_eq!(
        page.recv().await,
        json!({ "type": "query_accepted", "uuid": UUID })
    );
    for message in ["one", "two"] {
        let progress = json!({ "type": "query_progress", "uuid": UUID, "message": message });
        assert_eq!(page.recv().await, progress);
    }
    // A uuid in the body names nothing.
    let body = json!({ "uuid": "another", "message": "done" });
    send_for_json(report_request(&bridge, UUID, "complete").json(&body)).await;
    assert_eq!(page.recv().await, complete(UUID, "done", json!([])));
}

#[tokio::test]
async fn an_agent_error_status_is_a_query_failure() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    for (number, status, text) in [
        (1, 500, "500: Internal Server Error"),
        (2, 404, "404: Not Found"),
    ] {
        let uuid = uuid(number);
        page.send(query(&uuid, json!({}))).await;
        agent.next_request().await.respond(status);
        let expected = failure(&uuid, &format!("Agent responded with {text}"));
        assert_eq!(page.recv().await, expected);
    }
}

#[tokio::test]
async fn without_an_agent_url_every_query_fails() {
    let config = Config {
        compat: Some(Compat::McpWeb),
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = CompatPage::connect(&bridge, "asks").await;
    page.send(query(UUID, json!({}))).await;
    assert_eq!(page.recv().await, failure(UUID, "Missing Agent URL"));
}

#[tokio::test]
async fn every_end_of_a_query_frees_its_slot() {
    let mut agent = MockAgent::start().await;
    let mut config = compat(&agent);
    config.agent.max_queries = 1;
    let bridge = start_bridge_with(config).await;
    let mut page = page_of(&bridge, "asks").await;
    let full = "Query limit exceeded. Wait for existing queries to complete.";
    let ways = [
        "complete",
        "fail",
        "cancel",
        "response tool",
        "page",
        "refused",
    ];
    for (number, way) in (0..).zip(ways) {
        let one = uuid(2 * number);
        let more = match way {
            "response tool" => json!({ "responseTool": { "name": "answer" } }),
            _ => json!({}),
        };
        page.send(query(&one, more)).await;
        let asked = agent.next_request().await;
        let other = uuid(2 * number + 1);
        page.send(query(&other, json!({}))).await;
        assert_eq!(page.recv().await, failure(&other, full), "{way}");
        asked.respond(if way == "refused" { 503 } else { 200 });
        let heard = page.recv().await;
        match way {
            "refused" => assert_eq!(heard["type"], "query_failure"),
            "page" => {
                page.send(json!({ "type": "query_cancel", "uuid": one }))
                    .await;
                let stop = agent.next_request().await;
                assert_eq!(stop.method, "DELETE");
            }
            "response tool" => {
                let calling = call(&bridge, &one, "answer", json!({}));
                let (_, ()) = tokio::join!(calling, page.echo_call());
                assert_eq!(page.recv().await["type"], "query_complete");
            }
            what => {
                let body = json!({ "message": "m", "error": "e" });
                send_for_json(report_request(&bridge, &one, what).json(&body)).await;
                assert_eq!(page.recv().await["uuid"], *one);
            }
        }
    }
    ask(&mut agent, &mut page, &uuid(99), json!({})).await;
}

#[tokio::test]
async fn only_a_page_cancel_sends_delete_to_the_agent() {
    let (bridge, mut agent, mut page, query) = at_work(json!({})).await;
    query
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    assert_eq!(page.recv().await["type"], "query_complete");
    let second = uuid(2);
    ask(&mut agent, &mut page, &second, json!({})).await;
    page.send(json!({ "type": "query_cancel", "uuid": second, "reason": "enough" }))
        .await;
    // The first was completed: nothing was sent for it.
    let stop = agent.next_request().await;
    let path = format!("/query/{second}");
    assert_eq!((stop.method.as_str(), &*stop.path), ("DELETE", &*path));
    assert!(stop.body.is_empty());
    // Under way: calls are refused, reports find nothing.
    let refused = mcp(&bridge, &second, "tools/list", json!({})).await;
    assert_eq!(refused["error"]["code"], -32600);
    assert_eq!(refused["error"]["message"], "QueryNotActive");
    let not_found = (404, json!({ "error": "QueryNotFound" }));
    let late = json!({ "message": "late" });
    assert_eq!(
        send_for_json(report_request(&bridge, &second, "progress").json(&late)).await,
        not_found
    );
    stop.respond(200);
    // What the page hears next is of the next query.
    ask(&mut agent, &mut page, &uuid(3), json!({})).await;
    assert_eq!(
        send_for_json(report_request(&bridge, &second, "complete").json(&late)).await,
        not_found
    );
}

#[tokio::test]
async fn a_query_cancelled_before_acceptance_is_stopped() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    page.send(query(UUID, json!({}))).await;
    let asked = agent.next_request().await;
    page.send(json!({ "type": "query_cancel", "uuid": UUID }))
        .await;
    let stop = agent.next_request().await;
    assert_eq!(stop.method, "DELETE");
    asked.respond(200);
    stop.respond(200);
    ask(&mut agent, &mut page, &uuid(2), json!({})).await;
}

#[tokio::test]
async fn guessable_query_ids_are_rejected_when_they_are_credentials() {
    let agent = MockAgent::start().await;
    let bridge = start_bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    for guessable in ["1", "00000000-0000-0000-0000-000000000000"] {
        page.send(query(guessable, json!({}))).await;
        let heard = page.recv().await;
        assert_eq!(
            heard,
            failure(guessable, "The uuid of the query can be guessed")
        );
    }
    assert!(agent.is_idle());
}

#[tokio::test]
async fn a_repeated_query_id_is_sent_to_the_agent_once() {
    let (bridge, mut agent, mut page, first) = at_work(json!({})).await;
    page.send(query(UUID, json!({}))).await;
    first
        .report_ok(&bridge, "progress", json!({ "message": "on" }))
        .await;
    // It goes on as if it had been asked once.
    assert_eq!(page.recv().await["message"], "on");
    first
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    assert_eq!(page.recv().await["message"], "done");
    page.send(query(UUID, json!({}))).await;
    let again = failure(UUID, "A query with this uuid was asked before");
    assert_eq!(page.recv().await, again);
    ask(&mut agent, &mut page, &uuid(2), json!({})).await;
}
