//! Expired tokens: everything that was opened with one ends, and the error explains why.

use bridge::{Config, PageTimings};
use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::{Value, json};

use super::mock_issuer::*;
use crate::kit::*;

/// The lifetime of a token in seconds: long enough to connect on a busy machine, and short enough
/// to wait for its end.
const SHORT: f64 = 3.0;

fn token_valid_for(seconds: f64) -> String {
    Signer::hs256().sign(&claims("ada", ALL_SCOPES, seconds))
}

#[tokio::test]
async fn a_page_with_an_expired_token_can_reconnect_and_answer_its_call() {
    let bridge = start_bridge_with(Config {
        page_timings: PageTimings {
            page_grace: std::time::Duration::from_secs(60),
            ..PageTimings::default()
        },
        ..config_with_secret()
    })
    .await;
    let mut page = Page::connect(&bridge, "s", &token_valid_for(SHORT)).await;
    page.register(&[echo_tool()]).await;
    let client = McpClient::connect(&bridge, &token_valid_for(600.0)).await;
    let handler = async {
        let call = page.recv_call().await;
        let closed = page
            .recv_matching(|message| match message {
                BridgeToPage::SessionClosed(closed) => Some(closed),
                _ => None,
            })
            .await;
        assert_eq!(closed.code, ErrorCode::TokenExpired);
        assert_eq!(page.recv_close().await.0, 4003);
        // The session still exists, so the next connection can respond to the call.
        let mut reconnected = Page::open(&bridge, "s", None).await;
        reconnected.authenticate("s", &token_valid_for(600.0)).await;
        let authenticated = reconnected.recv_authenticated().await;
        assert_eq!(
            authenticated.awaited,
            std::slice::from_ref(&call.request_id)
        );
        reconnected.respond(&call, json!({ "n": 7 })).await;
        reconnected
    };
    let (answer, reconnected) = tokio::join!(client.call("echo", json!({})), handler);
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 7 }));
    reconnected.close().await;
}

#[tokio::test]
async fn long_lived_streams_end_with_their_token_and_calls_in_flight_continue() {
    let bridge = start_bridge_with(config_with_secret()).await;
    let mut page = Page::connect(&bridge, "s", &token_valid_for(600.0)).await;
    page.register(&[echo_tool()]).await;

    let mut client = McpClient::connect(&bridge, &token_valid_for(600.0)).await;
    let long_lived_token = client.token.clone();
    client.token = token_valid_for(SHORT);
    let mut notifications = client.listen().await;
    let stateless = StatelessClient {
        token: &client.token,
        ..StatelessClient::new(&bridge)
    };
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let mut subscription = EventStream::new(stateless.send("subscriptions/listen", params).await);
    let acknowledged = "notifications/subscriptions/acknowledged";
    subscription.find_method(acknowledged).await;

    let mut call_stream = client.request_stream(7, "tools/call", echo_params()).await;
    let call = page.recv_call().await;
    assert_eq!(count_until_end(&mut notifications).await, 0);
    count_until_end(&mut subscription).await;
    // The subscription has ended, but the MCP session has not.
    page.wait_for_clients(1).await;

    page.respond(&call, json!({ "n": 7 })).await;
    let answer = call_stream.find_response().await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 7 }));

    let rejected = client
        .post(&rpc_request(8, "tools/call", echo_params()))
        .await;
    assert_eq!(rejected.status(), 401);
    let challenge = rejected.headers()["www-authenticate"].to_str().unwrap();
    assert!(
        challenge.contains("error_description=\"the token has expired"),
        "{challenge}"
    );
    // The MCP session belongs to the subject, so another token of the subject can use it.
    client.token = long_lived_token;
    assert!(client.tool_names().await.contains(&"echo".to_owned()));
    client.listen().await;
}

fn echo_params() -> Value {
    json!({ "name": "echo", "arguments": {} })
}

/// Reads a stream to its end, and returns the number of its messages.
async fn count_until_end(events: &mut EventStream) -> usize {
    let mut messages = 0;
    while events.next().await.is_some() {
        messages += 1;
    }
    messages
}
