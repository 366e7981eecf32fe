//! A bridge that stops answering or reading: the program still ends, and reports the problem.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use mcp_web_sdk::{Call, CallError, ConnectError, McpWeb, NoArguments, Status, Token, Tool};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

/// More than the 4 s in which a connection ends, to allow for a busy machine.
const END_TIMEOUT: Duration = Duration::from_secs(20);

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

fn app(bridge: &str) -> McpWeb {
    let builder = McpWeb::builder("App").bridge(bridge).token(Token::random());
    builder.build().unwrap()
}

/// Connects, and returns the error of the first attempt, after which a retry is expected.
async fn first_failure(app: &McpWeb) -> ConnectError {
    let mut status = app.status();
    let connecting = app.clone();
    tokio::spawn(async move { connecting.connect().await });
    loop {
        status.changed().await.unwrap();
        if let Status::Reconnecting {
            error,
            retry_in: Some(_),
        } = &*status.borrow_and_update()
        {
            return error.clone();
        }
    }
}

/// Acts as the bridge up to the registration of a tool, and calls the tool.
async fn call_tool(listener: &TcpListener, tool: &str) -> WebSocketStream<TcpStream> {
    let (stream, _) = listener.accept().await.unwrap();
    let mut socket = accept_async(stream).await.unwrap();
    let receive = async |socket: &mut WebSocketStream<TcpStream>| {
        let message = socket.next().await.unwrap().unwrap();
        serde_json::from_str::<serde_json::Value>(message.to_text().unwrap()).unwrap()
    };
    assert_eq!(receive(&mut socket).await["type"], "authenticate");
    let limits = json!({ "maxResultBytes": 1 << 28, "maxFrameBytes": 1 << 20, "maxMessageBytes": 1 << 28, "heartbeatSeconds": 25 });
    let accepted = json!({ "type": "authenticated", "sessionId": "s", "success": true, "protocol": 2, "bridgeId": "b", "awaited": [], "nowMs": 1, "limits": limits });
    socket
        .send(Message::text(accepted.to_string()))
        .await
        .unwrap();
    let registration = receive(&mut socket).await;
    let item = json!({ "kind": "tool", "name": tool, "publishedName": tool });
    let registered = json!({ "type": "registered", "registrationId": registration["registrationId"], "items": [item], "errors": [] });
    socket
        .send(Message::text(registered.to_string()))
        .await
        .unwrap();
    let call = json!({ "type": "tool-call", "requestId": "c1", "toolName": tool, "toolInput": {}, "context": { "progress": true } });
    socket.send(Message::text(call.to_string())).await.unwrap();
    socket
}

#[tokio::test]
async fn disconnect_ends_when_the_bridge_does_not_read() {
    let (listener, url) = listen().await;
    let app = app(&url);
    let (returned, mut has_returned) = tokio::sync::watch::channel(false);
    app.add_tool(Tool::new("large"), move |_: NoArguments, _| {
        returned.send_replace(true);
        std::future::ready(Ok("x".repeat(64 << 20)))
    });
    let (connected, socket) = tokio::join!(app.connect(), call_tool(&listener, "large"));
    connected.unwrap();
    has_returned.wait_for(|returned| *returned).await.unwrap();
    let started = Instant::now();
    tokio::time::timeout(END_TIMEOUT, app.disconnect())
        .await
        .unwrap();
    println!("disconnected after {:?}", started.elapsed());
    drop(socket);
}

#[tokio::test]
async fn disconnect_ends_when_the_bridge_never_answers() {
    let (listener, url) = listen().await;
    let app = app(&url);
    let connecting = app.clone();
    let connecting = tokio::spawn(async move { connecting.connect().await });
    let stream = listener.accept().await.unwrap();
    tokio::time::timeout(END_TIMEOUT, app.disconnect())
        .await
        .unwrap();
    assert_eq!(
        connecting.await.unwrap().unwrap_err().code(),
        "Disconnected"
    );
    drop(stream);
}

/// A number that JSON cannot express would end the session.
#[tokio::test]
async fn progress_that_is_not_a_number_or_does_not_increase_is_not_sent() {
    let (listener, url) = listen().await;
    let app = app(&url);
    app.add_tool(
        Tool::new("report"),
        |_: NoArguments, call: Call| async move {
            call.progress(f64::NAN, None, None);
            call.progress(1.0, Some(f64::INFINITY), None);
            call.progress(2.0, Some(4.0), None);
            call.progress(1.0, None, None);
            Ok("done".to_owned())
        },
    );
    let (connected, mut socket) = tokio::join!(app.connect(), call_tool(&listener, "report"));
    connected.unwrap();
    let mut types = Vec::new();
    while types.last().is_none_or(|last| last != "call-response") {
        let message = socket.next().await.unwrap().unwrap();
        let message: serde_json::Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        types.push(message["type"].as_str().unwrap().to_owned());
        if types.last().unwrap() == "call-progress" {
            assert_eq!(message["progress"], 2.0);
        }
    }
    let expected = ["call-received", "call-progress", "call-response"];
    let relevant = types.iter().filter(|kind| kind.starts_with("call"));
    assert_eq!(relevant.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_token_function_that_panics_is_retried() {
    let (_listener, url) = listen().await;
    let token = Token::fetched(|| async {
        if true {
            panic!("the token function panics");
        }
        Ok::<_, CallError>(String::new())
    });
    let app = McpWeb::builder("App")
        .bridge(&url)
        .token(token)
        .build()
        .unwrap();
    assert_eq!(first_failure(&app).await.code(), "TokenFailed");
}

/// TLS to a server without TLS.
#[tokio::test]
async fn a_tls_failure_is_reported_and_retried() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.try_write(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let app = app(&url.replace("http:", "https:"));
    let error = first_failure(&app).await;
    assert_eq!(error.code(), "BridgeUnreachable");
    assert!(error.to_string().contains('('), "{error}");
    println!("{error}");
}

#[tokio::test]
async fn a_connection_whose_runtime_has_ended_is_not_connected() {
    let (_listener, url) = listen().await;
    let app = app(&url);
    let connecting = app.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let connected = tokio::time::timeout(Duration::from_millis(50), connecting.connect());
            assert!(connected.await.is_err());
        });
    })
    .join()
    .unwrap();
    assert_eq!(*app.status().borrow(), Status::Disconnected);
    assert_eq!(app.connect().await.unwrap_err().code(), "Disconnected");
}
