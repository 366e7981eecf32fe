//! Threads of AG-UI as conversations of the agent.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::kit::*;

/// An agent whose bridge tells who asks.
struct ThreadBed {
    bed: TestBed,
    _proxy: AbortOnDropHandle<()>,
}

impl ThreadBed {
    async fn start() -> Self {
        let bound = agent::bind(settings()).await.unwrap();
        let bridge = TestBed::start_bridge(&bound.url()).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let bridge_url = bridge.url();
        let routes = Router::new().fallback(move |request| forward(bridge_url.clone(), request));
        let proxy = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let agent = bound.serve(&url).unwrap();
        Self {
            bed: TestBed { bridge, agent },
            _proxy: AbortOnDropHandle::new(proxy),
        }
    }

    /// Runs the last message of a thread, and returns the last event.
    async fn run(&self, messages: &Value) -> Value {
        let url = format!("http://{}/agui", self.bed.agent.local_addr());
        let input = json!({ "threadId": "thread", "runId": "run", "messages": messages });
        let request = http_client().post(url).json(&input).bearer_auth(TOKEN);
        let events = EventStream::open_unnamed(streaming(request)).await;
        let last = events.last().await;
        self.bed.wait_for_running(0).await;
        assert_eq!(last["type"], "RUN_FINISHED", "{last}");
        last
    }

    /// Returns the prompts of the conversation.
    async fn prompts(&self) -> Vec<String> {
        let agent = self.bed.agent.local_addr();
        let url = format!("http://{agent}/conversations/thread");
        let caller = serde_json::from_value::<bridge_protocol::QueryCaller>(caller()).unwrap();
        let request = http_client().get(url).bearer_auth(CREDENTIAL);
        let request = request.header("mcp-web-caller", caller.to_header());
        let (status, conversation) = status_and_body(request).await;
        assert_eq!(status, 200, "{conversation}");
        let messages = conversation["messages"].as_array().unwrap().iter();
        let prompts = messages.filter(|message| message["role"] == "user");
        prompts
            .map(|it| it["text"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn caller() -> Value {
    json!({ "user": "ada", "roles": [], "selfMade": true, "app": "board", "session": "page" })
}

/// Forwards a request to the bridge, and adds to the response about a query who asks.
async fn forward(bridge: String, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let url = format!("{bridge}{}", parts.uri);
    let mut forwarded = http_client().request(parts.method.clone(), url).body(body);
    for (name, value) in &parts.headers {
        if name != "host" {
            forwarded = forwarded.header(name, value);
        }
    }
    let response = forwarded.send().await.unwrap();
    let mut answer = Response::builder().status(response.status());
    if let Some(kind) = response.headers().get("content-type") {
        answer = answer.header("content-type", kind);
    }
    let mut body = response.bytes().await.unwrap();
    if parts.method == "PUT"
        && parts.uri.path().starts_with("/query/")
        && let Ok(Value::Object(mut opened)) = serde_json::from_slice(&body)
    {
        opened.insert("caller".to_owned(), caller());
        body = serde_json::to_vec(&opened).unwrap().into();
    }
    answer.body(Body::from(body)).unwrap()
}

fn user(text: &str) -> Value {
    json!({ "id": "u", "role": "user", "content": text })
}

fn assistant(text: &str) -> Value {
    json!({ "id": "a", "role": "assistant", "content": text })
}

#[tokio::test]
async fn a_thread_is_a_conversation_and_begins_again_when_it_is_changed() {
    let bed = ThreadBed::start().await;
    let _page = bed.bed.connect_page().await;
    bed.run(&json!([user("one")])).await;
    bed.run(&json!([user("one"), assistant("1"), user("two")]))
        .await;
    assert_eq!(bed.prompts().await, ["one", "two"]);
    // The person has changed the second message.
    bed.run(&json!([user("one"), assistant("1"), user("other")]))
        .await;
    assert_eq!(bed.prompts().await, ["other"]);
    bed.run(&json!([
        user("one"),
        assistant("1"),
        user("other"),
        assistant("2"),
        user("three")
    ]))
    .await;
    assert_eq!(bed.prompts().await, ["other", "three"]);
}
