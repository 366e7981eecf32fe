//! An MCP client like `@mcp-web/client` 0.1: without `initialize` and session header, and with
//! `Accept: */*`.

use bridge::ServerHandle;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::kit::{ConnectV1Page, V1Page, compat_config, tool};
use crate::kit::{TOKEN, http_client, result_text, rpc_request, start_bridge_with, with_deadline};

pub(crate) fn http_request(bridge: &ServerHandle, method: Method, path: &str) -> RequestBuilder {
    http_client().request(method, format!("{}{path}", bridge.url()))
}

pub(crate) async fn send(request: RequestBuilder) -> Response {
    with_deadline("HTTP response", request.send())
        .await
        .unwrap()
}

/// Posts a message to `/`, with [`TOKEN`].
pub(crate) async fn post(bridge: &ServerHandle, message: &Value) -> Response {
    let request = http_request(bridge, Method::POST, "/").header("accept", "*/*");
    send(request.bearer_auth(TOKEN).json(message)).await
}

/// Sends a request, and returns the JSON-RPC response.
pub(crate) async fn rpc_call(bridge: &ServerHandle, method: &str, params: Value) -> Value {
    let response = post(bridge, &rpc_request(1, method, params)).await;
    assert_eq!(response.status(), 200);
    let answer: Value = response.json().await.unwrap();
    assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    answer
}

/// Sends a request, which must succeed, and returns its result.
pub(crate) async fn rpc_result(bridge: &ServerHandle, method: &str, params: Value) -> Value {
    let mut answer = rpc_call(bridge, method, params).await;
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].take()
}

/// The error in the result of a call that reaches no page.
pub(crate) async fn rejected_call(bridge: &ServerHandle, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let result = rpc_result(bridge, "tools/call", params).await;
    assert_eq!(result["isError"], true, "{result}");
    parse_text(&result)
}

/// The JSON in the text block of a result.
pub(crate) fn parse_text(result: &Value) -> Value {
    serde_json::from_str(result_text(result)).unwrap()
}

/// The result of a call of the tool `t` to which the page responds with `response`.
pub(crate) async fn call_result(
    bridge: &ServerHandle,
    page: &mut V1Page,
    response: Value,
) -> Value {
    let params = json!({ "name": "t", "arguments": {} });
    let handler = async {
        let call = page.recv_call().await;
        page.respond(&call, response).await;
    };
    let (result, ()) = tokio::join!(rpc_result(bridge, "tools/call", params), handler);
    result
}

/// Waits until the bridge has processed every message of the page: the bridge lists this tool of
/// the page, and a call of the tool returns.
pub(crate) async fn wait_until_processed(
    bridge: &ServerHandle,
    page: &mut V1Page,
    session: &str,
    tool: &str,
) {
    let list = json!({ "name": "list_sessions" });
    let is_listed = |result: &Value| {
        let body = parse_text(result);
        let mut sessions = body["sessions"].as_array().unwrap().iter();
        let session_entry = sessions
            .find(|entry| entry["session_id"] == session)
            .unwrap();
        session_entry["available_tools"]
            .as_array()
            .unwrap()
            .contains(&json!(tool))
    };
    while !is_listed(&rpc_result(bridge, "tools/call", list.clone()).await) {}
    let call = json!({ "name": tool, "arguments": { "session_id": session } });
    tokio::join!(rpc_result(bridge, "tools/call", call), page.echo_call());
}

/// Starts a bridge with `--compat mcp-web`, and a page whose tool `t` can be called.
pub(crate) async fn start_compat_with_tool() -> (ServerHandle, V1Page) {
    let bridge = start_bridge_with(compat_config()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    wait_until_processed(&bridge, &mut page, "s", "t").await;
    (bridge, page)
}
