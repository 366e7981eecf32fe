//! Messages over the limit, and clients that read slowly.

use serde_json::{Value, json};

use crate::client::{Client, Era, command, error_text};
use crate::raw_server::{EventStream, RawServer};

const BOTH_ERAS: [Era; 2] = [Era::Session, Era::Stateless];

const LIMIT: usize = 64 * 1024;

/// A client of a server, with a small limit, that has had its first answer.
async fn connected(server: &mut RawServer, era: Era) -> (Client, Option<EventStream>) {
    let mut command = command(&server.url());
    command.env("MCP_WEB_MAX_MESSAGE_BYTES", LIMIT.to_string());
    let mut client = Client::start(command, era);
    let events = match era {
        Era::Session => {
            let (_, events) = tokio::join!(client.initialize("2025-11-25"), server.begin_session());
            Some(events)
        }
        Era::Stateless => None,
    };
    let list = client.send_request("tools/list", json!({})).await;
    if era == Era::Stateless {
        server.discover().await;
    }
    server
        .post("tools/list")
        .await
        .answer(&json!({ "tools": [] }));
    client.response(list).await;
    (client, events)
}

fn answer(id: u64, bytes: usize) -> String {
    let empty = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":""}}}}"#);
    empty.replace(
        r#""""#,
        &format!(r#""{}""#, "x".repeat(bytes - empty.len())),
    )
}

fn call() -> Value {
    json!({ "name": "a" })
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_its_request_and_no_other() {
    for era in BOTH_ERAS {
        let mut server = RawServer::start().await;
        let (mut client, _events) = connected(&mut server, era).await;
        let running = client.send_request("tools/call", call()).await;
        let running_at_server = server.post("tools/call").await.stream();
        for as_json in [true, false] {
            let id = client.send_request("tools/call", call()).await;
            let heard = server.post("tools/call").await;
            let too_large = answer(id, LIMIT + 1);
            if as_json {
                heard.json(&too_large);
            } else {
                heard.stream().send(&too_large).await;
            }
            let failed = client.response(id).await;
            let text = error_text(&failed["result"]);
            for part in [
                "65537 bytes",
                "65536 is the limit",
                "MCP_WEB_MAX_MESSAGE_BYTES",
            ] {
                assert!(text.contains(part), "{text}");
            }
        }
        let id = client.send_request("tools/call", call()).await;
        let fits = answer(id, LIMIT);
        server.post("tools/call").await.stream().send(&fits).await;
        assert_eq!(client.next_line().await.unwrap(), fits);
        let late = answer(running, 100);
        running_at_server.send(&late).await;
        assert_eq!(client.next_line().await.unwrap(), late);
    }
}

#[tokio::test]
async fn other_requests_over_the_limit_fail_with_an_error() {
    let mut server = RawServer::start().await;
    let (mut client, _events) = connected(&mut server, Era::Session).await;
    let id = client
        .send_request("resources/read", json!({ "uri": "a://b" }))
        .await;
    let heard = server.post("resources/read").await;
    heard.json(&answer(id, 2 * LIMIT));
    let failed = client.response(id).await;
    assert_eq!(failed["error"]["code"], -32603);
    let text = failed["error"]["message"].as_str().unwrap();
    assert!(
        text.contains("131072 bytes") && text.contains("65536"),
        "{text}"
    );
}

#[tokio::test]
async fn a_line_over_the_limit_is_an_error_for_its_request() {
    for era in BOTH_ERAS {
        let mut server = RawServer::start().await;
        let (mut client, _events) = connected(&mut server, era).await;
        let text = "x".repeat(LIMIT);
        let id = client
            .send_request(
                "tools/call",
                json!({ "name": "a", "arguments": { "id": text } }),
            )
            .await;
        let failed = client.response(id).await;
        assert_eq!(failed["error"]["code"], -32600);
        let text = failed["error"]["message"].as_str().unwrap();
        assert!(text.contains("65536 is the limit"), "{text}");

        let id = client.send_request("tools/call", call()).await;
        let next = answer(id, 100);
        let heard = server.post("tools/call").await;
        assert_eq!(heard.message()["id"], id, "the large one was not sent");
        heard.json(&next);
        assert_eq!(client.next_line().await.unwrap(), next);
    }
}

#[tokio::test]
async fn questions_and_replies_over_the_limit_are_refused_to_who_waits() {
    let mut server = RawServer::start().await;
    let (mut client, events) = connected(&mut server, Era::Session).await;
    let events = events.unwrap();
    let large = "x".repeat(LIMIT);
    let question = |id: u64, text: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "roots/list", "params": { "text": text } });
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/x", "params": large });
    events.send(&notification.to_string()).await;
    events.send(&question(7, &large).to_string()).await;
    let refusal = server.reply().await;
    assert_eq!(refusal.message()["id"], 7);
    assert_eq!(refusal.message()["error"]["code"], -32600);
    refusal.accept();

    events.send(&question(8, "").to_string()).await;
    assert_eq!(client.notification("roots/list").await["id"], 8);
    let reply = json!({ "jsonrpc": "2.0", "id": 8, "result": { "roots": [], "text": large } });
    client.send(reply).await;
    let refusal = server.reply().await;
    assert_eq!(refusal.message()["id"], 8);
    assert_eq!(refusal.message()["error"]["code"], -32600);
    refusal.accept();
    assert!(client.is_alive());
}

#[tokio::test]
async fn a_client_is_heard_while_a_large_answer_waits_to_be_read() {
    for era in BOTH_ERAS {
        let mut server = RawServer::start().await;
        let (mut client, _events) = match era {
            Era::Session => {
                let url = server.url();
                let (client, events) =
                    tokio::join!(Client::ready(&url, era), server.begin_session());
                (client, Some(events))
            }
            Era::Stateless => connected_unlimited(&mut server).await,
        };
        let first = client.send_request("tools/call", call()).await;
        // More than any pipe holds.
        let large = answer(first, 8 * 1024 * 1024);
        server.post("tools/call").await.json(&large);
        client.wait_for_line_start().await;
        let mut second = 0;
        for _ in 0..100 {
            // Nothing is read, and all of them reach the server.
            second = client.send_request("tools/call", call()).await;
            let heard = server.post("tools/call").await;
            assert_eq!(heard.message()["id"], second);
            heard.json(&answer(second, 100));
        }
        assert_eq!(client.next_line().await.unwrap(), large);
        assert_eq!(client.response(second).await["id"], second);
    }
}

async fn connected_unlimited(server: &mut RawServer) -> (Client, Option<EventStream>) {
    let mut client = Client::start(command(&server.url()), Era::Stateless);
    let list = client.send_request("tools/list", json!({})).await;
    server.discover().await;
    server
        .post("tools/list")
        .await
        .answer(&json!({ "tools": [] }));
    client.response(list).await;
    (client, None)
}

#[tokio::test]
async fn characters_may_be_cut_wherever_the_network_cuts() {
    let mut server = RawServer::start().await;
    let (mut client, _events) = connected(&mut server, Era::Session).await;
    let id = client.send_request("tools/call", call()).await;
    let stream = server.post("tools/call").await.stream();
    let said = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"aé€😀z"}}}}"#);
    stream.send_in_pieces(&said).await;
    assert_eq!(client.next_line().await.unwrap(), said);
}
