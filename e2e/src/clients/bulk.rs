//! A client that fetches much data and decodes nothing, so that the bridge is the bottleneck.

use std::process::Stdio;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::connect::environment;
use super::http;
use crate::{TestBed, Transport, program_paths, with_deadline};

/// The size of the read buffer. It is large, so that a large line is read in few pieces.
const READ_BUFFER: usize = 1024 * 1024;

/// A client of MCP 2026-07-28, which has no sessions.
pub enum BulkClient {
    /// Over HTTP.
    Http {
        /// The URL of the MCP endpoint.
        url: String,
        /// The token of the test bed.
        token: String,
        /// The HTTP client, which reuses connections.
        client: reqwest::Client,
    },
    /// Through `mcp-web-stdio`.
    Stdio(Box<StdioPipes>),
}

/// A running `mcp-web-stdio`.
pub struct StdioPipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The child ends with its input, and when it is dropped.
    _child: Child,
}

impl BulkClient {
    /// Creates a client of `bed`.
    pub fn new(bed: &TestBed, transport: Transport) -> Self {
        match transport {
            Transport::Http => Self::Http {
                url: bed.mcp_url(),
                token: bed.token().to_owned(),
                client: http(),
            },
            Transport::Stdio => Self::stdio(bed),
        }
    }

    fn stdio(bed: &TestBed) -> Self {
        let environment = environment(bed);
        let variables = environment.as_object().into_iter().flatten();
        let mut child = Command::new(program_paths::built("mcp-web-stdio"))
            .envs(variables.map(|(key, value)| (key, value.as_str().unwrap_or_default())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take().expect("standard input is piped");
        let output = child.stdout.take().expect("standard output is piped");
        Self::Stdio(Box::new(StdioPipes {
            input,
            output: BufReader::with_capacity(READ_BUFFER, output),
            _child: child,
        }))
    }

    /// Calls a tool without arguments and returns the raw answer.
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
