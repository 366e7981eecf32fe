//! Limits and timeouts of connections. Requests without an `Origin` may bypass the router, and must
//! get the same responses as requests of browsers.

use std::collections::BTreeMap;
use std::time::Duration;

use bridge::{Config, HttpTimeouts};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::kit::raw_http::{connect, get_health, read_to_end, wait_for_free_connection};
use crate::kit::{
    ConnectPage, Page, TOKEN, echo_tool, http_client, start_bridge, start_bridge_with, test_config,
};

#[tokio::test]
async fn connections_over_the_limit_are_rejected_until_another_closes() {
    let mut config = test_config();
    config.network.max_connections = Some(2);
    let bridge = start_bridge_with(config).await;
    // The socket of a page takes one of the two slots.
    let page = Page::connect(&bridge, "s", TOKEN).await;
    let mut first = connect(&bridge).await;
    assert!(get_health(&mut first).await.starts_with("HTTP/1.1 200"));
    let rejected = read_to_end(connect(&bridge).await).await;
    assert!(rejected.starts_with("HTTP/1.1 503"), "{rejected}");
    assert!(rejected.contains("max_connections"), "{rejected}");
    let length = rejected.split_once("\r\n\r\n").unwrap().1.len();
    assert!(rejected.contains(&format!("content-length: {length}\r\n")));

    drop(page);
    wait_for_free_connection(&bridge).await;
    assert!(get_health(&mut first).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_connection_that_is_reset_in_the_middle_of_a_request_makes_room() {
    let mut config = test_config();
    config.network.max_connections = Some(1);
    let bridge = start_bridge_with(config).await;
    for sent in ["", "POST /mcp HTTP/1.1\r\nHost: "] {
        let mut socket = connect(&bridge).await;
        socket.write_all(sent.as_bytes()).await.unwrap();
        socket.set_zero_linger().unwrap();
        drop(socket);
        wait_for_free_connection(&bridge).await;
    }
}

#[tokio::test]
async fn one_address_leaves_connections_for_others() {
    let mut config = test_config();
    config.network.max_connections = Some(8);
    let bridge = start_bridge_with(config).await;
    let mut open = Vec::new();
    for _ in 0..6 {
        let mut socket = connect(&bridge).await;
        assert!(get_health(&mut socket).await.starts_with("HTTP/1.1 200"));
        open.push(socket);
    }
    let rejected = read_to_end(connect(&bridge).await).await;
    assert!(rejected.starts_with("HTTP/1.1 503"), "{rejected}");
    assert!(rejected.contains("this address"), "{rejected}");
    assert!(rejected.contains("trusted_proxies"), "{rejected}");
    let length = rejected.split_once("\r\n\r\n").unwrap().1.len();
    assert!(rejected.contains(&format!("content-length: {length}\r\n")));
    assert!(get_health(&mut open[0]).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_connection_without_a_complete_request_head_times_out() {
    let config = Config {
        http_timeouts: HttpTimeouts {
            request_head_within: Duration::from_millis(300),
            ..HttpTimeouts::default()
        },
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let silent = connect(&bridge).await;
    let mut slow = connect(&bridge).await;
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: loc")
        .await
        .unwrap();
    let mut idle = connect(&bridge).await;
    assert!(get_health(&mut idle).await.starts_with("HTTP/1.1 200"));
    for socket in [silent, slow, idle] {
        let response = read_to_end(socket).await;
        assert!(
            response.is_empty() || response.starts_with("HTTP/1.1 408"),
            "{response}"
        );
    }
    // The timeout does not apply to the socket of a page.
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    read_to_end(connect(&bridge).await).await;
    page.register(&[json!({ "name": "still" })]).await;
}

#[tokio::test]
async fn a_request_head_over_the_limit_is_431() {
    let bridge = start_bridge().await;
    let long = format!("large: {}\r\n", "x".repeat(65_536));
    for headers in [long, "many: 1\r\n".repeat(100)] {
        let mut socket = connect(&bridge).await;
        let head = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
        // The bridge may not read the complete head.
        let _ = socket.write_all(head.as_bytes()).await;
        let response = read_to_end(socket).await;
        assert!(response.starts_with("HTTP/1.1 431"), "{response}");
    }
}

/// The status, headers and body of a response, without the headers that only browsers need. The id of
/// the request is shortened, wherever it is.
async fn response_parts(
    request: reqwest::RequestBuilder,
) -> (u16, BTreeMap<String, String>, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let for_browsers = |name: &str| name.starts_with("access-control-") || name == "vary";
    let headers = response.headers().iter().filter_map(|(name, value)| {
        let (name, value) = (name.to_string(), value.to_str().unwrap().to_owned());
        (!for_browsers(&name) && name != "date").then_some((name, value))
    });
    let mut headers: BTreeMap<String, String> = headers.collect();
    let id = headers.get_mut("x-request-id").unwrap();
    let id = std::mem::replace(id, "…".to_owned());
    let body = response.text().await.unwrap();
    let body = body.replace(&id, "…");
    (
        status,
        headers,
        serde_json::from_str(&body).unwrap_or_default(),
    )
}

#[tokio::test]
async fn requests_with_and_without_an_origin_get_the_same_response() {
    let mut config = test_config();
    config.network.max_request_bytes = 10_000;
    config.tokens.tokens = vec![TOKEN.to_owned()];
    config.identity.max_refused_tokens = usize::MAX;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let call = |input: Value| json!({ "toolName": "echo", "toolInput": input }).to_string();
    let rpc = |method: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": method }).to_string();
    let bodies = [
        call(json!({ "n": "x" })),
        call(json!([])),
        json!({ "toolName": "nothing" }).to_string(),
        json!({ "toolName": "list_active_sessions", "sessionId": "x" }).to_string(),
        rpc("ping"),
        rpc("nothing"),
        "[]".to_owned(),
        "{".to_owned(),
        String::new(),
        "x".repeat(20_000),
    ];
    let mut statuses = std::collections::BTreeSet::new();
    for path in ["/tool-call", "/mcp", "/tool-call?a=b", "/nowhere"] {
        for body in &bodies {
            for token in [Some(TOKEN), Some("a-token-that-is-not-listed"), None] {
                for (host, method) in [
                    ("localhost", Method::POST),
                    ("evil.example", Method::POST),
                    ("localhost", Method::PUT),
                ] {
                    let request = || {
                        let url = format!("{}{path}", bridge.url());
                        let request = http_client()
                            .request(method.clone(), url)
                            .header("host", host);
                        let request = request.header("content-type", "application/json");
                        let request = match token {
                            Some(token) => request.bearer_auth(token),
                            None => request,
                        };
                        request.body(body.clone())
                    };
                    let without_origin = response_parts(request()).await;
                    let with_origin =
                        response_parts(request().header("origin", "http://localhost:1")).await;
                    assert_eq!(
                        without_origin, with_origin,
                        "{method} {path} {host} {body:.100}"
                    );
                    statuses.insert(without_origin.0);
                }
            }
        }
    }
    assert!(
        statuses.is_superset(&[200, 400, 401, 403, 404, 405, 413].into()),
        "{statuses:?}"
    );

    // The calls below reach the page.
    let handler = async {
        for _ in 0..2 {
            page.serve_call(json!({ "n": 1.5, "text": "\"é\"" })).await;
        }
    };
    let calls = async {
        let request = || {
            http_client()
                .post(format!("{}/tool-call", bridge.url()))
                .bearer_auth(TOKEN)
                .body(call(json!({ "n": 1 })))
        };
        let without_origin = response_parts(request()).await;
        let with_origin = response_parts(request().header("origin", "http://localhost:1")).await;
        assert_eq!(without_origin, with_origin);
        assert_eq!(without_origin.2["structuredContent"]["n"], 1.5);
        let foreign = request()
            .header("origin", "https://evil.example")
            .send()
            .await
            .unwrap();
        assert_eq!(foreign.status(), 403);
    };
    tokio::join!(handler, calls);
}
