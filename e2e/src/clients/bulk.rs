//! A client that asks for much and decodes nothing: beside it, what takes time is the bridge.

use std::process::Stdio;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::connect::environment;
use super::http;
use crate::{TestBed, Transport, program_paths, with_deadline};

/// So that a large line comes in large pieces.
const READ_BUFFER: usize = 1024 * 1024;

/// A client of MCP 2026-07-28, where each request stands alone.
pub enum BulkClient {
    /// Over HTTP.
    Http {
        /// The MCP endpoint.
        url: String,
        /// The world's token.
        token: String,
        /// Keeps connections open between requests.
        client: reqwest::Client,
    },
    /// Through `mcp-web-stdio`.
    Stdio(Box<StdioPipes>),
}

/// A running `mcp-web-stdio`.
pub struct StdioPipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Ends with its input, and with this value.
    _child: Child,
}

impl BulkClient {
    /// A client of `world`.
    pub fn new(world: &TestBed, leg: Transport) -> Self {
        match leg {
            Transport::Http => Self::Http {
                url: world.mcp_url(),
                token: world.token().to_owned(),
                client: http(),
            },
            Transport::Stdio => Self::stdio(world),
        }
    }

    fn stdio(world: &TestBed) -> Self {
        let environment = environment(world);
        let variables = environment.as_object().into_iter().flatten();
        let mut child = Command::new(program_paths::built("mcp-web-stdio"))
            .envs(variables.map(|(key, value)| (key, value.as_str().unwrap_or_default())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take().expect("it was asked for");
        let output = child.stdout.take().expect("it was asked for");
        Self::Stdio(Box::new(StdioPipes {
            input,
            output: BufReader::with_capacity(READ_BUFFER, output),
            _child: child,
        }))
    }

    /// Calls a tool without arguments and returns the answer as it came.
    pub async fn call(&mut self, tool: &str) -> Bytes {
        let called = async {
            match self {
                Self::Http { url, token, client } => {
                    let answer = client
                        .post(url.as_str())
                        .bearer_auth(token.as_str())
                        .header("accept", "application/json, text/event-stream")
                        .header("mcp-protocol-version", "2026-07-28")
                        .header("mcp-method", "tools/call")
                        .header("mcp-name", tool)
                        .json(&request(tool))
                        .send()
                        .await
                        .unwrap();
                    assert!(answer.status().is_success(), "{answer:?}");
                    answer.bytes().await.unwrap()
                }
                Self::Stdio(pipes) => {
                    let line = format!("{}\n", request(tool));
                    pipes.input.write_all(line.as_bytes()).await.unwrap();
                    let mut line = Vec::new();
                    pipes.output.read_until(b'\n', &mut line).await.unwrap();
                    line.into()
                }
            }
        };
        with_deadline("the answer to a large call", called).await
    }
}

fn request(tool: &str) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "bulk", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": {}, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}
