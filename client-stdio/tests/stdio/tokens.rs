//! Tests of tokens: they expire, lack a scope, and occur in text from other sources.

use serde_json::{Value, json};

use crate::client::{Client, Era, TOKEN, command, error_text};
use crate::raw_server::{RawServer, ReceivedRequest};

const INVALID_TOKEN: &str =
    r#"Bearer realm="mcp-web", error="invalid_token", error_description="x""#;
const TOKEN_EXPIRED: &str = r#"{"error":"TokenExpired","message":"the token has expired"}"#;
const INSUFFICIENT_SCOPE: &str =
    r#"Bearer realm="mcp-web", error="insufficient_scope", scope="tools:call""#;
const SCOPE_MISSING: &str = r#"{"error":"InsufficientScope","message":"m"}"#;

fn reject_expired(request: ReceivedRequest) {
    request.challenge(401, INVALID_TOKEN, TOKEN_EXPIRED);
}

/// Connects a client whose token then expires.
async fn connect(server: &mut RawServer, era: Era) -> Client {
    let (client, events) = server.connect(command(&server.url()), era).await;
    if let Some(events) = events {
        // The bridge closes the stream of the MCP session and does not open it again.
        drop(events);
        reject_expired(server.get().await);
    }
    client
}

#[tokio::test]
async fn an_expired_token_ends_neither_running_calls_nor_the_process() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let mut client = connect(&mut server, era).await;
        let first = client.send_call("a").await;
        let running = server.post("tools/call").await;

        let second = client.send_call("a").await;
        reject_expired(server.post("tools/call").await);
        let failed = client.response(second).await;
        let text = error_text(&failed["result"]);
        assert!(
            text.contains("the token has expired: set AUTH_TOKEN"),
            "{text}"
        );

        running.answer(&json!({ "content": [] }));
        assert_eq!(
            client.response(first).await["result"],
            json!({ "content": [] })
        );

        // When no other call is running, the client connects again before the call fails.
        let third = client.send_call("a").await;
        reject_expired(server.post("tools/call").await);
        let handshake = match era {
            Era::Session => "initialize",
            Era::Stateless => "server/discover",
        };
        reject_expired(server.post(handshake).await);
        let failed = client.response(third).await;
        let text = error_text(&failed["result"]);
        assert!(text.contains("the token has expired"), "{text}");
        assert!(client.is_alive());
    }
}

#[tokio::test]
async fn a_missing_scope_is_named_and_fails_only_its_request() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let mut client = connect(&mut server, era).await;
        let id = client.send_call("a").await;
        let call = server.post("tools/call").await;
        call.challenge(403, INSUFFICIENT_SCOPE, SCOPE_MISSING);
        let failed = client.response(id).await;
        let text = error_text(&failed["result"]);
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

#[tokio::test]
async fn the_token_is_removed_from_texts_of_a_bridge() {
    let quoted = format!("Authorization: Bearer {TOKEN} was refused");
    let body = json!({ "error": "Refused", "message": quoted }).to_string();
    let failure = |id: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": quoted,
            "data": { "headers": [quoted] } } })
        .to_string()
    };
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/message",
        "params": { "level": "error", "data": quoted } })
    .to_string();
    for era in Era::BOTH {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut server = RawServer::start().await;
        let mut command = command(&server.url());
        command.args(["--log", "trace"]);
        command.stderr(log.reopen().unwrap());
        let (mut client, events) = server.connect(command, era).await;
        let mut texts = Vec::new();
        for answer in 0..6 {
            let id = client.send_call("a").await;
            let call = server.post("tools/call").await;
            match answer {
                0 => call.json_with_status(403, &body),
                1 => call.json_with_status(500, &body),
                2 => call.json_with_status(400, &failure(id.into())),
                3 => call.json(&failure(id.into())),
                4 => {
                    let stream = call.stream();
                    stream.send(&notification).await;
                    stream.send(&failure(id.into())).await;
                    texts.push(client.notification("notifications/message").await);
                }
                _ => call.answer(&json!({ "content": [{ "type": "text", "text": quoted }] })),
            }
            texts.push(client.response(id).await);
        }
        if let Some(events) = events {
            events.send(&failure(Value::Null)).await;
            events.send(&notification).await;
            texts.push(client.notification("notifications/message").await);
        }
        assert!(client.close().await.success());
        let log = std::fs::read_to_string(log.path()).unwrap();
        if era == Era::Session {
            texts.push(log.clone().into());
        }
        for text in &texts {
            let text = text.to_string();
            assert!(text.contains("Bearer [token] was refused"), "{text}");
            assert!(!text.contains(TOKEN), "{text}");
        }
        assert!(!log.contains(TOKEN), "{log}");
    }
}
