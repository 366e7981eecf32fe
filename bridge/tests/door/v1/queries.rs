//! Queries of v1 pages, with agents built for mcp-web 0.1.

use bridge::{Agent, Compat, Config, Running};
use serde_json::{Value, json};

use super::client::{asking, printed, sent};
use super::kit::{V1Page, tool};
use crate::agent::{Query, SmallAgent, UUID, answered, reporting};
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
async fn at_work(more: Value) -> (Running, SmallAgent, V1Page, Query) {
    let mut agent = SmallAgent::start().await;
    let bridge = bridge_with(compat(&agent)).await;
    let mut page = page_of(&bridge, "asks").await;
    let taken = ask(&mut agent, &mut page, UUID, more).await;
    (bridge, agent, page, taken)
}

async fn page_of(bridge: &Running, session: &str) -> V1Page {
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

/// A message of an agent: no token, the query in `_meta`.
async fn mcp(bridge: &Running, uuid: &str, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({ "queryId": uuid });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let response = sent(asking(bridge, reqwest::Method::POST, "/").json(&message)).await;
    assert_eq!(response.status(), 200);
    response.json().await.unwrap()
}

async fn call(bridge: &Running, uuid: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    mcp(bridge, uuid, "tools/call", params).await["result"].take()
}

fn failure(uuid: &str, error: &str) -> Value {
    json!({ "type": "query_failure", "uuid": uuid, "error": error })
}

fn complete(uuid: &str, message: &str, tool_calls: Value) -> Value {
    json!({ "type": "query_complete", "uuid": uuid, "message": message, "toolCalls": tool_calls })
}

#[tokio::test]
async fn the_bridge_sends_the_message_of_the_page_and_no_token() {
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
async fn the_path_is_the_agents_without_its_slash_and_the_bearer_is_its_token() {
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
async fn accepted_comes_first_then_progress_then_the_end() {
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
async fn a_refused_put_is_a_failure_with_the_status() {
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
async fn the_quota_is_given_back_however_a_query_ends() {
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
async fn delete_comes_after_the_pages_cancel_only_and_the_page_hears_nothing_more() {
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
async fn a_query_cancelled_before_the_agent_has_answered_is_stopped_all_the_same() {
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
async fn restricted_tools_are_all_that_a_query_may_call() {
    let restricted = |tools: Value| json!({ "tools": tools, "restrictTools": true });
    let (bridge, mut agent, mut page, _query) = at_work(restricted(json!([{ "name": "t" }]))).await;
    for refused in ["answer", "list_sessions", "none"] {
        let result = call(&bridge, UUID, refused, json!({})).await;
        assert_eq!(result["isError"], true, "{refused}");
        let text = printed(&result);
        assert_eq!(text["error"], "ToolNotAllowed");
        assert_eq!(text["allowed_tools"], json!(["t"]));
        assert!(text["details"].is_string());
    }
    let (result, ()) = tokio::join!(call(&bridge, UUID, "t", json!({ "n": 1 })), page.echo());
    assert!(result.get("isError").is_none(), "{result}");

    let nothing = uuid(2);
    ask(&mut agent, &mut page, &nothing, restricted(json!([]))).await;
    for refused in ["t", "list_sessions"] {
        let result = call(&bridge, &nothing, refused, json!({})).await;
        assert_eq!(printed(&result)["error"], "ToolNotAllowed");
    }
    // Without `tools`, or without the word, all are allowed.
    for (number, more) in [
        (3, json!({ "restrictTools": true })),
        (4, json!({ "tools": [{ "name": "answer" }] })),
    ] {
        let uuid = uuid(number);
        ask(&mut agent, &mut page, &uuid, more).await;
        let (result, ()) = tokio::join!(call(&bridge, &uuid, "t", json!({})), page.echo());
        assert!(result.get("isError").is_none(), "{result}");
        let result = call(&bridge, &uuid, "list_sessions", json!({})).await;
        assert_eq!(printed(&result)["sessions"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn tool_calls_come_in_order_of_completion_with_raw_results_and_failures() {
    let (bridge, _agent, mut page, query) = at_work(json!({})).await;
    let first = call(&bridge, UUID, "t", json!({ "n": 1 }));
    let second = call(&bridge, UUID, "t", json!({ "n": 2 }));
    let answers = async {
        let (one, two) = (page.call().await, page.call().await);
        assert_eq!(one["queryId"], UUID);
        let mut both = [one, two];
        both.sort_by_key(|call| call["toolInput"]["n"].as_i64());
        page.respond(&both[1], json!({ "_meta": { "z": 1 }, "rows": [1.5] }))
            .await;
        page.respond(&both[0], json!({ "error": "no", "more": true }))
            .await;
    };
    tokio::join!(first, second, answers);
    query
        .reported(&bridge, "complete", json!({ "message": "done" }))
        .await;
    let calls = json!([
        { "tool": "t", "arguments": { "n": 2 }, "result": { "_meta": { "z": 1 }, "rows": [1.5] } },
        { "tool": "t", "arguments": { "n": 1 }, "result": { "error": "no", "more": true } },
    ]);
    assert_eq!(page.hear().await, complete(UUID, "done", calls));
}

#[tokio::test]
async fn the_response_tool_completes_the_query_without_a_message_before_the_answer() {
    let (bridge, _agent, mut page, _query) =
        at_work(json!({ "responseTool": { "name": "answer" } })).await;
    // A failure of it does not.
    let failing = call(&bridge, UUID, "answer", json!({ "n": 1 }));
    let (failed, ()) = tokio::join!(failing, async {
        let call = page.call().await;
        page.respond(&call, json!({ "error": "not yet" })).await;
    });
    assert_eq!(failed["isError"], true);
    let answering = call(&bridge, UUID, "answer", json!({ "n": 2 }));
    let (answer, heard) = tokio::join!(answering, async {
        page.echo().await;
        page.hear().await
    });
    assert_eq!(printed(&answer), json!({ "n": 2 }));
    assert_eq!(heard["type"], "query_complete");
    assert!(heard.get("message").is_none(), "{heard}");
    assert_eq!(heard["toolCalls"].as_array().unwrap().len(), 2);
    assert_eq!(heard["toolCalls"][1]["result"], json!({ "n": 2 }));
    // No tool runs afterwards.
    let late = mcp(
        &bridge,
        UUID,
        "tools/call",
        json!({ "name": "t", "arguments": {} }),
    )
    .await;
    assert_eq!(late["error"]["message"], "QueryNotFound");
}

#[tokio::test]
async fn complete_on_a_query_that_demands_a_response_tool_is_400_and_fails_it() {
    let (bridge, _agent, mut page, query) =
        at_work(json!({ "responseTool": { "name": "answer" } })).await;
    let (status, body) = query
        .report(&bridge, "complete", json!({ "message": "42" }))
        .await;
    let why = "Query specified responseTool 'answer' but agent called queryComplete() instead";
    assert_eq!((status, body), (400, json!({ "error": why })));
    assert_eq!(page.hear().await, failure(UUID, why));
}

#[tokio::test]
async fn a_body_is_checked_before_the_query() {
    let (bridge, _agent, mut page, query) = at_work(json!({})).await;
    let invalid = (400, json!({ "error": "Invalid request body" }));
    let bodies = [
        "",
        "{",
        "[]",
        "[\"m\"]",
        "null",
        "{}",
        r#"{"message":1,"error":null}"#,
    ];
    for what in ["progress", "complete", "fail"] {
        for (body, uuid) in bodies
            .iter()
            .flat_map(|body| [(body, UUID), (body, "unknown")])
        {
            let report = reporting(&bridge, uuid, what).body(*body);
            assert_eq!(answered(report).await, invalid, "{what} {body}");
        }
    }
    for body in ["{", "[]", r#"{"reason":1}"#] {
        let report = reporting(&bridge, UUID, "cancel").body(body);
        assert_eq!(answered(report).await, invalid, "cancel {body}");
    }
    // None of it ended the query; `cancel` may have no body.
    query
        .reported(&bridge, "progress", json!({ "message": "on" }))
        .await;
    assert_eq!(page.hear().await["message"], "on");
    let cancel = answered(reporting(&bridge, UUID, "cancel")).await;
    assert_eq!(cancel, (200, json!({ "success": true })));
    assert_eq!(
        page.hear().await,
        json!({ "type": "query_cancel", "uuid": UUID })
    );
}

#[tokio::test]
async fn fail_and_cancel_tell_why() {
    let (bridge, mut agent, mut page, query) = at_work(json!({})).await;
    query
        .reported(&bridge, "fail", json!({ "error": "no model" }))
        .await;
    assert_eq!(page.hear().await, failure(UUID, "no model"));
    let second = uuid(2);
    let query = ask(&mut agent, &mut page, &second, json!({})).await;
    query
        .reported(&bridge, "cancel", json!({ "reason": "enough" }))
        .await;
    let cancelled = json!({ "type": "query_cancel", "uuid": second, "reason": "enough" });
    assert_eq!(page.hear().await, cancelled);
}

#[tokio::test]
async fn a_finished_an_unknown_and_a_foreign_query_are_404() {
    let (bridge, _agent, mut page, query) = at_work(json!({})).await;
    let not_found = (404, json!({ "error": "QueryNotFound" }));
    let body = json!({ "message": "m", "error": "e" });
    for what in ["progress", "complete", "fail", "cancel"] {
        for unknown in ["unknown", &*uuid(7)] {
            let report = reporting(&bridge, unknown, what).json(&body);
            assert_eq!(answered(report).await, not_found, "{what}");
        }
        let foreign = reporting(&bridge, UUID, what).json(&body);
        let foreign = foreign.bearer_auth("token-of-another-page-0123456789");
        assert_eq!(answered(foreign).await, not_found, "{what}");
    }
    // The token of the page itself may come along.
    let own = reporting(&bridge, UUID, "complete")
        .json(&body)
        .bearer_auth(TOKEN);
    assert_eq!(answered(own).await.0, 200);
    assert_eq!(page.hear().await["type"], "query_complete");
    for what in ["progress", "complete", "fail", "cancel"] {
        assert_eq!(
            query.report(&bridge, what, body.clone()).await,
            not_found,
            "{what}"
        );
    }
}

#[tokio::test]
async fn a_uuid_that_can_be_guessed_is_refused_where_it_is_the_secret() {
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
async fn the_same_uuid_is_asked_once() {
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

#[tokio::test]
async fn the_uuid_stands_in_for_the_token_and_shows_its_page_only() {
    let (bridge, _agent, _page, _query) = at_work(json!({})).await;
    let mut other = V1Page::connect(&bridge, "other").await;
    other.register_tool(tool("elsewhere")).await;
    other.settled(&bridge, "elsewhere").await;
    let listed = mcp(&bridge, UUID, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["list_sessions", "t", "answer"]);
    // One page: nothing to choose.
    assert_eq!(tools[1]["inputSchema"]["required"], json!([]));
    let result = call(&bridge, UUID, "elsewhere", json!({})).await;
    assert_eq!(printed(&result)["error"], "ToolNotFound");
    let opened = mcp(&bridge, UUID, "initialize", json!({})).await;
    assert_eq!(opened["result"]["protocolVersion"], "2024-11-05");
}

#[tokio::test]
async fn an_unknown_uuid_and_one_whose_page_is_gone_say_so() {
    let (bridge, _agent, page, query) = at_work(json!({})).await;
    for unknown in ["unknown", &*uuid(7)] {
        let refused = mcp(&bridge, unknown, "tools/list", json!({})).await;
        assert_eq!(refused["error"]["code"], -32600);
        assert_eq!(refused["error"]["message"], "QueryNotFound");
    }
    page.go_away().await;
    let gone = async {
        loop {
            let refused = mcp(&bridge, UUID, "tools/list", json!({})).await;
            if let Some(error) = refused.get("error") {
                return error.clone();
            }
        }
    };
    let error = crate::kit::soon("end of the page", gone).await;
    assert_eq!(error["code"], -32600);
    assert_eq!(error["message"], "InvalidSession");
    let not_found = (404, json!({ "error": "QueryNotFound" }));
    let late = json!({ "message": "late" });
    assert_eq!(query.report(&bridge, "complete", late).await, not_found);
}

#[tokio::test]
async fn a_message_without_its_fields_ends_nothing() {
    let (bridge, _agent, mut page, query) = at_work(json!({})).await;
    for broken in [
        json!({ "type": "query_cancel" }),
        json!({ "type": "query" }),
        json!({ "type": "query", "uuid": uuid(2) }),
        json!({ "type": "query_cancel", "uuid": uuid(3) }),
        json!({ "type": "query_cancel", "uuid": null }),
    ] {
        page.say(broken).await;
    }
    query
        .reported(&bridge, "progress", json!({ "message": "on" }))
        .await;
    assert_eq!(page.hear().await["message"], "on");
}

#[tokio::test]
async fn by_default_the_agent_of_a_v1_page_needs_the_token_that_it_was_sent() {
    let mut agent = SmallAgent::start().await;
    let config = Config {
        agent: Agent {
            max_queries: 1,
            ..agent.config().agent
        },
        ..agent.config()
    };
    let bridge = bridge_with(config).await;
    let mut page = page_of(&bridge, "asks").await;
    let query = ask(&mut agent, &mut page, UUID, json!({})).await;
    let body = json!({ "message": "done" });
    let without = answered(reporting(&bridge, UUID, "complete").json(&body)).await;
    assert_eq!(
        (without.0, &without.1["error"]),
        (401, &json!("MissingAuthentication"))
    );
    let tools = asking(&bridge, reqwest::Method::GET, "/tools");
    let tools = answered(tools.bearer_auth(query.token.as_ref().unwrap()))
        .await
        .1;
    assert_eq!(tools["tools"].as_array().unwrap().len(), 2);
    query.reported(&bridge, "complete", body).await;
    assert_eq!(page.hear().await, complete(UUID, "done", json!([])));
}

#[tokio::test]
async fn where_the_agent_needs_the_token_of_its_query_its_mcp_session_ends_with_that() {
    let mut agent = SmallAgent::start().await;
    let config = Config {
        allowed_hosts: vec!["loopback".to_owned(), "bridge.example.com".to_owned()],
        ..compat(&agent)
    };
    let bridge = bridge_with(config).await;
    let mut page = page_of(&bridge, "asks").await;
    let query = ask(&mut agent, &mut page, UUID, json!({})).await;
    let token = query.token.clone().unwrap();
    let asking = |method, token: &str| asking(&bridge, method, "/").bearer_auth(token);
    let message = |method: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": method });
    let opened = asking(reqwest::Method::POST, &token).json(&message("initialize"));
    let session = sent(opened).await.headers()["mcp-session-id"].clone();
    let stream = asking(reqwest::Method::GET, &token)
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session);
    let mut stream = sent(stream).await;
    query
        .reported(&bridge, "complete", json!({ "message": "done" }))
        .await;
    let ended = soon("end of the stream", stream.chunk()).await;
    assert_eq!(ended.unwrap(), None);
    let list = asking(reqwest::Method::POST, TOKEN)
        .header("mcp-session-id", &session)
        .json(&message("tools/list"));
    assert_eq!(sent(list).await.status(), 404);
}
