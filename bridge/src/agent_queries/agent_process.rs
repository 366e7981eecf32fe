//! The agent that the bridge runs as a child process.
//!
//! The agent receives the address of the bridge in its arguments, and the credential that it must
//! require in its environment. It prints its own address to stdout. Its stdin stays open as long as
//! the bridge runs.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bridge_output::LogFormat;
use reqwest::Url;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::Instant;

use crate::agent_queries::agent_client::{AgentAddress, AgentClient};
use bridge_edge::http_client;
use bridge_edge::service_manager::SERVICE_MANAGER_VARIABLES;

/// The variable with the format of the agent's log.
const LOG_FORMAT_VARIABLE: &str = "MCP_WEB_AGENT_LOG_FORMAT";

/// The text that the agent prints before its address.
const LISTENING_PREFIX: &str = "listening on ";

/// The exit code of the agent for invalid settings, with which a restart would not help.
const INVALID_SETTINGS_EXIT_CODE: i32 = 2;

/// The delay before the first restart. It doubles with each restart, and is reset once the agent
/// has run for [`MAX_RESTART_DELAY`].
const MIN_RESTART_DELAY: Duration = Duration::from_millis(250);
const MAX_RESTART_DELAY: Duration = Duration::from_secs(60);

/// Runs the agent of a program for a bridge at this address, or at a URL that does not follow from it, and
/// restarts it when it exits, unless its settings are invalid. Dropping the future ends the process.
///
/// Its log is part of the bridge's, in the same format unless its environment has another.
pub(super) async fn supervise(
    agent: Arc<AgentClient>,
    program: PathBuf,
    bridge: SocketAddr,
    url: Option<String>,
    log_format: LogFormat,
) {
    let process = AgentProcess {
        agent,
        log_format,
        bridge: url.unwrap_or_else(|| format!("http://{}", reachable_address(bridge))),
        program,
    };
    let mut delay = Duration::ZERO;
    loop {
        let started = Instant::now();
        let outcome = process.run_once().await;
        match outcome {
            Ok(Some(INVALID_SETTINGS_EXIT_CODE)) => {
                tracing::error!("the agent cannot start with its settings: see what it says");
                return process.agent.set_address(AgentAddress::Failed);
            }
            Ok(code) => {
                tracing::error!(?code, "the agent has ended: it is started again");
                process.agent.set_address(AgentAddress::Starting);
            }
            Err(error) => {
                let program = process.program.display();
                tracing::error!("the agent {program} cannot be started: {error}");
                process.agent.set_address(AgentAddress::Failed);
            }
        }
        if started.elapsed() >= MAX_RESTART_DELAY {
            delay = Duration::ZERO;
        }
        delay = next_delay(delay);
        tokio::time::sleep(delay).await;
    }
}

fn next_delay(delay: Duration) -> Duration {
    (2 * delay).clamp(MIN_RESTART_DELAY, MAX_RESTART_DELAY)
}

/// The parameters for starting the agent.
struct AgentProcess {
    agent: Arc<AgentClient>,
    log_format: LogFormat,
    /// The URL of the bridge.
    bridge: String,
    program: PathBuf,
}

impl AgentProcess {
    /// Runs the process until it exits, and returns its exit code, if it has one.
    async fn run_once(&self) -> io::Result<Option<i32>> {
        let mut child = self.spawn()?;
        // Keeps stdin open until the process has exited.
        let _stdin = child.stdin.take();
        if let Some(stdout) = child.stdout.take() {
            self.read_stdout(stdout).await;
        }
        Ok(child.wait().await?.code())
    }

    fn spawn(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        for variable in SERVICE_MANAGER_VARIABLES {
            command.env_remove(variable);
        }
        if let Some(credential) = self.agent.credential() {
            command.env("MCP_WEB_AGENT_TOKEN", credential.expose());
            // It would be a second credential.
            command.env_remove("MCP_WEB_AGENT_TOKEN_FILE");
        }
        if std::env::var_os(LOG_FORMAT_VARIABLE).is_none() {
            command.env(LOG_FORMAT_VARIABLE, self.log_format.as_str());
        }
        command
            .args(["agent", "--bind", "127.0.0.1:0", "--bridge-url"])
            .arg(&self.bridge)
            // However the bridge ends, the operating system closes the stdin of the agent.
            .env("MCP_WEB_AGENT_UNTIL_STDIN_ENDS", "true")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }

    /// Reads the address from stdout, until the process closes it.
    async fn read_stdout(&self, stdout: ChildStdout) {
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Some(url) = line.strip_prefix(LISTENING_PREFIX) else {
                continue;
            };
            match url.parse::<Url>().ok().filter(http_client::is_loopback) {
                Some(url) => {
                    tracing::info!("the agent listens on {url}");
                    self.agent.set_address(AgentAddress::At(url));
                }
                None => tracing::error!("the agent says that it listens on {url:?}"),
            }
        }
    }
}

/// Returns the address at which a local process reaches the bridge, which may listen on all
/// addresses.
fn reachable_address(mut bridge: SocketAddr) -> SocketAddr {
    if bridge.ip().is_unspecified() {
        bridge.set_ip(match bridge {
            SocketAddr::V4(_) => [127, 0, 0, 1].into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    bridge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unspecified_bind_address_is_reached_over_loopback() {
        for (bound, reached) in [
            ("0.0.0.0:3001", "127.0.0.1:3001"),
            ("[::]:3001", "[::1]:3001"),
            ("127.0.0.1:80", "127.0.0.1:80"),
        ] {
            let bound: SocketAddr = bound.parse().unwrap();
            assert_eq!(reachable_address(bound).to_string(), reached);
        }
    }

    #[test]
    fn restart_delay_doubles_up_to_its_maximum() {
        let delays = std::iter::successors(Some(next_delay(Duration::ZERO)), |delay| {
            Some(next_delay(*delay))
        });
        let delays: Vec<_> = delays.take(10).collect();
        assert_eq!(
            (delays[0], delays[1]),
            (MIN_RESTART_DELAY, 2 * MIN_RESTART_DELAY)
        );
        assert!(delays.is_sorted());
        assert_eq!(delays[9], MAX_RESTART_DELAY);
    }
}
