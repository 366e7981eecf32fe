//! The REST routes: tool calls without MCP, lists of sessions and tools, and CORS.

use serde_json::{Value, json};

use crate::kit::*;

#[tokio::test]
async fn a_rest_call_returns_the_mcp_result() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (answer, ()) = tokio::join!(
        post_tool_call(&bridge, "echo", json!({ "n": 3 })),
        page.echo_call()
    );
    let expected = json!({ "content": [{ "type": "text", "text": "{\"n\":3}" }],
        "structuredContent": { "n": 3 } });
    assert_eq!(answer, (200, expected));
}

#[tokio::test]
async fn a_disconnected_caller_cancels_the_call_in_the_page() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let url = format!("{}/tool-call", bridge.url());
    let request = http_client()
        .post(url)
        .bearer_auth(TOKEN)
        .json(&json!({ "toolName": "echo" }))
        .send();
    let caller = tokio::spawn(request);
    let call = page.recv_call().await;
    caller.abort();
    let cancel = page.recv_call_cancel().await;
    assert_eq!(cancel.request_id, call.request_id);
}

#[tokio::test]
async fn an_invalid_body_is_400_and_names_the_expected_fields() {
    let bridge = start_bridge().await;
    for body in [
        "",
        "nonsense",
        "{}",
        r#"{"toolName":7}"#,
        r#"{"toolName":"t","toolInput":[]}"#,
        r#"["t",{}]"#,
    ] {
        let url = format!("{}/tool-call", bridge.url());
        let response = http_client()
            .post(url)
            .bearer_auth(TOKEN)
            .body(body)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 400, "{body}");
        let problem: Value = response.json().await.unwrap();
        assert!(
            problem["message"].as_str().unwrap().contains("toolName"),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn a_token_sees_only_its_own_pages() {
    let bridge = start_bridge().await;
    let _page = Page::with_tools(&bridge, "mine", &[echo_tool()]).await;
    let sessions = get_json(&bridge, "/sessions").await;
    assert_eq!(sessions["sessions"][0]["session_id"], "mine");
    let tools = get_json(&bridge, "/tools").await;
    let names: Vec<_> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(
        names,
        [
            "list_active_sessions",
            "list_session_tools",
            "call_session_tool",
            "get_connection_status",
            "get_result",
            "echo"
        ]
    );

    let sessions = get_json_as(&bridge, OTHER_TOKEN, "/sessions").await;
    assert_eq!(sessions, json!({ "sessions": [] }));
    let tools = get_json_as(&bridge, OTHER_TOKEN, "/tools").await;
    assert_eq!(tools["tools"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn an_ambiguous_call_lists_the_sessions_to_choose_from() {
    let bridge = start_bridge().await;
    let mut left = Page::with_tools(&bridge, "left", &[echo_tool()]).await;
    let mut right = Page::with_tools(&bridge, "right", &[echo_tool()]).await;
    let (status, answer) = post_tool_call(&bridge, "echo", json!({ "n": 1 })).await;
    assert_eq!((status, &answer["isError"]), (200, &json!(true)));
    let body: Value = serde_json::from_str(result_text(&answer)).unwrap();
    assert_eq!(body["error"], "SessionNotSpecified");
    assert_eq!(body["available_sessions"][0]["session_id"], "left");
    assert_eq!(body["available_sessions"][1]["session_id"], "right");

    let input = json!({ "n": 2, "session_id": "right" });
    let (answer, ()) = tokio::join!(post_tool_call(&bridge, "echo", input), right.echo_call());
    assert_eq!(
        answer.1["structuredContent"],
        json!({ "n": 2 }),
        "session_id reached the page"
    );
    let input = json!({ "tool_name": "echo", "session_id": "left", "arguments": { "n": 3 } });
    let (answer, ()) = tokio::join!(
        post_tool_call(&bridge, "call_session_tool", input),
        left.echo_call()
    );
    assert_eq!(answer.1["structuredContent"], json!({ "n": 3 }));

    let (_, answer) = post_tool_call(&bridge, "echo", json!({ "session_id": "gone" })).await;
    let body: Value = serde_json::from_str(result_text(&answer)).unwrap();
    assert_eq!(body["error"], "SessionNotFound");
}

#[tokio::test]
async fn calls_without_a_page_tell_the_user_to_open_the_app() {
    let bridge = start_bridge().await;
    let (status, answer) = post_tool_call(&bridge, "echo", json!({})).await;
    assert_eq!((status, &answer["isError"]), (200, &json!(true)));
    assert!(result_text(&answer).contains("open the app"), "{answer}");
    let (_, answer) = post_tool_call(&bridge, "get_connection_status", json!({})).await;
    assert_eq!(answer["structuredContent"]["connected"], false);
    assert!(answer.get("isError").is_none(), "{answer}");
}

#[tokio::test]
async fn allowed_origins_get_cors_headers_and_preflight() {
    let bridge = start_bridge().await;
    let origin = "http://localhost:5173";
    let preflight = http_client()
        .request("OPTIONS".parse().unwrap(), format!("{}/mcp", bridge.url()))
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header(
            "access-control-request-headers",
            "authorization,mcp-protocol-version",
        )
        .send();
    let response = preflight.await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["access-control-allow-origin"], origin);
    let allowed = response.headers()["access-control-allow-headers"]
        .to_str()
        .unwrap();
    assert!(allowed.contains("authorization"), "{allowed}");

    let request = http_client()
        .get(format!("{}/tools", bridge.url()))
        .bearer_auth(TOKEN);
    let response = request.header("origin", origin).send().await.unwrap();
    assert_eq!(response.headers()["access-control-allow-origin"], origin);
    let exposed = response.headers()["access-control-expose-headers"]
        .to_str()
        .unwrap();
    assert!(exposed.contains("mcp-session-id"), "{exposed}");
}

#[tokio::test]
async fn root_and_healthz_answer_and_unknown_paths_are_404() {
    let bridge = start_bridge().await;
    let about = get_json(&bridge, "/").await;
    assert_eq!(about["name"], "mcp-web");
    assert!(
        about["version"].is_string() && about["description"].is_string(),
        "{about}"
    );
    let health = http_client()
        .get(format!("{}/healthz", bridge.url()))
        .send()
        .await
        .unwrap();
    assert_eq!(health.status(), 200);
    assert_eq!(health.text().await.unwrap(), "ok");
    let missing = http_client()
        .get(format!("{}/nothing", bridge.url()))
        .send()
        .await
        .unwrap();
    assert_eq!(missing.status(), 404);
}

#[tokio::test]
async fn a_token_in_the_url_is_accepted_only_when_allowed() {
    let default = start_bridge().await;
    let mut config = test_config();
    config.tokens.allow_token_in_url = true;
    let permissive = start_bridge_with(config).await;
    for (bridge, status) in [(&default, 401), (&permissive, 200)] {
        let url = format!("{}/sessions?token={TOKEN}", bridge.url());
        assert_eq!(
            http_client().get(url).send().await.unwrap().status(),
            status
        );
    }
}
