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

use super::agent::{Address, Agent};
use crate::outgoing;

const PROGRAM: &str = "mcp-web-agent";

/// What it prints before its address.
const ANNOUNCEMENT: &str = "listening on ";

/// What it exits with when its settings are wrong: starting it again would not help.
const WRONG_SETTINGS: i32 = 2;

/// How long to wait before it is started again: doubled each time, and this again once it has run
/// for as long as [`LONGEST_WAIT`].
const SHORTEST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Runs the agent of a bridge that listens here, as long as it makes sense to start it. Dropping this
/// ends the process.
pub(super) async fn run(agent: Arc<Agent>, bridge: SocketAddr) {
    let runner = Runner {
        agent,
        bridge: reachable(bridge),
        program: program().unwrap_or_else(name),
    };
    let mut wait = Duration::ZERO;
    loop {
        let started = Instant::now();
        let ended = runner.run_once().await;
        match ended {
            Ok(Some(WRONG_SETTINGS)) => {
                tracing::error!("the agent cannot start with its settings: see what it says");
                return runner.agent.moved(Address::Nowhere);
            }
            Ok(code) => {
                tracing::error!(?code, "the agent has ended: it is started again");
                runner.agent.moved(Address::Awaited);
            }
            Err(error) => {
                let program = runner.program.display();
                tracing::error!("the agent {program} cannot be started: {error}");
                runner.agent.moved(Address::Nowhere);
            }
        }
        if started.elapsed() >= LONGEST_WAIT {
            wait = Duration::ZERO;
        }
        wait = longer(wait);
        tokio::time::sleep(wait).await;
    }
}

fn longer(wait: Duration) -> Duration {
    (2 * wait).clamp(SHORTEST_WAIT, LONGEST_WAIT)
}

struct Runner {
    agent: Arc<Agent>,
    bridge: SocketAddr,
    program: PathBuf,
}

impl Runner {
    /// Its exit code, if it has one.
    async fn run_once(&self) -> io::Result<Option<i32>> {
        let mut child = self.start()?;
        // Open until it has ended.
        let _stdin = child.stdin.take();
        if let Some(stdout) = child.stdout.take() {
            self.hear(stdout).await;
        }
        Ok(child.wait().await?.code())
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        if let Some(credential) = self.agent.credential() {
            command.env("MCP_WEB_AGENT_TOKEN", credential.text());
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
    async fn hear(&self, stdout: ChildStdout) {
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Some(url) = line.strip_prefix(ANNOUNCEMENT) else {
                continue;
            };
            match url.parse::<Url>().ok().filter(outgoing::is_loopback) {
                Some(url) => {
                    tracing::info!("the agent listens on {url}");
                    self.agent.moved(Address::At(url));
                }
                None => tracing::error!("the agent says that it listens on {url:?}"),
            }
        }
    }
}

/// The program beside this one; else that in the search path.
pub(crate) fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| own.parent().map(Path::to_owned));
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = beside.into_iter().chain(std::env::split_paths(&search));
    folders.find_map(|folder| Some(folder.join(name())).filter(|path| path.is_file()))
}

fn name() -> PathBuf {
    format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX).into()
}

/// How a process of this machine reaches what listens on every address.
fn reachable(mut bridge: SocketAddr) -> SocketAddr {
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
            assert_eq!(reachable(bound).to_string(), reached);
        }
    }

    #[test]
    fn the_wait_grows_to_its_limit_and_begins_anew_after_a_long_run() {
        let waits = std::iter::successors(Some(longer(Duration::ZERO)), |wait| Some(longer(*wait)));
        let waits: Vec<_> = waits.take(10).collect();
        assert_eq!((waits[0], waits[1]), (SHORTEST_WAIT, 2 * SHORTEST_WAIT));
        assert!(waits.is_sorted());
        assert_eq!(waits[9], LONGEST_WAIT);
    }
}
