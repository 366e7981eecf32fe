//! Who and what is refused, and in which words.

use reqwest::Method;
use serde_json::json;

use crate::kit::*;

#[tokio::test]
async fn who_shows_nothing_or_something_wrong_is_told_what_to_show() {
    let world = TestBed::start().await;
    let ask = || world.put(UUID, &prompt("hello"));
    let (status, missing) = status_and_body(ask()).await;
    assert_eq!(
        (status, &missing["error"], &missing["code"]),
        (
            401,
            &json!("MissingAuthentication"),
            &json!("MissingAuthentication")
        )
    );
    let response = ask().send().await.unwrap();
    assert!(response.headers().contains_key("www-authenticate"));

    let wrong = ask().bearer_auth("credential-of-somebody-else-00001");
    let wrong = wrong.header("mcp-web-query-token", "mcp-web-query-of-nobody");
    let (status, wrong) = status_and_body(wrong).await;
    assert_eq!(
        (status, &wrong["error"]),
        (401, &json!("InvalidAuthentication"))
    );
    let message = wrong["message"].as_str().unwrap();
    assert!(message.contains("MCP_WEB_AGENT_TOKEN"), "{message}");

    let (status, without) = status_and_body(ask().bearer_auth(CREDENTIAL)).await;
    assert_eq!(status, 400);
    let message = without["message"].as_str().unwrap();
    assert!(message.contains("Mcp-Web-Query-Token"), "{message}");
    world.wait_for_running(0).await;
}

#[tokio::test]
async fn a_uuid_is_asked_once() {
    let world = TestBed::start().await;
    let ask = || streaming(as_bridge(world.put(UUID, &prompt("hello"))));
    let ended = EventStream::open(ask()).await.collect().await;
    // No bridge knows its token.
    assert_eq!(ended[1]["code"], "BridgeUnavailable", "{ended:?}");
    assert_eq!(ended.len(), 2);
    world.wait_for_running(0).await;
    let (status, again) = status_and_body(ask()).await;
    assert_eq!((status, &again["error"]), (409, &json!("QueryCompleted")));
}

#[tokio::test]
async fn a_running_query_is_not_asked_again_and_a_query_too_many_is_refused() {
    let world = TestBed::start_with(agent::Config {
        max_queries: 1,
        ..settings()
    })
    .await;
    let mut page = world.connect_page().await;
    page.send_json(
        json!({ "type": "query", "uuid": UUID, "prompt": "/add_card {}", "context": [] }),
    )
    .await;
    let call = page.recv_call().await;
    let ask = |uuid: &str| streaming(as_bridge(world.put(uuid, &prompt("hello"))));
    assert_eq!(status_and_body(ask(UUID)).await.0, 409);
    let refused = ask("another").send().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    page.answer(&call, json!(1)).await;
    world.wait_for_running(0).await;
    EventStream::open(ask("another")).await.last().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_or_no_query_is_refused() {
    let world = TestBed::start_with(agent::Config {
        max_body_bytes: 1000,
        ..settings()
    })
    .await;
    let ask =
        |text: String| status_and_body(as_bridge(world.put(UUID, &json!({ "prompt": text }))));
    let (status, large) = ask("x".repeat(1001)).await;
    assert_eq!((status, &large["error"]), (413, &json!("RequestTooLarge")));
    let message = large["message"].as_str().unwrap();
    assert!(message.contains("max_body_bytes"), "{message}");
    // In pieces, without saying how much it is.
    let pieces = (0..11).map(|_| Ok::<_, std::io::Error>(vec![b'x'; 100]));
    let pieces = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    let request = http_client().put(format!("{}/{UUID}", world.agent.url()));
    assert_eq!(
        status_and_body(as_bridge(request).body(pieces)).await.0,
        413
    );
    for body in [
        "",
        "[]",
        "{\"prompt\": 5}",
        "{\"type\": \"query_cancel\", \"prompt\": \"\"}",
    ] {
        let request = http_client().put(world.agent.url()).body(body);
        let (status, refused) = status_and_body(as_bridge(request)).await;
        assert_eq!(
            (status, &refused["error"]),
            (400, &json!("ProtocolViolation")),
            "{body}"
        );
    }
    world.wait_for_running(0).await;
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_on_every_route() {
    let world = TestBed::start().await;
    let root = format!("http://{}", world.agent.local_addr());
    for (method, path) in [
        (Method::PUT, "/query"),
        (Method::PUT, "/query/a"),
        (Method::DELETE, "/query/a"),
        (Method::OPTIONS, "/query"),
        (Method::GET, "/healthz"),
        (Method::GET, "/nothing"),
    ] {
        for (name, value) in [
            ("host", "evil.example"),
            ("origin", "https://evil.example"),
            ("origin", "http://localhost:5173"),
            ("origin", "null"),
        ] {
            let request = http_client().request(method.clone(), format!("{root}{path}"));
            let (status, refused) = status_and_body(as_bridge(request).header(name, value)).await;
            assert_eq!(
                (status, &refused["error"]),
                (403, &json!("OriginNotAllowed")),
                "{method} {path} {name}: {value}"
            );
        }
    }
}

#[tokio::test]
async fn allowed_origins_get_what_browsers_look_for_and_no_others() {
    let world = TestBed::start_with(agent::Config {
        allowed_origins: vec!["https://app.example.com".to_owned()],
        ..settings()
    })
    .await;
    let preflight = http_client().request(Method::OPTIONS, world.agent.url());
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
    let asked = world.put(UUID, &prompt("hello"));
    let asked = asked.header("origin", "https://app.example.com");
    let refused = asked.send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert_eq!(
        refused.headers()["access-control-allow-origin"],
        "https://app.example.com"
    );
}

#[tokio::test]
async fn other_routes_and_methods_name_those_that_there_are() {
    let world = TestBed::start().await;
    let root = format!("http://{}", world.agent.local_addr());
    for (method, path) in [(Method::GET, "/query/a"), (Method::POST, "/elsewhere")] {
        let request = http_client().request(method, format!("{root}{path}"));
        let (status, refused) = status_and_body(request).await;
        assert_eq!((status, &refused["error"]), (404, &json!("UnknownMethod")));
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("PUT /query/{uuid}"), "{message}");
    }
}
