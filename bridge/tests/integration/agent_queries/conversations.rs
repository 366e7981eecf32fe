//! The conversations with the agent, which frontends read and delete through the bridge.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use bridge::{Config, ServerHandle};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::start_query_with;
use crate::kit::mock_agent::{MockAgent, send_for_json};
use crate::kit::*;

const SECRET: &str = "an-agent-secret-of-32-characters";

fn config(agent: &MockAgent) -> Config {
    let mut config = agent.config();
    config.agent.agent_token = Some(SECRET.parse().unwrap());
    config
}

fn request_as(bridge: &ServerHandle, token: &str, method: Method, path: &str) -> RequestBuilder {
    let url = format!("{}/conversations{path}", bridge.url());
    http_client().request(method, url).bearer_auth(token)
}

fn request(bridge: &ServerHandle, path: &str) -> RequestBuilder {
    request_as(bridge, TOKEN, Method::GET, path)
}

/// Starts a bridge with one page.
async fn start(agent: &MockAgent) -> (ServerHandle, Page) {
    let bridge = start_bridge_with(config(agent)).await;
    let page = Page::with_app(&bridge, "one", "todo", &[echo_tool()]).await;
    (bridge, page)
}

#[tokio::test]
async fn requests_for_conversations_are_forwarded_with_the_caller() {
    let mut agent = MockAgent::start().await;
    let (bridge, _page) = start(&agent).await;
    let list = json!({ "conversations": [{ "id": "c-1", "title": "Two cards" }] });
    let one = json!({ "id": "c-1", "messages": [] });
    for (method, path, forwarded, status, body) in [
        (Method::GET, "", "/conversations", 200, list),
        (Method::GET, "/c-1", "/conversations/c-1", 200, one),
        (
            Method::DELETE,
            "/c-1",
            "/conversations/c-1",
            204,
            Value::Null,
        ),
        (
            Method::GET,
            "/a%2Fb%3F%25",
            "/conversations/a%2Fb%3F%25",
            404,
            json!({ "error": "ConversationNotFound", "message": "there is no such conversation" }),
        ),
        (
            Method::GET,
            "",
            "/conversations",
            503,
            json!({ "error": "AgentUnavailable", "message": "the agent is shutting down" }),
        ),
    ] {
        let sent = send_for_json(request_as(&bridge, TOKEN, method.clone(), path));
        let answer_agent = async {
            let request = agent.next_request().await;
            assert_eq!((&request.method, &*request.path), (&method, forwarded));
            assert_eq!(request.headers["authorization"], format!("Bearer {SECRET}"));
            assert!(!format!("{:?}", request.headers).contains(TOKEN));
            let caller = request.caller();
            let named = (&*caller.app, caller.session.as_str(), caller.self_made);
            assert_eq!(named, ("todo", "one", true));
            let status = StatusCode::from_u16(status).unwrap();
            match &body {
                Value::Null => request.respond_with(status),
                body => request.respond_with((status, Json(body.clone()))),
            }
            caller
        };
        let (received, _caller) = tokio::join!(sent, answer_agent);
        assert_eq!(received, (status, body));
    }
}

#[tokio::test]
async fn users_and_apps_have_separate_conversations() {
    let mut agent = MockAgent::start().await;
    let (bridge, _page) = start(&agent).await;
    let _notes = Page::with_app(&bridge, "two", "notes", &[echo_tool()]).await;
    let tools = [echo_tool()];
    let _other = Page::with_app_and_token(OTHER_TOKEN, &bridge, "one", "todo", &tools).await;
    let mut callers = Vec::new();
    for (token, path) in [
        (TOKEN, "?sessionId=one"),
        (TOKEN, "?sessionId=two"),
        (OTHER_TOKEN, ""),
    ] {
        let sent = send_for_json(request_as(&bridge, token, Method::GET, path));
        let answer_agent = async {
            let request = agent.next_request().await;
            let caller = request.caller();
            assert_eq!(request.path, "/conversations");
            request.respond_with(Json(json!({ "conversations": [] })));
            (caller.user, caller.app)
        };
        let (received, caller) = tokio::join!(sent, answer_agent);
        assert_eq!(received.0, 200);
        callers.push(caller);
    }
    assert_eq!(callers[0].0, callers[1].0);
    assert_ne!(callers[0].0, callers[2].0);
    let apps: Vec<_> = callers.iter().map(|(_, app)| app.as_str()).collect();
    assert_eq!(apps, ["todo", "notes", "todo"]);
}

#[tokio::test]
async fn refused_requests_for_conversations_state_the_reason() {
    let agent = MockAgent::start().await;
    let bridge = start_bridge_with(config(&agent)).await;
    let refused = async |request: RequestBuilder, status: u16, code: &str| {
        let (actual, answer) = send_for_json(request).await;
        let error = answer["error"].as_str().unwrap_or_default();
        assert_eq!((actual, error), (status, code), "{answer}");
        let message = answer["message"].as_str().unwrap().to_owned();
        assert!(message.len() > 20, "{message}");
        message
    };
    refused(request(&bridge, ""), 404, "NoSessionsFound").await;
    let _one = Page::connect(&bridge, "one", TOKEN).await;
    let _two = Page::connect(&bridge, "two", TOKEN).await;
    let _foreign = Page::connect(&bridge, "three", OTHER_TOKEN).await;
    refused(request(&bridge, ""), 400, "SessionNotSpecified").await;
    let foreign = request(&bridge, "?sessionId=three");
    refused(foreign, 404, "SessionNotFound").await;
    let url = format!("{}/conversations", bridge.url());
    refused(http_client().get(&url), 401, "MissingAuthentication").await;
    for id in ["a%20b", "%C3%A9", &"c".repeat(65)] {
        let path = format!("/{id}?sessionId=one");
        let message = refused(request(&bridge, &path), 400, "ProtocolViolation").await;
        assert!(message.contains("visible ASCII"), "{message}");
    }
    // Clients resolve dots themselves, so that only a raw request has them.
    let raw = format!(
        "DELETE /conversations/%2E%2E?sessionId=one HTTP/1.1\r\nhost: localhost\r\n\
         authorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n"
    );
    let response = raw_http::read_to_end(raw_http::connect_and_send(&bridge, &raw).await).await;
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    let evil = request(&bridge, "?sessionId=one").header("origin", "https://evil.example");
    refused(evil, 403, "OriginNotAllowed").await;
    let evil = request(&bridge, "?sessionId=one").header("host", "evil.example");
    refused(evil, 403, "HostNotAllowed").await;
    assert!(agent.is_idle());

    let without_agent = start_bridge().await;
    let _page = Page::connect(&without_agent, "one", TOKEN).await;
    let message = refused(request(&without_agent, ""), 501, "AgentNotConfigured").await;
    assert!(message.contains("agent_url"), "{message}");
}

#[tokio::test]
async fn the_token_of_a_query_does_not_open_conversations() {
    let (bridge, agent, _page, query) = start_query_with(json!({}), |_| {}).await;
    let token = query.token.as_deref().unwrap();
    for (method, path) in [
        (Method::GET, ""),
        (Method::GET, "/c-1"),
        (Method::DELETE, "/c-1"),
    ] {
        let sent = request_as(&bridge, token, method, path);
        let (status, answer) = send_for_json(sent).await;
        assert_eq!(status, 403);
        assert_eq!(answer["error"], "InsufficientScope");
    }
    assert!(agent.is_idle());
}

#[tokio::test]
async fn an_allowed_origin_reads_conversations_with_cors() {
    let mut agent = MockAgent::start().await;
    let (bridge, _page) = start(&agent).await;
    let origin = "http://localhost:5173";
    let url = format!("{}/conversations/c-1", bridge.url());
    let preflight = http_client()
        .request(Method::OPTIONS, url)
        .header("origin", origin)
        .header("access-control-request-method", "DELETE")
        .header("access-control-request-headers", "authorization");
    let response = preflight.send().await.unwrap();
    let headers = response.headers();
    assert_eq!(headers["access-control-allow-origin"], origin);
    let methods = headers["access-control-allow-methods"].to_str().unwrap();
    assert!(methods.contains("DELETE"), "{methods}");
    let sent = request(&bridge, "").header("origin", origin).send();
    let answer_agent = async {
        let request = agent.next_request().await;
        assert_eq!(request.caller().origin.as_deref(), Some(origin));
        request.respond_with(Json(json!({ "conversations": [] })));
    };
    let (response, ()) = tokio::join!(sent, answer_agent);
    let response = response.unwrap();
    let headers = response.headers();
    assert_eq!(headers["access-control-allow-origin"], origin);
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["cache-control"], "no-store");
}

#[tokio::test]
async fn answers_that_are_not_for_the_frontend_become_errors_of_the_bridge() {
    let mut agent = MockAgent::start().await;
    let (bridge, _page) = start(&agent).await;
    let unauthorized = json!({ "error": "InvalidAuthentication", "message": "no" });
    let too_large = "x".repeat(8 * 1024 * 1024 + 1);
    let json = [("content-type", "application/json")];
    for (response, status, code, words) in [
        (
            StatusCode::NOT_FOUND.into_response(),
            404,
            "UnknownMethod",
            "keeps no conversations",
        ),
        (
            (
                StatusCode::NOT_FOUND,
                Json(json!({ "detail": "Not Found" })),
            )
                .into_response(),
            404,
            "UnknownMethod",
            "keeps no conversations",
        ),
        (
            (StatusCode::UNAUTHORIZED, Json(unauthorized)).into_response(),
            502,
            "AgentUnavailable",
            "agent_token",
        ),
        ("<html>".into_response(), 502, "AgentFailed", "JSON"),
        (
            StatusCode::TEMPORARY_REDIRECT.into_response(),
            502,
            "AgentFailed",
            "307",
        ),
        (
            StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            502,
            "AgentFailed",
            "500",
        ),
        (
            (json, too_large).into_response(),
            502,
            "AgentFailed",
            "8388608 bytes",
        ),
    ] {
        let sent = send_for_json(request(&bridge, "/c-1"));
        let answer_agent = async { agent.next_request().await.respond_with(response) };
        let ((actual, answer), ()) = tokio::join!(sent, answer_agent);
        let error = answer["error"].as_str().unwrap_or_default();
        assert_eq!((actual, error), (status, code), "{answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    }
    // An answer of the largest size passes.
    let largest = "x".repeat(8 * 1024 * 1024 - 2);
    let sent = send_for_json(request(&bridge, "/c-1"));
    let answer_agent = async { agent.next_request().await.respond_with(Json(largest)) };
    let ((status, _), ()) = tokio::join!(sent, answer_agent);
    assert_eq!(status, 200);
}

#[tokio::test]
async fn an_agent_that_does_not_answer_in_time_is_an_error() {
    let mut agent = MockAgent::start().await;
    let mut config = config(&agent);
    config.agent.agent_timeout = Duration::from_millis(100);
    let bridge = start_bridge_with(config).await;
    let _page = Page::connect(&bridge, "one", TOKEN).await;
    // On a busy machine, the time is over before the agent has received anything.
    let unanswered = async {
        let _request = agent.next_request().await;
        std::future::pending().await
    };
    let (status, answer) = tokio::select! {
        sent = send_for_json(request(&bridge, "")) => sent,
        never = unanswered => never,
    };
    assert_eq!(
        (status, &answer["error"]),
        (502, &json!("AgentUnavailable"))
    );
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("within 100ms"), "{message}");
}

#[tokio::test]
async fn requests_for_conversations_of_a_token_are_limited() {
    let mut agent = MockAgent::start().await;
    let (bridge, _page) = start(&agent).await;
    let tools = [echo_tool()];
    let _other = Page::with_app_and_token(OTHER_TOKEN, &bridge, "one", "todo", &tools).await;
    let mut waiting = Vec::new();
    let mut running = Vec::new();
    for _ in 0..16 {
        waiting.push(tokio::spawn(send_for_json(request(&bridge, ""))));
        running.push(agent.next_request().await);
    }
    let (status, answer) = send_for_json(request(&bridge, "")).await;
    assert_eq!(
        (status, &answer["error"]),
        (429, &json!("QueryLimitExceeded"))
    );
    // Another token has its own requests.
    let other = send_for_json(request_as(&bridge, OTHER_TOKEN, Method::GET, ""));
    let answer_agent = async { agent.next_request().await.respond_with(Json(json!({}))) };
    let (other, ()) = tokio::join!(other, answer_agent);
    assert_eq!(other.0, 200);
    for request in running {
        request.respond_with(Json(json!({})));
    }
    for request in waiting {
        assert_eq!(request.await.unwrap().0, 200);
    }
    let again = send_for_json(request(&bridge, ""));
    let answer_agent = async { agent.next_request().await.respond_with(Json(json!({}))) };
    let (again, ()) = tokio::join!(again, answer_agent);
    assert_eq!(again.0, 200);
}
