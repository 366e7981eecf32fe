//! The agent service for a test bed.

use std::sync::Arc;

use serde_json::Value;
use tokio::process::Command;

use crate::clients::http;
use crate::{
    Format, MockProvider, ProcessGroup, ReservedPort, TestBed, poll_pause, program_paths,
    with_deadline,
};

/// The token with which metrics of an agent may be read.
pub const AGENT_METRICS_TOKEN: &str = "metrics-token-of-an-agent-0123456789";

/// The address at which an agent will listen, and the token that its bridge sends: bridge and agent
/// must know each other before either of them starts.
#[derive(Clone, Debug)]
pub struct AgentEndpoint {
    port: Arc<ReservedPort>,
    token: String,
}

/// A running `mcp-web agent`. It stops when this is dropped.
#[derive(Debug)]
pub struct AgentService {
    process: ProcessGroup,
    endpoint: AgentEndpoint,
}

impl AgentEndpoint {
    /// Reserves a free port.
    pub fn reserve() -> Self {
        Self {
            port: Arc::new(ReservedPort::reserve()),
            token: "what-a-bridge-shows-its-agent-0123456789".to_owned(),
        }
    }

    /// Returns the URL of the agent, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.port.address())
    }

    /// Returns the token that the bridge sends.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Starts a bridge that uses the agent at this endpoint.
    pub async fn start_bridge(&self, more: &[&str]) -> TestBed {
        let arguments = self.bridge_arguments();
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.extend(more);
        TestBed::bridge_with(&arguments).await
    }

    /// Returns the arguments with which a bridge uses the agent at this endpoint.
    fn bridge_arguments(&self) -> [String; 4] {
        [
            "--agent-url".to_owned(),
            self.url(),
            "--agent-token".to_owned(),
            self.token.clone(),
        ]
    }
}

impl AgentService {
    /// Starts an agent for `bed` whose model is the mock `provider`.
    pub async fn start(
        endpoint: &AgentEndpoint,
        bed: &TestBed,
        provider: &MockProvider,
        format: Format,
        arguments: &[&str],
    ) -> Self {
        Self::start_with_key(
            endpoint,
            bed,
            provider,
            format,
            MockProvider::KEY,
            arguments,
        )
        .await
    }

    /// Starts an agent with another key than the one that the provider accepts.
    pub async fn start_with_key(
        endpoint: &AgentEndpoint,
        bed: &TestBed,
        provider: &MockProvider,
        format: Format,
        key: &str,
        arguments: &[&str],
    ) -> Self {
        let base_url = provider.base_url(format);
        Self::start_with_base_url(endpoint, bed, format, &base_url, key, arguments).await
    }

    /// Starts an agent whose model is at any server with the API of this format.
    pub async fn start_with_base_url(
        endpoint: &AgentEndpoint,
        bed: &TestBed,
        format: Format,
        base_url: &str,
        key: &str,
        arguments: &[&str],
    ) -> Self {
        let mut command = Command::new(program_paths::agent());
        command.arg("agent");
        if !arguments.contains(&"--provider") {
            command.args(["--provider", format.provider()]);
        }
        if let Some(api) = format.openai_api() {
            command.args(["--openai-api", api]);
        }
        for (flag, value) in [("--model", "mock"), ("--base-url", base_url)] {
            if !arguments.contains(&flag) {
                command.args([flag, value]);
            }
        }
        command.env(format.key_variable(), key);
        Self::start_process(endpoint, &bed.url(), command, arguments).await
    }

    pub(crate) async fn start_process(
        endpoint: &AgentEndpoint,
        bridge: &str,
        mut command: Command,
        arguments: &[&str],
    ) -> Self {
        command.args(["--bind", &endpoint.port.address().to_string()]);
        command.args(["--bridge-url", bridge]).args(arguments);
        command.env("MCP_WEB_AGENT_TOKEN", &endpoint.token);
        command.env("MCP_WEB_AGENT_METRICS_TOKEN", AGENT_METRICS_TOKEN);
        for proxy in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(proxy);
        }
        let mut process = ProcessGroup::start("agent", command);
        process.wait_for_line("http://").await;
        Self {
            process,
            endpoint: endpoint.clone(),
        }
    }

    /// Returns the number of queries that the agent is answering.
    pub async fn active_queries(&self) -> u64 {
        let url = format!("{}/healthz", self.endpoint.url());
        let answer = async { http().get(&url).send().await?.json().await };
        let health: reqwest::Result<Value> = with_deadline("the agent's health", answer).await;
        let health = health.unwrap();
        health["queries"].as_u64().unwrap()
    }

    /// Waits until the agent is answering no query.
    pub async fn wait_until_idle(&self) {
        self.wait_for_active_queries(0).await;
    }

    /// Waits until the agent is answering this number of queries.
    pub async fn wait_for_active_queries(&self, count: u64) {
        let what = format!("{count} queries of the agent");
        with_deadline(what, async {
            while self.active_queries().await != count {
                poll_pause().await;
            }
        })
        .await;
    }

    /// Kills the agent like a crash.
    pub async fn crash(&mut self) {
        self.process.kill().await;
    }

    /// Returns the process id of the agent.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Returns everything that the agent has printed.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Returns the process of the agent.
    pub fn process(&self) -> &ProcessGroup {
        &self.process
    }
}
