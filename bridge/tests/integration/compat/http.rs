//! MCP over HTTP in the form of mcp-web 0.1.

mod authentication;
mod event_streams;

use bridge::ServerHandle;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::kit::*;
use super::mcp_client::*;
use crate::kit::mock_agent::UUID;
use crate::kit::*;

fn message(id: u64, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method })
}

async fn json_body(response: Response) -> Value {
    let content_type = response.headers()["content-type"].to_str().unwrap();
    assert!(
        content_type.starts_with("application/json"),
        "{content_type}"
    );
    response.json().await.unwrap()
}

/// Opens an MCP session, and returns its id.
async fn open_session(bridge: &ServerHandle) -> String {
    let response = post(bridge, &message(1, "initialize")).await;
    assert_eq!(response.status(), 200);
    let id = response.headers()["mcp-session-id"].to_str().unwrap();
    id.to_owned()
}

async fn send_with_session(bridge: &ServerHandle, method: Method, session: &str) -> Response {
    let request = http_request(bridge, method, "/").bearer_auth(TOKEN);
    send(request.header("mcp-session-id", session)).await
}

#[tokio::test]
async fn initialize_without_capabilities_returns_2024_11_05_and_a_session() {
    let bridge = start_bridge_with(compat_config()).await;
    let params = json!({ "protocolVersion": "2025-06-18" });
    let message = json!({ "jsonrpc": "2.0", "id": "a", "method": "initialize", "params": params });
    let response = post(&bridge, &message).await;
    assert_eq!(response.status(), 200);
    let session = response.headers()["mcp-session-id"].clone();
    assert!(!session.is_empty());
    let answer = json_body(response).await;
    let server_info = json_body(send(http_request(&bridge, Method::GET, "/")).await).await;
    assert!(server_info["description"].is_string());
    let expected = json!({ "jsonrpc": "2.0", "id": "a", "result": {
        "protocolVersion": "2024-11-05",
        "capabilities": { "tools": { "listChanged": true }, "resources": {}, "prompts": {} },
        "serverInfo": server_info } });
    assert_eq!(answer, expected);
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let response = post(&bridge, &notification).await;
    assert_eq!(response.status(), 202);
    assert_eq!(response.text().await.unwrap(), "");
}

#[tokio::test]
async fn post_on_any_path_returns_one_json_body() {
    let bridge = start_bridge_with(compat_config()).await;
    for path in [
        "/",
        "/mcp",
        "/some/path",
        "/tools",
        "/sessions",
        "/healthz",
        "/ws",
        "/sdk",
    ] {
        for accept in [
            "*/*",
            "application/json, text/event-stream",
            "text/event-stream",
        ] {
            let request = http_request(&bridge, Method::POST, path).header("accept", accept);
            let request = request.bearer_auth(TOKEN).json(&message(7, "tools/list"));
            let response = send(request).await;
            assert_eq!(response.status(), 200, "{path}");
            let answer = json_body(response).await;
            assert_eq!(answer["id"], 7, "{path}");
            let name = &answer["result"]["tools"][0]["name"];
            assert_eq!(name, "get_connection_status", "{path}");
        }
    }
}

#[tokio::test]
async fn parallel_calls_with_the_same_id_are_each_answered() {
    let (bridge, mut page) = start_compat_with_tool().await;
    let call = |n: u64| {
        let params = json!({ "name": "t", "arguments": { "n": n } });
        rpc_result(&bridge, "tools/call", params)
    };
    let handler = async {
        let calls = [
            page.recv_call().await,
            page.recv_call().await,
            page.recv_call().await,
        ];
        for call in calls.iter().rev() {
            page.respond(call, call["toolInput"]["n"].clone()).await;
        }
    };
    let (one, two, three, ()) = tokio::join!(call(1), call(2), call(3), handler);
    assert_eq!(
        [result_text(&one), result_text(&two), result_text(&three)],
        ["1", "2", "3"]
    );
}

#[tokio::test]
async fn mcp_session_id_is_optional_and_an_unknown_one_is_404() {
    let bridge = start_bridge_with(compat_config()).await;
    let session = open_session(&bridge).await;
    for (id, status) in [(session.as_str(), 200), ("unknown", 404)] {
        let request = http_request(&bridge, Method::POST, "/").bearer_auth(TOKEN);
        let request = request.header("mcp-session-id", id);
        let response = send(request.json(&message(1, "tools/list"))).await;
        assert_eq!(response.status(), status);
        if status == 404 {
            let expected = json!({ "error": "MCP session not found" });
            assert_eq!(json_body(response).await, expected);
        }
    }
}

#[tokio::test]
async fn delete_ends_a_session_once() {
    let bridge = start_bridge_with(compat_config()).await;
    let session = open_session(&bridge).await;
    let response = send_with_session(&bridge, Method::DELETE, &session).await;
    assert_eq!(response.status(), 200);
    assert_eq!(json_body(response).await, json!({ "success": true }));
    let response = send_with_session(&bridge, Method::DELETE, &session).await;
    assert_eq!(response.status(), 404);
    assert_eq!(
        json_body(response).await,
        json!({ "error": "MCP session not found" })
    );
    let response = send(http_request(&bridge, Method::DELETE, "/").bearer_auth(TOKEN)).await;
    assert_eq!(response.status(), 400);
    let expected = json!({ "error": "Mcp-Session-Id header required" });
    assert_eq!(json_body(response).await, expected);
}

#[tokio::test]
async fn cors_headers_are_on_every_response_and_options_is_an_empty_200() {
    let bridge = start_bridge_with(compat_config()).await;
    let paths = [
        "/",
        "/mcp",
        "/tool-call",
        "/healthz",
        "/sdk/nothing",
        "/any",
    ];
    for (method, path) in paths
        .iter()
        .flat_map(|path| [Method::OPTIONS, Method::GET, Method::POST].map(|method| (method, path)))
    {
        let response = send(http_request(&bridge, method.clone(), path)).await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(
            header("access-control-allow-origin"),
            "*",
            "{method} {path}"
        );
        let methods = "GET, POST, PUT, DELETE, OPTIONS";
        assert_eq!(header("access-control-allow-methods"), methods);
        let headers = "Content-Type, Authorization, Mcp-Session-Id";
        assert_eq!(header("access-control-allow-headers"), headers);
        assert_eq!(header("access-control-expose-headers"), "Mcp-Session-Id");
        if method == Method::OPTIONS {
            assert_eq!(response.status(), 200);
            assert!(!response.headers().contains_key("content-type"));
            assert_eq!(response.text().await.unwrap(), "");
        }
    }
    let request = http_request(&bridge, Method::GET, "/").header("origin", "https://evil.example");
    let rejected = send(request).await;
    assert_eq!(rejected.status(), 403);
    assert_eq!(rejected.headers()["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn other_methods_are_404_not_found_except_head() {
    let bridge = start_bridge_with(compat_config()).await;
    for method in [Method::PUT, Method::PATCH] {
        let response = send(http_request(&bridge, method, "/any")).await;
        assert_eq!(response.status(), 404);
        assert_eq!(json_body(response).await, json!({ "error": "Not Found" }));
    }
    let response = send(http_request(&bridge, Method::HEAD, "/any")).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
}

#[tokio::test]
async fn get_on_any_path_returns_server_info_without_a_token() {
    let mut config = compat_config();
    config.info.name = "my-bridge".to_owned();
    let bridge = start_bridge_with(config).await;
    for path in ["/", "/mcp", "/any/path"] {
        let response = send(http_request(&bridge, Method::GET, path)).await;
        assert_eq!(response.status(), 200);
        let server_info = json_body(response).await;
        assert_eq!(server_info["name"], "my-bridge");
        assert!(server_info["description"].is_string() && server_info["version"].is_string());
    }
}

#[tokio::test]
async fn rest_routes_work_as_without_compat() {
    let (bridge, mut page) = start_compat_with_tool().await;
    let get =
        async |path: &str| send(http_request(&bridge, Method::GET, path).bearer_auth(TOKEN)).await;
    assert_eq!(get("/healthz").await.text().await.unwrap(), "ok");
    let sessions = json_body(get("/sessions").await).await;
    assert_eq!(sessions["sessions"][0]["session_id"], "s");
    let tools = json_body(get("/tools").await).await;
    let last = tools["tools"].as_array().unwrap().last().unwrap();
    assert_eq!(last["name"], "t");
    let (result, ()) = tokio::join!(
        post_tool_call(&bridge, "t", json!({ "n": 1 })),
        page.echo_call()
    );
    assert_eq!(result.1["structuredContent"], json!({ "n": 1 }));
    assert_eq!(get("/sdk/no-such-file").await.status(), 404);
}

#[tokio::test]
async fn an_unparsable_body_is_32603_with_id_0() {
    let bridge = start_bridge_with(compat_config()).await;
    for body in ["", "{", "nonsense", "null"] {
        let request = http_request(&bridge, Method::POST, "/")
            .bearer_auth(TOKEN)
            .body(body);
        let response = send(request).await;
        assert_eq!(response.status(), 200, "{body}");
        let expected = json!({ "jsonrpc": "2.0", "id": 0,
            "error": { "code": -32603, "message": "InternalError" } });
        assert_eq!(json_body(response).await, expected, "{body}");
    }
}

/// JSON-RPC 2.0, section 5: the id of a response is that of the request, also `null`.
#[tokio::test]
async fn an_id_that_is_null_is_repeated_and_one_that_is_absent_is_not() {
    let bridge = start_bridge_with(compat_config()).await;
    for (head, expected) in [(r#""id":null,"#, Some(json!(null))), ("", None)] {
        for method in ["tools/list", "x"] {
            let body = format!(r#"{{"jsonrpc":"2.0",{head}"method":"{method}"}}"#);
            let request = http_request(&bridge, Method::POST, "/").bearer_auth(TOKEN);
            let answer = json_body(send(request.body(body)).await).await;
            assert_eq!(answer.get("id"), expected.as_ref(), "{answer}");
        }
    }
}

#[tokio::test]
async fn an_unknown_method_is_32601_and_without_a_page_32600() {
    let bridge = start_bridge_with(compat_config()).await;
    let methods = [
        "ping",
        "prompts/get",
        "logging/setLevel",
        "resources/templates/list",
        "x",
    ];
    for method in methods {
        let answer = rpc_call(&bridge, method, json!({})).await;
        let expected = json!({ "code": -32600, "message": "NoSessionsFound" });
        assert_eq!(answer["error"], expected, "{method}");
    }
    let _page = V1Page::connect(&bridge, "s").await;
    for method in methods {
        let answer = rpc_call(&bridge, method, json!({})).await;
        let expected = json!({ "code": -32601, "message": "UnknownMethod" });
        assert_eq!(answer["error"], expected, "{method}");
    }
}

#[tokio::test]
async fn an_unknown_meta_session_id_is_32602_on_lists_and_ignored_on_calls() {
    let bridge = start_bridge_with(compat_config()).await;
    let _page = V1Page::connect(&bridge, "s").await;
    let params = json!({ "_meta": { "sessionId": "nobody" } });
    for method in ["tools/list", "resources/list", "prompts/list"] {
        let answer = rpc_call(&bridge, method, params.clone()).await;
        let message = "No session found for the provided authentication";
        let expected = json!({ "code": -32602, "message": message, "data": {
            "error": "SessionNotFound", "error_message": message, "error_is_fatal": true } });
        assert_eq!(answer["error"], expected, "{method}");
    }
    let mut params = params;
    // Other clients send their own ids in this member, so the call goes to the page.
    params["name"] = json!("t");
    let result = rpc_result(&bridge, "tools/call", params).await;
    assert_eq!(result["isError"], true);
    assert_eq!(parse_text(&result)["error"], "ToolNotFound");
}

#[tokio::test]
async fn a_call_for_a_closed_page_is_session_not_found() {
    let bridge = start_bridge_with(compat_config()).await;
    let closed = V1Page::connect(&bridge, "gone").await;
    closed.close().await;
    let _page = V1Page::connect(&bridge, "s").await;
    let params = json!({ "name": "t", "_meta": { "sessionId": "gone" } });
    let result = rpc_result(&bridge, "tools/call", params).await;
    assert_eq!(result["isError"], true);
    assert_eq!(parse_text(&result), json!({ "error": "SessionNotFound" }));
}

#[tokio::test]
async fn the_mcp_web_session_id_key_selects_a_page_or_fails() {
    let bridge = start_bridge_with(compat_config()).await;
    let _page = V1Page::connect(&bridge, "s").await;
    for (session, error) in [("s", "ToolNotFound"), ("never", "SessionNotFound")] {
        let params =
            json!({ "name": "t", "_meta": { "mcp-web/sessionId": session, "sessionId": "s" } });
        let result = rpc_result(&bridge, "tools/call", params).await;
        assert_eq!(parse_text(&result)["error"], error);
    }
}

#[tokio::test]
async fn a_session_of_another_token_is_404_for_every_method() {
    let bridge = start_bridge_with(compat_config()).await;
    let session = open_session(&bridge).await;
    for method in ["tools/list", "tools/call", "ping"] {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
        let request = http_request(&bridge, Method::POST, "/").bearer_auth("another-token");
        let request = request.header("mcp-session-id", &session).json(&message);
        assert_eq!(send(request).await.status(), 404, "{method}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_413() {
    let mut config = compat_config();
    config.network.max_request_bytes = 1000;
    let bridge = start_bridge_with(config).await;
    let request = http_request(&bridge, Method::POST, "/").bearer_auth(TOKEN);
    let response = send(request.body("x".repeat(1001))).await;
    assert_eq!(response.status(), 413);
}
