//! An AI client over stdio.

use std::process::Stdio;

use raw_page::with_deadline;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::kit::*;

/// An AI client with the process that it has started.
pub(crate) struct StdioClient {
    pub(crate) child: Child,
    pub(crate) input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last_id: u32,
}

impl StdioClient {
    pub(crate) fn start(url: &str) -> Self {
        let mut command = program(&["stdio"]);
        command.env("MCP_SERVER_URL", url).env("AUTH_TOKEN", TOKEN);
        Self::start_with(command)
    }

    pub(crate) fn start_with(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            input: child.stdin.take().unwrap(),
            output,
            child,
            last_id: 0,
        }
    }

    pub(crate) async fn initialize(&mut self) -> Value {
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info,
        });
        self.request("initialize", params).await
    }

    pub(crate) async fn list_tools(&mut self) -> Value {
        self.request("tools/list", json!({})).await
    }

    /// Sends a request and returns the result of its answer.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let line = format!("{request}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
        loop {
            let line = with_deadline("answer", self.output.next_line()).await;
            let answer: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
            if answer["id"] == id && answer.get("method").is_none() {
                return answer["result"].clone();
            }
        }
    }

    /// Ends the input, and waits for the end of the process.
    pub(crate) async fn close(mut self) {
        drop(self.input);
        let status = with_deadline("end of the client", self.child.wait()).await;
        assert!(status.unwrap().success());
    }
}
