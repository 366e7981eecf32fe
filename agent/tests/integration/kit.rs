//! The test kit: a bridge and an agent on free ports, a page, and HTTP requests.

mod events;

use std::process::Stdio;
use std::sync::LazyLock;

use agent::{ModelSettings, Provider, Secret};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tokio::process::Command;

pub(crate) use events::EventStream;
pub(crate) use raw_page::{Page, built_program, with_deadline};

/// The token of the page.
pub(crate) const TOKEN: &str = "token-of-the-test-page-0123456789";

/// The service credential of bridge and agent.
pub(crate) const CREDENTIAL: &str = "credential-of-bridge-and-agent-01";

/// The token with which metrics may be read.
pub(crate) const METRICS_TOKEN: &str = "metrics-token-of-an-agent-0123456789";

/// A random UUID, as pages generate them.
pub(crate) const UUID: &str = "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11";

/// Returns the settings of an agent that runs commands, on a free port.
pub(crate) fn settings() -> agent::Config {
    agent::Config {
        bind: ([127, 0, 0, 1], 0).into(),
        token: Some(Secret::from_trusted(CREDENTIAL.to_owned())),
        metrics_token: Some(Secret::from_trusted(METRICS_TOKEN.to_owned())),
        model: ModelSettings {
            provider: Some(Provider::Commands),
            ..ModelSettings::default()
        },
        ..agent::Config::default()
    }
}

/// Returns the program `mcp-web agent` without any environment variables. It is killed when the test ends.
pub(crate) fn agent_program() -> Command {
    let mut program = Command::new(built_program("mcp-web"));
    program
        .arg("agent")
        .env_clear()
        .kill_on_drop(true)
        .stdin(Stdio::null());
    program
}

/// A running bridge with its agent.
pub(crate) struct TestBed {
    pub(crate) bridge: bridge::ServerHandle,
    pub(crate) agent: agent::ServerHandle,
}

impl TestBed {
    pub(crate) async fn start() -> Self {
        Self::start_with(settings()).await
    }

    pub(crate) async fn start_with(settings: agent::Config) -> Self {
        Self::start_traced(settings, bridge::BridgeTraces::default()).await
    }

    /// Starts an agent, and a bridge with these traces.
    pub(crate) async fn start_traced(
        settings: agent::Config,
        traces: bridge::BridgeTraces,
    ) -> Self {
        let bound = agent::bind(settings).await.unwrap();
        let settings = bridge::Agent {
            agent_url: vec![bound.url().parse().unwrap()],
            agent_token: Some(CREDENTIAL.parse().unwrap()),
            ..bridge::Agent::default()
        };
        let bridge = start_traced_bridge(settings, traces).await;
        let agent = bound.serve(&bridge.url()).unwrap();
        Self { bridge, agent }
    }

    /// Connects a page with the tools of these tests.
    pub(crate) async fn connect_page(&self) -> Page {
        self.connect_page_of(TOKEN).await
    }

    /// Connects a page of the user with this token.
    pub(crate) async fn connect_page_of(&self, token: &str) -> Page {
        connect_page(&self.bridge, token).await
    }

    /// Creates the request `PUT /query/{uuid}` to the agent, without authorization.
    pub(crate) fn put(&self, uuid: &str, query: &Value) -> RequestBuilder {
        put(&self.agent, uuid, query)
    }

    /// Waits until the agent runs this many queries.
    pub(crate) async fn wait_for_running(&self, expected: u64) {
        let url = format!("http://{}/healthz", self.agent.local_addr());
        let counting = async {
            loop {
                let health = http_client().get(&url).send().await.unwrap();
                let health: Value = health.json().await.unwrap();
                if health["queries"] == expected {
                    break;
                }
            }
        };
        with_deadline("end of queries", counting).await;
    }
}

/// Starts a bridge on a free port, with these settings of its agent.
pub(crate) async fn start_bridge(agent: bridge::Agent) -> bridge::ServerHandle {
    start_traced_bridge(agent, bridge::BridgeTraces::default()).await
}

async fn start_traced_bridge(
    agent: bridge::Agent,
    traces: bridge::BridgeTraces,
) -> bridge::ServerHandle {
    let config = bridge::Config {
        network: bridge::Network {
            bind: ([127, 0, 0, 1], 0).into(),
            ..bridge::Network::default()
        },
        agent,
        traces,
        ..bridge::Config::default()
    };
    let serving = bridge::serve(config, bridge::MountedApp::default());
    serving.await.unwrap()
}

/// Connects a page with the tools of these tests, of the user with this token.
pub(crate) async fn connect_page(bridge: &bridge::ServerHandle, token: &str) -> Page {
    let tool = |name| {
        json!({ "name": name, "description": "For tests",
            "inputSchema": { "type": "object" } })
    };
    let mut page = Page::connect_to(bridge.local_addr(), "page", token).await;
    page.register(&["add_card", "plan"].map(tool)).await;
    page
}

/// Creates the request `PUT /query/{uuid}` to an agent, without authorization.
pub(crate) fn put(agent: &agent::ServerHandle, uuid: &str, query: &Value) -> RequestBuilder {
    let url = format!("{}/{uuid}", agent.url());
    http_client().put(url).json(query)
}

/// Authorizes a request as from a bridge, with the credential and a query token that no bridge
/// knows.
pub(crate) fn as_bridge(request: RequestBuilder) -> RequestBuilder {
    let request = request.bearer_auth(CREDENTIAL);
    request.header("mcp-web-query-token", "mcp-web-query-of-nobody")
}

/// Adds the header with which a client accepts an event stream.
pub(crate) fn streaming(request: RequestBuilder) -> RequestBuilder {
    request.header("accept", "text/event-stream")
}

/// Sends a request, and returns the status and the JSON body of the response.
pub(crate) async fn status_and_body(request: RequestBuilder) -> (u16, Value) {
    let response = with_deadline("answer", request.send()).await.unwrap();
    let status = response.status().as_u16();
    let body = with_deadline("body", response.bytes()).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// Returns the HTTP client of all tests. It has no idle connections, because each would belong to
/// the runtime of one test.
pub(crate) fn http_client() -> reqwest::Client {
    static HTTP: LazyLock<reqwest::Client> = LazyLock::new(|| {
        // reqwest is built with TLS, and needs a crypto provider.
        let provider = rustls::crypto::ring::default_provider();
        let _ = provider.install_default();
        let builder = reqwest::Client::builder().pool_max_idle_per_host(0);
        builder.no_proxy().build().unwrap()
    });
    HTTP.clone()
}

pub(crate) fn prompt(text: &str) -> Value {
    json!({ "prompt": text })
}
