//! The agent service, beside a bridge of one's own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use serde_json::Value;
use tokio::process::Command;

use crate::clients::http;
use crate::{Format, ProcessGroup, Provider, World, tools, within};

/// Where an agent will listen and what its bridge shows it: bridge and agent must know of each
/// other before either runs.
#[derive(Clone, Debug)]
pub struct AgentPlace {
    address: SocketAddr,
    token: String,
}

/// A running `mcp-web-agent`. It ends when this is dropped.
#[derive(Debug)]
pub struct AgentService {
    process: ProcessGroup,
    place: AgentPlace,
}

impl AgentPlace {
    /// A port that was free a moment ago.
    pub fn find() -> Self {
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
    pub fn for_bridge(&self) -> [String; 4] {
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
        place: &AgentPlace,
        world: &World,
        provider: &Provider,
        format: Format,
        arguments: &[&str],
    ) -> Self {
        Self::start_with_key(place, world, provider, format, Provider::KEY, arguments).await
    }

    /// The same with another key.
    pub async fn start_with_key(
        place: &AgentPlace,
        world: &World,
        provider: &Provider,
        format: Format,
        key: &str,
        arguments: &[&str],
    ) -> Self {
        let mut command = Command::new(tools::built("mcp-web-agent"));
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
        Self::listening(place, &world.url(), command, arguments).await
    }

    /// Starts an agent without a language model.
    pub async fn of_commands(place: &AgentPlace, world: &World, arguments: &[&str]) -> Self {
        let mut command = Command::new(tools::built("mcp-web-agent"));
        command.args(["--provider", "commands"]);
        Self::listening(place, &world.url(), command, arguments).await
    }

    pub(crate) async fn listening(
        place: &AgentPlace,
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
        process.line_with("http://").await;
        Self {
            process,
            place: place.clone(),
        }
    }

    /// How many queries it answers now.
    pub async fn running(&self) -> u64 {
        let url = format!("{}/healthz", self.place.url());
        let answer = async { http().get(&url).send().await?.json().await };
        let health: reqwest::Result<Value> = within("the agent's health", answer).await;
        let health = health.unwrap();
        health["queries"].as_u64().unwrap()
    }

    /// Waits until it answers nothing.
    pub async fn at_rest(&self) {
        within("the agent to answer nothing", async {
            while self.running().await > 0 {
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
