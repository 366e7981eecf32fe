//! A client of mcp-web 0.1.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::{TestBed, program_paths, with_deadline};

/// Runs `e2e/node/v1-client.mjs` under Node, and talks to it over standard input and output.
#[derive(Debug)]
pub struct V1Client {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl V1Client {
    /// Starts a client of `bed`.
    pub fn new(bed: &TestBed) -> Self {
        let script = program_paths::workspace().join("e2e/node/v1-client.mjs");
        let mut process = Command::new(program_paths::node())
            .arg(script)
            .env("MCP_SERVER_URL", bed.url())
            .env("AUTH_TOKEN", bed.token())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("Node starts");
        let input = process.stdin.take().expect("standard input is piped");
        let output = process.stdout.take().expect("standard output is piped");
        Self {
            input,
            output: BufReader::new(output).lines(),
            _process: process,
        }
    }

    /// Sends a request. All requests have the same id.
    pub async fn send(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let line = format!("{message}\n");
        let result = self.input.write_all(line.as_bytes()).await;
        result.expect("the client is alive");
    }

    /// Receives the next answer, to whichever request.
    pub async fn recv(&mut self) -> Value {
        let line = with_deadline("an answer", self.output.next_line()).await;
        let line = line.unwrap().expect("the client is alive");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and returns its result.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params).await;
        let mut answer = self.recv().await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    /// Calls a tool and returns its result.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request("tools/call", params).await
    }

    /// Lists the tools until the list fulfils the condition.
    pub async fn wait_for_tools(
        &mut self,
        what: &str,
        condition: impl Fn(&[&str]) -> bool,
    ) -> Value {
        let listed = async {
            loop {
                let listed = self.request("tools/list", json!({})).await;
                let tools = listed["tools"].as_array().unwrap().iter();
                let names: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
                if condition(&names) {
                    return listed;
                }
            }
        };
        with_deadline(what, listed).await
    }
}
