//! Each route of the bridge, asked at the owner of a realm and at another bridge.

use bridge::{Config, ServerHandle};
use serde_json::json;

use super::exchange::{RawRequest, RawResponse};
use super::kit::*;
use super::route_table::{OTHER_PATHS, ROUTES};
use crate::kit::mock_agent::MockAgent;
use crate::kit::*;

const MAX_BODY_BYTES: usize = 100_000;

const QUERY: &str = "/query/5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11";

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Variants of a request, and whether one for a realm is passed on. The others are refused by the bridge
/// that receives them.
fn variants(request: &RawRequest) -> Vec<(&'static str, RawRequest, bool)> {
    let with_token = || request.clone().token(TOKEN);
    let mut all = vec![
        ("with a token", with_token(), true),
        ("without a token", request.clone(), false),
        (
            "with a token that is too short",
            request.clone().token("x"),
            false,
        ),
        (
            "with another scheme",
            request.clone().header("authorization", "Basic eA=="),
            false,
        ),
        (
            "of a foreign host",
            with_token().header("host", "evil.example"),
            false,
        ),
        (
            "of a foreign origin",
            with_token().header("origin", "https://evil.example"),
            false,
        ),
        (
            "of an allowed origin",
            with_token().header("origin", "http://localhost:5173"),
            true,
        ),
        (
            "before one of an allowed origin",
            request
                .clone()
                .header("origin", "http://localhost:5173")
                .header("access-control-request-method", "POST")
                .header(
                    "access-control-request-headers",
                    "authorization, mcp-session-id",
                ),
            false,
        ),
        (
            "that upgrades to something else",
            with_token().header("upgrade", "h2c"),
            true,
        ),
    ];
    if request.method != "HEAD" && request.method != "OPTIONS" {
        let long = vec![b'x'; MAX_BODY_BYTES + 1];
        all.extend([
            (
                "with a body that is not JSON",
                with_token().body("{\"a\":"),
                true,
            ),
            ("with an object", with_token().body("{}"), true),
            (
                "with an object in chunks",
                with_token().body("{}").chunked(),
                true,
            ),
            (
                "with a body that is too long",
                with_token().body(long.clone()),
                true,
            ),
            (
                "with chunks that are too long",
                with_token().body(long),
                true,
            ),
        ]);
    }
    all
}

fn config(_: usize, config: &mut Config) {
    config.network.max_request_bytes = MAX_BODY_BYTES;
    // Each variant without a valid token is one.
    config.identity.max_refused_tokens = 1_000_000;
}

/// Sends a request to the owner of its realm and to another bridge, and checks that the responses are the
/// same, and whether the other bridge has passed it on.
async fn assert_same(
    owner: &ServerHandle,
    edge: &ServerHandle,
    request: &RawRequest,
    is_passed_on: bool,
) -> RawResponse {
    let before = forwards(edge, "ok").await;
    let at_owner = request.send(owner.local_addr()).await;
    let at_edge = request.send(edge.local_addr()).await;
    let RawRequest { method, path, .. } = request;
    assert_eq!(at_edge, at_owner, "{method} {path} {:?}", request.headers);
    let passed_on = forwards(edge, "ok").await - before;
    let expected = f64::from(u8::from(is_passed_on));
    assert_eq!(passed_on, expected, "{method} {path} {:?}", request.headers);
    at_owner
}

#[tokio::test]
async fn a_request_to_any_route_is_answered_as_by_the_owner() {
    let bridges = Bridges::start_with(2, config).await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let page = tokio::spawn(async move { page.read_forever().await });
    let rows = ROUTES.iter().map(|row| (row.path, row.belongs_to_realm));
    for (path, belongs_to_realm) in rows.chain(OTHER_PATHS) {
        for method in METHODS {
            for (_, request, is_passed_on) in variants(&RawRequest::new(method, path)) {
                assert_same(owner, edge, &request, belongs_to_realm && is_passed_on).await;
            }
        }
    }
    page.abort();
}

/// The token in the address, which clients without headers use.
#[tokio::test]
async fn requests_that_succeed_have_the_answers_of_the_owner() {
    let bridges = Bridges::start_with(2, config).await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let serve = tokio::spawn(async move {
        loop {
            page.echo_call().await;
        }
    });
    let call = json!({ "toolName": "echo", "toolInput": { "n": 1 } }).to_string();
    for (request, code) in [
        (RawRequest::new("GET", "/sessions"), 200),
        (RawRequest::new("HEAD", "/sessions"), 200),
        (RawRequest::new("GET", "/tools"), 200),
        (
            RawRequest::new("POST", "/tool-call").body(call.clone()),
            200,
        ),
        (
            RawRequest::new("POST", "/tool-call")
                .body(call.clone())
                .chunked(),
            200,
        ),
        (
            RawRequest::new("POST", "/tool-call")
                .body(call)
                .header("origin", "http://localhost:5173"),
            200,
        ),
        (RawRequest::new("GET", "/conversations"), 501),
    ] {
        let answer = assert_same(owner, edge, &request.token(TOKEN), true).await;
        assert_eq!(answer.code(), code, "{answer:?}");
    }
    serve.abort();
}

/// Each bridge has the address of the agent, and the owner of the realm asks it.
#[tokio::test]
async fn queries_and_conversations_of_a_realm_are_at_its_owner() {
    let mut agent = MockAgent::start().await;
    let agent_url = agent.config().agent.agent_url;
    let bridges = Bridges::start_with(2, |_, config| {
        config.agent.agent_url = agent_url.clone();
    })
    .await;
    let (owner, edge) = bridges.owner_and_edge();
    let _page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let mut answers = Vec::new();
    for bridge in [owner, edge] {
        let list = RawRequest::new("GET", "/conversations").token(TOKEN);
        let (list, path) = tokio::join!(list.send(bridge.local_addr()), async {
            let request = agent.next_request().await;
            let path = request.path.clone();
            request.respond_with(axum::Json(json!({ "conversations": [] })));
            path
        });
        assert_eq!(list.code(), 200, "{list:?}");
        answers.push((list, path));
    }
    assert_eq!(answers[0], answers[1]);

    // A query that was opened by way of one bridge is known by way of the other.
    let open = RawRequest::new("PUT", QUERY).token(TOKEN).body("{}");
    let opened = open.send(edge.local_addr()).await;
    assert_eq!(opened.code(), 200, "{opened:?}");
    let again = assert_same(owner, edge, &open, true).await;
    assert!(again.code() >= 400, "{again:?}");
}
