//! Connections are counted and timed, and a program hears on the short way what a page hears on the
//! long one.

use std::collections::BTreeMap;
use std::time::Duration;

use bridge::{Config, ServerHandle};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::kit::{
    Page, TOKEN, http_client, start_bridge, start_bridge_with, test_config, with_deadline,
};

async fn connected(bridge: &ServerHandle) -> TcpStream {
    TcpStream::connect(bridge.local_addr()).await.unwrap()
}

/// What the bridge says until it closes.
async fn rest(mut socket: TcpStream) -> String {
    let mut said = Vec::new();
    // A connection that is refused may be reset after the words.
    let _ = with_deadline("end", socket.read_to_end(&mut said)).await;
    String::from_utf8(said).unwrap()
}

/// One request on a connection that stays open.
async fn asked(socket: &mut TcpStream) -> String {
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    socket.write_all(request).await.unwrap();
    let mut said = String::new();
    while !said.ends_with("ok") {
        let mut more = [0; 1024];
        let read = with_deadline("answer", socket.read(&mut more))
            .await
            .unwrap();
        assert_ne!(read, 0, "{said}");
        said += std::str::from_utf8(&more[..read]).unwrap();
    }
    said
}

#[tokio::test]
async fn connections_over_the_limit_are_rejected_until_another_closes() {
    let config = Config {
        max_connections: 2,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    // A page's socket keeps its place.
    let page = Page::connect(&bridge, "s", TOKEN).await;
    let mut first = connected(&bridge).await;
    assert!(asked(&mut first).await.starts_with("HTTP/1.1 200"));
    let refused = rest(connected(&bridge).await).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("max_connections"), "{refused}");
    let length = refused.split_once("\r\n\r\n").unwrap().1.len();
    assert!(refused.contains(&format!("content-length: {length}\r\n")));

    drop(page);
    let again = with_deadline("place", async {
        loop {
            let mut socket = connected(&bridge).await;
            let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
            socket.write_all(request).await.unwrap();
            let said = rest(socket).await;
            if said.ends_with("ok") {
                break said;
            }
        }
    });
    assert!(again.await.starts_with("HTTP/1.1 200"));
    assert!(asked(&mut first).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_connection_without_a_complete_request_head_times_out() {
    let config = Config {
        request_head_within: Duration::from_millis(300),
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let silent = connected(&bridge).await;
    let mut slow = connected(&bridge).await;
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: loc")
        .await
        .unwrap();
    let mut idle = connected(&bridge).await;
    assert!(asked(&mut idle).await.starts_with("HTTP/1.1 200"));
    for socket in [silent, slow, idle] {
        let said = rest(socket).await;
        assert!(
            said.is_empty() || said.starts_with("HTTP/1.1 408"),
            "{said}"
        );
    }
    // The socket of a page has times of its own.
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    rest(connected(&bridge).await).await;
    page.register(&[json!({ "name": "still" })]).await;
}

#[tokio::test]
async fn a_request_head_over_the_limit_is_431() {
    let bridge = start_bridge().await;
    let mut socket = connected(&bridge).await;
    let head = format!(
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\nlarge: {}\r\n",
        "x".repeat(70_000)
    );
    // The bridge does not read to the end.
    let _ = socket.write_all(head.as_bytes()).await;
    let said = rest(socket).await;
    assert!(said.starts_with("HTTP/1.1 431"), "{said}");
}

/// What is heard of a request, without what is for browsers only.
async fn heard(request: reqwest::RequestBuilder) -> (u16, BTreeMap<String, String>, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let for_browsers = |name: &str| name.starts_with("access-control-") || name == "vary";
    let headers = response.headers().iter().filter_map(|(name, value)| {
        let (name, value) = (name.to_string(), value.to_str().unwrap().to_owned());
        (!for_browsers(&name) && name != "date").then_some((name, value))
    });
    let headers = headers.collect();
    let body = response.bytes().await.unwrap();
    (
        status,
        headers,
        serde_json::from_slice(&body).unwrap_or_default(),
    )
}

#[tokio::test]
async fn requests_with_and_without_an_origin_get_the_same_response() {
    let config = Config {
        max_request_bytes: 10_000,
        tokens: vec![TOKEN.to_owned()],
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let tool = json!({ "name": "echo", "inputSchema": { "type": "object",
        "properties": { "n": { "type": "integer" } } } });
    let mut page = Page::with_tools(&bridge, "s", &[tool]).await;
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
                    let program = heard(request()).await;
                    let browser = heard(request().header("origin", "http://localhost:1")).await;
                    assert_eq!(program, browser, "{method} {path} {host} {body:.100}");
                    statuses.insert(program.0);
                }
            }
        }
    }
    assert!(
        statuses.is_superset(&[200, 400, 401, 403, 404, 405, 413].into()),
        "{statuses:?}"
    );

    // A call that reaches the page.
    let answers = async {
        for _ in 0..2 {
            let call = page.recv_call().await;
            page.respond(&call, json!({ "n": 1.5, "text": "\"é\"" }))
                .await;
        }
    };
    let calls = async {
        let request = || {
            http_client()
                .post(format!("{}/tool-call", bridge.url()))
                .bearer_auth(TOKEN)
                .body(call(json!({ "n": 1 })))
        };
        let program = heard(request()).await;
        let browser = heard(request().header("origin", "http://localhost:1")).await;
        assert_eq!(program, browser);
        assert_eq!(program.2["structuredContent"]["n"], 1.5);
        let foreign = request()
            .header("origin", "https://evil.example")
            .send()
            .await
            .unwrap();
        assert_eq!(foreign.status(), 403);
    };
    tokio::join!(answers, calls);
}
