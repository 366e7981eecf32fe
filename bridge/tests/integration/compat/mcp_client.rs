//! A client as `@mcp-web/client` 0.1 is one: no `initialize`, no session header, `Accept: */*`.

use bridge::ServerHandle;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::kit::CompatPage;
use crate::kit::{TOKEN, http_client, with_deadline};

/// A request on a path.
pub(crate) fn http_request(bridge: &ServerHandle, method: Method, path: &str) -> RequestBuilder {
    http_client().request(method, format!("{}{path}", bridge.url()))
}

/// Its answer.
pub(crate) async fn send(request: RequestBuilder) -> Response {
    with_deadline("HTTP answer", request.send()).await.unwrap()
}

/// A message with the token, to `/`.
pub(crate) async fn post(bridge: &ServerHandle, message: &Value) -> Response {
    let request = http_request(bridge, Method::POST, "/").header("accept", "*/*");
    send(request.bearer_auth(TOKEN).json(message)).await
}

/// A message, and the answer.
pub(crate) async fn rpc_call(bridge: &ServerHandle, method: &str, params: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let response = post(bridge, &message).await;
    assert_eq!(response.status(), 200);
    let answer: Value = response.json().await.unwrap();
    assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    answer
}

/// The result that a method must have.
pub(crate) async fn rpc_result(bridge: &ServerHandle, method: &str, params: Value) -> Value {
    let mut answer = rpc_call(bridge, method, params).await;
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].take()
}

/// The result of a call that no page answers.
pub(crate) async fn rejected_call(bridge: &ServerHandle, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let result = rpc_result(bridge, "tools/call", params).await;
    assert_eq!(result["isError"], true, "{result}");
    parse_text(&result)
}

/// What a text block holds.
pub(crate) fn parse_text(result: &Value) -> Value {
    serde_json::from_str(crate::kit::result_text(result)).unwrap()
}

/// The result of a call that the page answers with this.
pub(crate) async fn call_answered_with(
    bridge: &ServerHandle,
    page: &mut CompatPage,
    answer: Value,
) -> Value {
    let params = json!({ "name": "t", "arguments": {} });
    let answering = async {
        let call = page.recv_call().await;
        page.respond(&call, answer).await;
    };
    let (result, ()) = tokio::join!(rpc_result(bridge, "tools/call", params), answering);
    result
}

/// Waits until the bridge has read all that the page has said: this tool of it is known, and a call
/// of it comes back.
pub(crate) async fn wait_until_processed(
    bridge: &ServerHandle,
    page: &mut CompatPage,
    session: &str,
    tool: &str,
) {
    let list = json!({ "name": "list_sessions" });
    let known = |listed: &Value| {
        let printed = parse_text(listed);
        let mut sessions = printed["sessions"].as_array().unwrap().iter();
        let ours = sessions
            .find(|entry| entry["session_id"] == session)
            .unwrap();
        ours["available_tools"]
            .as_array()
            .unwrap()
            .contains(&json!(tool))
    };
    while !known(&rpc_result(bridge, "tools/call", list.clone()).await) {}
    let call = json!({ "name": tool, "arguments": { "session_id": session } });
    tokio::join!(rpc_result(bridge, "tools/call", call), page.echo_call());
}
