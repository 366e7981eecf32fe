//! The answers of the bridge to each kind of MCP request, valid or not. `mcp_answers.txt` has the
//! answers, and changes only on purpose: `MCP_WEB_RECORD=1` writes it anew.

mod header_rows;
mod page;
pub(crate) mod request;
pub(crate) mod rows;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use bridge::ServerHandle;
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::Value;

use self::page::{items, serve_calls, tools};
use self::request::{Client, Request};
use self::rows::rows;
use crate::kit::*;

const ALL_CAPABILITIES: &str = r#"{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}"#;

/// One client of each kind, and the page that they use.
pub(crate) struct Clients {
    sessions: [McpClient; 2],
}

impl Clients {
    /// Connects the page and the clients.
    pub(crate) async fn connect(bridge: &ServerHandle) -> Self {
        let mut page = Page::with_tools(bridge, "s", &tools()).await;
        page.register_items(&items()).await;
        tokio::spawn(serve_calls(page));
        let all = serde_json::from_str(ALL_CAPABILITIES).unwrap();
        let asked = McpClient::connect_with_capabilities(bridge, TOKEN, all).await;
        let sessions = [McpClient::connect(bridge, TOKEN).await, asked];
        Self { sessions }
    }

    /// A request of a client, as it should be.
    pub(crate) fn request(&self, client: Client, method: &str, params: &Value) -> Request {
        let mut headers = vec![(
            "accept",
            HeaderValue::from_static("application/json, text/event-stream"),
        )];
        let mut params = params.clone();
        match client {
            Client::Session { declares_all } => {
                let session = &self.sessions[usize::from(declares_all)].session;
                headers.push(("mcp-session-id", session.parse().unwrap()));
            }
            Client::Stateless { declares_all } => {
                let capabilities = if declares_all { ALL_CAPABILITIES } else { "{}" };
                let capabilities = serde_json::from_str(capabilities).unwrap();
                params = with_client_meta(params, CLIENT_NAME, &capabilities);
                let own = stateless_headers(method, &params);
                let own = own
                    .into_iter()
                    .map(|(name, value)| (name, value.parse().unwrap()));
                headers.extend(own);
            }
        }
        Request {
            method: Method::POST,
            token: Some(TOKEN),
            headers,
            body: rpc_request(1, method, params).to_string(),
        }
    }
}

/// A bridge with its page and its clients.
struct Bench {
    bridge: ServerHandle,
    clients: Clients,
}

impl Bench {
    async fn start() -> Self {
        let bridge = start_bridge().await;
        let clients = Clients::connect(&bridge).await;
        Self { bridge, clients }
    }

    /// The status, the headers that matter, and each message of the answer to a request.
    async fn answer(&self, request: Request) -> Answer {
        let url = format!("{}/mcp", self.bridge.url());
        let mut sent = http_client()
            .request(request.method, url)
            .body(request.body);
        if let Some(token) = request.token {
            sent = sent.bearer_auth(token);
        }
        for (name, value) in request.headers {
            sent = sent.header(name, value);
        }
        let response = with_deadline("response", sent.send()).await.unwrap();
        let mut head = response.status().as_u16().to_string();
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        let framing = header("content-type").unwrap_or_default();
        for name in ["www-authenticate", "allow", "retry-after"] {
            if let Some(value) = header(name) {
                let _ = write!(head, "\n{name}: {value}");
            }
        }
        if header("mcp-session-id").is_some() {
            head.push_str("\nmcp-session-id: …");
        }
        let text = with_deadline("body", response.text()).await.unwrap();
        let body = match framing.as_str() {
            "text/event-stream" => {
                let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
                let messages = data.map(str::trim).filter(|message| !message.is_empty());
                messages.collect::<Vec<_>>().join("\n")
            }
            _ => text,
        };
        Answer {
            framing,
            text: without_request_ids(&without_times(format!("{head}\n{body}").trim_end())),
        }
    }
}

#[derive(Debug, PartialEq)]
struct Answer {
    framing: String,
    text: String,
}

/// Replaces the time of each timestamp of the form `2026-07-28T12:00:00.000Z`.
pub(crate) fn without_times(answer: &str) -> String {
    const LEN: usize = 24;
    let is_time = |it: &[u8]| (it[4], it[7], it[10], it[23]) == (b'-', b'-', b'T', b'Z');
    let mut text = answer.to_owned();
    let mut start = 0;
    while let Some(window) = text.as_bytes().get(start..start + LEN) {
        if is_time(window) {
            text.replace_range(start..start + LEN, "…");
        }
        start += 1;
    }
    text
}

/// Replaces the ids of requests, which are random.
pub(crate) fn without_request_ids(answer: &str) -> String {
    const BEFORE: &str = "\"requestId\":\"";
    let mut parts = answer.split(BEFORE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once('"').unwrap();
        text += &format!("{BEFORE}…\"{rest}");
    }
    text
}

/// Shortens a list of tools that an earlier answer had.
fn without_repeated_list(answer: &str, lists: &mut HashSet<String>) -> String {
    let list = answer.find("\"tools\":[").map(|start| &answer[start..]);
    match list {
        Some(list) if !lists.insert(list.to_owned()) => {
            answer.replace(list, "\"tools\":[… as before")
        }
        _ => answer.to_owned(),
    }
}

/// Writes the answers, which are the same for both clients of an era.
async fn all_answers() -> String {
    let bench = Bench::start().await;
    let mut lists = HashSet::new();
    let mut out = String::new();
    for row in rows() {
        let mut answers: Vec<(Client, Answer)> = Vec::new();
        for client in row.clients {
            let request = bench.clients.request(*client, row.method, &row.params);
            answers.push((*client, bench.answer((row.change)(request)).await));
        }
        let era = match row.clients[0] {
            Client::Session { .. } => "2025",
            Client::Stateless { .. } => "2026",
        };
        let (_, first) = &answers[0];
        for (client, answer) in &answers {
            assert_eq!(answer, first, "{client:?}: {}", row.name);
        }
        let _ = writeln!(
            out,
            "# {era}: {}\n# {}\n{}\n",
            row.name,
            first.framing,
            without_repeated_list(&first.text, &mut lists)
        );
    }
    out
}

#[tokio::test]
async fn each_kind_of_request_has_its_answer() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/mcp_answers.txt");
    let found = all_answers().await;
    if env::var_os("MCP_WEB_RECORD").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    for (found, expected) in found.split("\n\n").zip(expected.split("\n\n")) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len(), "as many answers");
}
