//! rmcp's transports, set up as an AI client would from its configuration.

use http::HeaderName;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};
use tokio::process::Command;

use super::http;
use crate::{Era, Leg, World, tools, within};

/// What stands in a client's configuration to reach `world`.
pub(super) fn server(world: &World, leg: Leg) -> Value {
    match leg {
        Leg::Http => json!({ "url": world.mcp_url(), "headers": bearer(world) }),
        Leg::Stdio => json!({ "command": "mcp-web-stdio", "env": environment(world) }),
    }
}

/// Connects a client that has `server` in its configuration: `url` and `headers`, or `command`,
/// `args` and `env`, where the command is one of this workspace.
pub(super) async fn connect<H: ClientHandler>(
    client: H,
    server: &Value,
    era: Era,
) -> RunningService<RoleClient, H> {
    let leg = match server["url"].as_str() {
        Some(_) => Leg::Http,
        None => Leg::Stdio,
    };
    let what = format!("a client to connect ({leg:?}, {era:?})");
    let service = match leg {
        Leg::Http => {
            let connected = client.serve_with_lifecycle(streamable_http(server), lifecycle(era));
            within(what, connected).await
        }
        Leg::Stdio => {
            let connected = client.serve_with_lifecycle(stdio(server), lifecycle(era));
            within(what, connected).await
        }
    };
    service.unwrap_or_else(|error| panic!("{leg:?}, {era:?}: {error}"))
}

fn lifecycle(era: Era) -> ClientLifecycleMode {
    match era {
        Era::Initialize => ClientLifecycleMode::Initialize,
        Era::Discover => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    }
}

fn bearer(world: &World) -> Value {
    json!({ "Authorization": format!("Bearer {}", world.token()) })
}

pub(super) fn environment(world: &World) -> Value {
    json!({ "MCP_SERVER_URL": world.mcp_url(), "AUTH_TOKEN": world.token() })
}

fn streamable_http(server: &Value) -> StreamableHttpClientTransport<reqwest::Client> {
    let headers = pairs(&server["headers"]).map(|(name, value)| {
        let name: HeaderName = name.parse().expect("the name of a header");
        (name, value.parse().expect("the value of a header"))
    });
    let url = server["url"].as_str().expect("it is over HTTP");
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers.collect())
        .max_concurrent_requests(64);
    StreamableHttpClientTransport::with_client(http(), config)
}

/// rmcp ends the child when the transport is dropped; the child ends by itself with its input.
fn stdio(server: &Value) -> TokioChildProcess {
    let program = server["command"].as_str().expect("a URL or a command");
    let mut command = Command::new(tools::built(program));
    let arguments = server["args"].as_array().into_iter().flatten();
    command
        .args(arguments.filter_map(Value::as_str))
        .envs(pairs(&server["env"]));
    TokioChildProcess::new(command).expect("the command starts")
}

fn pairs(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(key, value)| (key.as_str(), value.as_str().expect("it is a text")))
}
