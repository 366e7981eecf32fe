//! A frontend asks the agent itself, with the token of its session.

use serde_json::{Value, json};

use crate::kit::*;

#[tokio::test]
async fn a_frontend_is_answered_with_the_tools_of_its_page() {
    let world = TestBed::start().await;
    let mut page = world.connect_page().await;
    let request = world.put(UUID, &prompt("/add_card {\"title\": \"Milk\"}"));
    let mut events = EventStream::open(streaming(request).bearer_auth(TOKEN)).await;
    let accepted = events.next().await.unwrap();
    assert_eq!(accepted, json!({ "type": "query_accepted", "uuid": UUID }));
    let call = page.recv_call().await;
    assert_eq!(call.tool_name, "add_card");
    page.answer(&call, json!({ "id": 7 })).await;
    let mut rest = events.collect().await;
    let last = rest.pop().unwrap();
    assert_eq!(last["type"], "query_complete", "{last}");
    assert!(last["result"].is_string(), "{last}");
    assert_eq!(
        last["toolCalls"][0]["arguments"],
        json!({ "title": "Milk" })
    );
    let kinds: Vec<_> = rest.iter().map(|it| &it["type"]).collect();
    assert!(
        kinds.iter().all(|kind| *kind == "query_progress"),
        "{kinds:?}"
    );
    world.wait_for_running(0).await;
}

#[tokio::test]
async fn a_response_tool_and_restrictions_hold_for_frontends_too() {
    let world = TestBed::start().await;
    let mut page = world.connect_page().await;
    let query = json!({ "prompt": "/add_card {}\n\n/plan {\"n\": 1}", "tools": [],
        "restrictTools": true, "responseTool": { "name": "plan" } });
    let request = world.put(UUID, &query).bearer_auth(TOKEN);
    let events = EventStream::open(streaming(request)).await;
    let call = page.recv_call().await;
    assert_eq!(call.tool_name, "plan");
    page.answer(&call, json!("done")).await;
    let last = events.last().await;
    assert_eq!(last["type"], "query_complete", "{last}");
    assert!(last.get("result").is_none(), "{last}");
    world.wait_for_running(0).await;
}

#[tokio::test]
async fn the_bridge_refuses_in_its_own_words() {
    let world = TestBed::start().await;
    let ask =
        |uuid: &str, token: &str| streaming(world.put(uuid, &prompt("hello"))).bearer_auth(token);
    // No page has this token.
    let (status, refused) = status_and_body(ask(UUID, TOKEN)).await;
    assert!((400..500).contains(&status), "{status}");
    assert!(refused["error"].is_string(), "{refused}");
    world.wait_for_running(0).await;
    // What was refused was not asked.
    let _page = world.connect_page().await;
    let last = EventStream::open(ask(UUID, TOKEN)).await.last().await;
    assert_eq!(last["type"], "query_complete", "{last}");
    let (status, short) = status_and_body(ask("another", "short")).await;
    assert_eq!(
        (status, &short["error"]),
        (401, &json!("InvalidAuthentication"))
    );
}

#[tokio::test]
async fn a_frontend_must_read_events() {
    let world = TestBed::start().await;
    let (status, refused) =
        status_and_body(world.put(UUID, &prompt("hello")).bearer_auth(TOKEN)).await;
    assert_eq!(status, 400);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("text/event-stream"), "{message}");
    world.wait_for_running(0).await;
}

#[tokio::test]
async fn without_a_bridge_a_frontend_hears_so() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let agent = agent::bind(settings()).await.unwrap();
    let agent = agent.serve(&format!("http://{address}")).unwrap();
    let asked = streaming(put(&agent, UUID, &prompt("hello"))).bearer_auth(TOKEN);
    let (status, refused): (u16, Value) = status_and_body(asked).await;
    assert_eq!(
        (status, &refused["error"]),
        (502, &json!("BridgeUnavailable"))
    );
    assert!(!refused.to_string().contains(TOKEN));
}
