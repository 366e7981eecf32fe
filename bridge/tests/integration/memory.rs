//! The memory that requests and messages may use together.

use bridge::{Memory, ServerHandle};
use bridge_protocol::{BridgeToPage, ErrorCode, ToolCall, message_parts};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::kit::*;

const MIB: usize = 1024 * 1024;

/// The size of an argument, in bytes.
const ARGUMENT_BYTES: usize = 2_000_000;

/// A bridge with 32 MiB for requests and messages: stored data may use the other half.
async fn start_small_bridge() -> ServerHandle {
    let mut config = test_config();
    config.memory = Memory {
        max_memory_bytes: Some(64 * MIB),
    };
    config.network.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    start_bridge_with(config).await
}

/// A token, its page and the address of both.
struct User {
    token: String,
    address: String,
    /// The forms of the response that the client accepts.
    accept: &'static str,
    page: Page,
}

impl User {
    async fn connect(bridge: &ServerHandle, number: u8) -> Self {
        let token = format!("token-that-a-client-made-itself-{number}");
        let address = format!("192.0.2.{number}");
        let mut page = open_page(bridge, "s", &address).await;
        page.authenticate("s", &token).await;
        page.recv_authenticated().await;
        page.register(&[echo_tool()]).await;
        Self {
            token,
            address,
            accept: "application/json",
            page,
        }
    }

    /// Begins a call with a large argument. Returns its response, when there is one.
    fn begin_call(&self, bridge: &ServerHandle) -> JoinHandle<(u16, Value)> {
        let text = "x".repeat(ARGUMENT_BYTES);
        let call = json!({ "toolName": "echo", "toolInput": { "text": text } });
        let request = http_client()
            .post(format!("{}/tool-call", bridge.url()))
            .bearer_auth(&self.token)
            .header("x-forwarded-for", &self.address)
            .header("accept", self.accept)
            .json(&call);
        tokio::spawn(mock_agent::send_for_json(request))
    }

    /// Begins calls, which the page does not answer, until one is refused. Returns the calls and the
    /// refusal.
    async fn use_all(&mut self, bridge: &ServerHandle) -> (Vec<ToolCall>, Value) {
        let mut calls = Vec::new();
        loop {
            let mut response = self.begin_call(bridge);
            tokio::select! {
                call = self.page.recv_call() => calls.push(call),
                response = &mut response => {
                    let (status, body) = response.unwrap();
                    assert_eq!(status, 503, "{body}");
                    return (calls, body);
                }
            }
        }
    }
}

async fn open_page(bridge: &ServerHandle, session: &str, address: &str) -> Page {
    let headers = [("x-forwarded-for", address)];
    Page::open_with_headers(&bridge.local_addr().to_string(), session, &headers).await
}

#[tokio::test]
async fn bodies_of_one_token_leave_memory_for_others() {
    let bridge = start_small_bridge().await;
    let mut greedy = User::connect(&bridge, 1).await;
    let mut other = User::connect(&bridge, 2).await;
    let (calls, refusal) = greedy.use_all(&bridge).await;
    assert_eq!(calls.len(), 8, "half of the memory");
    assert_eq!(refusal["error"], "MemoryLimitExceeded");
    let message = refusal["message"].as_str().unwrap();
    assert!(message.contains("`max_memory_bytes`"), "{message}");

    let response = other.begin_call(&bridge);
    other.page.echo_call().await;
    let (status, body) = with_deadline("response", response).await.unwrap();
    assert_eq!(status, 200, "{body}");

    // An answered call gives its memory back.
    for call in calls {
        greedy.page.respond(&call, json!("done")).await;
    }
    let response = greedy.begin_call(&bridge);
    greedy.page.echo_call().await;
    let (status, body) = with_deadline("response", response).await.unwrap();
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn bodies_of_calls_with_events_count_while_the_calls_run() {
    let bridge = start_small_bridge().await;
    let mut greedy = User::connect(&bridge, 1).await;
    greedy.accept = "text/event-stream";
    let (calls, refusal) = greedy.use_all(&bridge).await;
    assert_eq!(calls.len(), 8, "half of the memory");
    assert_eq!(refusal["error"], "MemoryLimitExceeded");
}

#[tokio::test]
async fn newcomers_are_refused_while_others_use_the_memory_and_connected_pages_continue() {
    let bridge = start_small_bridge().await;
    let mut users = Vec::new();
    for number in 1..=4 {
        users.push(User::connect(&bridge, number).await);
    }
    let mut there = User::connect(&bridge, 5).await;
    for user in &mut users {
        user.use_all(&bridge).await;
    }

    let mut page = open_page(&bridge, "new", "192.0.2.9").await;
    page.authenticate("new", "token-that-a-client-made-itself-9")
        .await;
    let (code, after_s, message) = recv_retry(&mut page).await;
    assert_eq!(code.as_deref(), Some("MemoryLimitExceeded"));
    assert_eq!(after_s, 5);
    assert!(message.ends_with("`max_memory_bytes`"), "{message}");
    let info = json!({ "name": "a client", "version": "1" });
    let request = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth(&there.token)
        .json(&initialize_request("2025-06-18", json!({}), info));
    let (status, body) = mock_agent::send_for_json(request).await;
    assert_eq!(status, 503, "{body}");
    let code = ErrorCode::MemoryLimitExceeded.as_str();
    assert!(body.to_string().contains(code), "{body}");

    // A page that is known connects again, and its calls are served.
    let mut again = open_page(&bridge, "s", &there.address).await;
    again.authenticate("s", &there.token).await;
    again.recv_authenticated().await;
    again.register(&[echo_tool()]).await;
    there.page = again;
    let call = json!({ "toolName": "echo", "toolInput": { "text": "short" } });
    let request = http_client()
        .post(format!("{}/tool-call", bridge.url()))
        .bearer_auth(&there.token)
        .json(&call);
    let response = tokio::spawn(mock_agent::send_for_json(request));
    there.page.echo_call().await;
    let (status, body) = with_deadline("response", response).await.unwrap();
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn messages_in_parts_draw_from_the_memory_of_their_token() {
    let bridge = start_small_bridge().await;
    let unfinished = |id| {
        let text = "x".repeat(9 * MIB);
        let mut parts: Vec<_> = message_parts::split(&text, id).collect();
        parts.pop();
        parts
    };
    let mut pages = Vec::new();
    for session in ["a", "b"] {
        let mut page = Page::connect(&bridge, session, TOKEN).await;
        page.register(&[echo_tool()]).await;
        pages.push(page);
    }
    let [first, second] = &mut pages[..] else {
        unreachable!()
    };
    for part in unfinished(1) {
        first.send_text(part).await;
    }
    // The answer shows that all parts have been read.
    first.register(&[echo_tool()]).await;
    for part in unfinished(1) {
        second.send_text(part).await;
    }
    let (_, _, message) = recv_retry(second).await;
    assert!(message.contains("memory"), "{message}");
    first.register(&[echo_tool()]).await;
}

#[tokio::test]
async fn definitions_of_open_pages_draw_from_the_memory_of_their_token() {
    let bridge = start_small_bridge().await;
    let tools = |text: &str| {
        let tool = json!({ "name": "large", "description": text.repeat(900_000) });
        [tool, echo_tool()]
    };
    let mut pages = Vec::new();
    for number in 0..17 {
        let mut page = Page::connect(&bridge, &number.to_string(), TOKEN).await;
        page.register(&tools("x")).await;
        if number < 10 {
            // A registration that replaces another needs no additional memory afterwards.
            page.register(&tools("y")).await;
        }
        pages.push(page);
    }
    let mut refused = Page::connect(&bridge, "refused", TOKEN).await;
    let items = tools("x").map(|tool| json!({ "kind": "tool", "definition": tool }));
    let register = json!({ "type": "register", "registrationId": "r", "items": items });
    refused.send_json(register).await;
    let (_, _, message) = recv_retry(&mut refused).await;
    assert!(message.contains("definitions"), "{message}");

    // The connected pages continue, and one that has fewer makes room.
    let request = http_client()
        .post(format!("{}/tool-call", bridge.url()))
        .bearer_auth(TOKEN)
        .json(&json!({ "toolName": "echo", "sessionId": "0", "toolInput": { "text": "short" } }));
    let response = tokio::spawn(mock_agent::send_for_json(request));
    pages[0].echo_call().await;
    let (status, body) = with_deadline("response", response).await.unwrap();
    assert_eq!(status, 200, "{body}");
    let item = json!({ "kind": "tool", "name": "large" });
    let unregister = json!({ "type": "unregister", "registrationId": "u", "items": [item] });
    pages[1].send_json(unregister).await;
    let unregistered = |message| matches!(message, BridgeToPage::Unregistered(_)).then_some(());
    pages[1].recv_matching(unregistered).await;
    let mut page = Page::connect(&bridge, "again", TOKEN).await;
    page.register(&tools("x")).await;
}
