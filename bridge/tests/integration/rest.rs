//! The REST routes: tool calls without MCP, lists of sessions and tools, and CORS.

use std::time::Duration;

use bridge::ServerHandle;
use reqwest::Response;
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

/// Calls a tool as a client that accepts only events.
async fn post_for_events(bridge: &ServerHandle, body: Value) -> Response {
    let request = http_client()
        .post(format!("{}/tool-call", bridge.url()))
        .bearer_auth(TOKEN)
        .header("accept", "text/event-stream")
        .json(&body);
    with_deadline("response", request.send()).await.unwrap()
}

/// Returns the data of the events of a body.
fn events(body: &str) -> Vec<Value> {
    assert_one_line_per_field(body);
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[tokio::test]
async fn a_client_that_accepts_only_events_receives_progress_and_the_result() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let body = json!({ "toolName": "echo", "toolInput": { "n": 3 } });
    let serve = async {
        let call = page.recv_call().await;
        assert!(call.context.progress);
        for (progress, members) in [
            (1, json!({ "total": 2, "message": "a\nb\u{2028}c\u{85}" })),
            (2, json!({})),
        ] {
            let report = json!({ "type": "call-progress", "requestId": call.request_id,
                "progress": progress });
            page.send_json(with_members(report, members)).await;
        }
        page.respond(&call, json!({ "n": 3 })).await;
    };
    let (response, ()) = tokio::join!(post_for_events(&bridge, body), serve);
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let result = json!({ "content": [{ "type": "text", "text": "{\"n\":3}" }],
        "structuredContent": { "n": 3 } });
    let expected = [
        json!({ "type": "progress", "progress": 1, "total": 2, "message": "a\nb\u{2028}c\u{85}" }),
        json!({ "type": "progress", "progress": 2 }),
        json!({ "type": "result", "result": result }),
    ];
    let text = with_deadline("events", response.text()).await.unwrap();
    assert_eq!(events(&text), expected);
}

#[tokio::test]
async fn the_stream_of_a_silent_call_has_keepalives() {
    let mut config = test_config();
    config.calls.progress_every = Duration::from_millis(100);
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let request = post_for_events(&bridge, json!({ "toolName": "echo" }));
    let (mut response, call) = tokio::join!(request, page.recv_call());
    let mut body = String::new();
    while !body.contains("still running") {
        let chunk = with_deadline("keepalive", response.chunk()).await.unwrap();
        body += std::str::from_utf8(&chunk.unwrap()).unwrap();
    }
    page.respond(&call, json!({ "n": 1 })).await;
    while let Some(chunk) = with_deadline("rest", response.chunk()).await.unwrap() {
        body += std::str::from_utf8(&chunk).unwrap();
    }
    let last = events(&body).pop().unwrap();
    assert_eq!(last["result"]["structuredContent"], json!({ "n": 1 }));
}

#[tokio::test]
async fn a_client_that_closes_the_stream_cancels_the_call() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let request = post_for_events(&bridge, json!({ "toolName": "echo" }));
    let serve = async {
        let call = page.recv_call().await;
        let report =
            json!({ "type": "call-progress", "requestId": call.request_id, "progress": 1 });
        page.send_json(report).await;
        call
    };
    let (response, call) = tokio::join!(request, serve);
    drop(response);
    let cancel = page.recv_call_cancel().await;
    assert_eq!(cancel.request_id, call.request_id);
}

#[tokio::test]
async fn failures_of_a_call_with_events_are_those_of_a_call_without() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for (body, status, error) in [
        (json!({}), 400, "ProtocolViolation"),
        (json!({ "toolName": "none" }), 404, "ToolNotFound"),
    ] {
        let response = post_for_events(&bridge, body.clone()).await;
        assert_eq!(response.status(), status, "{body}");
        assert_eq!(response.headers()["content-type"], "application/json");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["error"], error, "{problem}");
    }
    let fail = async {
        let call = page.recv_call().await;
        page.send_json(json!({ "type": "call-error", "requestId": call.request_id,
            "code": "HandlerFailed", "message": "no" }))
            .await;
    };
    let request = post_for_events(&bridge, json!({ "toolName": "echo" }));
    let (response, ()) = tokio::join!(request, fail);
    let text = with_deadline("events", response.text()).await.unwrap();
    let events = events(&text);
    assert_eq!(
        (events.len(), &events[0]["result"]["isError"]),
        (1, &json!(true))
    );
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
