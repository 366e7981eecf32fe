//! Conversations over HTTP, and in queries.

use bridge_protocol::{QUERY_CALLER_HEADER, QueryCaller, SessionId};
use reqwest::Method;
use serde_json::{Value, json};

use crate::kit::*;

fn caller(user: &str) -> String {
    let caller = QueryCaller {
        user: user.to_owned(),
        sub: None,
        roles: Vec::new(),
        self_made: true,
        app: "Board".to_owned(),
        app_description: None,
        origin: None,
        session: SessionId::from("page"),
    };
    caller.to_header()
}

#[tokio::test]
async fn only_a_bridge_that_names_the_user_may_read_and_delete() {
    let bed = TestBed::start().await;
    let url = |path: &str| format!("http://{}/conversations{path}", bed.agent.local_addr());
    let request = |method: Method, path: &str| http_client().request(method, url(path));
    let asked = |method: Method, path: &str| {
        let request = request(method, path).bearer_auth(CREDENTIAL);
        request.header(QUERY_CALLER_HEADER, caller("ada"))
    };
    let (status, list) = status_and_body(asked(Method::GET, "")).await;
    assert_eq!((status, list), (200, json!({ "conversations": [] })));
    let (status, missing) = status_and_body(asked(Method::GET, "/c")).await;
    assert_eq!(
        (status, &missing["code"]),
        (404, &json!("ConversationNotFound"))
    );
    let deleted = asked(Method::DELETE, "/c").send().await.unwrap();
    assert_eq!(deleted.status(), 204);
    let endless = format!("/{}", "x".repeat(65));
    for (request, status, code) in [
        (asked(Method::GET, &endless), 400, "ProtocolViolation"),
        (
            request(Method::GET, "").bearer_auth(CREDENTIAL),
            400,
            "ProtocolViolation",
        ),
        (
            request(Method::GET, "/c").bearer_auth(TOKEN),
            401,
            "InvalidAuthentication",
        ),
        (request(Method::DELETE, "/c"), 401, "MissingAuthentication"),
        (
            request(Method::GET, "")
                .bearer_auth(CREDENTIAL)
                .header(QUERY_CALLER_HEADER, "no caller"),
            400,
            "ProtocolViolation",
        ),
    ] {
        let (actual, refused) = status_and_body(request).await;
        assert_eq!(
            (actual, &refused["code"]),
            (status, &json!(code)),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn queries_of_one_conversation_are_listed_with_their_calls() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    for (uuid, id, prompt) in [
        ("1", "c", "/add_card {\"title\": \"Milk\"}"),
        ("2", "c", "/add_card {\"title\": \"Eggs\"}"),
    ] {
        let query = json!({ "prompt": prompt, "conversation": id });
        let request = streaming(bed.put(uuid, &query)).bearer_auth(TOKEN);
        let events = EventStream::open(request).await;
        let call = page.recv_call().await;
        page.respond(&call, json!("added")).await;
        let last = events.last().await;
        assert_eq!(last["type"], "query_complete", "{last}");
    }
    let bridge = format!("{}/conversations/c", bed.bridge.url());
    let (status, conversation): (u16, Value) =
        status_and_body(http_client().get(&bridge).bearer_auth(TOKEN)).await;
    assert_eq!(status, 200, "{conversation}");
    let messages = conversation["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 6, "{conversation}");
    assert_eq!(messages[3]["text"], "/add_card {\"title\": \"Eggs\"}");
    let call = &messages[4]["toolCalls"][0];
    assert_eq!(
        (&call["tool"], &call["result"]),
        (&json!("add_card"), &json!("added"))
    );
}
