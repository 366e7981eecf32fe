//! Tests of connections that stay open while nothing arrives on them.

use serde_json::json;

use crate::client::{Client, Era, command, error_text};
use crate::raw_server::{EventStream, RawServer};

/// Connects a client with the shortest limit.
async fn connect(server: &mut RawServer, era: Era) -> (Client, Option<EventStream>) {
    let mut command = command(&server.url());
    command.env("MCP_WEB_MAX_SILENCE", "10s");
    server.connect(command, era).await
}

/// Where the connection of a call falls silent.
#[derive(Clone, Copy, Debug)]
enum Silence {
    /// Before the head of the response.
    BeforeHead,
    /// In the stream of the response.
    InStream,
    /// In the stream of the response, and where it is resumed.
    InResumedStream,
}

async fn call_fails_after(silence: Silence, era: Era) {
    let mut server = RawServer::start().await;
    let (mut client, events) = connect(&mut server, era).await;
    let mut streams: Vec<_> = events.into_iter().collect();
    if streams.is_empty() {
        // Another call shows that the bridge sends comments.
        client.send_call("other").await;
        streams.push(server.post("tools/call").await.stream());
    }
    streams[0].keep_alive().await;
    let id = client.send_call("a").await;
    let call = server.post("tools/call").await;
    let mut silent_requests = Vec::new();
    match silence {
        Silence::BeforeHead => silent_requests.push(call),
        Silence::InStream | Silence::InResumedStream => {
            let stream = call.stream();
            if matches!(silence, Silence::InResumedStream) {
                stream.send_id("7/1").await;
            }
            stream.keep_alive().await;
            streams.push(stream);
        }
    }
    let mut response = Box::pin(client.response(id));
    let response = loop {
        tokio::select! {
            response = &mut response => break response,
            // The stream is resumed, and stays silent.
            request = server.get() => silent_requests.push(request),
        }
    };
    let text = error_text(&response["result"]);
    assert!(
        text.contains("may have been executed"),
        "{silence:?} {era:?}: {text}"
    );
}

#[tokio::test]
async fn a_call_on_a_silent_connection_fails_as_one_that_may_have_run() {
    let mut cases = tokio::task::JoinSet::new();
    for era in Era::BOTH {
        cases.spawn(call_fails_after(Silence::BeforeHead, era));
        cases.spawn(call_fails_after(Silence::InStream, era));
    }
    cases.spawn(call_fails_after(Silence::InResumedStream, Era::Session));
    while let Some(case) = cases.join_next().await {
        case.unwrap();
    }
}

#[tokio::test]
async fn a_bridge_that_has_returned_is_known_to_send_comments() {
    let mut server = RawServer::start().await;
    let (mut client, events) = connect(&mut server, Era::Session).await;
    let events = events.unwrap();
    events.keep_alive().await;
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/message" });
    events.send(&notification.to_string()).await;
    client.notification("notifications/message").await;
    let id = client.send_call("a").await;
    let call = server.post("tools/call").await;
    // After a restart, the session is unknown.
    call.json_with_status(404, "{}");
    let _events = server.begin_session().await;
    let _call = server.post("tools/call").await;
    let text = client.response(id).await;
    let text = error_text(&text["result"]);
    assert!(text.contains("may have been executed"), "{text}");
}

#[tokio::test]
async fn a_stream_that_opens_slowly_ends_no_call() {
    let mut server = RawServer::start().await;
    let (mut client, events) = server.connect(command(&server.url()), Era::Session).await;
    let events = events.unwrap();
    events.keep_alive().await;
    let id = client.send_call("a").await;
    let call = server.post("tools/call").await;
    drop(events);
    let reopened = server.get().await;
    // Meanwhile, a client with a lower limit gives up.
    call_fails_after(Silence::BeforeHead, Era::Session).await;
    let _events = reopened.stream();
    call.answer(&json!({ "content": [] }));
    let response = client.response(id).await;
    assert_eq!(response["result"], json!({ "content": [] }));
}

/// The stream of the session falls silent beside a call that shows life.
#[tokio::test]
async fn a_silent_stream_that_is_reopened_slowly_ends_no_call() {
    let mut server = RawServer::start().await;
    let mut command = command(&server.url());
    command.env("MCP_WEB_MAX_SILENCE", "20s");
    let (mut client, events) = server.connect(command, Era::Session).await;
    let events = events.unwrap();
    events.keep_alive().await;
    let id = client.send_call("a").await;
    let call = server.post("tools/call").await.stream();
    // In half of this time, a client with the shortest limit gives up.
    call_fails_after(Silence::BeforeHead, Era::Session).await;
    call.keep_alive().await;
    let reopened = server.get().await;
    call.keep_alive().await;
    // The stream of a call would have to open within the same time.
    call_fails_after(Silence::BeforeHead, Era::Session).await;
    let _events = reopened.stream();
    let response = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } });
    call.send(&response.to_string()).await;
    assert_eq!(client.response(id).await, response);
}

#[tokio::test]
async fn a_server_without_comments_is_waited_for() {
    let mut server = RawServer::start().await;
    let (mut client, _events) = connect(&mut server, Era::Session).await;
    let id = client.send_call("a").await;
    let call = server.post("tools/call").await;
    // Meanwhile, a client of a bridge with comments gives up.
    call_fails_after(Silence::BeforeHead, Era::Session).await;
    call.answer(&json!({ "content": [] }));
    let response = client.response(id).await;
    assert_eq!(response["result"], json!({ "content": [] }));
}
