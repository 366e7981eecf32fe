//! Queries that a frontend asks its agent itself: what the agent gets from the bridge.

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::{told, tool};
use crate::kit::mock_agent::{MockAgent, UUID, report_request, send_for_json};
use crate::kit::{
    McpClient, Page, TOKEN, echo_tool, http_client, start_bridge, start_bridge_with, with_deadline,
};

async fn open_as(bridge: &ServerHandle, bearer: &str, uuid: &str, body: Value) -> (u16, Value) {
    let request = http_client().put(format!("{}/query/{uuid}", bridge.url()));
    send_for_json(request.bearer_auth(bearer).json(&body)).await
}

async fn open(bridge: &ServerHandle, body: Value) -> (u16, Value) {
    open_as(bridge, TOKEN, UUID, body).await
}

/// The token of a query that was opened.
async fn opened(bridge: &ServerHandle, body: Value) -> String {
    let (status, answer) = open(bridge, body).await;
    assert_eq!(status, 200, "{answer}");
    answer["token"].as_str().unwrap().to_owned()
}

async fn status_of(bridge: &ServerHandle, token: &str) -> u16 {
    let tools = http_client().get(format!("{}/tools", bridge.url()));
    let answer = with_deadline("answer", tools.bearer_auth(token).send()).await;
    answer.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_direct_query_token_is_valid_for_the_tools_until_completion() {
    let bridge = start_bridge().await;
    let tools = [echo_tool(), tool("other")];
    let mut page = Page::with_tools(&bridge, "asks", &tools).await;
    let terms = json!({ "tools": [{ "name": "echo" }], "restrictTools": true, "timeout": 1500 });
    let (status, answer) = open(&bridge, terms).await;
    assert_eq!((status, &answer["expiresIn"]), (200, &json!(2)), "{answer}");
    let token = answer["token"].as_str().unwrap();
    let client = McpClient::connect(&bridge, token).await;
    assert_eq!(client.tool_names().await, ["echo"]);
    let calling = async { client.call("echo", json!({ "a": 1 })).await };
    let (called, ()) = tokio::join!(calling, page.echo_call());
    assert_eq!(called["result"]["structuredContent"], json!({ "a": 1 }));
    for what in ["progress", "complete"] {
        let report = report_request(&bridge, UUID, what).bearer_auth(token);
        let report = report.json(&json!({ "message": "done" }));
        assert_eq!(
            send_for_json(report).await,
            (200, json!({ "success": true }))
        );
    }
    assert_eq!(status_of(&bridge, token).await, 401);
    // What the page hears next of queries is of one of its own.
    page.send_json(super::query("own")).await;
    assert_eq!(told(&mut page).await["uuid"], "own");
}

#[tokio::test]
async fn a_direct_query_ends_on_timeout_and_with_its_page() {
    let agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.query_attach = std::time::Duration::ZERO;
    let bridge = start_bridge_with(config).await;
    let page = Page::with_tools(&bridge, "asks", &[echo_tool()]).await;
    let hurried = opened(&bridge, json!({ "timeout": 50 })).await;
    let other = "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e12";
    let (_, answer) = open_as(&bridge, TOKEN, other, json!({})).await;
    let lasting = answer["token"].as_str().unwrap();
    let ended = async { while status_of(&bridge, &hurried).await != 401 {} };
    with_deadline("end of the query", ended).await;
    assert_eq!(status_of(&bridge, lasting).await, 200);
    page.close().await;
    let ended = async { while status_of(&bridge, lasting).await != 401 {} };
    with_deadline("end of the query", ended).await;
}

#[tokio::test]
async fn rejected_direct_queries_state_the_reason() {
    let bridge = start_bridge().await;
    let (status, answer) = open(&bridge, json!({})).await;
    assert_eq!((status, &answer["error"]), (404, &json!("NoSessionsFound")));
    let mut page = Page::with_tools(&bridge, "one", &[echo_tool()]).await;
    let _other = Page::with_tools(&bridge, "two", &[echo_tool()]).await;
    for (body, status, code) in [
        (json!({}), 400, "SessionNotSpecified"),
        (json!({ "sessionId": "three" }), 404, "SessionNotFound"),
        (json!([]), 400, "ProtocolViolation"),
        (json!({ "tools": 5 }), 400, "ProtocolViolation"),
    ] {
        let (said, answer) = open(&bridge, body).await;
        assert_eq!((said, answer["error"].as_str().unwrap()), (status, code));
        assert!(answer["message"].as_str().unwrap().len() > 20, "{answer}");
    }
    let one = json!({ "sessionId": "one" });
    let token = opened(&bridge, one.clone()).await;
    let (status, answer) = open(&bridge, one.clone()).await;
    assert_eq!((status, &answer["error"]), (409, &json!("QueryCompleted")));
    // Nor does a page ask under that id, or another token, or a query.
    page.send_json(super::query(UUID)).await;
    let told = told(&mut page).await;
    assert_eq!(told["code"], "QueryCompleted", "{told}");
    let foreign = "another-token-of-32-characters-00";
    let _foreign = Page::connect(&bridge, "f", foreign).await;
    let (status, _) = open_as(&bridge, foreign, UUID, json!({})).await;
    assert_eq!(status, 409);
    let other = "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e12";
    let (status, answer) = open_as(&bridge, &token, other, one).await;
    assert_eq!(
        (status, &answer["error"]),
        (403, &json!("InsufficientScope"))
    );
    let request = http_client().put(format!("{}/query/{other}", bridge.url()));
    assert_eq!(send_for_json(request.json(&json!({}))).await.0, 401);
}

#[tokio::test]
async fn direct_queries_count_toward_max_queries() {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.max_queries = 1;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "asks", &[echo_tool()]).await;
    let token = opened(&bridge, json!({})).await;
    let (status, answer) = open_as(&bridge, TOKEN, "other", json!({})).await;
    assert_eq!(
        (status, &answer["error"]),
        (429, &json!("QueryLimitExceeded"))
    );
    page.send_json(super::query("other")).await;
    assert_eq!(told(&mut page).await["code"], "QueryLimitExceeded");
    let cancel = report_request(&bridge, UUID, "cancel").bearer_auth(token);
    assert_eq!(send_for_json(cancel).await.0, 200);
    page.send_json(super::query("third")).await;
    assert_eq!(agent.accept_query().await.uuid, "third");
}
