//! The agent that the bridge itself runs, as a process of its own beside it.
//!
//! It is told by its arguments where the bridge is, and by its environment which credential to ask
//! for; on stdout it says where it listens. Its stdin stays open as long as the bridge lives.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::Instant;

use crate::agent_queries::agent_client::{AgentAddress, AgentClient};
use bridge_service::http_client;

const PROGRAM: &str = "mcp-web-agent";

/// What it prints before its address.
const LISTENING_PREFIX: &str = "listening on ";

/// What it exits with when its settings are wrong: starting it again would not help.
const INVALID_SETTINGS_EXIT_CODE: i32 = 2;

/// How long to wait before it is started again: doubled each time, and this again once it has run
/// for as long as [`MAX_RESTART_DELAY`].
const MIN_RESTART_DELAY: Duration = Duration::from_millis(250);
const MAX_RESTART_DELAY: Duration = Duration::from_secs(60);

/// Runs the agent of a bridge that listens here, as long as it makes sense to start it. Dropping this
/// ends the process.
pub(super) async fn supervise(agent: Arc<AgentClient>, bridge: SocketAddr) {
    let process = AgentProcess {
        agent,
        bridge: reachable_address(bridge),
        program: find_program().unwrap_or_else(program_file_name),
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

fn next_delay(wait: Duration) -> Duration {
    (2 * wait).clamp(MIN_RESTART_DELAY, MAX_RESTART_DELAY)
}

struct AgentProcess {
    agent: Arc<AgentClient>,
    bridge: SocketAddr,
    program: PathBuf,
}

impl AgentProcess {
    /// Its exit code, if it has one.
    async fn run_once(&self) -> io::Result<Option<i32>> {
        let mut child = self.spawn()?;
        // Open until it has ended.
        let _stdin = child.stdin.take();
        if let Some(stdout) = child.stdout.take() {
            self.read_stdout(stdout).await;
        }
        Ok(child.wait().await?.code())
    }

    fn spawn(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        if let Some(credential) = self.agent.credential() {
            command.env("MCP_WEB_AGENT_TOKEN", credential.expose());
        }
        command
            .args(["--bind", "127.0.0.1:0", "--bridge-url"])
            .arg(format!("http://{}", self.bridge))
            // However the bridge ends: then stdin does.
            .env("MCP_WEB_AGENT_UNTIL_STDIN_ENDS", "true")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }

    /// Until it closes its stdout.
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

/// The program beside this one; else that in the search path.
pub(crate) fn find_program() -> Option<PathBuf> {
    let current_exe = std::env::current_exe().ok();
    let own_folder = current_exe.and_then(|current_exe| current_exe.parent().map(Path::to_owned));
    let path_variable = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = own_folder
        .into_iter()
        .chain(std::env::split_paths(&path_variable));
    folders.find_map(|folder| Some(folder.join(program_file_name())).filter(|path| path.is_file()))
}

fn program_file_name() -> PathBuf {
    format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX).into()
}

/// How a process of this machine reaches what listens on every address.
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
    fn an_agent_of_this_machine_reaches_a_bridge_that_listens_everywhere() {
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
        let waits = std::iter::successors(Some(next_delay(Duration::ZERO)), |wait| {
            Some(next_delay(*wait))
        });
        let waits: Vec<_> = waits.take(10).collect();
        assert_eq!(
            (waits[0], waits[1]),
            (MIN_RESTART_DELAY, 2 * MIN_RESTART_DELAY)
        );
        assert!(waits.is_sorted());
        assert_eq!(waits[9], MAX_RESTART_DELAY);
    }
}
