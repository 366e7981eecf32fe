//! Requests and messages that the bridge rejects with the documented status or close code, while it
//! continues to work.

use bridge::{PageTimings, ServerHandle};
use bridge_protocol::{CallError, ErrorCode, Leaving, PageToBridge};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::kit::*;

/// Checks that a page can still connect, register and be called.
async fn assert_still_works(bridge: &ServerHandle) {
    let mut page = Page::with_tools(bridge, "healthy", &[echo_tool()]).await;
    let input = json!({ "n": 1, "session_id": "healthy" });
    let (answer, ()) = tokio::join!(post_tool_call(bridge, "echo", input), page.echo_call());
    assert_eq!(answer.0, 200, "{}", answer.1);
    page.close().await;
}

/// Checks that the message of an error body contains this text.
fn assert_message(body: &Value, expected: &str) {
    let message = body["message"].as_str().unwrap();
    assert!(message.contains(expected), "{body}");
}

async fn status_and_json(response: reqwest::Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn a_foreign_host_is_403() {
    let bridge = start_bridge().await;
    for path in [
        "/mcp",
        "/",
        "/sessions",
        "/tools",
        "/conversations",
        "/healthz",
        "/readyz",
        "/sdk/mcp-web.js",
        "/ws?session=s",
    ] {
        let request = http_client()
            .get(format!("{}{path}", bridge.url()))
            .header("host", "evil.example");
        let (status, body) = status_and_json(request.send().await.unwrap()).await;
        assert_eq!(status, 403, "{path}");
        assert_eq!(body["error"], "HostNotAllowed", "{path}");
        assert_message(&body, "allowed_hosts");
    }
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn a_malformed_host_is_rejected_and_the_bridge_continues() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let bridge = start_bridge().await;
    let mut socket = tokio::net::TcpStream::connect(bridge.local_addr())
        .await
        .unwrap();
    socket
        .write_all(b"GET /mcp HTTP/1.1\r\nHost: [\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut response = String::new();
    with_deadline("response", socket.read_to_string(&mut response))
        .await
        .unwrap();
    assert!(
        response.starts_with("HTTP/1.1 403") || response.starts_with("HTTP/1.1 400"),
        "{response}"
    );
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn several_host_headers_are_400() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let bridge = start_bridge().await;
    for path in ["/mcp", "/tool-call", "/sessions", "/sdk/mcp-web.js", "/ws"] {
        let mut socket = tokio::net::TcpStream::connect(bridge.local_addr())
            .await
            .unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        with_deadline("response", socket.read_to_string(&mut response))
            .await
            .unwrap();
        assert!(response.starts_with("HTTP/1.1 400"), "{path}: {response}");
        assert!(response.contains("several `Host` headers"), "{response}");
    }
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn a_foreign_origin_on_http_is_403_without_cors() {
    let bridge = start_bridge().await;
    for origin in ["https://evil.example", "null"] {
        for path in [
            "/mcp",
            "/",
            "/sessions",
            "/tools",
            "/conversations",
            "/healthz",
        ] {
            let request = http_client()
                .get(format!("{}{path}", bridge.url()))
                .bearer_auth(TOKEN)
                .header("origin", origin);
            let response = request.send().await.unwrap();
            assert!(
                !response
                    .headers()
                    .contains_key("access-control-allow-origin"),
                "{path}"
            );
            let (status, body) = status_and_json(response).await;
            assert_eq!(status, 403, "{path}");
            assert_eq!(body["error"], "OriginNotAllowed");
            assert_message(&body, "allowed_origins");
        }
    }
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn a_page_with_a_foreign_origin_receives_an_explanation() {
    let bridge = start_bridge().await;
    let mut page = Page::open(&bridge, "s", Some("https://evil.example")).await;
    let failure = page.recv_authentication_failure().await;
    assert_eq!(failure.code, ErrorCode::OriginNotAllowed);
    assert!(
        failure.error.contains("https://evil.example"),
        "{}",
        failure.error
    );
    assert!(
        failure.error.contains("allowed_origins"),
        "{}",
        failure.error
    );
    assert_eq!(page.recv_close().await.0, 1008);
    assert_still_works(&bridge).await;
}

/// Starts a bridge that accepts any token, and one that accepts a single listed token.
async fn open_and_listed() -> (ServerHandle, ServerHandle) {
    let mut listed = test_config();
    listed.tokens.tokens = vec!["listed-token-0123456789".to_owned()];
    (start_bridge().await, start_bridge_with(listed).await)
}

#[tokio::test]
async fn a_missing_short_or_unlisted_token_is_401_with_a_challenge() {
    let (open, listed) = open_and_listed().await;
    let cases = [
        (&open, None, "MissingAuthentication"),
        (&open, Some("short"), "InvalidAuthentication"),
        (&listed, None, "MissingAuthentication"),
        (
            &listed,
            Some("unlisted-token-0123456789"),
            "InvalidAuthentication",
        ),
    ];
    for (bridge, token, code) in cases {
        for (method, path) in [
            ("POST", "/mcp"),
            ("POST", "/"),
            ("POST", "/tool-call"),
            ("GET", "/sessions"),
            ("GET", "/tools"),
            ("GET", "/conversations"),
            ("DELETE", "/conversations/c"),
        ] {
            let url = format!("{}{path}", bridge.url());
            let mut request = http_client()
                .request(method.parse().unwrap(), url)
                .json(&json!({}));
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let response = request.send().await.unwrap();
            let challenge = response.headers()["www-authenticate"]
                .to_str()
                .unwrap()
                .to_owned();
            assert!(challenge.starts_with("Bearer"), "{challenge}");
            let (status, body) = status_and_json(response).await;
            assert_eq!(
                (status, body["error"].as_str()),
                (401, Some(code)),
                "{path}"
            );
            assert!(
                !body.to_string().contains("unlisted-token"),
                "the error repeats the token"
            );
        }
    }
    assert_still_works(&open).await;
}

#[tokio::test]
async fn a_page_with_an_invalid_token_is_closed_with_1008() {
    let (open, listed) = open_and_listed().await;
    for (bridge, token, code) in [
        (&open, "", ErrorCode::MissingAuthentication),
        (&open, "short", ErrorCode::InvalidAuthentication),
        (
            &listed,
            "unlisted-token-0123456789",
            ErrorCode::InvalidAuthentication,
        ),
    ] {
        let mut page = Page::open(bridge, "s", None).await;
        page.authenticate("s", token).await;
        let failure = page.recv_authentication_failure().await;
        assert_eq!(failure.code, code);
        assert_eq!(page.recv_close().await.0, 1008);
    }
    assert_still_works(&open).await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_413() {
    let mut config = test_config();
    config.network.max_request_bytes = 1000;
    let bridge = start_bridge_with(config).await;
    for path in ["/mcp", "/", "/tool-call"] {
        let body = json!({ "text": "x".repeat(2000) });
        let request = http_client()
            .post(format!("{}{path}", bridge.url()))
            .bearer_auth(TOKEN)
            .json(&body);
        let (status, body) = status_and_json(request.send().await.unwrap()).await;
        assert_eq!(status, 413, "{path}");
        assert_message(&body, "max_request_bytes");
    }
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn malformed_json_is_a_parse_error_and_a_batch_an_invalid_request() {
    let bridge = start_bridge().await;
    let cases = [
        ("{\"jsonrpc\":", -32700),
        ("nonsense", -32700),
        ("", -32700),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            -32600,
        ),
        ("7", -32600),
        ("{}", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}",
            -32600,
        ),
    ];
    for (body, code) in cases {
        for path in ["/mcp", "/"] {
            let request = http_client()
                .post(format!("{}{path}", bridge.url()))
                .bearer_auth(TOKEN)
                .header("content-type", "application/json")
                .body(body);
            let (status, answer) = status_and_json(request.send().await.unwrap()).await;
            assert_eq!(
                (status, answer["error"]["code"].as_i64()),
                (400, Some(code)),
                "{body:?}"
            );
        }
    }
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn every_rejection_of_an_mcp_request_is_json() {
    let bridge = start_bridge().await;
    let url = format!("{}/mcp", bridge.url());
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/list" });
    let unknown = ("mcp-session-id", "unknown");
    let cases = [
        (http_client().get(&url), ("accept", "text/html"), 406),
        (http_client().get(&url), unknown, 404),
        (http_client().post(&url).json(&list), unknown, 404),
        (http_client().patch(&url), unknown, 405),
    ];
    for (request, (name, value), expected) in cases {
        let request = request.bearer_auth(TOKEN).header(name, value);
        let (status, body) = status_and_json(request.send().await.unwrap()).await;
        assert_eq!(status, expected, "{body}");
        assert!(body["error"]["message"].is_string(), "{status}: {body}");
    }
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn a_url_that_cannot_be_decoded_is_400() {
    let bridge = start_bridge().await;
    let opening = |path: &str| {
        http_client()
            .get(format!("{}{path}", bridge.url()))
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
    };
    let put = |path: &str| http_client().put(format!("{}{path}", bridge.url()));
    for request in [
        put("/query/%ff"),
        put("/query/%ff/cancel"),
        http_client().get(format!("{}/sdk/%ff", bridge.url())),
        opening("/ws?session=a&session=b"),
    ] {
        let (status, body) = status_and_json(request.send().await.unwrap()).await;
        assert_eq!(
            (status, &body["error"]),
            (400, &json!("ProtocolViolation")),
            "{body}"
        );
    }
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn a_method_that_a_route_does_not_have_is_405() {
    let bridge = start_bridge().await;
    for (path, allowed) in [
        ("/tool-call", "POST"),
        ("/sessions", "GET,HEAD"),
        ("/sdk/mcp-web.js", "GET,HEAD"),
        ("/query/q/cancel", "PUT"),
    ] {
        let url = format!("{}{path}", bridge.url());
        let response = http_client().patch(url).send().await.unwrap();
        assert_eq!(response.headers()["allow"], allowed, "{path}");
        let (status, body) = status_and_json(response).await;
        assert_eq!(status, 405, "{path}");
        assert_message(&body, "PATCH");
    }
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn an_unknown_tool_is_invalid_params() {
    let bridge = start_bridge().await;
    let _page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let answer = client.call("nope", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("nope") && message.contains("echo"),
        "{message}"
    );
    let (status, body) = post_tool_call(&bridge, "nope", json!({})).await;
    assert_eq!((status, &body["error"]), (404, &json!("ToolNotFound")));
}

#[tokio::test]
async fn invalid_arguments_are_an_error_and_do_not_reach_the_page() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let answer = client.call("echo", json!({ "n": "seven" })).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = result_text(&answer["result"]);
    assert!(
        text.contains("/n") && text.contains("/properties/n/type"),
        "{text}"
    );
    // The page received nothing before: the next call that it receives is the valid one.
    client.assert_echo(&mut page).await;
}

#[tokio::test]
async fn a_handler_error_is_returned_with_its_message() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    // Only the bridge knows that a call was not taken, so a page cannot say so.
    for (claimed, expected) in [
        (ErrorCode::HandlerFailed, "HandlerFailed"),
        (ErrorCode::InvalidArguments, "InvalidArguments"),
        (ErrorCode::PageBusy, "HandlerFailed"),
        (ErrorCode::PageSuspended, "HandlerFailed"),
        (ErrorCode::InvalidAuthentication, "HandlerFailed"),
    ] {
        let fail = async {
            let call = page.recv_call().await;
            let error = CallError {
                request_id: call.request_id,
                code: claimed,
                message: "no such card: 7".to_owned(),
                data: None,
                content: None,
                meta: None,
            };
            page.send(PageToBridge::CallError(error)).await;
        };
        let (answer, ()) = tokio::join!(client.call("echo", json!({})), fail);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(result_text(&answer["result"]), "no such card: 7");
        assert_eq!(error_code(&answer["result"]), Some(expected));
    }
}

#[tokio::test]
async fn a_result_that_violates_its_output_schema_is_an_error() {
    let bridge = start_bridge().await;
    let tool = json!({ "name": "count", "outputSchema": { "type": "object",
        "properties": { "count": { "type": "integer" } }, "required": ["count"] } });
    let mut page = Page::with_tools(&bridge, "s", &[tool]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    for (result, valid) in [
        (json!({ "count": 3 }), true),
        (json!({ "count": "3" }), false),
        (json!(3), false),
    ] {
        let handler = page.serve_call(result.clone());
        let (answer, _call) = tokio::join!(client.call("count", json!({})), handler);
        let is_error = answer["result"]["isError"] == true;
        assert_eq!(!is_error, valid, "{answer}");
        if !valid {
            assert!(
                result_text(&answer["result"]).contains("output schema"),
                "{answer}"
            );
        }
    }
}

#[tokio::test]
async fn a_binary_frame_or_invalid_json_closes_with_1003() {
    let bridge = start_bridge().await;
    for invalid in [
        Message::Binary(vec![1, 2, 3].into()),
        Message::Text("nonsense".into()),
        Message::Text("[]".into()),
        Message::Text("{}".into()),
    ] {
        let mut fresh = Page::open(&bridge, "fresh", None).await;
        fresh.send_frame(invalid.clone()).await.unwrap();
        assert_eq!(
            fresh.recv_close().await.0,
            1003,
            "{invalid:?} as first frame"
        );
        let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
        page.send_frame(invalid.clone()).await.unwrap();
        assert_eq!(page.recv_close().await.0, 1003, "{invalid:?} later");
    }
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn a_wrong_first_frame_or_silence_closes_with_1008() {
    let bridge = start_bridge_with(config_with_page_timings(PageTimings {
        authenticate_within: std::time::Duration::from_millis(50),
        ..PageTimings::default()
    }))
    .await;
    let mut silent = Page::open(&bridge, "s", None).await;
    assert_eq!(silent.recv_close().await.0, 1008);
    let mut wrong = Page::open(&bridge, "s", None).await;
    wrong.send(PageToBridge::Leaving(Leaving::default())).await;
    assert_eq!(wrong.recv_close().await.0, 1008);
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn a_frame_over_the_limit_closes_with_1009() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let too_long = "x".repeat(bridge_protocol::limits::MAX_FRAME_BYTES + 1);
    // The bridge may close the connection before it has received the whole frame.
    let _ = page.send_frame(Message::Text(too_long.into())).await;
    assert_eq!(page.recv_close().await.0, 1009);
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn a_page_socket_without_a_valid_session_id_is_400() {
    let bridge = start_bridge().await;
    for query in ["", "?session=", &format!("?session={}", "x".repeat(200))] {
        let request = http_client()
            .get(format!("{}/ws{query}", bridge.url()))
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let (status, body) = status_and_json(request.send().await.unwrap()).await;
        assert_eq!(status, 400, "{query:?}");
        assert_message(&body, "/ws?session=");
    }
    assert_still_works(&bridge).await;
}

#[tokio::test]
async fn an_unsupported_page_protocol_is_rejected_with_the_supported_version() {
    let bridge = start_bridge().await;
    let mut page = Page::open(&bridge, "s", None).await;
    let message = json!({ "type": "authenticate", "protocol": 3, "authToken": TOKEN });
    page.send_json(message).await;
    let failure = page.recv_authentication_failure().await;
    assert!(failure.error.contains("version 2"), "{}", failure.error);
    assert_eq!(page.recv_close().await.0, 1008);
}
