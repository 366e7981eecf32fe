//! Tokens that are refused, expire or lack a scope, and sessions that are not there.

use serde_json::json;

use crate::client::{Client, Era, error_text};
use crate::raw_server::{RawServer, ReceivedRequest};

const BOTH_ERAS: [Era; 2] = [Era::Session, Era::Stateless];

const INVALID: &str = r#"Bearer realm="mcp-web", error="invalid_token", error_description="x""#;
const EXPIRED: &str = r#"{"error":"TokenExpired","message":"the token has expired"}"#;
const SCOPE: &str = r#"Bearer realm="mcp-web", error="insufficient_scope", scope="tools:call""#;
const LACKS: &str = r#"{"error":"InsufficientScope","message":"m"}"#;

fn expire(heard: ReceivedRequest) {
    heard.challenge(401, INVALID, EXPIRED);
}

async fn connected(server: &mut RawServer, era: Era) -> Client {
    let url = server.url();
    if era == Era::Session {
        let (client, events) = tokio::join!(Client::ready(&url, era), server.begin_session());
        // Such a stream ends with the token, and is asked for again in vain.
        drop(events);
        expire(server.get().await);
        return client;
    }
    let mut client = Client::ready(&url, era).await;
    let list = client.send_request("tools/list", json!({})).await;
    server.discover().await;
    server
        .post("tools/list")
        .await
        .answer(&json!({ "tools": [] }));
    client.response(list).await;
    client
}

#[tokio::test]
async fn a_token_that_expires_ends_no_call_that_runs_and_not_the_process() {
    for era in BOTH_ERAS {
        let mut server = RawServer::start().await;
        let mut client = connected(&mut server, era).await;
        let first = client
            .send_request("tools/call", json!({ "name": "a" }))
            .await;
        let running = server.post("tools/call").await;

        let second = client
            .send_request("tools/call", json!({ "name": "a" }))
            .await;
        expire(server.post("tools/call").await);
        let refused = client.response(second).await;
        let text = error_text(&refused["result"]);
        assert!(
            text.contains("the token has expired: set AUTH_TOKEN"),
            "{text}"
        );

        running.answer(&json!({ "content": [] }));
        assert_eq!(
            client.response(first).await["result"],
            json!({ "content": [] })
        );

        // Alone, it is as if there were no bridge: its own tools answer.
        let third = client
            .send_request("tools/call", json!({ "name": "a" }))
            .await;
        expire(server.post("tools/call").await);
        let greeting = match era {
            Era::Session => "initialize",
            Era::Stateless => "server/discover",
        };
        expire(server.post(greeting).await);
        let refused = client.response(third).await;
        let text = error_text(&refused["result"]);
        assert!(text.contains("the token has expired"), "{text}");
        assert!(client.is_alive());
    }
}

#[tokio::test]
async fn a_missing_scope_is_named_and_fails_one_request_only() {
    for era in BOTH_ERAS {
        let mut server = RawServer::start().await;
        let mut client = connected(&mut server, era).await;
        let id = client
            .send_request("tools/call", json!({ "name": "a" }))
            .await;
        server.post("tools/call").await.challenge(403, SCOPE, LACKS);
        let refused = client.response(id).await;
        let text = error_text(&refused["result"]);
        assert!(
            text.contains("the token lacks the scope tools:call"),
            "{text}"
        );

        let id = client.send_request("tools/list", json!({})).await;
        server
            .post("tools/list")
            .await
            .answer(&json!({ "tools": [] }));
        assert_eq!(client.response(id).await["result"]["tools"], json!([]));
    }
}
