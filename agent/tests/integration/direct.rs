//! Queries that a frontend sends to the agent directly, with the token of its session.

use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::kit::*;

#[tokio::test]
async fn a_frontend_is_answered_with_the_tools_of_its_page() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let request = bed.put(
        UUID,
        &prompt("/add_card {\"title\": \"Milk\u{2028}\u{85}\"}"),
    );
    let mut events = EventStream::open(streaming(request).bearer_auth(TOKEN)).await;
    let accepted = events.next().await.unwrap();
    assert_eq!(accepted, json!({ "type": "query_accepted", "uuid": UUID }));
    let call = page.recv_call().await;
    assert_eq!(call.tool_name, "add_card");
    page.respond(&call, json!({ "id": 7 })).await;
    let mut rest = events.collect().await;
    let last = rest.pop().unwrap();
    assert_eq!(last["type"], "query_complete", "{last}");
    assert!(last["result"].is_string(), "{last}");
    assert_eq!(
        last["toolCalls"][0]["arguments"],
        json!({ "title": "Milk\u{2028}\u{85}" })
    );
    let kinds: Vec<_> = rest.iter().map(|it| &it["type"]).collect();
    assert!(
        kinds.iter().all(|kind| *kind == "query_progress"),
        "{kinds:?}"
    );
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_response_tool_and_restrictions_apply_to_frontends() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let query = json!({ "prompt": "/add_card {}\n\n/plan {\"n\": 1}", "tools": [],
        "restrictTools": true, "responseTool": { "name": "plan" } });
    let request = bed.put(UUID, &query).bearer_auth(TOKEN);
    let events = EventStream::open(streaming(request)).await;
    let call = page.recv_call().await;
    assert_eq!(call.tool_name, "plan");
    page.respond(&call, json!("done")).await;
    let last = events.last().await;
    assert_eq!(last["type"], "query_complete", "{last}");
    assert!(last.get("result").is_none(), "{last}");
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_refusal_of_the_bridge_is_passed_on() {
    let bed = TestBed::start().await;
    let query =
        |uuid: &str, token: &str| streaming(bed.put(uuid, &prompt("hello"))).bearer_auth(token);
    // No page has this token.
    let (status, refused) = status_and_body(query(UUID, TOKEN)).await;
    assert!((400..500).contains(&status), "{status}");
    assert!(refused["error"].is_string(), "{refused}");
    assert_eq!(refused["code"], refused["error"]);
    bed.wait_for_running(0).await;
    // A query that was refused may be sent again with its uuid.
    let _page = bed.connect_page().await;
    let last = EventStream::open(query(UUID, TOKEN)).await.last().await;
    assert_eq!(last["type"], "query_complete", "{last}");
    let (status, refused) = status_and_body(query("another", "short")).await;
    assert_eq!(
        (status, &refused["error"]),
        (401, &json!("InvalidAuthentication"))
    );
}

#[tokio::test]
async fn misspelled_fields_and_empty_prompts_of_frontends_are_refused() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    for (query, part) in [
        (
            json!({ "prompt": "hello", "restricttools": true }),
            "`restricttools`",
        ),
        (json!({ "prompt": "" }), "`prompt`"),
    ] {
        let request = streaming(bed.put(UUID, &query)).bearer_auth(TOKEN);
        let (status, refused) = status_and_body(request).await;
        assert_eq!(
            (status, &refused["code"]),
            (400, &json!("ProtocolViolation"))
        );
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(part), "{message}");
    }
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_frontend_must_read_events() {
    let bed = TestBed::start().await;
    let (status, refused) =
        status_and_body(bed.put(UUID, &prompt("hello")).bearer_auth(TOKEN)).await;
    assert_eq!(status, 400);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("text/event-stream"), "{message}");
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_frontend_gets_an_error_when_the_bridge_is_unreachable() {
    // A bound socket that does not listen refuses connections, and no other test gets its port.
    let closed = TcpSocket::new_v4().unwrap();
    closed.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = closed.local_addr().unwrap();
    let agent = agent::bind(settings()).await.unwrap();
    let agent = agent.serve(&format!("http://{address}")).unwrap();
    let request = streaming(put(&agent, UUID, &prompt("hello"))).bearer_auth(TOKEN);
    let (status, refused): (u16, Value) = status_and_body(request).await;
    assert_eq!(
        (status, &refused["error"]),
        (502, &json!("BridgeUnavailable"))
    );
    assert!(!refused.to_string().contains(TOKEN));
}

/// Reads events until a call waits for approval, and returns the id of the call.
async fn approval_request(events: &mut EventStream, tool: &str) -> String {
    loop {
        let event = events.next().await.unwrap();
        let content = &event["content"];
        if content["type"] == "approval-requested" {
            assert_eq!(content["tool"], tool, "{event}");
            assert_eq!(content["expiresInMs"], 60_000);
            return content["id"].as_str().unwrap().to_owned();
        }
        assert_ne!(
            content["type"], "tool-started",
            "it was not approved: {event}"
        );
    }
}

#[tokio::test]
async fn calls_wait_for_the_approval_of_the_frontend_that_asked() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let query = json!({ "prompt": "/add_card {\"title\": \"A\"}\n\n/add_card {\"title\": \"B\"}\n\n/plan {}",
        "approve": ["add_card"] });
    let request = streaming(bed.put(UUID, &query)).bearer_auth(TOKEN);
    let mut events = EventStream::open(request).await;
    let first = approval_request(&mut events, "add_card").await;
    let answer = |id: &str, token: &str, body: Value| {
        let url = format!("{}/{UUID}/approvals/{id}", bed.agent.url());
        http_client().put(url).bearer_auth(token).json(&body)
    };
    for (id, token, body, status) in [
        (
            &*first,
            "another-token-of-a-page",
            json!({ "approved": true }),
            404,
        ),
        ("99", TOKEN, json!({ "approved": true }), 404),
        (&first, TOKEN, json!({ "approved": "yes" }), 400),
        (&first, TOKEN, json!({ "approved": false }), 204),
        (&first, TOKEN, json!({ "approved": true }), 404),
    ] {
        let response = answer(id, token, body).send().await.unwrap();
        assert_eq!(response.status(), status, "{id}");
    }
    let denied = events.next().await.unwrap();
    assert_eq!(
        (&denied["content"]["type"], &denied["content"]["outcome"]),
        (&json!("tool-finished"), &json!("denied"))
    );
    let second = approval_request(&mut events, "add_card").await;
    let approved = answer(&second, TOKEN, json!({ "approved": true }));
    assert_eq!(approved.send().await.unwrap().status(), 204);
    let call = page.recv_call().await;
    assert_eq!(
        call.tool_input.get(),
        r#"{"title":"B"}"#,
        "the first one was not made"
    );
    page.respond(&call, json!("added")).await;
    let call = page.recv_call().await;
    assert_eq!(call.tool_name, "plan", "it needs no approval");
    page.respond(&call, json!("done")).await;
    let last = events.last().await;
    assert_eq!(last["type"], "query_complete", "{last}");
    assert!(
        last["result"].as_str().unwrap().contains("did not approve"),
        "{last}"
    );
}

#[tokio::test]
async fn calls_that_wait_for_approval_do_not_hold_up_the_others() {
    let mut config = settings();
    config.limits.parallel_calls = 1;
    let bed = TestBed::start_with(config).await;
    let mut page = bed.connect_page().await;
    let query =
        json!({ "prompt": "/add_card {}\n/add_card {}\n/plan {}", "approve": ["add_card"] });
    let request = streaming(bed.put(UUID, &query)).bearer_auth(TOKEN);
    let mut events = EventStream::open(request).await;
    let call = page.recv_call().await;
    assert_eq!(call.tool_name, "plan");
    page.respond(&call, json!("planned")).await;
    let mut waiting = Vec::new();
    loop {
        let event = events.next().await.unwrap();
        let content = &event["content"];
        match content["type"].as_str() {
            Some("approval-requested") => waiting.push(content["id"].clone()),
            Some("tool-finished") => {
                assert_eq!(content["tool"], "plan", "{event}");
                break;
            }
            _ => {}
        }
    }
    assert_eq!(waiting, [json!("1"), json!("2")]);
    for id in waiting {
        let url = format!(
            "{}/{UUID}/approvals/{}",
            bed.agent.url(),
            id.as_str().unwrap()
        );
        let denied = http_client().put(url).bearer_auth(TOKEN);
        let denied = denied.json(&json!({ "approved": false })).send().await;
        assert_eq!(denied.unwrap().status(), 204);
    }
    let last = events.last().await;
    let result = last["result"].as_str().unwrap();
    assert!(
        result.contains("planned") && result.contains("did not approve"),
        "{last}"
    );
}
