//! Queries of native pages to an agent: the permissions of a query's token, and the failures of
//! agents.

mod agent_process;
mod approvals;
mod callers;
mod completions;
mod conversations;
mod direct;
mod event_streams;
mod reattachment;
mod several_agents;
mod stored_results;

use std::time::Duration;

use bridge::{Agent, Config, ServerHandle};
use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::{Value, json};

use crate::kit::mock_agent::{AcceptedQuery, MockAgent, UUID, report_request, send_for_json};
use crate::kit::*;

/// A random UUID other than [`UUID`].
const OTHER_UUID: &str = "0e6f6f0e-3a51-4b7f-8d5e-6a1c8f5f0c22";

pub(crate) fn query_message(uuid: &str) -> Value {
    json!({ "type": "query", "uuid": uuid, "prompt": "what?", "context": [] })
}

/// The next message about a query that the page receives.
pub(crate) async fn recv_query_event(page: &mut Page) -> Value {
    page.recv_matching(|message| {
        let is_query_event = matches!(
            message,
            BridgeToPage::QueryAccepted(_)
                | BridgeToPage::QueryProgress(_)
                | BridgeToPage::QueryComplete(_)
                | BridgeToPage::QueryFailure(_)
                | BridgeToPage::QueryCancel(_)
        );
        is_query_event.then(|| serde_json::from_str(&message.encode()).unwrap())
    })
    .await
}

/// Starts a bridge, its agent, and a page with a query that the agent has accepted.
async fn start_query(members: Value) -> (ServerHandle, MockAgent, Page, AcceptedQuery) {
    start_query_with(members, |_| {}).await
}

/// Starts a query at a bridge with a changed configuration.
async fn start_query_with(
    members: Value,
    change: impl FnOnce(&mut Config),
) -> (ServerHandle, MockAgent, Page, AcceptedQuery) {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    change(&mut config);
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "asks", &[echo_tool(), tool("other")]).await;
    let message = with_members(query_message(UUID), members);
    page.send_json(message).await;
    let accepted = agent.accept_query().await;
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
    (bridge, agent, page, accepted)
}

/// The status of `GET /tools` with this token; it is 401 after the query has ended.
pub(crate) async fn tools_status(bridge: &ServerHandle, token: &str) -> u16 {
    let request = http_client().get(format!("{}/tools", bridge.url()));
    let response = with_deadline("response", request.bearer_auth(token).send()).await;
    response.unwrap().status().as_u16()
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "d", "inputSchema": { "type": "object" } })
}

/// The failure of a query at a bridge with this configuration.
async fn failed_query(config: Config) -> Value {
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query_message(UUID)).await;
    let failure = recv_query_event(&mut page).await;
    assert_eq!(failure["type"], "query_failure", "{failure}");
    failure
}

#[tokio::test]
async fn an_agent_reports_progress_and_completes_with_its_query_token() {
    let (bridge, agent, mut page, query) = start_query(json!({})).await;
    assert!(query.token.as_ref().unwrap().len() > 32);
    query
        .report_ok(&bridge, "progress", json!({ "message": "looking" }))
        .await;
    let content = &recv_query_event(&mut page).await["content"];
    assert_eq!(content, "looking");
    query
        .report_ok(&bridge, "complete", json!({ "message": "42" }))
        .await;
    let complete = recv_query_event(&mut page).await;
    let expected =
        json!({ "type": "query_complete", "uuid": UUID, "result": "42", "toolCalls": [] });
    assert_eq!(complete, expected);
    assert!(agent.is_idle());
}

#[tokio::test]
async fn the_agent_request_never_contains_the_page_token() {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.agent_url = vec![format!("{}/ask/", agent.address).parse().unwrap()];
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query_message(UUID)).await;
    let request = agent.next_request().await;
    assert_eq!(request.path, format!("/ask/{UUID}"));
    assert_eq!(request.json(), query_message(UUID));
    assert_eq!(request.headers["content-type"], "application/json");
    assert!(request.headers.get("authorization").is_none());
    assert!(!format!("{:?}", request.headers).contains(TOKEN));
    let token = request.query_token();
    assert!(!String::from_utf8_lossy(&request.body).contains(&token));
    request.respond(202);
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
}

#[tokio::test]
async fn reports_require_the_token_of_their_query() {
    let (bridge, mut agent, mut page, query) = start_query(json!({})).await;
    page.send_json(query_message(OTHER_UUID)).await;
    let other = agent.accept_query().await;
    let body = json!({ "message": "mine" });
    let report = || report_request(&bridge, UUID, "complete").json(&body);
    let (status, missing) = send_for_json(report()).await;
    assert_eq!(
        (status, &missing["error"]),
        (401, &json!("MissingAuthentication"))
    );
    let not_found = (404, json!({ "error": "QueryNotFound" }));
    for foreign in [TOKEN, other.token.as_ref().unwrap(), "mcp-web-query-none"] {
        assert_eq!(
            send_for_json(report().bearer_auth(foreign)).await,
            not_found
        );
    }
    query.report_ok(&bridge, "complete", body.clone()).await;
    assert_eq!(query.report(&bridge, "complete", body).await, not_found);
}

#[tokio::test]
async fn a_restricted_query_token_reaches_only_the_allowed_tools_of_its_page() {
    let restriction = json!({ "tools": [{ "name": "echo" }], "restrictTools": true });
    let (bridge, _agent, mut page, query) = start_query(restriction).await;
    let _other_page = Page::with_tools(&bridge, "other", &[tool("elsewhere")]).await;
    let token = query.token.as_deref().unwrap();

    let client = McpClient::connect(&bridge, token).await;
    assert_eq!(client.tool_names().await, ["echo"]);
    let listed = get_json_as(&bridge, token, "/tools").await;
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1);
    let sessions = get_json_as(&bridge, token, "/sessions").await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(sessions["sessions"][0]["available_tools"], json!(["echo"]));

    let handler = page.serve_call(json!({ "n": 1 }));
    let (answer, call) = tokio::join!(client.call("echo", json!({ "n": 1 })), handler);
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
    assert_eq!(call.context.query_id.unwrap().as_str(), UUID);
    for forbidden in ["other", "elsewhere", "list_active_sessions"] {
        let answer = client.call(forbidden, json!({})).await;
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        let text: Value = serde_json::from_str(result_text(result)).unwrap();
        assert_eq!(text["error"], "ToolNotAllowed", "{text}");
        assert_eq!(text["allowed_tools"], json!(["echo"]));
    }
    let body = json!({ "toolName": "other", "toolInput": {}, "sessionId": "other" });
    let rest = http_client().post(format!("{}/tool-call", bridge.url()));
    let (_, rest) = send_for_json(rest.bearer_auth(token).json(&body)).await;
    assert_eq!(rest["isError"], true, "{rest}");
}

#[tokio::test]
async fn errors_for_a_restricted_query_name_neither_other_pages_nor_forbidden_tools() {
    let tools = json!([{ "name": "echo" }, { "name": "missing" }]);
    let restriction = json!({ "tools": tools, "restrictTools": true });
    let (bridge, _agent, _page, query) = start_query(restriction).await;
    let _other_page = Page::with_tools(&bridge, "second-page", &[tool("elsewhere")]).await;
    let client = McpClient::connect(&bridge, query.token.as_deref().unwrap()).await;
    let calls = [
        ("missing", json!({})),
        ("echo", json!({ "session_id": "nowhere" })),
        ("echo", json!({ "session_id": "second-page" })),
    ];
    for (tool, arguments) in calls {
        let answer = client.call(tool, arguments).await.to_string();
        assert!(answer.contains("echo"), "{answer}");
        for hidden in ["\"other\\", " other", "elsewhere"] {
            assert!(!answer.contains(hidden), "{answer}");
        }
    }
}

#[tokio::test]
async fn an_unrestricted_query_token_sees_only_its_own_page() {
    let (bridge, _agent, _page, query) = start_query(json!({})).await;
    let mut own_schema = tool("echo");
    own_schema["inputSchema"] =
        json!({ "type": "object", "required": ["only_the_other_page_knows_this"] });
    let _other_page = Page::with_tools(&bridge, "other", &[tool("elsewhere"), own_schema]).await;
    let client = McpClient::connect(&bridge, query.token.as_deref().unwrap()).await;
    assert_eq!(client.tool_names().await, ["echo", "other"]);
    for unknown in ["elsewhere", "list_active_sessions"] {
        let answer = client.call(unknown, json!({})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let by_argument = client.call("echo", json!({ "session_id": "other" })).await;
    let body = json!({ "toolName": "echo", "sessionId": "other" });
    let by_member = http_client().post(format!("{}/tool-call", bridge.url()));
    let by_member = by_member.bearer_auth(query.token.as_deref().unwrap());
    let (_, by_member) = send_for_json(by_member.json(&body)).await;
    for refused in [&by_argument["result"], &by_member] {
        assert_eq!(refused["isError"], true, "{refused}");
        let text = result_text(refused);
        assert!(text.contains("the tools of its own page only"), "{text}");
    }
}

#[tokio::test]
async fn a_query_token_allows_nothing_but_tools() {
    let (bridge, _agent, _page, query) = start_query(json!({})).await;
    let token = query.token.as_deref().unwrap();
    let client = McpClient::connect(&bridge, token).await;
    for method in ["resources/list", "prompts/list", "completion/complete"] {
        let response = client.post(&rpc_request(1, method, json!({}))).await;
        assert_eq!(response.status(), 403, "{method}");
    }
    let stream = http_client().get(&client.url).bearer_auth(token);
    let stream = stream.header("accept", "text/event-stream");
    let stream = stream.header("mcp-session-id", &client.session);
    let response = with_deadline("response", stream.send()).await;
    assert_eq!(response.unwrap().status(), 405);
    // A page cannot authenticate with it either.
    let mut page = Page::open(&bridge, "intruder", None).await;
    page.authenticate("intruder", token).await;
    let failure = page.recv_authentication_failure().await;
    assert_eq!(failure.code, ErrorCode::InvalidAuthentication);
}

#[tokio::test]
async fn a_query_token_and_its_mcp_session_end_with_the_query() {
    let (bridge, _agent, mut page, query) = start_query(json!({})).await;
    let token = query.token.as_deref().unwrap();
    let client = McpClient::connect(&bridge, token).await;
    query
        .report_ok(&bridge, "fail", json!({ "error": "no model" }))
        .await;
    let failed = recv_query_event(&mut page).await;
    assert_eq!(
        (&failed["error"], &failed["code"]),
        (&json!("no model"), &json!("AgentFailed"))
    );
    let late = client.post(&rpc_request(1, "tools/list", json!({}))).await;
    assert_eq!(late.status(), 401);
    // The token of the page is valid, but the MCP session of the agent has ended.
    let mut other = McpClient::connect(&bridge, TOKEN).await;
    other.session = client.session;
    let ended = async {
        let list = rpc_request(1, "tools/list", json!({}));
        while other.post(&list).await.status() != 404 {
            poll_pause().await;
        }
    };
    with_deadline("end of the MCP session", ended).await;
}

#[tokio::test]
async fn calls_are_cancelled_when_their_query_ends() {
    let (bridge, _agent, mut page, query) = start_query(json!({})).await;
    let client = McpClient::connect(&bridge, query.token.as_deref().unwrap()).await;
    let call_task = tokio::spawn(async move { client.call("echo", json!({})).await });
    let call = page.recv_call().await;
    query.report_ok(&bridge, "cancel", json!({})).await;
    let cancel = page.recv_call_cancel().await;
    assert_eq!(cancel.request_id, call.request_id);
    let answer = with_deadline("response", call_task).await.unwrap();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[tokio::test]
async fn an_unresponsive_or_unreachable_agent_fails_the_query() {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.agent_timeout = Duration::from_millis(100);
    let (failed, _request) = tokio::join!(failed_query(config), agent.next_request());
    assert_eq!(failed["error"], "Agent did not answer within 100ms");
    assert_eq!(failed["code"], "AgentUnavailable");
    let unreachable = agent.config();
    let address = agent.address.clone();
    drop(agent);
    // Dropping the agent closes its socket a moment later.
    let closed = async {
        while tokio::net::TcpStream::connect(&address).await.is_ok() {
            poll_pause().await;
        }
    };
    with_deadline("end of the agent", closed).await;
    let failed = failed_query(unreachable).await;
    let error = failed["error"].as_str().unwrap();
    assert!(error.starts_with("Agent cannot be reached: "), "{error}");
    assert!(
        !error.contains(&address) && !error.contains(UUID),
        "{error}"
    );
}

#[tokio::test]
async fn a_query_without_an_agent_fails_and_names_agent_url() {
    let failed = failed_query(test_config()).await;
    assert_eq!(failed["error"], "Missing Agent URL");
    assert_eq!(failed["code"], "AgentNotConfigured");
    assert!(failed["reason"].as_str().unwrap().contains("agent_url"));
}

#[tokio::test]
async fn a_too_long_query_id_closes_the_page() {
    let agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent.config()).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query_message(&"x".repeat(129))).await;
    assert_eq!(page.recv_close().await.0, 1008);
    assert!(agent.is_idle());
}

#[tokio::test]
async fn agent_requests_carry_agent_token_and_a_page_cancel_is_forwarded() {
    let mut agent = MockAgent::start().await;
    let config = Config {
        agent: Agent {
            agent_token: Some("an-agent-secret-of-32-characters".parse().unwrap()),
            ..agent.config().agent
        },
        ..agent.config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query_message(UUID)).await;
    let request = agent.next_request().await;
    let bearer = "Bearer an-agent-secret-of-32-characters";
    assert_eq!(request.headers["authorization"], bearer);
    request.respond(200);
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
    page.send_json(json!({ "type": "query_cancel", "uuid": UUID }))
        .await;
    let cancellation = agent.recv_cancellation(UUID).await;
    assert_eq!(cancellation.headers["authorization"], bearer);
    cancellation.respond(200);
}

#[tokio::test]
async fn agent_redirects_are_not_followed() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent.config()).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query_message(UUID)).await;
    agent.next_request().await.respond(307);
    let failed = recv_query_event(&mut page).await;
    assert_eq!(
        failed["error"],
        "Agent responded with 307: Temporary Redirect"
    );
    assert!(agent.is_idle());
}

#[tokio::test]
async fn stateless_requests_accept_a_query_token() {
    let (bridge, _agent, _page, query) = start_query(json!({})).await;
    let token = query.token.as_deref().unwrap();
    let client = StatelessClient {
        token,
        ..StatelessClient::new(&bridge)
    };
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo", "other"]);
}

#[tokio::test]
async fn a_malformed_query_fails_and_its_page_keeps_its_socket_and_queries() {
    let (bridge, mut agent, mut page, query) = start_query(json!({})).await;
    for (fields, error) in [
        (
            json!({ "responseSchema": {}, "responseTool": { "name": "echo" } }),
            "not both",
        ),
        (json!({ "responseSchema": true }), "`responseSchema`"),
        (json!({ "conversation": "a b" }), "`conversation`"),
        (json!({ "conversation": "c".repeat(65) }), "`conversation`"),
        (json!({ "prompt": 1 }), "invalid type: integer `1`"),
        (
            json!({ "prompt": "p", "context": {} }),
            "expected a sequence",
        ),
        (
            json!({ "prompt": ["x".repeat(100_000)] }),
            "expected a string",
        ),
    ] {
        page.send_json(with_members(query_message(OTHER_UUID), fields))
            .await;
        let failure = recv_query_event(&mut page).await;
        assert_eq!(failure["uuid"], OTHER_UUID);
        assert_eq!(failure["code"], "ProtocolViolation", "{failure}");
        let text = failure["error"].as_str().unwrap();
        assert!(text.contains(error) && text.len() < 300, "{text}");
    }
    // The id is not used up, and the first query continues.
    page.send_json(query_message(OTHER_UUID)).await;
    agent.accept_query().await;
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
    query
        .report_ok(&bridge, "complete", json!({ "message": "done" }))
        .await;
    let ended = recv_query_event(&mut page).await;
    assert_eq!(
        (&ended["uuid"], &ended["type"]),
        (&json!(UUID), &json!("query_complete"))
    );
}
