//! Requests that are refused, and the messages of the refusals.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::kit::*;

#[tokio::test]
async fn a_missing_or_wrong_credential_is_refused_with_what_to_send() {
    let bed = TestBed::start().await;
    let request = || bed.put(UUID, &prompt("hello"));
    let (status, missing) = status_and_body(request()).await;
    assert_eq!(
        (status, &missing["error"], &missing["code"]),
        (
            401,
            &json!("MissingAuthentication"),
            &json!("MissingAuthentication")
        )
    );
    let response = request().send().await.unwrap();
    assert!(response.headers().contains_key("www-authenticate"));

    let wrong = request().bearer_auth("credential-of-somebody-else-00001");
    let wrong = wrong.header("mcp-web-query-token", "mcp-web-query-of-nobody");
    let (status, wrong) = status_and_body(wrong).await;
    assert_eq!(
        (status, &wrong["error"]),
        (401, &json!("InvalidAuthentication"))
    );
    let message = wrong["message"].as_str().unwrap();
    assert!(message.contains("MCP_WEB_AGENT_TOKEN"), "{message}");

    let (status, without) = status_and_body(request().bearer_auth(CREDENTIAL)).await;
    assert_eq!(status, 400);
    let message = without["message"].as_str().unwrap();
    assert!(message.contains("Mcp-Web-Query-Token"), "{message}");
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_uuid_is_accepted_once() {
    let bed = TestBed::start().await;
    let request = || streaming(as_bridge(bed.put(UUID, &prompt("hello"))));
    let events = EventStream::open(request()).await.collect().await;
    // The token of the query is unknown to every bridge.
    assert_eq!(events[1]["code"], "BridgeUnavailable", "{events:?}");
    assert_eq!(events.len(), 2);
    bed.wait_for_running(0).await;
    let (status, refused) = status_and_body(request()).await;
    assert_eq!((status, &refused["error"]), (409, &json!("QueryCompleted")));
}

#[tokio::test]
async fn a_running_query_and_a_query_over_the_limit_are_refused() {
    let bed = TestBed::start_with(agent::Config {
        max_queries: 1,
        ..settings()
    })
    .await;
    let mut page = bed.connect_page().await;
    page.send_json(
        json!({ "type": "query", "uuid": UUID, "prompt": "/add_card {}", "context": [] }),
    )
    .await;
    let call = page.recv_call().await;
    let request = |uuid: &str| streaming(as_bridge(bed.put(uuid, &prompt("hello"))));
    assert_eq!(status_and_body(request(UUID)).await.0, 409);
    let refused = request("another").send().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    page.respond(&call, json!(1)).await;
    bed.wait_for_running(0).await;
    EventStream::open(request("another")).await.last().await;
}

#[tokio::test]
async fn bodies_of_a_frontend_have_a_share_of_the_memory() {
    let bed = TestBed::start_with(agent::Config {
        max_all_body_bytes: 8_000,
        ..settings()
    })
    .await;
    let body = prompt(&"x".repeat(1_000));
    for _ in 0..2 {
        let request = bed.put(UUID, &body).bearer_auth("token-of-nobody-known");
        let (status, refused) = status_and_body(streaming(request)).await;
        assert_eq!(
            (status, &refused["error"]),
            (429, &json!("QueryLimitExceeded"))
        );
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("max_all_body_bytes"), "{message}");
    }
    // The bridge has all that frontends do not use, and a refusal uses nothing.
    let request = as_bridge(bed.put(UUID, &prompt(&"x".repeat(7_000))));
    assert_eq!(status_and_body(request).await.0, 200);
}

#[tokio::test]
async fn a_body_with_too_many_values_is_refused_before_it_is_parsed() {
    let bed = TestBed::start().await;
    let values = "{},".repeat(100_001);
    let body = format!(
        "{{\"prompt\": \"x\", \"context\": [{}]",
        values.trim_end_matches(',')
    );
    let request = http_client().put(bed.agent.url()).body(body);
    let (status, refused) = status_and_body(as_bridge(request)).await;
    assert_eq!(status, 400);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("JSON values"), "{message}");
}

#[tokio::test]
async fn a_body_that_is_too_large_or_not_a_query_is_refused() {
    let bed = TestBed::start_with(agent::Config {
        max_body_bytes: 1000,
        ..settings()
    })
    .await;
    let large = as_bridge(bed.put(UUID, &prompt(&"x".repeat(1001))));
    let (status, refused) = status_and_body(large).await;
    assert_eq!(
        (status, &refused["error"]),
        (413, &json!("RequestTooLarge"))
    );
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("max_body_bytes"), "{message}");
    // A body in chunks has no content length.
    let chunks = (0..11).map(|_| Ok::<_, std::io::Error>(vec![b'x'; 100]));
    let chunks = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
    let request = http_client().put(format!("{}/{UUID}", bed.agent.url()));
    assert_eq!(
        status_and_body(as_bridge(request).body(chunks)).await.0,
        413
    );
    for body in [
        "",
        "[]",
        "{\"prompt\": 5}",
        "{\"type\": \"query_cancel\", \"prompt\": \"\"}",
    ] {
        let request = http_client().put(bed.agent.url()).body(body);
        let (status, refused) = status_and_body(as_bridge(request)).await;
        assert_eq!(
            (status, &refused["error"]),
            (400, &json!("ProtocolViolation")),
            "{body}"
        );
    }
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_uuid_that_is_not_utf_8_is_refused() {
    let bed = TestBed::start().await;
    for method in [Method::PUT, Method::DELETE] {
        let url = format!("{}/%ff", bed.agent.url());
        let request = http_client().request(method, url).json(&prompt("hello"));
        let (status, refused) = status_and_body(as_bridge(request)).await;
        assert_eq!(
            (status, &refused["error"]),
            (400, &json!("ProtocolViolation")),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_request_head_over_the_limits_is_431() {
    let agent = agent::bind(settings()).await.unwrap();
    let agent = agent.serve("http://127.0.0.1:9").unwrap();
    let long = format!("large: {}\r\n", "x".repeat(65_536));
    for headers in [long, "many: 1\r\n".repeat(100)] {
        let mut socket = TcpStream::connect(agent.local_addr()).await.unwrap();
        let head = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
        // The agent may not read the complete head.
        let _ = socket.write_all(head.as_bytes()).await;
        let mut response = Vec::new();
        let _ = with_deadline("response", socket.read_to_end(&mut response)).await;
        let response = String::from_utf8_lossy(&response);
        assert!(response.starts_with("HTTP/1.1 431"), "{response}");
    }
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_on_every_route() {
    let bed = TestBed::start().await;
    let root = format!("http://{}", bed.agent.local_addr());
    for (method, path) in [
        (Method::PUT, "/query"),
        (Method::PUT, "/query/a"),
        (Method::DELETE, "/query/a"),
        (Method::OPTIONS, "/query"),
        (Method::GET, "/healthz"),
        (Method::GET, "/nothing"),
    ] {
        for (name, value, code) in [
            ("host", "evil.example", "HostNotAllowed"),
            ("origin", "https://evil.example", "OriginNotAllowed"),
            ("origin", "http://localhost:5173", "OriginNotAllowed"),
            ("origin", "null", "OriginNotAllowed"),
        ] {
            let request = http_client().request(method.clone(), format!("{root}{path}"));
            let (status, refused) = status_and_body(as_bridge(request).header(name, value)).await;
            assert_eq!(
                (status, &refused["error"]),
                (403, &json!(code)),
                "{method} {path} {name}: {value}"
            );
        }
    }
}

#[tokio::test]
async fn allowed_origins_get_cors_headers() {
    let bed = TestBed::start_with(agent::Config {
        allowed_origins: vec!["https://app.example.com".to_owned()],
        ..settings()
    })
    .await;
    let preflight = http_client().request(Method::OPTIONS, bed.agent.url());
    let preflight = preflight
        .header("origin", "https://app.example.com")
        .header("access-control-request-method", "PUT")
        .header(
            "access-control-request-headers",
            "authorization,content-type",
        );
    let allowed = preflight.send().await.unwrap();
    assert_eq!(allowed.status(), 200);
    let header = |name: &str| allowed.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(
        header("access-control-allow-origin"),
        "https://app.example.com"
    );
    assert!(header("access-control-allow-methods").contains("PUT"));
    assert!(header("access-control-allow-headers").contains("authorization"));
    let request = bed.put(UUID, &prompt("hello"));
    let request = request.header("origin", "https://app.example.com");
    let refused = request.send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert_eq!(
        refused.headers()["access-control-allow-origin"],
        "https://app.example.com"
    );
}

#[tokio::test]
async fn unknown_routes_and_methods_are_refused_with_the_existing_ones() {
    let bed = TestBed::start().await;
    let root = format!("http://{}", bed.agent.local_addr());
    for (method, path, status, allowed) in [
        (Method::GET, "/query/a", 405, Some("PUT,DELETE")),
        (Method::POST, "/query", 405, Some("PUT")),
        (Method::POST, "/elsewhere", 404, None),
    ] {
        let request = http_client().request(method, format!("{root}{path}"));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        let allow = response.headers().get("allow");
        assert_eq!(allow.map(|it| it.to_str().unwrap()), allowed, "{path}");
        let refused = response.json::<Value>().await.unwrap();
        assert_eq!(refused["error"], "UnknownMethod");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("PUT /query/{uuid}"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_too_slowly_is_refused() {
    let bed = TestBed::start().await;
    let mut socket = TcpStream::connect(bed.agent.local_addr()).await.unwrap();
    let request = format!(
        "PUT /query HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         content-length: 100000\r\n\r\n{{"
    );
    let started = Instant::now();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    let read = with_deadline(
        "end of the connection",
        socket.read_to_string(&mut response),
    );
    read.await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 15);
    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
    assert!(response.contains("RequestTimeout"), "{response}");
}
