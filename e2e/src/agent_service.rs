//! The agent service, beside a bridge of one's own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use serde_json::Value;
use tokio::process::Command;

use crate::clients::http;
use crate::{Format, MockProvider, ProcessGroup, TestBed, program_paths, with_deadline};

/// Where an agent will listen and what its bridge shows it: bridge and agent must know of each
/// other before either runs.
#[derive(Clone, Debug)]
pub struct AgentEndpoint {
    address: SocketAddr,
    token: String,
}

/// A running `mcp-web-agent`. It ends when this is dropped.
#[derive(Debug)]
pub struct AgentService {
    process: ProcessGroup,
    endpoint: AgentEndpoint,
}

impl AgentEndpoint {
    /// A port that was free a moment ago.
    pub fn reserve() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Self {
            address: listener.local_addr().unwrap(),
            token: "what-a-bridge-shows-its-agent-0123456789".to_owned(),
        }
    }

    /// The agent's URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the bridge shows.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The arguments with which a bridge asks an agent here.
    pub fn bridge_arguments(&self) -> [String; 4] {
        [
            "--agent-url".to_owned(),
            self.url(),
            "--agent-token".to_owned(),
            self.token.clone(),
        ]
    }
}

impl AgentService {
    /// Starts an agent for `world`, whose model is what `provider` plays.
    pub async fn start(
        place: &AgentEndpoint,
        world: &TestBed,
        provider: &MockProvider,
        format: Format,
        arguments: &[&str],
    ) -> Self {
        Self::start_with_key(place, world, provider, format, MockProvider::KEY, arguments).await
    }

    /// The same with another key.
    pub async fn start_with_key(
        place: &AgentEndpoint,
        world: &TestBed,
        provider: &MockProvider,
        format: Format,
        key: &str,
        arguments: &[&str],
    ) -> Self {
        let mut command = Command::new(program_paths::built("mcp-web-agent"));
        command.args(["--provider", format.name()]);
        let base_url = provider.base_url(format);
        for (flag, value) in [("--model", "mock"), ("--base-url", base_url.as_str())] {
            if !arguments.contains(&flag) {
                command.args([flag, value]);
            }
        }
        if let Some(variable) = format.key_variable() {
            command.env(variable, key);
        }
        Self::start_process(place, &world.url(), command, arguments).await
    }

    /// Starts an agent without a language model.
    pub async fn start_scripted(
        place: &AgentEndpoint,
        world: &TestBed,
        arguments: &[&str],
    ) -> Self {
        let mut command = Command::new(program_paths::built("mcp-web-agent"));
        command.args(["--provider", "commands"]);
        Self::start_process(place, &world.url(), command, arguments).await
    }

    pub(crate) async fn start_process(
        place: &AgentEndpoint,
        bridge: &str,
        mut command: Command,
        arguments: &[&str],
    ) -> Self {
        command.args(["--bind", &place.address.to_string()]);
        command.args(["--bridge-url", bridge]).args(arguments);
        command.env("MCP_WEB_AGENT_TOKEN", &place.token);
        for proxy in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(proxy);
        }
        let mut process = ProcessGroup::start("mcp-web-agent", command);
        process.wait_for_line("http://").await;
        Self {
            process,
            endpoint: place.clone(),
        }
    }

    /// How many queries it answers now.
    pub async fn active_queries(&self) -> u64 {
        let url = format!("{}/healthz", self.endpoint.url());
        let answer = async { http().get(&url).send().await?.json().await };
        let health: reqwest::Result<Value> = with_deadline("the agent's health", answer).await;
        let health = health.unwrap();
        health["queries"].as_u64().unwrap()
    }

    /// Waits until it answers nothing.
    pub async fn wait_until_idle(&self) {
        with_deadline("the agent to answer nothing", async {
            while self.active_queries().await > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Kills it as a crash would.
    pub async fn crash(&mut self) {
        self.process.kill().await;
    }

    /// Everything it printed.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Its process.
    pub(crate) fn process(&self) -> &ProcessGroup {
        &self.process
    }
}
