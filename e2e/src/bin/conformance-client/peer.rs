//! The connection to `mcp-web-stdio` as a client has it.

use std::ffi::OsStr;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::answers;

/// A running `mcp-web-stdio`.
pub(crate) struct Peer {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    version: String,
    last_id: u64,
}

impl Peer {
    /// Starts the program. The suite captures its log on standard error.
    pub(crate) fn start(program: &OsStr, url: &OsStr, version: &str) -> Self {
        let mut child = Command::new(program)
            .env("MCP_SERVER_URL", url)
            .env("AUTH_TOKEN", "a-token-that-no-scenario-asks-for")
            .env("MCP_WEB_LOG", "debug")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            input,
            output,
            version: version.to_owned(),
            last_id: 0,
        }
    }

    /// Connects as the version requires, and returns the server's capabilities.
    pub(crate) async fn handshake(&mut self) -> Value {
        if self.is_stateless() {
            let discovered = self.request("server/discover", json!({})).await;
            return discovered["result"]["capabilities"].clone();
        }
        let params = json!({
            "protocolVersion": self.version,
            "capabilities": capabilities(),
            "clientInfo": client_info(),
        });
        let initialized = self.request("initialize", params).await;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        initialized["result"]["capabilities"].clone()
    }

    /// Sends a request and returns its answer. Requests of the server are answered meanwhile.
    pub(crate) async fn request(&mut self, method: &str, mut params: Value) -> Value {
        if self.is_stateless() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientInfo": client_info(),
                "io.modelcontextprotocol/clientCapabilities": capabilities(),
            });
        }
        self.last_id += 1;
        let id = json!(self.last_id);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        loop {
            let message = self.receive().await;
            if message.get("method").is_none() && message["id"] == id {
                return message;
            }
            if message.get("id").is_some() && message.get("method").is_some() {
                self.reply(&message).await;
            }
        }
    }

    async fn reply(&mut self, request: &Value) {
        let id = &request["id"];
        let reply = match answers::respond_to(request) {
            Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            None => {
                let error = json!({ "code": -32601, "message": "unknown method" });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        };
        self.send(&reply).await;
    }

    /// Closes the input and waits until the program has exited.
    pub(crate) async fn close(mut self) {
        drop(self.input);
        let status = self.child.wait().await.unwrap();
        assert!(status.success(), "mcp-web-stdio ended with {status}");
    }

    fn is_stateless(&self) -> bool {
        self.version.as_str() >= "2026-07-28"
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let line = self.output.next_line().await.unwrap();
        let line = line.expect("mcp-web-stdio is running");
        eprintln!("received {line}");
        serde_json::from_str(&line).unwrap()
    }
}

fn capabilities() -> Value {
    json!({
        "elicitation": { "form": { "applyDefaults": true }, "url": {} },
        "roots": {},
        "sampling": {},
    })
}

fn client_info() -> Value {
    json!({ "name": "conformance-client", "version": "1.0.0" })
}
