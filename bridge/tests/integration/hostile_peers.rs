//! Careless and hostile peers: their messages do not affect others, and the bridge does only a
//! bounded amount of work for them.

use bridge::{Config, PageLimits};
use bridge_protocol::{BridgeToPage, ErrorCode};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::kit::*;

/// Responds to the next call with the exact JSON text of `result`.
async fn serve_raw(page: &mut Page, result: &str) {
    let id = page.recv_call().await.request_id;
    let frame = format!(r#"{{"type":"call-response","requestId":"{id}","result":{result}}}"#);
    page.send_text(frame).await;
}

#[tokio::test]
async fn an_unparsable_result_is_an_error() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let nested = "[".repeat(200) + &"]".repeat(200);
    let call = post_tool_call(&bridge, "echo", json!({}));
    let ((_, answer), ()) = join(call, serve_raw(&mut page, &nested)).await;
    assert_eq!(error_code(&answer), Some("InvalidResult"), "{answer}");
    // A number that an f64 cannot represent is passed on as text.
    let call = post_tool_call(&bridge, "echo", json!({}));
    let ((_, answer), ()) = join(call, serve_raw(&mut page, "1e999")).await;
    assert_eq!(result_text(&answer), "1e999", "{answer}");
}

#[tokio::test]
async fn lone_surrogates_become_replacement_characters() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let call = post_tool_call(&bridge, "echo", json!({}));
    let ((_, answer), ()) = join(call, serve_raw(&mut page, r#""cut \ud83d""#)).await;
    assert_eq!(result_text(&answer), "cut \u{fffd}", "{answer}");

    let fail = async {
        let id = page.recv_call().await.request_id;
        let frame = format!(
            r#"{{"type":"call-error","requestId":"{id}","code":"HandlerFailed","message":"\udc00"}}"#
        );
        page.send_text(frame).await;
    };
    let ((_, answer), ()) = join(post_tool_call(&bridge, "echo", json!({})), fail).await;
    assert_eq!(result_text(&answer), "\u{fffd}", "{answer}");
}

#[tokio::test]
async fn lone_surrogates_of_clients_become_replacement_characters() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let stateless = StatelessClient::new(&bridge).build(
        "tools/call",
        json!({ "name": "echo",
        "arguments": { "CUT": ["CUT", { "CUT": 1 }] } }),
    );
    let (http, stateless) = stateless.build_split();
    let mut stateless = stateless.unwrap();
    let body = stateless.body().and_then(|body| body.as_bytes()).unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    *stateless.body_mut() = Some(body.replace("CUT", r"cut \ud83d").into());

    let arguments = r#"{"cut \ud83d":["cut \ud83d",{"cut \ud83d":1}]}"#;
    let text = "cut \u{fffd}";
    let expected = json!({ text: [text, { text: 1 }] });
    let rest = http_client()
        .post(format!("{}/tool-call", bridge.url()))
        .bearer_auth(TOKEN)
        .body(format!(
            r#"{{"toolName":"echo","toolInput":{arguments},"other":"\udc00"}}"#
        ))
        .send();
    let (response, ()) = join(rest, page.echo_call()).await;
    let result: Value = response.unwrap().json().await.unwrap();
    assert_eq!(result["structuredContent"], expected, "{result}");

    let call = client.post_text(format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo",
            "arguments":{arguments},"_meta":{{"other":"\ud83d"}}}}}}"#
    ));
    let (response, ()) = join(call, page.echo_call()).await;
    let response = rpc_response(response).await;
    assert_eq!(response["result"]["structuredContent"], expected);

    let (response, ()) = join(http.execute(stateless), page.echo_call()).await;
    let response = rpc_response(response.unwrap()).await;
    assert_eq!(response["result"]["structuredContent"], expected);

    for (body, code) in [
        (r#"{"toolName":"\ud83d"}"#, "ToolNotFound"),
        (
            r#"{"toolName":"echo","sessionId":"\ud83d"}"#,
            "SessionNotFound",
        ),
    ] {
        let request = http_client().post(format!("{}/tool-call", bridge.url()));
        let response = request.bearer_auth(TOKEN).body(body).send().await;
        let answer = response.unwrap().text().await.unwrap();
        assert!(answer.contains(code), "{answer}");
    }
}

#[tokio::test]
async fn max_result_bytes_applies_to_errors() {
    let mut config = test_config();
    config.results.max_result_bytes = 1_000;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let fail = async {
        let id = page.recv_call().await.request_id;
        let frame = json!({ "type": "call-error", "requestId": id.0, "code": "HandlerFailed",
            "message": "x".repeat(2_000) });
        page.send_json(frame).await;
    };
    let ((_, answer), ()) = join(post_tool_call(&bridge, "echo", json!({})), fail).await;
    assert_eq!(error_code(&answer), Some("ResultTooLarge"));
}

#[tokio::test]
async fn a_reconnecting_page_receives_max_calls_pending_calls() {
    let bridge = start_bridge().await;
    let max_calls = Config::default().calls.max_calls;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let calls =
        join_all((0..max_calls).map(|n| post_tool_call(&bridge, "echo", json!({ "n": n }))));
    let handler = async {
        for _ in 0..max_calls {
            while !matches!(page.recv().await, BridgeToPage::ToolCall(_)) {}
        }
        // None of the calls was acknowledged, so the new connection receives all of them.
        let mut page = Page::connect(&bridge, "s", TOKEN).await;
        for _ in 0..max_calls {
            page.echo_call().await;
        }
        page
    };
    let (answers, _page) = with_deadline("answers", join(calls, handler)).await;
    for (n, (_, answer)) in answers.iter().enumerate() {
        assert_eq!(answer["structuredContent"]["n"], n, "{answer}");
    }
}

#[tokio::test]
async fn shutdown_fails_max_calls_pending_calls_and_closes_with_1012() {
    let bridge = start_bridge().await;
    let max_calls = Config::default().calls.max_calls;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let url = bridge.url();
    let calls =
        join_all((0..max_calls).map(|n| post_tool_call_to(&url, TOKEN, "echo", json!({ "n": n }))));
    let stop = async {
        for _ in 0..max_calls {
            page.recv_call().await;
        }
        let (code, ()) = join(page.recv_close(), bridge.shutdown()).await;
        code.0
    };
    let (answers, code) = with_deadline("end of the calls", join(calls, stop)).await;
    assert_eq!(code, 1012);
    for (_, answer) in answers {
        assert_eq!(error_code(&answer), Some("BridgeStopping"));
    }
}

#[tokio::test]
async fn stateless_subscriptions_count_toward_max_clients() {
    let mut config = test_config();
    config.mcp_sessions.max_clients = 2;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let client = StatelessClient::new(&bridge);
    let mut streams = Vec::new();
    for _ in 0..3 {
        let params = json!({ "notifications": { "toolsListChanged": true } });
        streams.push(client.send("subscriptions/listen", params).await);
    }
    let rejected = with_deadline("error", streams.pop().unwrap().text()).await;
    let rejected = rejected.unwrap();
    assert!(rejected.contains("max_clients"), "{rejected}");
    page.wait_for_clients(2).await;
    // Closing the streams frees their slots.
    drop(streams);
    page.wait_for_clients(0).await;
}

#[tokio::test]
async fn concurrent_initialize_requests_respect_max_mcp_sessions() {
    let mut config = test_config();
    config.mcp_sessions.max_mcp_sessions = Some(3);
    let bridge = start_bridge_with(config).await;
    let http = http_client();
    let info = json!({ "name": "many", "version": "1" });
    let initialize = initialize_request("2025-06-18", json!({}), info);
    let attempts = (0..40).map(|n| {
        let request = http.post(format!("{}/mcp", bridge.url()));
        // A session header that is not valid text opens a session, as a missing one does.
        let request = if n % 2 == 0 {
            request
        } else {
            request.header("mcp-session-id", [0xff_u8].as_slice())
        };
        request.bearer_auth(TOKEN).json(&initialize).send()
    });
    let responses = with_deadline("answers", join_all(attempts)).await;
    let mut open = 0;
    for response in responses {
        let response = response.unwrap();
        let Some(session) = response.headers().get("mcp-session-id") else {
            assert_eq!(response.status(), 503);
            continue;
        };
        let ping = http
            .post(format!("{}/mcp", bridge.url()))
            .header("mcp-session-id", session)
            .header("accept", "application/json, text/event-stream")
            .bearer_auth(TOKEN)
            .json(&rpc_request(1, "ping", json!({})));
        let response = with_deadline("response", ping.send()).await.unwrap();
        // A session may have been evicted for another because it was idle.
        if response.status() != 404 {
            assert_eq!(response.status(), 200);
            open += 1;
        }
    }
    assert!((1..=3).contains(&open), "{open} sessions are open");
}

#[tokio::test]
async fn a_closing_page_that_does_not_read_is_disconnected() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let text = "x".repeat(3_000_000);
    let calls = join_all((0..8).map(|_| post_tool_call(&bridge, "echo", json!({ "text": text }))));
    let misbehave = async {
        page.recv_call().await;
        page.send_text("no JSON").await;
        while page
            .send_frame(Message::Ping(vec![0; 100].into()))
            .await
            .is_ok()
        {
            tokio::task::yield_now().await;
        }
    };
    with_deadline("end of the connection", join(calls, misbehave)).await;
}

#[tokio::test]
async fn page_titles_and_names_are_truncated() {
    let bridge = start_bridge().await;
    let mut page = Page::open(&bridge, "s", None).await;
    let message = json!({ "type": "authenticate", "protocol": 2, "authToken": TOKEN,
        "sessionName": "n".repeat(10_000), "pageTitle": "\u{e0041}é".repeat(4_000),
        "app": { "name": "a".repeat(10_000), "icon": "i".repeat(10_000) } });
    page.send_json(message).await;
    page.recv_authenticated().await;
    let sessions = get_json(&bridge, "/sessions").await;
    let session = &sessions["sessions"][0];
    assert_eq!(
        session["page_title"].as_str().unwrap().chars().count(),
        257,
        "{session}"
    );
    assert!(!session.to_string().contains('\u{e0041}'), "{session}");
    assert!(session.to_string().len() < 2_000);
}

#[tokio::test]
async fn oversized_definitions_are_not_parsed_and_a_flood_closes_the_page() {
    let config = Config {
        page_limits: PageLimits {
            max_definitions: 2,
            max_definition_bytes: 1_000,
            ..PageLimits::default()
        },
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let chain: serde_json::Map<_, _> = (0..100_000)
        .map(|n| (n.to_string(), json!({ "$ref": format!("#/{}", n + 1) })))
        .collect();
    let answer = page
        .register(&[json!({ "name": "chain", "inputSchema": chain })])
        .await;
    assert_eq!(answer.errors[0].code, ErrorCode::DefinitionLimitExceeded);
    let flood = vec![json!({ "kind": "tool", "definition": { "name": "a" } }); 33];
    page.send_json(json!({ "type": "register", "registrationId": "r", "items": flood }))
        .await;
    assert_eq!(page.recv_close().await.0, 1008);
}
