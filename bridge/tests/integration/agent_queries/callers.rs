//! The description of the caller that agents receive.

use bridge::ServerHandle;
use bridge_protocol::{MAX_QUERY_CALLER_BYTES, QUERY_CALLER_HEADER, QueryCaller};
use reqwest::Method;
use serde_json::{Value, json};

use super::query_message;
use crate::kit::mock_agent::{MockAgent, UUID, send_for_json};
use crate::kit::*;

const ORIGIN: &str = "http://localhost:5173";

/// Connects a page of this app.
async fn connect_app(bridge: &ServerHandle, session: &str, token: &str, app: Value) -> Page {
    let mut page = Page::open(bridge, session, Some(ORIGIN)).await;
    let message = json!({ "type": "authenticate", "protocol": 2, "authToken": token,
        "sessionId": session, "origin": "https://claimed.example", "app": app });
    page.send_json(message).await;
    page.recv_authenticated().await;
    page
}

/// Sends a query from a page of this app, and returns the caller that the agent receives.
async fn ask(
    agent: &mut MockAgent,
    bridge: &ServerHandle,
    session: &str,
    token: &str,
    app: Value,
) -> QueryCaller {
    let mut page = connect_app(bridge, session, token, app).await;
    // A query of another user with the same id would be refused.
    let uuid = format!("{session}-{}", &token[9..13]);
    page.send_json(query_message(&uuid)).await;
    let request = loop {
        let request = agent.next_request().await;
        // The end of an earlier query, whose page has left.
        if request.method != Method::DELETE {
            break request;
        }
    };
    let header = request.headers[QUERY_CALLER_HEADER].to_str().unwrap();
    assert!(header.len() <= MAX_QUERY_CALLER_BYTES, "{}", header.len());
    let caller = request.caller();
    assert!(!format!("{caller:?}").contains(token));
    request.respond(200);
    caller
}

#[tokio::test]
async fn an_agent_receives_the_user_and_the_app_of_a_query() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent.config()).await;
    let todo = json!({ "name": "todo", "description": "Lists of things" });
    let one = ask(&mut agent, &bridge, "one", TOKEN, todo.clone()).await;
    let expected = QueryCaller {
        user: one.user.clone(),
        sub: None,
        roles: Vec::new(),
        self_made: true,
        app: "todo".to_owned(),
        app_description: Some("Lists of things".to_owned()),
        origin: Some(ORIGIN.to_owned()),
        session: "one".into(),
    };
    assert_eq!(one, expected);
    let notes = json!({ "name": "notes" });
    let other_app = ask(&mut agent, &bridge, "two", TOKEN, notes).await;
    let expected = QueryCaller {
        app: "notes".to_owned(),
        app_description: None,
        session: "two".into(),
        ..expected
    };
    assert_eq!(other_app, expected);
    let other_user = ask(&mut agent, &bridge, "one", OTHER_TOKEN, todo.clone()).await;
    assert_ne!(other_user.user, one.user);
    assert_eq!((other_user.app, other_user.session), (one.app, one.session));
    // The user is the same at another bridge, as after a restart. There the token is listed: it is
    // not one that a page has generated.
    let mut config = agent.config();
    config.tokens.tokens = vec![TOKEN.to_owned()];
    let other_bridge = start_bridge_with(config).await;
    let again = ask(&mut agent, &other_bridge, "three", TOKEN, todo).await;
    assert_eq!((again.user, again.self_made), (one.user, false));
}

#[tokio::test]
async fn endless_names_of_an_app_are_truncated_for_the_agent() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent.config()).await;
    let app = json!({ "name": "\"".repeat(4_000), "description": "é".repeat(15_000) });
    let caller = ask(&mut agent, &bridge, "one", TOKEN, app).await;
    assert!(caller.app.ends_with('…') && caller.app.len() > 80);
    let description = caller.app_description.unwrap();
    assert!(description.ends_with('…') && description.len() > 700);
}

#[tokio::test]
async fn a_page_without_an_app_has_an_empty_name() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent.config()).await;
    let caller = ask(&mut agent, &bridge, "one", TOKEN, Value::Null).await;
    assert_eq!((&*caller.app, caller.app_description), ("", None));
}

#[tokio::test]
async fn the_agent_of_a_direct_query_receives_the_same() {
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent.config()).await;
    let todo = json!({ "name": "todo", "description": "Lists of things" });
    let mut page = connect_app(&bridge, "one", TOKEN, todo).await;
    page.send_json(query_message(UUID)).await;
    let request = agent.next_request().await;
    let expected = request.caller();
    request.respond(200);
    let open = http_client().put(format!("{}/query/direct", bridge.url()));
    let open = open.bearer_auth(TOKEN).json(&json!({}));
    let (status, answer) = send_for_json(open).await;
    assert_eq!(status, 200, "{answer}");
    let caller: QueryCaller = serde_json::from_value(answer["caller"].clone()).unwrap();
    assert_eq!(caller, expected);
}
