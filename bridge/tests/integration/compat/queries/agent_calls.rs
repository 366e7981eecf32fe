//! Calls of the agent of an mcp-web 0.1 page, and the agent's authentication.

use reqwest::Method;

use super::*;

/// Sends a request like an agent of mcp-web 0.1, with the query in `_meta` instead of a token.
pub(super) async fn request_as_agent(
    bridge: &ServerHandle,
    uuid: &str,
    method: &str,
    mut params: Value,
) -> Value {
    params["_meta"] = json!({ "queryId": uuid });
    let request = http_request(bridge, Method::POST, "/");
    let response = send(request.json(&rpc_request(1, method, params))).await;
    assert_eq!(response.status(), 200);
    response.json().await.unwrap()
}

pub(super) async fn call_tool(
    bridge: &ServerHandle,
    uuid: &str,
    tool: &str,
    arguments: Value,
) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    request_as_agent(bridge, uuid, "tools/call", params).await["result"].take()
}

#[tokio::test]
async fn a_restricted_query_may_call_only_its_tools() {
    let restricted = |tools: Value| json!({ "tools": tools, "restrictTools": true });
    let (bridge, mut agent, mut page, _query) =
        start_query(restricted(json!([{ "name": "t" }]))).await;
    for forbidden in ["answer", "list_sessions", "none"] {
        let result = call_tool(&bridge, UUID, forbidden, json!({})).await;
        assert_eq!(result["isError"], true, "{forbidden}");
        let text = parse_text(&result);
        assert_eq!(text["error"], "ToolNotAllowed");
        assert_eq!(text["allowed_tools"], json!(["t"]));
        assert!(text["details"].is_string());
    }
    let (result, ()) = tokio::join!(
        call_tool(&bridge, UUID, "t", json!({ "n": 1 })),
        page.echo_call()
    );
    assert!(result.get("isError").is_none(), "{result}");

    // The bridge's own list of pages has the allowed tools only.
    let lists_sessions = uuid(5);
    let tools = restricted(json!([{ "name": "t" }, { "name": "list_sessions" }]));
    send_query(&mut agent, &mut page, &lists_sessions, tools).await;
    let result = call_tool(&bridge, &lists_sessions, "list_sessions", json!({})).await;
    let listed = &parse_text(&result)["sessions"][0]["available_tools"];
    assert_eq!(listed, &json!(["t"]));
    let unknown = call_tool(
        &bridge,
        &lists_sessions,
        "t",
        json!({ "session_id": "none" }),
    )
    .await;
    assert!(!unknown.to_string().contains("answer"), "{unknown}");

    let without_tools = uuid(2);
    send_query(&mut agent, &mut page, &without_tools, restricted(json!([]))).await;
    for forbidden in ["t", "list_sessions"] {
        let result = call_tool(&bridge, &without_tools, forbidden, json!({})).await;
        assert_eq!(parse_text(&result)["error"], "ToolNotAllowed");
    }
    // Without `tools` or without `restrictTools`, every tool is allowed.
    for (number, members) in [
        (3, json!({ "restrictTools": true })),
        (4, json!({ "tools": [{ "name": "answer" }] })),
    ] {
        let uuid = uuid(number);
        send_query(&mut agent, &mut page, &uuid, members).await;
        let (result, ()) =
            tokio::join!(call_tool(&bridge, &uuid, "t", json!({})), page.echo_call());
        assert!(result.get("isError").is_none(), "{result}");
        let result = call_tool(&bridge, &uuid, "list_sessions", json!({})).await;
        assert_eq!(parse_text(&result)["sessions"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn tool_calls_are_reported_in_completion_order_with_raw_results() {
    let (bridge, _agent, mut page, query) = start_query(json!({})).await;
    let first = call_tool(&bridge, UUID, "t", json!({ "n": 1 }));
    let second = call_tool(&bridge, UUID, "t", json!({ "n": 2 }));
    let handler = async {
        let (first_call, second_call) = (page.recv_call().await, page.recv_call().await);
        assert_eq!(first_call["queryId"], UUID);
        let mut calls = [first_call, second_call];
        calls.sort_by_key(|call| call["toolInput"]["n"].as_i64());
        page.respond(&calls[1], json!({ "_meta": { "z": 1 }, "rows": [1.5] }))
            .await;
        page.respond(&calls[0], json!({ "error": "no", "more": true }))
            .await;
    };
    tokio::join!(first, second, handler);
    query
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    let calls = json!([
        { "tool": "t", "arguments": { "n": 2 }, "result": { "_meta": { "z": 1 }, "rows": [1.5] } },
        { "tool": "t", "arguments": { "n": 1 }, "result": { "error": "no", "more": true } },
    ]);
    assert_eq!(page.recv().await, query_complete(UUID, "done", calls));
}

#[tokio::test]
async fn a_successful_response_tool_call_completes_the_query() {
    let (bridge, _agent, mut page, _query) =
        start_query(json!({ "responseTool": { "name": "answer" } })).await;
    // A failed call of the response tool does not complete the query.
    let call = call_tool(&bridge, UUID, "answer", json!({ "n": 1 }));
    let (failed, ()) = tokio::join!(call, async {
        let call = page.recv_call().await;
        page.respond(&call, json!({ "error": "not yet" })).await;
    });
    assert_eq!(failed["isError"], true);
    let call = call_tool(&bridge, UUID, "answer", json!({ "n": 2 }));
    let (answer, complete) = tokio::join!(call, async {
        page.echo_call().await;
        page.recv().await
    });
    assert_eq!(parse_text(&answer), json!({ "n": 2 }));
    assert_eq!(complete["type"], "query_complete");
    assert!(complete.get("message").is_none(), "{complete}");
    assert_eq!(complete["toolCalls"].as_array().unwrap().len(), 2);
    assert_eq!(complete["toolCalls"][1]["result"], json!({ "n": 2 }));
    // No tool runs after the query has ended.
    let late = request_as_agent(
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
    let (bridge, _agent, _page, _query) = start_query(json!({})).await;
    let mut other = V1Page::connect(&bridge, "other").await;
    other.register_tool(tool("elsewhere")).await;
    wait_for_tool(&bridge, "elsewhere").await;
    let listed = request_as_agent(&bridge, UUID, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["list_sessions", "t", "answer"]);
    // `session_id` is not required, because there is only one page.
    assert_eq!(tools[1]["inputSchema"]["required"], json!([]));
    let result = call_tool(&bridge, UUID, "elsewhere", json!({})).await;
    assert_eq!(parse_text(&result)["error"], "ToolNotFound");
    let initialized = request_as_agent(&bridge, UUID, "initialize", json!({})).await;
    assert_eq!(initialized["result"]["protocolVersion"], "2024-11-05");
}

#[tokio::test]
async fn unknown_queries_and_queries_of_closed_pages_are_rejected() {
    let (bridge, _agent, page, query) = start_query(json!({})).await;
    for unknown in ["unknown", &*uuid(7)] {
        let rejected = request_as_agent(&bridge, unknown, "tools/list", json!({})).await;
        assert_eq!(rejected["error"]["code"], -32600);
        assert_eq!(rejected["error"]["message"], "QueryNotFound");
    }
    page.close().await;
    let rejection = async {
        loop {
            let rejected = request_as_agent(&bridge, UUID, "tools/list", json!({})).await;
            if let Some(error) = rejected.get("error") {
                return error.clone();
            }
        }
    };
    let error = with_deadline("end of the page", rejection).await;
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
    let mut page = connect_page(&bridge, "asks").await;
    let query = send_query(&mut agent, &mut page, UUID, json!({})).await;
    let body = json!({ "message": "done" });
    let without = send_for_json(report_request(&bridge, UUID, "complete").json(&body)).await;
    assert_eq!(
        (without.0, &without.1["error"]),
        (401, &json!("MissingAuthentication"))
    );
    let token = query.token.as_deref().unwrap();
    let tools = get_json_as(&bridge, token, "/tools").await;
    assert_eq!(tools["tools"].as_array().unwrap().len(), 2);
    query.report_ok(&bridge, "complete", body).await;
    assert_eq!(page.recv().await, query_complete(UUID, "done", json!([])));
}

#[tokio::test]
async fn an_mcp_session_opened_with_a_query_token_ends_with_the_query() {
    let mut agent = MockAgent::start().await;
    let mut config = agent_config(&agent);
    config.network.allowed_hosts = vec!["loopback".to_owned(), "bridge.example.com".to_owned()];
    let bridge = start_bridge_with(config).await;
    let mut page = connect_page(&bridge, "asks").await;
    let query = send_query(&mut agent, &mut page, UUID, json!({})).await;
    let token = query.token.clone().unwrap();
    let authorized = |method, token: &str| http_request(&bridge, method, "/").bearer_auth(token);
    let message = |method: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": method });
    let initialize = authorized(Method::POST, &token).json(&message("initialize"));
    let session = send(initialize).await.headers()["mcp-session-id"].clone();
    let stream = authorized(Method::GET, &token)
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session);
    let mut stream = send(stream).await;
    query
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    let end = with_deadline("end of the stream", stream.chunk()).await;
    assert_eq!(end.unwrap(), None);
    let list = authorized(Method::POST, TOKEN)
        .header("mcp-session-id", &session)
        .json(&message("tools/list"));
    assert_eq!(send(list).await.status(), 404);
}
