//! The server with a client that a test controls, and a slow source.

use std::future::pending;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::ToolSource;
use crate::tests::SlowSource;
use open_requests::MAX_OPEN_REQUESTS;

/// The capacity of each stream, as that of a pipe.
const PIPE_BYTES: usize = 64 * 1024;

/// A client of a server.
struct Client {
    source: Arc<SlowSource>,
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    /// Reports the end of the input to the server, also while it does not read.
    close: Option<oneshot::Sender<()>>,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<Result<(), String>>,
}

impl Client {
    fn start() -> Self {
        let source = Arc::new(SlowSource::default());
        let served = ServedSource::new(Arc::clone(&source) as Arc<dyn ToolSource>, None);
        let (input, server_input) = duplex(PIPE_BYTES);
        let (server_output, output) = duplex(PIPE_BYTES);
        let (close, closed) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let event = async |received: oneshot::Receiver<()>| {
            if received.await.is_err() {
                pending::<()>().await;
            }
        };
        let serving = serve_plugin(
            served,
            server_input,
            server_output,
            event(closed),
            event(stopped),
        );
        Self {
            source,
            input,
            output: BufReader::new(output).lines(),
            close: Some(close),
            stop: Some(stop),
            server: tokio::spawn(serving),
        }
    }

    async fn initialized() -> Self {
        let mut client = Self::start();
        let client_info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": client_info });
        client.request(0, "initialize", params).await;
        assert_eq!(client.recv().await["result"]["serverInfo"]["title"], "slow");
        client.notify("initialized", json!({})).await;
        client
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn request(&mut self, id: usize, method: &str, params: Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(request).await;
    }

    async fn notify(&mut self, name: &str, params: Value) {
        let method = format!("notifications/{name}");
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    async fn call(&mut self, id: usize) {
        let params = json!({ "name": "wait", "arguments": {} });
        self.request(id, "tools/call", params).await;
    }

    async fn recv(&mut self) -> Value {
        let line = self.output.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Waits until this many calls have begun.
    async fn begun(&self, calls: usize) {
        let begun = self.source.begun.acquire_many(calls as u32).await;
        begun.unwrap().forget();
    }
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_and_wrong_arguments_are_a_result() {
    let mut client = Client::initialized().await;
    let params = json!({ "name": "no\u{1b}pe" });
    client.request(1, "tools/call", params).await;
    let answer = client.recv().await;
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(
        answer["error"]["message"],
        "there is no such tool: the tools are wait"
    );
    let params = json!({ "name": "wait", "arguments": { "forever": "yes" } });
    client.request(2, "tools/call", params).await;
    let result = &client.recv().await["result"];
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("the arguments are wrong"), "{text}");
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_has_no_answer() {
    let mut client = Client::initialized().await;
    client.call(1).await;
    client.begun(1).await;
    client.notify("cancelled", json!({ "requestId": 1 })).await;
    client.source.dropped.acquire().await.unwrap().forget();
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.recv().await["id"], 2);
}

#[tokio::test]
async fn requests_are_read_while_fewer_than_sixty_four_are_open() {
    let mut client = Client::initialized().await;
    for id in 0..MAX_OPEN_REQUESTS {
        client.call(id).await;
    }
    client.begun(16).await;
    // One more is read, but not answered, before another one has ended.
    client.request(1000, "ping", json!({})).await;
    client.source.ending.add_permits(1);
    assert_eq!(client.recv().await["result"]["isError"], false);
    assert_eq!(client.recv().await["id"], 1000);
    client.source.ending.add_permits(MAX_OPEN_REQUESTS);
    for _ in 1..MAX_OPEN_REQUESTS {
        client.recv().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_stops_reading_from_a_client_that_does_not_read() {
    let mut client = Client::initialized().await;
    let mut sent = 0;
    let sending = async {
        loop {
            client.request(sent, "tools/list", json!({})).await;
            sent += 1;
        }
    };
    let sending = timeout(Duration::from_secs(60), sending);
    assert!(sending.await.is_err(), "the server never stops reading");
    // Those in two full pipes, those that are read at once, and the open ones.
    assert!(sent < 5000, "{sent} requests were read");
    for _ in 0..MAX_OPEN_REQUESTS {
        assert!(client.recv().await["result"]["tools"].is_array());
    }
}

#[tokio::test]
async fn a_request_with_the_id_of_an_open_one_is_dropped() {
    let mut client = Client::initialized().await;
    client.call(1).await;
    client.begun(1).await;
    for _ in 0..3 * MAX_OPEN_REQUESTS {
        client.call(1).await;
    }
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.recv().await["id"], 2);
    client.source.ending.add_permits(2);
    assert_eq!(client.recv().await["id"], 1);
    assert_eq!(client.source.begun.available_permits(), 0);
}

#[tokio::test]
async fn a_line_that_does_not_end_is_dropped_and_others_are_answered() {
    let mut client = Client::initialized().await;
    let part = vec![b'x'; PIPE_BYTES];
    for _ in 0..=MAX_MESSAGE_BYTES / PIPE_BYTES {
        client.input.write_all(&part).await.unwrap();
    }
    client.input.write_all(b"\n").await.unwrap();
    client.request(1, "ping", json!({})).await;
    assert_eq!(client.recv().await["id"], 1);
}

#[tokio::test]
async fn a_line_that_is_not_a_message_has_an_error_without_an_id() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}1{}}}"#,
        r#"{"a":"#.repeat(100_000),
        "}".repeat(100_000)
    );
    for (line, code) in [
        (b"not JSON".as_slice(), -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
        ),
        (deep.as_bytes(), -32700),
        (b"[1]", -32600),
        (b"{}", -32600),
        (
            b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
            -32600,
        ),
    ] {
        let mut client = Client::initialized().await;
        let lines = [line, b"\n"].concat();
        client.input.write_all(&lines).await.unwrap();
        let answer = client.recv().await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        // In MCP, the id of an error is that of a request, or absent.
        assert_eq!(answer.get("id"), None);
        client.request(1, "ping", json!({})).await;
        assert_eq!(client.recv().await["id"], 1);
    }
}

#[tokio::test]
async fn the_last_line_needs_no_line_break() {
    let mut client = Client::initialized().await;
    // Neither has an answer: a notification that is malformed, and an empty line.
    client
        .input
        .write_all(b"{\"method\":1}\n\r\n")
        .await
        .unwrap();
    let request = json!({ "jsonrpc": "2.0", "id": 4, "method": "ping" });
    let line = format!("\u{feff}{request}");
    client.input.write_all(line.as_bytes()).await.unwrap();
    client.input.shutdown().await.unwrap();
    assert_eq!(client.recv().await["id"], 4);
    client.server.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn calls_continue_for_a_second_after_the_end_of_the_input() {
    let mut client = Client::initialized().await;
    client.call(1).await;
    client.call(2).await;
    client.begun(2).await;
    client.input.shutdown().await.unwrap();
    client.source.ending.add_permits(1);
    assert_eq!(client.recv().await["result"]["isError"], false);
    let began_at = tokio::time::Instant::now();
    client.server.await.unwrap().unwrap();
    assert!(began_at.elapsed() <= INPUT_END_GRACE, "{began_at:?}");
    assert_eq!(client.source.dropped.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_is_noticed_while_nothing_is_read() {
    let mut client = Client::initialized().await;
    for id in 0..MAX_OPEN_REQUESTS {
        client.call(id).await;
    }
    client.begun(16).await;
    client.close.take().unwrap().send(()).unwrap();
    client.server.await.unwrap().unwrap();
    assert_eq!(client.source.dropped.available_permits(), 16);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_server_cancels_its_calls_even_without_a_reader() {
    let mut client = Client::initialized().await;
    client.call(1).await;
    client.begun(1).await;
    let mut id = 1;
    let sending = async {
        loop {
            id += 1;
            client.request(id, "tools/list", json!({})).await;
        }
    };
    assert!(timeout(Duration::from_secs(1), sending).await.is_err());
    client.stop.take().unwrap().send(()).unwrap();
    client.server.await.unwrap().unwrap();
    client.source.dropped.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn input_that_is_not_mcp_is_an_error() {
    let mut client = Client::start();
    client.notify("initialized", json!({})).await;
    let error = client.server.await.unwrap().unwrap_err();
    assert!(error.contains("does not speak MCP"), "{error}");
}
