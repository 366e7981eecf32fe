//! Tests of messages over the size limit and of slow readers.

use serde_json::json;

use crate::client::{Client, Era, command, error_text};
use crate::raw_server::{EventStream, RawServer};

const LIMIT: usize = 64 * 1024;

/// Connects a client whose messages may have `LIMIT` bytes.
async fn connect(server: &mut RawServer, era: Era) -> (Client, Option<EventStream>) {
    let mut command = command(&server.url());
    command.env("MCP_WEB_MAX_MESSAGE_BYTES", LIMIT.to_string());
    server.connect(command, era).await
}

/// Returns a response of exactly this size.
fn response(id: u64, bytes: usize) -> String {
    let empty = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":""}}}}"#);
    empty.replace(
        r#""""#,
        &format!(r#""{}""#, "x".repeat(bytes - empty.len())),
    )
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_its_request_and_no_other() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let (mut client, _events) = connect(&mut server, era).await;
        let running = client.send_call("a").await;
        let running_stream = server.post("tools/call").await.stream();
        for as_json in [true, false] {
            let id = client.send_call("a").await;
            let request = server.post("tools/call").await;
            let too_large = response(id, LIMIT + 1);
            if as_json {
                request.json(&too_large);
            } else {
                request.stream().send(&too_large).await;
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
        let id = client.send_call("a").await;
        let allowed = response(id, LIMIT);
        let stream = server.post("tools/call").await.stream();
        stream.send(&allowed).await;
        assert_eq!(client.next_line().await.unwrap(), allowed);
        let allowed = response(running, 100);
        running_stream.send(&allowed).await;
        assert_eq!(client.next_line().await.unwrap(), allowed);
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_to_another_method_is_a_json_rpc_error() {
    let mut server = RawServer::start().await;
    let (mut client, _events) = connect(&mut server, Era::Session).await;
    let id = client
        .send_request("resources/read", json!({ "uri": "a://b" }))
        .await;
    let request = server.post("resources/read").await;
    request.json(&response(id, 2 * LIMIT));
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
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let (mut client, _events) = connect(&mut server, era).await;
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

        let id = client.send_call("a").await;
        let expected = response(id, 100);
        let request = server.post("tools/call").await;
        assert_eq!(request.message()["id"], id, "the large one was not sent");
        request.json(&expected);
        assert_eq!(client.next_line().await.unwrap(), expected);
    }
}

#[tokio::test]
async fn bridge_requests_and_replies_over_the_limit_are_answered_with_an_error() {
    let mut server = RawServer::start().await;
    let (mut client, events) = connect(&mut server, Era::Session).await;
    let events = events.unwrap();
    let large = "x".repeat(LIMIT);
    let request = |id: u64, text: &str| {
        let params = json!({ "text": text });
        json!({ "jsonrpc": "2.0", "id": id, "method": "roots/list", "params": params }).to_string()
    };
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/x", "params": large });
    events.send(&notification.to_string()).await;
    events.send(&request(7, &large)).await;
    let error = server.reply().await;
    assert_eq!(error.message()["id"], 7);
    assert_eq!(error.message()["error"]["code"], -32600);
    error.accept();

    events.send(&request(8, "")).await;
    assert_eq!(client.notification("roots/list").await["id"], 8);
    let reply = json!({ "jsonrpc": "2.0", "id": 8, "result": { "roots": [], "text": large } });
    client.send(reply).await;
    let error = server.reply().await;
    assert_eq!(error.message()["id"], 8);
    assert_eq!(error.message()["error"]["code"], -32600);
    error.accept();
    assert!(client.is_alive());
}

#[tokio::test]
async fn input_is_read_while_a_large_answer_is_unread() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let command = command(&server.url());
        let (mut client, _events) = server.connect(command, era).await;
        let first = client.send_call("a").await;
        // More than a pipe can buffer.
        let large = response(first, 8 * 1024 * 1024);
        server.post("tools/call").await.json(&large);
        client.wait_for_line_start().await;
        let mut second = 0;
        for _ in 0..100 {
            // The client reads nothing, but all of its calls reach the server.
            second = client.send_call("a").await;
            let request = server.post("tools/call").await;
            assert_eq!(request.message()["id"], second);
            request.json(&response(second, 100));
        }
        assert_eq!(client.next_line().await.unwrap(), large);
        assert_eq!(client.response(second).await["id"], second);
    }
}

#[tokio::test]
async fn chunks_of_the_network_may_split_characters() {
    let mut server = RawServer::start().await;
    let (mut client, _events) = connect(&mut server, Era::Session).await;
    let id = client.send_call("a").await;
    let stream = server.post("tools/call").await.stream();
    let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"aé€😀z"}}}}"#);
    stream.send_bytewise(&response).await;
    assert_eq!(client.next_line().await.unwrap(), response);
}
