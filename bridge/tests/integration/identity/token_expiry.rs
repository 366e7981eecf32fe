//! An expired token ends what it opened, and says so.

use bridge::Config;
use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::{Value, json};

use super::mock_issuer::*;
use crate::kit::*;

/// Long enough to connect on a busy machine, and to be waited for.
const SHORT: f64 = 3.0;

fn token_for(seconds: f64) -> String {
    Signer::hs256().sign(&claims("ada", EVERYTHING, seconds))
}

#[tokio::test]
async fn a_page_with_an_expired_token_can_reconnect_and_answer_its_call() {
    let bridge = start_bridge_with(Config {
        page_grace: std::time::Duration::from_secs(60),
        ..trusting_secret()
    })
    .await;
    let mut page = Page::connect(&bridge, "s", &token_for(SHORT)).await;
    page.register(&[echo_tool()]).await;
    let client = McpClient::connect(&bridge, &token_for(600.0)).await;
    let surviving = async {
        let call = page.recv_call().await;
        let closed = page
            .recv_matching(|message| match message {
                BridgeToPage::SessionClosed(closed) => Some(closed),
                _ => None,
            })
            .await;
        assert_eq!(closed.code, ErrorCode::TokenExpired);
        assert_eq!(page.recv_close().await.0, 4003);
        // Away, not gone: the call is answered on the next socket.
        let mut back = Page::open(&bridge, "s", None).await;
        back.authenticate("s", &token_for(600.0)).await;
        let BridgeToPage::Authenticated(welcome) = back.recv().await else {
            panic!("not let in")
        };
        assert_eq!(welcome.awaited, std::slice::from_ref(&call.request_id));
        back.respond(&call, json!({ "n": 7 })).await;
        back
    };
    let (answer, back) = tokio::join!(client.call("echo", json!({})), surviving);
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 7 }));
    back.close().await;
}

#[tokio::test]
async fn long_lived_streams_end_with_their_token_and_calls_in_flight_continue() {
    let bridge = start_bridge_with(trusting_secret()).await;
    let mut page = Page::connect(&bridge, "s", &token_for(600.0)).await;
    page.register(&[echo_tool()]).await;

    let mut client = McpClient::connect(&bridge, &token_for(600.0)).await;
    let lasting = client.token.clone();
    client.token = token_for(SHORT);
    let mut standing = EventStream::new(client.listen().await);
    let mut listening = EventStream::new(listen(&bridge, &client.token).await);
    let acknowledged = "notifications/subscriptions/acknowledged";
    listening.find_method(acknowledged).await;

    let mut running = client.request_stream(7, "tools/call", echo()).await;
    let call = page.recv_call().await;
    assert_eq!(ended(&mut standing).await, 0);
    ended(&mut listening).await;
    // Who listened has left; the MCP session is still there.
    page.recv_matching(|message| match message {
        BridgeToPage::Clients(here) if here.clients.len() == 1 => Some(()),
        _ => None,
    })
    .await;

    page.respond(&call, json!({ "n": 7 })).await;
    let answer = running.find_response().await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 7 }));

    let refused = client.post(&rpc_request(8, "tools/call", echo())).await;
    assert_eq!(refused.status(), 401);
    let challenge = refused.headers()["www-authenticate"].to_str().unwrap();
    assert!(
        challenge.contains("error_description=\"the token has expired"),
        "{challenge}"
    );
    // The MCP session is the subject's, not the token's.
    client.token = lasting;
    assert!(client.tool_names().await.contains(&"echo".to_owned()));
    let again = EventStream::new(client.listen().await);
    drop(again);
}

fn echo() -> Value {
    json!({ "name": "echo", "arguments": {} })
}

async fn listen(bridge: &bridge::ServerHandle, token: &str) -> reqwest::Response {
    let version = "2026-07-28";
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { "name": "door-test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let wanted = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
    let request = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth(token)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", version)
        .header("mcp-method", "subscriptions/listen")
        .json(&rpc_request(1, "subscriptions/listen", wanted));
    with_deadline("listen", request.send()).await.unwrap()
}

/// Reads a stream to its end: how many messages came.
async fn ended(events: &mut EventStream) -> usize {
    let mut messages = 0;
    while events.next().await.is_some() {
        messages += 1;
    }
    messages
}
