//! Connects rmcp clients as AI clients do, from a configuration.

use std::process::Stdio;

use http::HeaderName;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};
use tokio::process::{ChildStdin, ChildStdout, Command};

use super::http;
use crate::{BridgeEndpoint, Era, Transport, program_paths, with_deadline};

/// Returns the entry of a client's configuration for `bed`.
pub(super) fn server_config(bed: &impl BridgeEndpoint, transport: Transport) -> Value {
    match transport {
        Transport::Http => json!({ "url": bed.mcp_url(), "headers": bearer(bed) }),
        Transport::Stdio => json!({ "command": "mcp-web-stdio", "env": environment(bed) }),
    }
}

/// The largest message that rmcp reads by default, over either transport.
const DEFAULT_MAX_MESSAGE_BYTES: u64 = 16 * 1024 * 1024;

fn max_message_bytes(server: &Value) -> usize {
    let bytes = server["maxMessageBytes"].as_u64();
    usize::try_from(bytes.unwrap_or(DEFAULT_MAX_MESSAGE_BYTES)).unwrap()
}

/// Connects a client with `server` in its configuration: `url` and `headers`, or `command`, `args`
/// and `env`, where the command is a program of this workspace. `maxMessageBytes` is the size of
/// the largest message that it reads.
pub(super) async fn connect<H: ClientHandler>(
    client: H,
    server: &Value,
    era: Era,
) -> RunningService<RoleClient, H> {
    let transport = match server["url"].as_str() {
        Some(_) => Transport::Http,
        None => Transport::Stdio,
    };
    let what = format!("a client to connect ({transport:?}, {era:?})");
    let service = match transport {
        Transport::Http => {
            let connected = client.serve_with_lifecycle(streamable_http(server), lifecycle(era));
            with_deadline(what, connected).await
        }
        Transport::Stdio => {
            let connected = client.serve_with_lifecycle(stdio(server), lifecycle(era));
            with_deadline(what, connected).await
        }
    };
    service.unwrap_or_else(|error| panic!("{transport:?}, {era:?}: {error}"))
}

fn lifecycle(era: Era) -> ClientLifecycleMode {
    match era {
        Era::Initialize => ClientLifecycleMode::Initialize,
        Era::Discover => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    }
}

fn bearer(bed: &impl BridgeEndpoint) -> Value {
    json!({ "Authorization": format!("Bearer {}", bed.token()) })
}

/// Returns the environment variables with which `mcp-web-stdio` connects to `bed`.
pub(super) fn environment(bed: &impl BridgeEndpoint) -> Value {
    json!({ "MCP_SERVER_URL": bed.mcp_url(), "AUTH_TOKEN": bed.token() })
}

fn streamable_http(server: &Value) -> StreamableHttpClientTransport<reqwest::Client> {
    let headers = pairs(&server["headers"]).map(|(name, value)| {
        let name: HeaderName = name.parse().expect("a valid header name");
        (name, value.parse().expect("a valid header value"))
    });
    let url = server["url"].as_str().expect("the server has a URL");
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers.collect())
        .max_concurrent_requests(64);
    config.max_sse_event_size = max_message_bytes(server);
    StreamableHttpClientTransport::with_client(http(), config)
}

/// Starts a stdio server. It ends with its input, and the task that waits for it ends with it.
fn stdio(server: &Value) -> AsyncRwTransport<RoleClient, ChildStdout, ChildStdin> {
    let program = server["command"].as_str().expect("a URL or a command");
    let mut command = Command::new(program_paths::built(program));
    let arguments = server["args"].as_array().into_iter().flatten();
    let mut child = command
        .args(arguments.filter_map(Value::as_str))
        .envs(pairs(&server["env"]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the command starts");
    let output = child.stdout.take().expect("standard output is piped");
    let input = child.stdin.take().expect("standard input is piped");
    tokio::spawn(async move { child.wait().await });
    AsyncRwTransport::new_client(output, input).with_max_line_length(max_message_bytes(server))
}

fn pairs(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(key, value)| (key.as_str(), value.as_str().expect("a string")))
}
