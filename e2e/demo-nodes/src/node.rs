//! One of the bridges, or their agent, as a process of the demo.

use std::env;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncRead, BufReader, Lines};
use tokio::process::Command;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::child::{Child, find_line};

/// The variable with the token for metrics, which the user may have set.
const METRICS_TOKEN: &str = "MCP_WEB_METRICS_TOKEN";

/// The variable with the credential of the bridges for their agent.
const AGENT_TOKEN: &str = "MCP_WEB_AGENT_TOKEN";

/// Text that the agent prints before its URL.
const LISTENING: &str = "listening on ";

/// The settings that all bridges have in common.
pub(crate) struct NodeSettings {
    pub(crate) metrics_token: String,
    nats_url: String,
    secret: String,
    agent_token: String,
    /// The agent that all bridges have.
    pub(crate) agent_url: Option<String>,
    arguments: Vec<String>,
}

/// The agent of all bridges, which stops when it is dropped.
pub(crate) struct DemoAgent {
    pub(crate) url: String,
    /// Its log ends with it.
    _child: Child,
}

/// A running demo, which is a bridge with the board.
pub(crate) struct DemoNode {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    pub(crate) child: Child,
    log: JoinHandle<()>,
}

impl NodeSettings {
    pub(crate) fn new(nats_url: &str, arguments: Vec<String>) -> Self {
        Self {
            metrics_token: env::var(METRICS_TOKEN).unwrap_or_else(|_| secret()),
            nats_url: nats_url.to_owned(),
            secret: secret(),
            agent_token: secret(),
            agent_url: None,
            arguments,
        }
    }

    /// Whether the bridges use an agent that runs already.
    pub(crate) fn has_other_agent(&self) -> bool {
        let is_flag = |argument: &String| {
            let flag = argument.split('=').next();
            matches!(flag, Some("--agent-url" | "--run-agent"))
        };
        let variables = ["MCP_WEB_AGENT_URL", "MCP_WEB_RUN_AGENT"];
        self.arguments.iter().any(is_flag) || variables.iter().any(|it| env::var_os(it).is_some())
    }

    fn demo(&self) -> Result<Command> {
        let own = env::current_exe().context("the path of this program is not known")?;
        let mut command = Command::new(own.with_file_name("mcp-web"));
        command.arg("demo").args(&self.arguments);
        Ok(command)
    }

    fn command(&self) -> Result<Command> {
        let mut command = self.demo()?;
        if let Some(url) = &self.agent_url {
            command.args(["--shared-agent", url]);
            command.env(AGENT_TOKEN, &self.agent_token);
        }
        command
            .env("MCP_WEB_BIND", "127.0.0.1:0")
            .env("MCP_WEB_CLUSTER", &self.nats_url)
            .env("MCP_WEB_CLUSTER_BIND", "127.0.0.1:0")
            .env("MCP_WEB_CLUSTER_SECRET", &self.secret)
            .env("MCP_WEB_UNTIL_STDIN_ENDS", "true")
            .env(METRICS_TOKEN, &self.metrics_token)
            // It belongs to one bridge. These have a common key, which restores MCP sessions.
            .env_remove("MCP_WEB_STATE_DIR");
        Ok(command)
    }
}

impl DemoAgent {
    /// Starts the agent for the bridges behind this address, and waits until it listens.
    pub(crate) async fn start(settings: &NodeSettings, bridges: SocketAddr) -> Result<Self> {
        let mut command = settings.demo()?;
        command
            .args(["--only-agent-for", &format!("http://{bridges}")])
            .env(AGENT_TOKEN, &settings.agent_token);
        let (child, mut output) = Child::start(&mut command)?;
        let log = tokio::spawn(print_lines("agent".to_owned(), output.stderr));
        let Some(line) = find_line(&mut output.stdout, LISTENING).await else {
            // Its last line is the reason.
            let _ = log.await;
            bail!("the agent does not start: see its log above");
        };
        let url = line.trim_start_matches(LISTENING).to_owned();
        Ok(Self { url, _child: child })
    }
}

impl DemoNode {
    /// Starts a demo, and waits until it listens.
    pub(crate) async fn start(number: u8, settings: &NodeSettings) -> Result<Self> {
        let name = format!("bridge {number}");
        let (child, mut output) = Child::start(&mut settings.command()?)?;
        let log = tokio::spawn(print_lines(name.clone(), output.stderr));
        let Some(line) = find_line(&mut output.stdout, "open http://").await else {
            // Its last line is the reason.
            let _ = log.await;
            bail!("{name} does not start: see its log above");
        };
        let port = port(&line).with_context(|| format!("{name} printed {line:?}"))?;
        Ok(Self {
            name,
            address: (Ipv4Addr::LOCALHOST, port).into(),
            child,
            log,
        })
    }

    /// Returns the id that the bridge has among the others, from its metrics.
    pub(crate) async fn id(&self, settings: &NodeSettings) -> Option<String> {
        let token = Some(settings.metrics_token.as_str());
        let (_, metrics) = demo_nodes::get(self.address, "/metrics", token)
            .await
            .ok()?;
        let (_, rest) = metrics.split_once("mcp_web_cluster_node{node=\"")?;
        rest.split('"').next().map(str::to_owned)
    }

    /// Waits until the process has ended and its log is printed. Returns its name and its status.
    pub(crate) async fn ended(mut self) -> (String, String) {
        let status = self.child.ended().await;
        let _ = self.log.await;
        (self.name, status)
    }
}

/// Prints a log with the name of the bridge in each line.
async fn print_lines(name: String, mut lines: Lines<BufReader<impl AsyncRead + Unpin>>) {
    while let Ok(Some(line)) = lines.next_line().await {
        eprintln!("{name} | {line}");
    }
}

/// Returns the port in `open http://localhost:PORT/`.
fn port(line: &str) -> Option<u16> {
    let (_, port) = line.trim_end_matches('/').rsplit_once(':')?;
    port.parse().ok()
}

/// Returns a secret for this run. Its random numbers are those of the system.
fn secret() -> String {
    Uuid::new_v4().simple().to_string()
}
