//! Shared helpers of all tests: a bridge on a free port, and the peers that connect to it.

mod mcp_client;
pub(crate) mod mock_agent;
#[cfg(unix)]
pub(crate) mod operator;
mod page;
mod program;
pub(crate) mod raw_http;
mod raw_socket;
mod stateless;

use std::sync::LazyLock;

use bridge::{
    ClientProfile, Config, MountedApp, Network, PageTimings, Profile, Profiles, Results,
    ServerHandle, StartError,
};
use bridge_protocol::{CloseCode, RetryHint};
use serde_json::{Value, json};

pub(crate) use mcp_client::{
    EventStream, McpClient, assert_one_line_per_field, event_field, initialize_request,
    rpc_request, rpc_response,
};
pub(crate) use page::ConnectPage;
#[cfg(unix)]
pub(crate) use program::admin_program;
pub(crate) use program::{bridge_program, listening_url};
pub(crate) use raw_page::{Page, built_program, poll_pause, raw_json, with_deadline};
pub(crate) use raw_socket::{
    CONTINUATION, FINAL, PING, RawSocket, TEXT, frame, frame_header, upgrade_request,
};
pub(crate) use stateless::{
    STATELESS_REVISION, StatelessClient, stateless_headers, with_client_meta,
};

pub(crate) const TOKEN: &str = "token-of-the-test-page-0123456789";

/// A valid token for a different realm than that of [`TOKEN`].
pub(crate) const OTHER_TOKEN: &str = "token-of-somebody-else-0123456789";

/// The name that the MCP clients of these tests send, unless a test chooses another.
pub(crate) const CLIENT_NAME: &str = "integration-test";

/// The default configuration on a free port of the loopback interface.
pub(crate) fn test_config() -> Config {
    Config {
        network: Network {
            bind: ([127, 0, 0, 1], 0).into(),
            ..Network::default()
        },
        ..Config::default()
    }
}

/// The test configuration with these settings for results.
pub(crate) fn config_with_results(results: Results) -> Config {
    Config {
        results,
        ..test_config()
    }
}

/// The test configuration with these timings of pages.
pub(crate) fn config_with_page_timings(page_timings: PageTimings) -> Config {
    Config {
        page_timings,
        ..test_config()
    }
}

/// A profile for clients with the name [`CLIENT_NAME`].
pub(crate) fn test_client_profile(profile: Profile) -> Profiles {
    let name = CLIENT_NAME.to_owned();
    Profiles::new(vec![ClientProfile { name, profile }])
}

pub(crate) async fn start_bridge() -> ServerHandle {
    start_bridge_with(test_config()).await
}

pub(crate) async fn start_bridge_with(config: Config) -> ServerHandle {
    bridge::serve(config, MountedApp::default()).await.unwrap()
}

/// The error of a bridge that does not start with this configuration.
pub(crate) async fn start_error(config: Config) -> StartError {
    match bridge::serve(config, MountedApp::default()).await {
        Ok(_) => panic!("the bridge started"),
        Err(error) => error,
    }
}

/// The HTTP client that all tests share. It does not reuse connections, because a connection would
/// belong to the runtime of one test.
///
/// The bridge's reqwest uses TLS, so it needs a crypto provider, and creating a client loads the
/// certificate authorities of the system.
pub(crate) fn http_client() -> reqwest::Client {
    static HTTP: LazyLock<reqwest::Client> = LazyLock::new(|| {
        let provider = rustls::crypto::ring::default_provider();
        provider.install_default().unwrap();
        let builder = reqwest::Client::builder().pool_max_idle_per_host(0);
        // A build that includes the agent enables reqwest's decompression for every crate.
        builder.no_proxy().no_gzip().build().unwrap()
    });
    HTTP.clone()
}

/// The JSON response to `GET` of a path with [`TOKEN`].
pub(crate) async fn get_json(bridge: &ServerHandle, path: &str) -> Value {
    get_json_as(bridge, TOKEN, path).await
}

pub(crate) async fn get_json_as(bridge: &ServerHandle, token: &str, path: &str) -> Value {
    let request = http_client().get(format!("{}{path}", bridge.url()));
    let response = with_deadline(path, request.bearer_auth(token).send()).await;
    response.unwrap().json().await.unwrap()
}

/// Polls a path with `GET` until the predicate holds for its JSON, and returns the JSON.
pub(crate) async fn poll_json(
    bridge: &ServerHandle,
    path: &str,
    predicate: impl Fn(&Value) -> bool,
) -> Value {
    let poll = async {
        loop {
            let body = get_json(bridge, path).await;
            if predicate(&body) {
                return body;
            }
            poll_pause().await;
        }
    };
    with_deadline(path, poll).await
}

/// A tool that takes an optional integer `n`.
pub(crate) fn echo_tool() -> Value {
    json!({ "name": "echo", "description": "Says it again", "inputSchema": { "type": "object",
        "properties": { "n": { "type": "integer" } } } })
}

/// Calls a tool with `POST /tool-call` and [`TOKEN`], and returns the status and the body.
pub(crate) async fn post_tool_call(
    bridge: &ServerHandle,
    tool: &str,
    input: Value,
) -> (u16, Value) {
    post_tool_call_to(&bridge.url(), TOKEN, tool, input).await
}

/// Calls a tool with `POST /tool-call` of the bridge at this URL.
pub(crate) async fn post_tool_call_to(
    url: &str,
    token: &str,
    tool: &str,
    input: Value,
) -> (u16, Value) {
    let body = json!({ "toolName": tool, "toolInput": input });
    let request = http_client().post(format!("{url}/tool-call"));
    let response = request.bearer_auth(token).json(&body).send();
    let response = with_deadline("response to /tool-call", response)
        .await
        .unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

/// Connects a page with the tool `echo`, and an MCP client.
pub(crate) async fn connect_page_and_client(bridge: &ServerHandle) -> (Page, McpClient) {
    let page = Page::with_tools(bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(bridge, TOKEN).await;
    (page, client)
}

/// Checks that a REST call of `echo` reaches the page and returns.
pub(crate) async fn assert_echo(bridge: &ServerHandle, page: &mut Page) {
    let call = post_tool_call(bridge, "echo", json!({ "n": 1 }));
    let ((status, result), ()) = tokio::join!(call, page.echo_call());
    assert_eq!(status, 200, "{result}");
    assert_eq!(result["structuredContent"], json!({ "n": 1 }), "{result}");
}

/// Receives the close of a page that may connect again: the code of the error, the time in seconds,
/// and the message.
pub(crate) async fn recv_retry(page: &mut Page) -> (Option<String>, u16, String) {
    let (code, reason) = page.recv_close().await;
    assert_eq!(code, CloseCode::TryAgainLater.code(), "{reason}");
    let hint = RetryHint::parse(&reason);
    let hint = hint.unwrap_or_else(|| panic!("no time in {reason:?}"));
    let code = hint.code.map(str::to_owned);
    (code, hint.after_s, hint.message.to_owned())
}

/// The text of the first block of a tool result.
pub(crate) fn result_text(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {result}"))
}

/// The bridge's error code in a tool result, if there is one.
pub(crate) fn error_code(result: &Value) -> Option<&str> {
    result["_meta"]["mcp-web/error"]["code"].as_str()
}

/// A JSON object with these members added or replaced.
pub(crate) fn with_members(mut object: Value, members: Value) -> Value {
    for (key, value) in members.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}
