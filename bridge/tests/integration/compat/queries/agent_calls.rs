//! What the agent of a v1 page may call, and with what it shows who it is.

use super::*;

/// A message of an agent: no token, the query in `_meta`.
pub(super) async fn mcp(
    bridge: &ServerHandle,
    uuid: &str,
    method: &str,
    mut params: Value,
) -> Value {
    params["_meta"] = json!({ "queryId": uuid });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let response = send(http_request(bridge, reqwest::Method::POST, "/").json(&message)).await;
    assert_eq!(response.status(), 200);
    response.json().await.unwrap()
}

pub(super) async fn call(bridge: &ServerHandle, uuid: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    mcp(bridge, uuid, "tools/call", params).await["result"].take()
}

#[tokio::test]
async fn a_restricted_query_may_call_only_its_tools() {
    let restricted = |tools: Value| json!({ "tools": tools, "restrictTools": true });
    let (bridge, mut agent, mut page, _query) = at_work(restricted(json!([{ "name": "t" }]))).await;
    for refused in ["answer", "list_sessions", "none"] {
        let result = call(&bridge, UUID, refused, json!({})).await;
        assert_eq!(result["isError"], true, "{refused}");
        let text = parse_text(&result);
        assert_eq!(text["error"], "ToolNotAllowed");
        assert_eq!(text["allowed_tools"], json!(["t"]));
        assert!(text["details"].is_string());
    }
    let (result, ()) = tokio::join!(
        call(&bridge, UUID, "t", json!({ "n": 1 })),
        page.echo_call()
    );
    assert!(result.get("isError").is_none(), "{result}");

    let nothing = uuid(2);
    ask(&mut agent, &mut page, &nothing, restricted(json!([]))).await;
    for refused in ["t", "list_sessions"] {
        let result = call(&bridge, &nothing, refused, json!({})).await;
        assert_eq!(parse_text(&result)["error"], "ToolNotAllowed");
    }
    // Without `tools`, or without the word, all are allowed.
    for (number, more) in [
        (3, json!({ "restrictTools": true })),
        (4, json!({ "tools": [{ "name": "answer" }] })),
    ] {
        let uuid = uuid(number);
        ask(&mut agent, &mut page, &uuid, more).await;
        let (result, ()) = tokio::join!(call(&bridge, &uuid, "t", json!({})), page.echo_call());
        assert!(result.get("isError").is_none(), "{result}");
        let result = call(&bridge, &uuid, "list_sessions", json!({})).await;
        assert_eq!(parse_text(&result)["sessions"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn tool_calls_are_reported_in_completion_order_with_raw_results() {
    let (bridge, _agent, mut page, query) = at_work(json!({})).await;
    let first = call(&bridge, UUID, "t", json!({ "n": 1 }));
    let second = call(&bridge, UUID, "t", json!({ "n": 2 }));
    let answers = async {
        let (one, two) = (page.recv_call().await, page.recv_call().await);
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
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    let calls = json!([
        { "tool": "t", "arguments": { "n": 2 }, "result": { "_meta": { "z": 1 }, "rows": [1.5] } },
        { "tool": "t", "arguments": { "n": 1 }, "result": { "error": "no", "more": true } },
    ]);
    assert_eq!(page.recv().await, complete(UUID, "done", calls));
}

#[tokio::test]
async fn a_successful_response_tool_call_completes_the_query() {
    let (bridge, _agent, mut page, _query) =
        at_work(json!({ "responseTool": { "name": "answer" } })).await;
    // A failure of it does not.
    let failing = call(&bridge, UUID, "answer", json!({ "n": 1 }));
    let (failed, ()) = tokio::join!(failing, async {
        let call = page.recv_call().await;
        page.respond(&call, json!({ "error": "not yet" })).await;
    });
    assert_eq!(failed["isError"], true);
    let answering = call(&bridge, UUID, "answer", json!({ "n": 2 }));
    let (answer, heard) = tokio::join!(answering, async {
        page.echo_call().await;
        page.recv().await
    });
    assert_eq!(parse_text(&answer), json!({ "n": 2 }));
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
async fn the_query_id_replaces_the_token_and_reaches_only_its_page() {
    let (bridge, _agent, _page, _query) = at_work(json!({})).await;
    let mut other = CompatPage::connect(&bridge, "other").await;
    other.register_tool(tool("elsewhere")).await;
    other.wait_for_tool(&bridge, "elsewhere").await;
    let listed = mcp(&bridge, UUID, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["list_sessions", "t", "answer"]);
    // One page: nothing to choose.
    assert_eq!(tools[1]["inputSchema"]["required"], json!([]));
    let result = call(&bridge, UUID, "elsewhere", json!({})).await;
    assert_eq!(parse_text(&result)["error"], "ToolNotFound");
    let opened = mcp(&bridge, UUID, "initialize", json!({})).await;
    assert_eq!(opened["result"]["protocolVersion"], "2024-11-05");
}

#[tokio::test]
async fn unknown_queries_and_queries_of_closed_pages_are_rejected() {
    let (bridge, _agent, page, query) = at_work(json!({})).await;
    for unknown in ["unknown", &*uuid(7)] {
        let refused = mcp(&bridge, unknown, "tools/list", json!({})).await;
        assert_eq!(refused["error"]["code"], -32600);
        assert_eq!(refused["error"]["message"], "QueryNotFound");
    }
    page.close().await;
    let gone = async {
        loop {
            let refused = mcp(&bridge, UUID, "tools/list", json!({})).await;
            if let Some(error) = refused.get("error") {
                return error.clone();
            }
        }
    };
    let error = crate::kit::with_deadline("end of the page", gone).await;
    assert_eq!(error["code"], -32600);
    assert_eq!(error["message"], "InvalidSession");
    let not_found = (404, json!({ "error": "QueryNotFound" }));
    let late = json!({ "message": "late" });
    assert_eq!(query.report(&bridge, "complete", late).await, not_found);
}

#[tokio::test]
async fn without_compat_the_agent_needs_its_query_token() {
    let mut agent = MockAgent::start().await;
    let config = Config {
        agent: Agent {
            max_queries: 1,
            ..agent.config().agent
        },
        ..agent.config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = page_of(&bridge, "asks").await;
    let query = ask(&mut agent, &mut page, UUID, json!({})).await;
    let body = json!({ "message": "done" });
    let without = send_for_json(report_request(&bridge, UUID, "complete").json(&body)).await;
    assert_eq!(
        (without.0, &without.1["error"]),
        (401, &json!("MissingAuthentication"))
    );
    let tools = http_request(&bridge, reqwest::Method::GET, "/tools");
    let tools = send_for_json(tools.bearer_auth(query.token.as_ref().unwrap()))
        .await
        .1;
    assert_eq!(tools["tools"].as_array().unwrap().len(), 2);
    query.report_ok(&bridge, "complete", body).await;
    assert_eq!(page.recv().await, complete(UUID, "done", json!([])));
}

#[tokio::test]
async fn an_mcp_session_opened_with_a_query_token_ends_with_the_query() {
    let mut agent = MockAgent::start().await;
    let config = Config {
        allowed_hosts: vec!["loopback".to_owned(), "bridge.example.com".to_owned()],
        ..compat(&agent)
    };
    let bridge = start_bridge_with(config).await;
    let mut page = page_of(&bridge, "asks").await;
    let query = ask(&mut agent, &mut page, UUID, json!({})).await;
    let token = query.token.clone().unwrap();
    let authorized = |method, token: &str| http_request(&bridge, method, "/").bearer_auth(token);
    let message = |method: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": method });
    let opened = authorized(reqwest::Method::POST, &token).json(&message("initialize"));
    let session = send(opened).await.headers()["mcp-session-id"].clone();
    let stream = authorized(reqwest::Method::GET, &token)
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session);
    let mut stream = send(stream).await;
    query
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    let ended = with_deadline("end of the stream", stream.chunk()).await;
    assert_eq!(ended.unwrap(), None);
    let list = authorized(reqwest::Method::POST, TOKEN)
        .header("mcp-session-id", &session)
        .json(&message("tools/list"));
    assert_eq!(send(list).await.status(), 404);
}
