//! A bridge on a free port, a page, and an MCP client of few words.

mod mcp_client;
pub(crate) mod mock_agent;
mod page;

use std::sync::LazyLock;
use std::time::Duration;

use bridge::{App, ClientProfile, Config, Profile, Profiles, ServerHandle};
use serde_json::{Value, json};

pub(crate) use mcp_client::{EventStream, McpClient, find_event, rpc_request, rpc_response};
pub(crate) use page::{Page, Socket, close_going_away, next_frame, raw_json};

pub(crate) const TOKEN: &str = "token-of-the-test-page-0123456789";

/// No wait in these tests takes longer unless something is broken.
const DEADLINE: Duration = Duration::from_secs(20);

/// Waits for something that must happen.
pub(crate) async fn with_deadline<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future)
        .await
        .unwrap_or_else(|_| panic!("no {what} in time"))
}

pub(crate) fn test_config() -> Config {
    Config {
        bind: ([127, 0, 0, 1], 0).into(),
        ..Config::default()
    }
}

/// What the MCP client of these tests takes.
pub(crate) fn test_client_profile(profile: Profile) -> Profiles {
    let name = "door-test".to_owned();
    Profiles::new(vec![ClientProfile { name, profile }])
}

pub(crate) async fn start_bridge() -> ServerHandle {
    start_bridge_with(test_config()).await
}

pub(crate) async fn start_bridge_with(config: Config) -> ServerHandle {
    bridge::serve(config, App::default()).await.unwrap()
}

/// One for all tests. It keeps no connection: that would belong to the runtime of one test.
///
/// The bridge's reqwest has TLS: it wants a provider, and making a client reads the system's
/// certificate authorities.
pub(crate) fn http_client() -> reqwest::Client {
    static HTTP: LazyLock<reqwest::Client> = LazyLock::new(|| {
        let provider = rustls::crypto::ring::default_provider();
        provider.install_default().unwrap();
        let builder = reqwest::Client::builder().pool_max_idle_per_host(0);
        // With the agent in a build, the reqwest that every crate shares undoes compression.
        builder.no_proxy().no_gzip().build().unwrap()
    });
    HTTP.clone()
}

pub(crate) fn echo_tool() -> Value {
    json!({ "name": "echo", "description": "Says it again", "inputSchema": { "type": "object",
        "properties": { "n": { "type": "integer" } } } })
}

/// `POST /tool-call`: status and body.
pub(crate) async fn post_tool_call(
    bridge: &ServerHandle,
    tool: &str,
    input: Value,
) -> (u16, Value) {
    post_tool_call_to(&bridge.url(), tool, input).await
}

/// The same for a bridge that is stopped meanwhile.
pub(crate) async fn post_tool_call_to(bridge: &str, tool: &str, input: Value) -> (u16, Value) {
    let body = json!({ "toolName": tool, "toolInput": input });
    let response = http_client()
        .post(format!("{bridge}/tool-call"))
        .bearer_auth(TOKEN)
        .json(&body)
        .send();
    let response = with_deadline("answer to /tool-call", response)
        .await
        .unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

/// The text of a result's only block.
pub(crate) fn result_text(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {result}"))
}
