//! One caller: requests over one connection, one after another, each timed.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Interval, MissedTickBehavior};

/// A connection to the bridge.
pub(crate) struct Caller {
    socket: TcpStream,
    address: String,
    token: String,
}

/// How long requests took, in order of length.
pub(crate) struct Latencies(Vec<Duration>);

impl Caller {
    pub(crate) async fn connect(address: &str, token: &str) -> Self {
        let socket = TcpStream::connect(address).await.unwrap();
        socket.set_nodelay(true).unwrap();
        Self {
            socket,
            address: address.to_owned(),
            token: token.to_owned(),
        }
    }

    /// Calls a tool so many times.
    pub(crate) async fn calls(&mut self, tool: &str, times: usize) -> Latencies {
        let body = json!({ "toolName": tool, "toolInput": { "id": "7" } }).to_string();
        let every = Duration::ZERO;
        self.requests("/tool-call", "", &body, times, every).await
    }

    /// The same at a steady rate: a call that took long is followed no sooner.
    pub(crate) async fn call_at_interval(
        &mut self,
        every: Duration,
        tool: &str,
        times: usize,
    ) -> Latencies {
        let body = json!({ "toolName": tool, "toolInput": { "id": "7" } }).to_string();
        self.requests("/tool-call", "", &body, times, every).await
    }

    /// Asks for the list of tools so many times, as a client of 2026-07-28 does.
    pub(crate) async fn list_repeatedly(&mut self, times: usize) -> Latencies {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "idle", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
        let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n";
        let every = Duration::ZERO;
        self.requests("/mcp", headers, &body.to_string(), times, every)
            .await
    }

    /// Until a call is answered: a floor knows its page a moment after the page does.
    pub(crate) async fn wait_until_answered(&mut self) {
        let request = self.request("/tool-call", "", "{}");
        crate::with_deadline("a call to be answered", async {
            let mut answer = Vec::new();
            while !answer.starts_with(b"HTTP/1.1 200") {
                self.exchange(&request, &mut answer).await;
            }
        })
        .await;
    }

    async fn requests(
        &mut self,
        path: &str,
        headers: &str,
        body: &str,
        times: usize,
        every: Duration,
    ) -> Latencies {
        let request = self.request(path, headers, body);
        let mut taken = Vec::with_capacity(times);
        let mut answer = Vec::new();
        let mut turns = (!every.is_zero()).then(|| ticker(every));
        for _ in 0..times {
            if let Some(turns) = &mut turns {
                turns.tick().await;
            }
            let began = Instant::now();
            self.exchange(&request, &mut answer).await;
            taken.push(began.elapsed());
            let text = String::from_utf8_lossy(&answer);
            assert!(text.starts_with("HTTP/1.1 200"), "{text}");
            assert!(!text.contains(r#""isError":true"#), "{text}");
        }
        taken.sort();
        Latencies(taken)
    }

    fn request(&self, path: &str, headers: &str, body: &str) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{headers}\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        )
    }

    /// Sends a request and takes its answer, which is put in the place of the one before.
    async fn exchange(&mut self, request: &str, answer: &mut Vec<u8>) {
        self.socket.write_all(request.as_bytes()).await.unwrap();
        answer.clear();
        while !is_complete(answer) {
            let read = self.socket.read_buf(answer).await.unwrap();
            assert!(read > 0, "the server closed the connection");
        }
    }
}

impl Latencies {
    /// The time that so many of a thousand requests did not take longer than.
    pub(crate) fn permille(&self, of_thousand: usize) -> Duration {
        let last = self.0.len() - 1;
        self.0[(self.0.len() * of_thousand / 1000).min(last)]
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// How many took longer.
    pub(crate) fn count_over(&self, limit: Duration) -> usize {
        self.0.iter().filter(|taken| **taken > limit).count()
    }
}

fn ticker(every: Duration) -> Interval {
    let mut turns = tokio::time::interval(every);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    turns
}

/// Whether the body has come: by its length, or to its last chunk.
fn is_complete(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    match length {
        Some(length) => answer.len() >= end + 4 + length.trim().parse::<usize>().unwrap(),
        None => answer.ends_with(b"\r\n0\r\n\r\n"),
    }
}
