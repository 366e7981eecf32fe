//! The test client: it starts the binary and exchanges JSON lines with it.

use std::collections::VecDeque;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// The timeout of every wait. It is long enough for a loaded machine, and only a failing test waits
/// for its end.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The token that the test servers accept.
pub(crate) const TOKEN: &str = "a-token-of-the-page";

/// The path of the binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_mcp-web-stdio");

/// Returns the command that starts the binary for the bridge at `url`.
pub(crate) fn command(url: &str) -> Command {
    let mut command = Command::new(BINARY);
    command
        .env("MCP_SERVER_URL", url)
        .env("AUTH_TOKEN", TOKEN)
        // The binary must not use this proxy for a bridge on this machine.
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .env_remove("MCP_WEB_SESSION")
        .env_remove("MCP_WEB_TOKEN_COMMAND")
        .env_remove("MCP_WEB_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// The variant of the protocol that a client uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// MCP sessions, which begin with `initialize` (up to 2025-11-25).
    Session,
    /// Requests that name their version (2026-07-28).
    Stateless,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Session, Self::Stateless];
}

/// A client and the process that serves it.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Messages that arrived while the test waited for others.
    buffered: VecDeque<Value>,
    era: Era,
    next_id: u64,
}

impl Client {
    pub(crate) fn start(mut command: Command, era: Era) -> Self {
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
            buffered: VecDeque::new(),
            era,
            next_id: 1,
        }
    }

    /// Starts a client of the bridge at `url` and, in the session era, initializes it.
    pub(crate) async fn ready(url: &str, era: Era) -> Self {
        Self::ready_with(command(url), era).await
    }

    /// Starts a client with a command and, in the session era, initializes it.
    pub(crate) async fn ready_with(command: Command, era: Era) -> Self {
        let mut client = Self::start(command, era);
        if era == Era::Session {
            client.initialize("2025-11-25").await;
        }
        client
    }

    /// Initializes an MCP session and returns the result.
    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": { "roots": {} },
            "clientInfo": { "name": "test-desktop", "version": "7.7" },
        });
        let result = self.request("initialize", params).await["result"].take();
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        result
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_line(&message.to_string()).await;
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        let line = format!("{line}\n");
        input.write_all(line.as_bytes()).await.unwrap();
    }

    /// Sends a request with the `_meta` that its era requires and returns its id.
    pub(crate) async fn send_request(&mut self, method: &str, mut params: Value) -> u64 {
        if self.era == Era::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test-desktop", "version": "7.7" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let id = self.next_id;
        self.next_id += 1;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params).await;
        self.response(id).await
    }

    /// Sends a call without arguments and returns its id.
    pub(crate) async fn send_call(&mut self, tool: &str) -> u64 {
        self.send_request("tools/call", json!({ "name": tool }))
            .await
    }

    /// Calls a tool and returns the result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request("tools/call", params).await["result"].take()
    }

    /// Calls the tool `echo`, which must return its argument.
    pub(crate) async fn echo(&mut self, text: &str) {
        let result = self.call("echo", json!({ "text": text })).await;
        assert_eq!(result["content"][0]["text"], text, "{result}");
    }

    /// Returns the names of the tools in the list.
    pub(crate) async fn tools(&mut self) -> Vec<String> {
        let response = self.request("tools/list", json!({})).await;
        let tools = response["result"]["tools"]
            .as_array()
            .unwrap_or_else(|| panic!("{response}"));
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) async fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id, "reason": "not needed" });
        self.send(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
        )
        .await;
    }

    /// Opens a `subscriptions/listen` for list changes and waits for its acknowledgement.
    pub(crate) async fn listen(&mut self) -> u64 {
        let id = self
            .send_request(
                "subscriptions/listen",
                json!({ "notifications": { "toolsListChanged": true } }),
            )
            .await;
        let acknowledged = self
            .notification("notifications/subscriptions/acknowledged")
            .await;
        assert_eq!(subscription_id(&acknowledged), id);
        id
    }

    pub(crate) async fn response(&mut self, id: u64) -> Value {
        self.wait_for(|message| message["id"] == id && message.get("method").is_none())
            .await
    }

    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        self.wait_for(|message| message["method"] == method).await
    }

    /// Returns whether a notification arrived while the test waited for other messages.
    pub(crate) fn has_received(&self, method: &str) -> bool {
        let mut buffered = self.buffered.iter();
        buffered.any(|message| message["method"] == method)
    }

    pub(crate) async fn list_changed(&mut self) -> Value {
        self.notification("notifications/tools/list_changed").await
    }

    /// Waits for a message that matches `predicate`. Others are stored for later.
    pub(crate) async fn wait_for(&mut self, predicate: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.buffered.iter().position(&predicate) {
            return self.buffered.remove(index).unwrap();
        }
        loop {
            let message = self.recv().await.expect("the process has exited");
            if predicate(&message) {
                return message;
            }
            self.buffered.push_back(message);
        }
    }

    /// Closes the input and waits for the exit status.
    pub(crate) async fn close(mut self) -> ExitStatus {
        drop(self.input.take());
        self.exit_status().await
    }

    /// Waits until the process exits, and checks that all of its output is JSON-RPC.
    async fn exit_status(mut self) -> ExitStatus {
        while self.recv().await.is_some() {}
        tokio::time::timeout(DEADLINE, self.child.wait())
            .await
            .unwrap()
            .unwrap()
    }

    /// Sends SIGTERM while the input stays open, and waits for the exit status.
    pub(crate) async fn terminate(self) -> ExitStatus {
        self.signal("TERM").await;
        self.exit_status().await
    }

    /// Sends a signal while the input stays open.
    pub(crate) async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        let kill = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
        assert!(kill.await.unwrap().success());
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits until a line begins, and leaves all of it unread but the first bytes.
    pub(crate) async fn wait_for_line_start(&mut self) {
        let result = tokio::time::timeout(DEADLINE, self.output.fill_buf()).await;
        let start = result.expect("a message in time").unwrap();
        assert!(!start.is_empty());
    }

    /// Reads the next line, unchanged, or returns `None` at the end of the output.
    pub(crate) async fn next_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let result = tokio::time::timeout(DEADLINE, self.output.read_line(&mut line)).await;
        let length = result.expect("a message in time").unwrap();
        (length > 0).then(|| line.trim_end_matches('\n').to_owned())
    }

    async fn recv(&mut self) -> Option<Value> {
        let line = self.next_line().await?;
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        Some(message)
    }
}

/// Returns the id of the listen that a notification belongs to.
pub(crate) fn subscription_id(notification: &Value) -> u64 {
    notification["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
        .as_u64()
        .unwrap()
}

/// Returns the text of a tool result that is an error.
pub(crate) fn error_text(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap()
}
