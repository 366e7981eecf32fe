//! Queries of pages of our own dialect: tokens, what they are good for, and how agents fail.

mod agent_process;
mod direct;
mod event_streams;
mod reattachment;
mod stored_results;

use std::time::Duration;

use bridge::{Agent, Config, ServerHandle};
use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::{Value, json};

use crate::kit::mock_agent::{AcceptedQuery, MockAgent, UUID, report_request, send_for_json};
use crate::kit::{
    McpClient, Page, TOKEN, echo_tool, http_client, result_text, rpc_request, rpc_response,
    start_bridge_with, with_deadline,
};

fn query(uuid: &str) -> Value {
    json!({ "type": "query", "uuid": uuid, "prompt": "what?", "context": [] })
}

fn with(mut asked: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        asked[key] = value.clone();
    }
    asked
}

/// What a page hears of its queries.
async fn told(page: &mut Page) -> Value {
    page.recv_matching(|message| {
        let of_query = matches!(
            message,
            BridgeToPage::QueryAccepted(_)
                | BridgeToPage::QueryProgress(_)
                | BridgeToPage::QueryComplete(_)
                | BridgeToPage::QueryFailure(_)
                | BridgeToPage::QueryCancel(_)
        );
        of_query.then(|| serde_json::from_str(&message.encode()).unwrap())
    })
    .await
}

/// A bridge, its agent, and a page whose query the agent has taken.
async fn at_work(more: Value) -> (ServerHandle, MockAgent, Page, AcceptedQuery) {
    at_work_with(more, |_| {}).await
}

/// The same with other settings.
async fn at_work_with(
    more: Value,
    change: impl FnOnce(&mut Config),
) -> (ServerHandle, MockAgent, Page, AcceptedQuery) {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    change(&mut config);
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "asks", &[echo_tool(), tool("other")]).await;
    page.send_json(with(query(UUID), more)).await;
    let taken = agent.accept_query().await;
    assert_eq!(told(&mut page).await["type"], "query_accepted");
    (bridge, agent, page, taken)
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "d", "inputSchema": { "type": "object" } })
}

async fn failure(config: Config) -> Value {
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query(UUID)).await;
    let failure = told(&mut page).await;
    assert_eq!(failure["type"], "query_failure", "{failure}");
    failure
}

#[tokio::test]
async fn an_agent_reports_progress_and_completes_with_its_query_token() {
    let (bridge, agent, mut page, query) = at_work(json!({})).await;
    assert!(query.token.as_ref().unwrap().len() > 32);
    query
        .report_ok(&bridge, "progress", json!({ "message": "looking" }))
        .await;
    let content = &told(&mut page).await["content"];
    assert_eq!(content, "looking");
    query
        .report_ok(&bridge, "complete", json!({ "message": "42" }))
        .await;
    let complete = told(&mut page).await;
    let expected =
        json!({ "type": "query_complete", "uuid": UUID, "result": "42", "toolCalls": [] });
    assert_eq!(complete, expected);
    assert!(agent.is_idle());
}

#[tokio::test]
async fn the_agent_request_never_contains_the_page_token() {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.agent_url = Some(format!("{}/ask/", agent.address).parse().unwrap());
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query(UUID)).await;
    let sent = agent.next_request().await;
    assert_eq!(sent.path, format!("/ask/{UUID}"));
    assert_eq!(sent.json(), query(UUID));
    assert_eq!(sent.headers["content-type"], "application/json");
    assert!(sent.headers.get("authorization").is_none());
    assert!(!format!("{:?}", sent.headers).contains(TOKEN));
    let token = sent.query_token();
    assert!(!String::from_utf8_lossy(&sent.body).contains(&token));
    sent.respond(202);
    assert_eq!(told(&mut page).await["type"], "query_accepted");
}

#[tokio::test]
async fn reports_require_the_token_of_their_query() {
    let (bridge, mut agent, mut page, one) = at_work(json!({})).await;
    let other = "0e6f6f0e-3a51-4b7f-8d5e-6a1c8f5f0c22";
    page.send_json(query(other)).await;
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
    one.report_ok(&bridge, "complete", body.clone()).await;
    assert_eq!(one.report(&bridge, "complete", body).await, not_found);
}

#[tokio::test]
async fn a_restricted_query_token_reaches_only_the_allowed_tools_of_its_page() {
    let more = json!({ "tools": [{ "name": "echo" }], "restrictTools": true });
    let (bridge, _agent, mut page, query) = at_work(more).await;
    let _other_page = Page::with_tools(&bridge, "other", &[tool("elsewhere")]).await;
    let token = query.token.as_deref().unwrap();

    let client = McpClient::connect(&bridge, token).await;
    assert_eq!(client.tool_names().await, ["echo"]);
    let get = http_client().get(format!("{}/tools", bridge.url()));
    let listed = send_for_json(get.bearer_auth(token)).await.1;
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1);
    let get = http_client().get(format!("{}/sessions", bridge.url()));
    let sessions = send_for_json(get.bearer_auth(token)).await.1;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);

    let calling = client.call("echo", json!({ "n": 1 }));
    let (called, call) = tokio::join!(calling, async {
        let call = page.recv_call().await;
        page.respond(&call, json!({ "n": 1 })).await;
        call
    });
    assert_eq!(called["result"]["structuredContent"], json!({ "n": 1 }));
    assert_eq!(call.context.query_id.unwrap().as_str(), UUID);
    for refused in ["other", "elsewhere", "list_active_sessions"] {
        let answer = client.call(refused, json!({})).await;
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        let text: Value = serde_json::from_str(result_text(result)).unwrap();
        assert_eq!(text["error"], "ToolNotAllowed", "{text}");
        assert_eq!(text["allowed_tools"], json!(["echo"]));
    }
    let body = json!({ "toolName": "other", "toolInput": {}, "sessionId": "other" });
    let plain = http_client().post(format!("{}/tool-call", bridge.url()));
    let (_, plain) = send_for_json(plain.bearer_auth(token).json(&body)).await;
    assert_eq!(plain["isError"], true, "{plain}");
}

#[tokio::test]
async fn an_unrestricted_query_token_sees_only_its_own_page() {
    let (bridge, _agent, _page, query) = at_work(json!({})).await;
    let _other_page = Page::with_tools(&bridge, "other", &[tool("elsewhere")]).await;
    let client = McpClient::connect(&bridge, query.token.as_deref().unwrap()).await;
    assert_eq!(client.tool_names().await, ["echo", "other"]);
    for unknown in ["elsewhere", "list_active_sessions"] {
        let answer = client.call(unknown, json!({})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let answer = client.call("echo", json!({ "session_id": "other" })).await;
    assert!(answer["result"]["isError"] == true || answer["error"].is_object());
}

#[tokio::test]
async fn a_query_token_allows_nothing_but_tools() {
    let (bridge, _agent, _page, query) = at_work(json!({})).await;
    let token = query.token.as_deref().unwrap();
    let client = McpClient::connect(&bridge, token).await;
    for method in ["resources/list", "prompts/list", "completion/complete"] {
        let response = client.post(&rpc_request(1, method, json!({}))).await;
        assert_eq!(response.status(), 403, "{method}");
    }
    let stream = http_client().get(&client.url).bearer_auth(token);
    let stream = stream.header("accept", "text/event-stream");
    let stream = stream.header("mcp-session-id", &client.session);
    assert_eq!(
        with_deadline("answer", stream.send())
            .await
            .unwrap()
            .status(),
        405
    );
    // Nor does it make a page.
    let mut page = Page::open(&bridge, "intruder", None).await;
    page.authenticate("intruder", token).await;
    let refused = page.recv().await;
    assert!(
        matches!(&refused, BridgeToPage::AuthenticationFailed(it)
            if it.code == ErrorCode::InvalidAuthentication),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_query_token_and_its_mcp_session_end_with_the_query() {
    let (bridge, _agent, mut page, query) = at_work(json!({})).await;
    let token = query.token.as_deref().unwrap();
    let client = McpClient::connect(&bridge, token).await;
    query
        .report_ok(&bridge, "fail", json!({ "error": "no model" }))
        .await;
    let failed = told(&mut page).await;
    assert_eq!(
        (&failed["error"], &failed["code"]),
        (&json!("no model"), &json!("AgentFailed"))
    );
    let late = client.post(&rpc_request(1, "tools/list", json!({}))).await;
    assert_eq!(late.status(), 401);
    // With the token of the page: the session of the agent is not there any more.
    let other = client_of(&bridge, &client).await;
    let ended = async {
        let list = rpc_request(1, "tools/list", json!({}));
        while other.post(&list).await.status() != 404 {}
    };
    with_deadline("end of the MCP session", ended).await;
}

/// The same MCP session for another token.
async fn client_of(bridge: &ServerHandle, client: &McpClient) -> McpClient {
    let mut other = McpClient::connect(bridge, TOKEN).await;
    other.session.clone_from(&client.session);
    other
}

#[tokio::test]
async fn calls_are_cancelled_when_their_query_ends() {
    let (bridge, _agent, mut page, query) = at_work(json!({})).await;
    let client = McpClient::connect(&bridge, query.token.as_deref().unwrap()).await;
    let calling = tokio::spawn(async move { client.call("echo", json!({})).await });
    let call = page.recv_call().await;
    query.report_ok(&bridge, "cancel", json!({})).await;
    let cancelled = page
        .recv_matching(|message| match message {
            BridgeToPage::CallCancel(cancel) => Some(cancel),
            _ => None,
        })
        .await;
    assert_eq!(cancelled.request_id, call.request_id);
    let answer = with_deadline("answer", calling).await.unwrap();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[tokio::test]
async fn an_unresponsive_or_unreachable_agent_fails_the_query() {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.agent_timeout = Duration::from_millis(100);
    let (failed, _asked) = tokio::join!(failure(config), agent.next_request());
    assert_eq!(failed["error"], "Agent did not answer within 100ms");
    assert_eq!(failed["code"], "AgentUnavailable");
    let gone = agent.config();
    let address = agent.address.clone();
    drop(agent);
    // Until its socket is closed.
    let closed = async { while tokio::net::TcpStream::connect(&address).await.is_ok() {} };
    with_deadline("end of the agent", closed).await;
    let failed = failure(gone).await;
    let error = failed["error"].as_str().unwrap();
    assert!(error.starts_with("Agent cannot be reached: "), "{error}");
    assert!(
        !error.contains(&address) && !error.contains(UUID),
        "{error}"
    );
}

#[tokio::test]
async fn a_query_without_an_agent_fails_and_names_agent_url() {
    let failed = failure(crate::kit::test_config()).await;
    assert_eq!(failed["error"], "Missing Agent URL");
    assert_eq!(failed["code"], "AgentNotConfigured");
    assert!(failed["reason"].as_str().unwrap().contains("agent_url"));
}

#[tokio::test]
async fn a_too_long_query_id_closes_the_page() {
    let agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent.config()).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query(&"x".repeat(129))).await;
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
    page.send_json(query(UUID)).await;
    let sent = agent.next_request().await;
    let bearer = "Bearer an-agent-secret-of-32-characters";
    assert_eq!(sent.headers["authorization"], bearer);
    sent.respond(200);
    assert_eq!(told(&mut page).await["type"], "query_accepted");
    page.send_json(json!({ "type": "query_cancel", "uuid": UUID }))
        .await;
    let stop = agent.next_request().await;
    assert_eq!(
        (stop.method.as_str(), stop.path.as_str()),
        ("DELETE", &*format!("/query/{UUID}"))
    );
    assert_eq!(stop.headers["authorization"], bearer);
    assert!(stop.body.is_empty());
    stop.respond(200);
}

#[tokio::test]
async fn agent_redirects_are_not_followed() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent.config()).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query(UUID)).await;
    agent.next_request().await.respond(307);
    let failed = told(&mut page).await;
    assert_eq!(
        failed["error"],
        "Agent responded with 307: Temporary Redirect"
    );
    assert!(agent.is_idle());
}

#[tokio::test]
async fn stateless_requests_accept_a_query_token() {
    let (bridge, _agent, _page, query) = at_work(json!({})).await;
    let token = query.token.as_deref().unwrap();
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "agent", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {} });
    let message = rpc_request(1, "tools/list", json!({ "_meta": meta }));
    let post = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth(token)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/list")
        .json(&message);
    let response = with_deadline("answer", post.send()).await.unwrap();
    assert_eq!(response.status(), 200);
    let listed = rpc_response(response).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo", "other"]);
}
