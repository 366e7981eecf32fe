//! Refusals of the bridge are logged and counted by their kind.

use std::time::Duration;

use bridge::{HttpTimeouts, PageLimits};
use bridge_output::CapturedLog;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::kit::raw_http::{connect_and_send, read_to_end};
use crate::kit::{
    ConnectPage, McpClient, OTHER_TOKEN, Page, TOKEN, echo_tool, http_client, initialize_request,
    recv_retry, start_bridge_with, with_deadline,
};
use crate::metrics::{config_with_metrics, scrape};

/// The numbers of refusals, without the kinds of which there are none.
async fn refusals(bridge: &bridge::ServerHandle) -> Vec<(String, f64)> {
    let series = scrape(bridge).await.into_iter();
    let refusals = series.filter_map(|(name, count)| {
        let kind = name.strip_prefix("mcp_web_refusals_total{kind=\"")?;
        Some((kind.strip_suffix("\"}")?.to_owned(), count))
    });
    refusals.filter(|(_, count)| *count > 0.0).collect()
}

/// The kinds of the lines about refusals, with what follows them.
fn lines(log: &str) -> impl Iterator<Item = (&str, &str)> {
    log.lines().filter_map(|line| {
        let (level, refused) = line.split_once(" bridge::refusals: refused kind=\"")?;
        let refused = refused.split_once("\" ")?;
        let is_ordinary = ["missing_token", "expired_token"].contains(&refused.0);
        assert_eq!(level.trim(), if is_ordinary { "DEBUG" } else { "WARN" });
        Some(refused)
    })
}

/// Returns the text after the kind in its first line.
fn first_line<'a>(log: &'a str, kind: &str) -> &'a str {
    let found = lines(log).find(|(other, _)| *other == kind);
    found.unwrap_or_else(|| panic!("no {kind}: {log}")).1
}

#[tokio::test]
async fn refused_requests_are_logged_and_counted_without_their_token() {
    let (log, _guard) = CapturedLog::start();
    let mut config = config_with_metrics();
    config.tokens.tokens = vec![TOKEN.to_owned()];
    config.network.max_request_bytes = 1000;
    let bridge = start_bridge_with(config).await;
    let post = |path: &str| http_client().post(format!("{}{path}", bridge.url()));
    let long = "x".repeat(2000);
    for (request, status) in [
        (post("/mcp").header("host", "evil.example"), 403),
        (post("/mcp").header("host", "evil.example"), 403),
        (
            post("/sessions").header("origin", "https://evil.example"),
            403,
        ),
        (post("/mcp"), 401),
        (post("/tool-call").bearer_auth(OTHER_TOKEN), 401),
        (post("/mcp").bearer_auth(TOKEN).body(long), 413),
    ] {
        let response = with_deadline("response", request.send()).await.unwrap();
        assert_eq!(response.status(), status);
    }
    let mut page = Page::open(&bridge, "s", Some("https://evil.example")).await;
    page.recv_authentication_failure().await;
    let mut page = Page::open(&bridge, "s", None).await;
    page.authenticate("s", OTHER_TOKEN).await;
    page.recv_authentication_failure().await;

    let counted = refusals(&bridge).await;
    let expected = [
        ("body_too_large", 1.0),
        ("foreign_host", 2.0),
        ("foreign_origin", 2.0),
        ("invalid_token", 2.0),
        ("missing_token", 1.0),
    ];
    assert_eq!(
        counted,
        expected.map(|(kind, count)| (kind.to_owned(), count))
    );
    let text = log.text();
    for (kind, rest) in [
        (
            "foreign_host",
            "route=\"/mcp\" reason=\"the host \\\"evil.example\\\"",
        ),
        ("foreign_origin", "route=\"/sessions\""),
        ("missing_token", "route=\"/mcp\""),
        ("invalid_token", "route=\"/tool-call\""),
        ("body_too_large", "route=\"/mcp\""),
    ] {
        let line = first_line(&text, kind);
        let beginning = format!("address=127.0.0.1 {rest}");
        assert!(line.starts_with(&beginning), "{line}");
        assert!(line.ends_with(" suppressed=0"), "{line}");
    }
    assert!(
        !text.contains(OTHER_TOKEN) && !text.contains(TOKEN),
        "{text}"
    );
}

#[tokio::test]
async fn refused_messages_of_pages_and_slow_clients_are_logged_and_counted() {
    let (log, _guard) = CapturedLog::start();
    let mut config = config_with_metrics();
    config.tokens.tokens = vec![TOKEN.to_owned()];
    config.page_limits = PageLimits {
        max_definitions: 1,
        ..PageLimits::default()
    };
    config.http_timeouts = HttpTimeouts {
        request_body_progress_within: Duration::from_millis(50),
        ..HttpTimeouts::default()
    };
    let bridge = start_bridge_with(config).await;
    let mut unknown = Page::open(&bridge, "unknown", None).await;
    unknown.send_text("no JSON").await;
    unknown.recv_close().await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let other_tool = json!({ "name": "other", "inputSchema": { "type": "object" } });
    let registered = page.register(&[echo_tool(), other_tool]).await;
    assert_eq!(registered.errors.len(), 1);
    page.renew(OTHER_TOKEN).await.unwrap_err();
    page.send_text(format!("not JSON, but {OTHER_TOKEN}")).await;
    page.recv_close().await;
    let slow = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: 4000\r\n\r\n{{"
    );
    let response = read_to_end(connect_and_send(&bridge, &slow).await).await;
    assert!(response.starts_with("HTTP/1.1 408"), "{response}");
    let head = format!("GET /{} HTTP/1.1\r\n", "x".repeat(70_000));
    read_to_end(connect_and_send(&bridge, &head).await).await;

    let expected = [
        "body_too_slow",
        "head_too_large",
        "invalid_token",
        "max_definitions",
        "page_handshake",
        "page_message",
    ];
    let counted = refusals(&bridge).await;
    assert_eq!(counted, expected.map(|kind| (kind.to_owned(), 1.0)));
    let text = log.text();
    for kind in expected {
        let line = first_line(&text, kind);
        assert!(line.starts_with("address=127.0.0.1 route="), "{line}");
    }
    assert!(!text.contains(OTHER_TOKEN), "{text}");
}

#[tokio::test]
async fn refusals_by_a_limit_have_the_name_of_its_setting() {
    let (log, _guard) = CapturedLog::start();
    let mut config = config_with_metrics();
    config.tokens.max_realms = Some(1);
    config.page_limits = PageLimits {
        max_sessions: 1,
        ..PageLimits::default()
    };
    config.mcp_sessions.max_clients = 1;
    config.network.max_connections = Some(20);
    config.page_limits.max_pending_pages = Some(1);
    let bridge = start_bridge_with(config).await;
    let _page = Page::connect(&bridge, "first", TOKEN).await;
    for (session, token) in [("second", TOKEN), ("third", OTHER_TOKEN)] {
        let mut rejected = Page::open(&bridge, session, None).await;
        rejected.authenticate(session, token).await;
        recv_retry(&mut rejected).await;
    }
    let mut first = Page::open(&bridge, "a", None).await;
    let mut second = Page::open(&bridge, "b", None).await;
    // Either connection may have been counted first.
    tokio::select! {
        _ = first.recv_close() => {}
        _ = second.recv_close() => {}
    }
    let client = McpClient::connect(&bridge, TOKEN).await;
    let _stream = client.listen().await;
    let initialize = initialize_request(
        "2025-11-25",
        json!({}),
        json!({ "name": "x", "version": "1" }),
    );
    let request = http_client().post(format!("{}/mcp", bridge.url()));
    let request = request.bearer_auth(TOKEN).json(&initialize);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "30");
    let mut connections = Vec::new();
    let refused = async {
        loop {
            let mut connection = TcpStream::connect(bridge.local_addr()).await.unwrap();
            let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
            // A connection that is refused may be closed before the request is written.
            let _ = connection.write_all(request).await;
            let mut status = [0; 12];
            match connection.read_exact(&mut status).await {
                Ok(_) if &status == b"HTTP/1.1 200" => connections.push(connection),
                _ => break,
            }
        }
    };
    with_deadline("refused connection", refused).await;
    connections.truncate(1);

    let text = log.text();
    let mut kinds: Vec<_> = lines(&text).map(|(kind, _)| kind).collect();
    kinds.dedup();
    let expected = [
        "max_sessions",
        "max_realms",
        "max_pending_pages",
        "max_clients",
        "max_connections",
    ];
    assert_eq!(kinds, expected);
}
