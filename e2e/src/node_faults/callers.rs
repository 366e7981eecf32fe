//! The callers of a run. Each makes one call after the other at the same entry.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::ending::Ending;
use super::ledger::{CallRecord, Entry, Ledger};
use super::tabs::TOOL;
use crate::delay::delay;
use crate::with_deadline;

/// The pause of a caller after a failure, as a client makes one.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(100);

/// How long calls take. The longest is shorter than a fault that lasts.
const CALL_MILLIS: std::ops::Range<u64> = 500..2000;

/// The version of MCP of clients without a session.
const STATELESS_VERSION: &str = "2026-07-28";

const SESSION_VERSION: &str = "2025-11-25";

/// How a caller makes its calls.
#[derive(Clone, Copy, Debug)]
pub(super) enum Protocol {
    /// `POST /tool-call`.
    Plain,
    /// MCP without a session.
    Stateless,
    /// MCP with a session, which is opened first.
    Session,
}

/// Source of calls at one address.
pub(super) struct Caller {
    pub(super) number: usize,
    /// The node that owns its user.
    pub(super) owner: usize,
    pub(super) entry: Entry,
    pub(super) url: String,
    pub(super) token: String,
    pub(super) protocol: Protocol,
    /// The tabs that it calls, by turns.
    pub(super) tabs: Vec<String>,
}

/// Callers that run until they are stopped.
pub(super) struct Callers {
    tasks: JoinSet<()>,
    is_stopped: watch::Sender<bool>,
}

impl Callers {
    pub(super) fn start(callers: Vec<Caller>, ledger: &Arc<Ledger>) -> Self {
        let is_stopped = watch::Sender::new(false);
        let mut tasks = JoinSet::new();
        for caller in callers {
            tasks.spawn(caller.run(Arc::clone(ledger), is_stopped.subscribe()));
        }
        Self { tasks, is_stopped }
    }

    /// Lets each caller make no further call, and waits until its last one has ended.
    pub(super) async fn stop(self) {
        self.is_stopped.send_replace(true);
        with_deadline("the last calls to end", self.tasks.join_all()).await;
    }
}

impl Caller {
    async fn run(self, ledger: Arc<Ledger>, is_stopped: watch::Receiver<bool>) {
        let client = self.client();
        let session = match self.protocol {
            Protocol::Session => Some(self.open_session(&client).await),
            _ => None,
        };
        for turn in 0.. {
            if *is_stopped.borrow() {
                return;
            }
            let tab = turn % self.tabs.len();
            let record = CallRecord::new(self.owner, self.entry, self.number, tab);
            let call = ledger.call_made(record);
            let spread = CALL_MILLIS.end - CALL_MILLIS.start;
            let millis = CALL_MILLIS.start + call * 7919 % spread;
            let work = json!({ "call": call, "millis": millis });
            let request = self.request(&client, session.as_deref(), &self.tabs[tab], work);
            let ending = send(request, call).await;
            let is_ok = ending == Ending::Ok;
            ledger.call_ended(call, ending);
            if !is_ok {
                delay(PAUSE_AFTER_FAILURE).await;
            }
        }
    }

    fn client(&self) -> Client {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy();
        let client = match self.entry {
            // Each call may use another node.
            Entry::Balancer => client.pool_max_idle_per_host(0),
            Entry::Node(_) => client,
        };
        client.build().unwrap()
    }

    fn request(
        &self,
        client: &Client,
        session: Option<&str>,
        tab: &str,
        mut work: Value,
    ) -> RequestBuilder {
        if let Protocol::Plain = self.protocol {
            let body = json!({ "toolName": TOOL, "toolInput": work, "sessionId": tab });
            return self.post(client, "/tool-call").json(&body);
        }
        work["session_id"] = tab.into();
        let mut params = json!({ "name": TOOL, "arguments": work });
        let request = self.post(client, "/mcp");
        let request = match session {
            Some(session) => request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", SESSION_VERSION),
            None => {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": STATELESS_VERSION,
                    "io.modelcontextprotocol/clientInfo": { "name": "faults", "version": "1" },
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                request
                    .header("mcp-protocol-version", STATELESS_VERSION)
                    .header("mcp-method", "tools/call")
                    .header("mcp-name", TOOL)
            }
        };
        request.json(&rpc("tools/call", params))
    }

    async fn open_session(&self, client: &Client) -> String {
        let params = json!({
            "protocolVersion": SESSION_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "faults", "version": "1" },
        });
        let initialize = self.post(client, "/mcp").json(&rpc("initialize", params));
        let opened = with_deadline("a session to open", initialize.send()).await;
        let opened = opened.and_then(Response::error_for_status).unwrap();
        let session = opened.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let initialized = self
            .post(client, "/mcp")
            .header("mcp-session-id", &session)
            .header("mcp-protocol-version", SESSION_VERSION)
            .json(&initialized);
        let accepted = with_deadline("a session to begin", initialized.send()).await;
        accepted.and_then(Response::error_for_status).unwrap();
        session
    }

    fn post(&self, client: &Client, path: &str) -> RequestBuilder {
        client
            .post(format!("{}{path}", self.url))
            .bearer_auth(&self.token)
            .header("accept", "application/json, text/event-stream")
    }
}

async fn send(request: RequestBuilder, call: u64) -> Ending {
    let response = async {
        let response = request.send().await?;
        let status = response.status().as_u16();
        let media = response.headers().get("content-type");
        let is_stream =
            media.is_some_and(|media| media.as_bytes().starts_with(b"text/event-stream"));
        Ok((status, is_stream, response.text().await?))
    };
    match response.await {
        Ok((status, true, body)) => Ending::of_stream(status, &body, call),
        Ok((status, false, body)) => Ending::of_response(status, &body, call),
        Err(error) => Ending::of_error(&error),
    }
}

fn rpc(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}
