//! A client that was built for mcp-web 0.1.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::{TestBed, program_paths, with_deadline};

/// `e2e/node/v1-client.mjs` under Node, spoken with over its standard input and output.
#[derive(Debug)]
pub struct V1Client {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl V1Client {
    /// A client of `world`.
    pub fn new(world: &TestBed) -> Self {
        let script = program_paths::workspace().join("e2e/node/v1-client.mjs");
        let mut process = Command::new(program_paths::node())
            .arg(script)
            .env("MCP_SERVER_URL", world.url())
            .env("AUTH_TOKEN", world.token())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("Node starts");
        let input = process.stdin.take().expect("it is piped");
        let output = process.stdout.take().expect("it is piped");
        Self {
            input,
            output: BufReader::new(output).lines(),
            _process: process,
        }
    }

    /// Says a request. All have the same id.
    pub async fn send(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let line = format!("{message}\n");
        let said = self.input.write_all(line.as_bytes()).await;
        said.expect("the client reads");
    }

    /// The next answer, to whichever request.
    pub async fn answer(&mut self) -> Value {
        let line = with_deadline("an answer", self.output.next_line()).await;
        let line = line.unwrap().expect("the client lives");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The result of a request.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params).await;
        let mut answer = self.answer().await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    /// The result of a call.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask("tools/call", params).await
    }

    /// Asks for the list of tools until it is as it should be.
    pub async fn wait_for_tools(&mut self, what: &str, fits: impl Fn(&[&str]) -> bool) -> Value {
        let listed = async {
            loop {
                let listed = self.ask("tools/list", json!({})).await;
                let tools = listed["tools"].as_array().unwrap().iter();
                let names: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
                if fits(&names) {
                    return listed;
                }
            }
        };
        with_deadline(what, listed).await
    }
}
