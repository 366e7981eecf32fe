//! A client that measures the latency of its requests.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::MissedTickBehavior;

use crate::latencies::Latencies;
use crate::load::connection::Connection;

/// A client with one connection that measures the latency of each request.
pub(crate) struct Caller {
    connection: Connection,
    address: String,
    token: String,
}

impl Caller {
    pub(crate) async fn connect(address: &str, token: &str) -> Self {
        Self {
            connection: Connection::open(address.parse().unwrap()).await.unwrap(),
            address: address.to_owned(),
            token: token.to_owned(),
        }
    }

    /// Calls a tool this many times, without a pause.
    pub(crate) async fn call_repeatedly(&mut self, tool: &str, times: usize) -> Latencies {
        self.call_at_interval(Duration::ZERO, tool, times).await
    }

    /// Calls a tool at a constant rate. A call that takes long delays the ones after it.
    pub(crate) async fn call_at_interval(
        &mut self,
        interval: Duration,
        tool: &str,
        times: usize,
    ) -> Latencies {
        let body = json!({ "toolName": tool, "toolInput": { "id": "7" } }).to_string();
        let request = self.request("/tool-call", "", &body);
        self.send_repeatedly(&request, times, interval).await
    }

    /// Lists the tools this many times, like a client of 2026-07-28.
    pub(crate) async fn list_repeatedly(&mut self, times: usize) -> Latencies {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "idle", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
        let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n";
        let request = self.request("/mcp", headers, &body.to_string());
        self.send_repeatedly(&request, times, Duration::ZERO).await
    }

    /// Calls until a call is answered, because a floor registers its page a moment after the page
    /// has connected.
    pub(crate) async fn wait_until_answered(&mut self) {
        let request = self.request("/tool-call", "", "{}");
        crate::with_deadline("a call to be answered", async {
            while self.connection.request(&request).await.unwrap().status != 200 {}
        })
        .await;
    }

    async fn send_repeatedly(
        &mut self,
        request: &[u8],
        times: usize,
        interval: Duration,
    ) -> Latencies {
        let mut latencies = Vec::with_capacity(times);
        let mut ticks = (!interval.is_zero()).then(|| {
            let mut ticks = tokio::time::interval(interval);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        for _ in 0..times {
            if let Some(ticks) = &mut ticks {
                ticks.tick().await;
            }
            let start = Instant::now();
            let response = self.connection.request(request).await.unwrap();
            latencies.push(start.elapsed());
            let text = String::from_utf8_lossy(response.message);
            assert!(response.status == 200, "{}: {text}", response.status);
            assert!(!text.contains(r#""isError":true"#), "{text}");
        }
        Latencies::new(latencies)
    }

    fn request(&self, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let Self { address, token, .. } = self;
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{headers}\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        request.into_bytes()
    }
}
