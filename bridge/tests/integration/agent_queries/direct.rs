//! Queries that a frontend sends to its agent directly: the agent opens them at the bridge and
//! receives a token for the tools of the page.

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::{OTHER_UUID, query_message, recv_query_event, tool, tools_status};
use crate::kit::mock_agent::{MockAgent, UUID, report_request, send_for_json};
use crate::kit::*;

async fn open_query_as(
    bridge: &ServerHandle,
    token: &str,
    uuid: &str,
    body: Value,
) -> (u16, Value) {
    let request = http_client().put(format!("{}/query/{uuid}", bridge.url()));
    send_for_json(request.bearer_auth(token).json(&body)).await
}

async fn open_query(bridge: &ServerHandle, body: Value) -> (u16, Value) {
    open_query_as(bridge, TOKEN, UUID, body).await
}

/// Opens a query, and returns its token.
async fn open_query_token(bridge: &ServerHandle, body: Value) -> String {
    let (status, answer) = open_query(bridge, body).await;
    assert_eq!(status, 200, "{answer}");
    answer["token"].as_str().unwrap().to_owned()
}

async fn wait_for_query_end(bridge: &ServerHandle, token: &str) {
    let ended = async {
        while tools_status(bridge, token).await != 401 {
            poll_pause().await;
        }
    };
    with_deadline("end of the query", ended).await;
}

#[tokio::test]
async fn a_direct_query_token_is_valid_for_the_tools_until_completion() {
    let bridge = start_bridge().await;
    let tools = [echo_tool(), tool("other")];
    let mut page = Page::with_tools(&bridge, "asks", &tools).await;
    let policy = json!({ "tools": [{ "name": "echo" }], "restrictTools": true, "timeout": 1500 });
    let (status, answer) = open_query(&bridge, policy).await;
    assert_eq!((status, &answer["expiresIn"]), (200, &json!(2)), "{answer}");
    let token = answer["token"].as_str().unwrap();
    let client = McpClient::connect(&bridge, token).await;
    assert_eq!(client.tool_names().await, ["echo"]);
    let call = client.call("echo", json!({ "a": 1 }));
    let (answer, ()) = tokio::join!(call, page.echo_call());
    assert_eq!(answer["result"]["structuredContent"], json!({ "a": 1 }));
    for kind in ["progress", "complete"] {
        let report = report_request(&bridge, UUID, kind).bearer_auth(token);
        let report = report.json(&json!({ "message": "done" }));
        assert_eq!(
            send_for_json(report).await,
            (200, json!({ "success": true }))
        );
    }
    assert_eq!(tools_status(&bridge, token).await, 401);
    // The page receives no message about the direct query: the next one belongs to the page's own
    // query.
    page.send_json(query_message("own")).await;
    assert_eq!(recv_query_event(&mut page).await["uuid"], "own");
}

#[tokio::test]
async fn a_direct_query_ends_on_timeout_and_with_its_page() {
    let agent = MockAgent::start().await;
    let mut config = agent.config();
    config.page_timings.query_attach = std::time::Duration::ZERO;
    let bridge = start_bridge_with(config).await;
    let page = Page::with_tools(&bridge, "asks", &[echo_tool()]).await;
    let short = open_query_token(&bridge, json!({ "timeout": 50 })).await;
    let (_, answer) = open_query_as(&bridge, TOKEN, OTHER_UUID, json!({})).await;
    let long = answer["token"].as_str().unwrap();
    wait_for_query_end(&bridge, &short).await;
    assert_eq!(tools_status(&bridge, long).await, 200);
    page.close().await;
    wait_for_query_end(&bridge, long).await;
}

#[tokio::test]
async fn rejected_direct_queries_state_the_reason() {
    let bridge = start_bridge().await;
    let (status, answer) = open_query(&bridge, json!({})).await;
    assert_eq!((status, &answer["error"]), (404, &json!("NoSessionsFound")));
    let mut page = Page::with_tools(&bridge, "one", &[echo_tool()]).await;
    let _other = Page::with_tools(&bridge, "two", &[echo_tool()]).await;
    for (body, status, code) in [
        (json!({}), 400, "SessionNotSpecified"),
        (json!({ "sessionId": "three" }), 404, "SessionNotFound"),
        (json!([]), 400, "ProtocolViolation"),
        (json!({ "tools": 5 }), 400, "ProtocolViolation"),
        (json!({ "timeout": 0 }), 400, "ProtocolViolation"),
    ] {
        let (actual, answer) = open_query(&bridge, body).await;
        assert_eq!((actual, answer["error"].as_str().unwrap()), (status, code));
        assert!(answer["message"].as_str().unwrap().len() > 20, "{answer}");
    }
    let one = json!({ "sessionId": "one" });
    let token = open_query_token(&bridge, one.clone()).await;
    let (status, answer) = open_query(&bridge, one.clone()).await;
    assert_eq!((status, &answer["error"]), (409, &json!("QueryCompleted")));
    // No page, other token or direct query can use that id again.
    page.send_json(query_message(UUID)).await;
    let failure = recv_query_event(&mut page).await;
    assert_eq!(failure["code"], "QueryCompleted", "{failure}");
    let _foreign = Page::connect(&bridge, "f", OTHER_TOKEN).await;
    let (status, _) = open_query_as(&bridge, OTHER_TOKEN, UUID, json!({})).await;
    assert_eq!(status, 409);
    let (status, answer) = open_query_as(&bridge, &token, OTHER_UUID, one).await;
    assert_eq!(
        (status, &answer["error"]),
        (403, &json!("InsufficientScope"))
    );
    let request = http_client().put(format!("{}/query/{OTHER_UUID}", bridge.url()));
    assert_eq!(send_for_json(request.json(&json!({}))).await.0, 401);
}

#[tokio::test]
async fn direct_queries_count_toward_max_queries() {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.max_queries = 1;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "asks", &[echo_tool()]).await;
    let token = open_query_token(&bridge, json!({})).await;
    let (status, answer) = open_query_as(&bridge, TOKEN, "other", json!({})).await;
    assert_eq!(
        (status, &answer["error"]),
        (429, &json!("QueryLimitExceeded"))
    );
    page.send_json(query_message("other")).await;
    assert_eq!(
        recv_query_event(&mut page).await["code"],
        "QueryLimitExceeded"
    );
    let cancel = report_request(&bridge, UUID, "cancel").bearer_auth(token);
    assert_eq!(send_for_json(cancel).await.0, 200);
    page.send_json(query_message("third")).await;
    assert_eq!(agent.accept_query().await.uuid, "third");
}
