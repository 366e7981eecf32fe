//! Queries of v1 pages, with agents built for mcp-web 0.1.

mod agent_calls;
mod agent_reports;

use bridge::{Agent, Compat, Config, ServerHandle};
use serde_json::{Value, json};

use self::agent_calls::{call, mcp};
use super::kit::{V1Page, tool};
use super::mcp_client::{asking, printed, sent};
use crate::kit::mock_agent::{Query, SmallAgent, UUID, answered, reporting};
use crate::kit::{TOKEN, bridge_with, on_free_port, soon};

fn compat(agent: &SmallAgent) -> Config {
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
async fn at_work(more: Value) -> (ServerHandle, SmallAgent, V1Page, Query) {
    let mut agent = SmallAgent::start().await;
    let bridge = bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    let taken = ask(&mut agent, &mut page, UUID, more).await;
    (bridge, agent, page, taken)
}

async fn page_of(bridge: &ServerHandle, session: &str) -> V1Page {
    let mut page = V1Page::connect(bridge, session).await;
    for name in ["t", "answer"] {
        page.register_tool(tool(name)).await;
    }
    page.settled(bridge, "answer").await;
    page
}

async fn ask(agent: &mut SmallAgent, page: &mut V1Page, uuid: &str, more: Value) -> Query {
    page.say(query(uuid, more)).await;
    let taken = agent.accept().await;
    let accepted = json!({ "type": "query_accepted", "uuid": uuid });
    assert_eq!(page.hear().await, accepted);
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
    let mut agent = SmallAgent::start().await;
    let bridge = bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    let tools = json!([{ "name": "t", "description": "d", "inputSchema": { "type": "object" } }]);
    let more = json!({ "responseTool": { "name": "answer", "description": "d" },
        "tools": tools, "restrictTools": false });
    page.say(query(UUID, more.clone())).await;
    let sent = agent.next().await;
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
    sent.answer(204);
    assert_eq!(page.hear().await["type"], "query_accepted");
}

#[tokio::test]
async fn agent_requests_use_the_path_of_agent_url_and_agent_token() {
    let mut agent = SmallAgent::start().await;
    let mut config = compat(&agent);
    let secret = "an-agent-secret-of-32-characters";
    config.agent.agent_url = Some(
        format!("http://{}/my/agent/", agent.address)
            .parse()
            .unwrap(),
    );
    config.agent.agent_token = Some(secret.parse().unwrap());
    let bridge = bridge_with(config).await;
    let mut page = page_of(&bridge, "asks").await;
    page.say(query(UUID, json!({}))).await;
    let sent = agent.next().await;
    assert_eq!(sent.path, format!("/my/agent/{UUID}"));
    assert_eq!(sent.headers["authorization"], format!("Bearer {secret}"));
    sent.answer(200);
}

#[tokio::test]
async fn acceptance_is_sent_before_progress_and_completion() {
    let mut agent = SmallAgent::start().await;
    let bridge = bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    page.say(query(UUID, json!({}))).await;
    let asked = agent.next().await;
    for message in ["one", "two"] {
        let report = reporting(&bridge, UUID, "progress").json(&json!({ "message": message }));
        assert_eq!(answered(report).await, (200, json!({ "success": true })));
    }
    asked.answer(200);
    assert_eq!(
        page.hear().await,
        json!({ "type": "query_accepted", "uuid": UUID })
    );
    for message in ["one", "two"] {
        let progress = json!({ "type": "query_progress", "uuid": UUID, "message": message });
        assert_eq!(page.hear().await, progress);
    }
    // A uuid in the body names nothing.
    let body = json!({ "uuid": "another", "message": "done" });
    answered(reporting(&bridge, UUID, "complete").json(&body)).await;
    assert_eq!(page.hear().await, complete(UUID, "done", json!([])));
}

#[tokio::test]
async fn an_agent_error_status_is_a_query_failure() {
    let mut agent = SmallAgent::start().await;
    let bridge = bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    for (number, status, text) in [
        (1, 500, "500: Internal Server Error"),
        (2, 404, "404: Not Found"),
    ] {
        let uuid = uuid(number);
        page.say(query(&uuid, json!({}))).await;
        agent.next().await.answer(status);
        let expected = failure(&uuid, &format!("Agent responded with {text}"));
        assert_eq!(page.hear().await, expected);
    }
}

#[tokio::test]
async fn without_an_agent_url_every_query_fails() {
    let config = Config {
        compat: Some(Compat::McpWeb),
        ..on_free_port()
    };
    let bridge = bridge_with(config).await;
    let mut page = V1Page::connect(&bridge, "asks").await;
    page.say(query(UUID, json!({}))).await;
    assert_eq!(page.hear().await, failure(UUID, "Missing Agent URL"));
}

#[tokio::test]
async fn every_end_of_a_query_frees_its_slot() {
    let mut agent = SmallAgent::start().await;
    let mut config = compat(&agent);
    config.agent.max_queries = 1;
    let bridge = bridge_with(config).await;
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
        page.say(query(&one, more)).await;
        let asked = agent.next().await;
        let other = uuid(2 * number + 1);
        page.say(query(&other, json!({}))).await;
        assert_eq!(page.hear().await, failure(&other, full), "{way}");
        asked.answer(if way == "refused" { 503 } else { 200 });
        let heard = page.hear().await;
        match way {
            "refused" => assert_eq!(heard["type"], "query_failure"),
            "page" => {
                page.say(json!({ "type": "query_cancel", "uuid": one }))
                    .await;
                let stop = agent.next().await;
                assert_eq!(stop.method, "DELETE");
            }
            "response tool" => {
                let calling = call(&bridge, &one, "answer", json!({}));
                let (_, ()) = tokio::join!(calling, page.echo());
                assert_eq!(page.hear().await["type"], "query_complete");
            }
            what => {
                let body = json!({ "message": "m", "error": "e" });
                answered(reporting(&bridge, &one, what).json(&body)).await;
                assert_eq!(page.hear().await["uuid"], *one);
            }
        }
    }
    ask(&mut agent, &mut page, &uuid(99), json!({})).await;
}

#[tokio::test]
async fn only_a_page_cancel_sends_delete_to_the_agent() {
    let (bridge, mut agent, mut page, query) = at_work(json!({})).await;
    query
        .reported(&bridge, "complete", json!({ "message": "done" }))
        .await;
    assert_eq!(page.hear().await["type"], "query_complete");
    let second = uuid(2);
    ask(&mut agent, &mut page, &second, json!({})).await;
    page.say(json!({ "type": "query_cancel", "uuid": second, "reason": "enough" }))
        .await;
    // The first was completed: nothing was sent for it.
    let stop = agent.next().await;
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
        answered(reporting(&bridge, &second, "progress").json(&late)).await,
        not_found
    );
    stop.answer(200);
    // What the page hears next is of the next query.
    ask(&mut agent, &mut page, &uuid(3), json!({})).await;
    assert_eq!(
        answered(reporting(&bridge, &second, "complete").json(&late)).await,
        not_found
    );
}

#[tokio::test]
async fn a_query_cancelled_before_acceptance_is_stopped() {
    let mut agent = SmallAgent::start().await;
    let bridge = bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    page.say(query(UUID, json!({}))).await;
    let asked = agent.next().await;
    page.say(json!({ "type": "query_cancel", "uuid": UUID }))
        .await;
    let stop = agent.next().await;
    assert_eq!(stop.method, "DELETE");
    asked.answer(200);
    stop.answer(200);
    ask(&mut agent, &mut page, &uuid(2), json!({})).await;
}

#[tokio::test]
async fn guessable_query_ids_are_rejected_when_they_are_credentials() {
    let agent = SmallAgent::start().await;
    let bridge = bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    for guessable in ["1", "00000000-0000-0000-0000-000000000000"] {
        page.say(query(guessable, json!({}))).await;
        let heard = page.hear().await;
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
    page.say(query(UUID, json!({}))).await;
    first
        .reported(&bridge, "progress", json!({ "message": "on" }))
        .await;
    // It goes on as if it had been asked once.
    assert_eq!(page.hear().await["message"], "on");
    first
        .reported(&bridge, "complete", json!({ "message": "done" }))
        .await;
    assert_eq!(page.hear().await["message"], "done");
    page.say(query(UUID, json!({}))).await;
    let again = failure(UUID, "A query with this uuid was asked before");
    assert_eq!(page.hear().await, again);
    ask(&mut agent, &mut page, &uuid(2), json!({})).await;
}
