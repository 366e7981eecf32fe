//! The server of NATS, in which the bridges keep their directory.

use std::path::Path;

use anyhow::{Result, bail};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::task::JoinHandle;

use crate::child::{Child, Output};

/// A running server with an empty store, on a free port of the loopback interface.
pub(crate) struct Nats {
    pub(crate) url: String,
    pub(crate) child: Child,
    log: JoinHandle<()>,
    _store: TempDir,
}

impl Nats {
    /// Starts the server, and waits until it is ready.
    pub(crate) async fn start(program: &Path) -> Result<Self> {
        let store = TempDir::with_prefix("mcp-web-nats-")?;
        let mut command = command(program);
        command
            .args(["--addr", "127.0.0.1", "--port", "-1", "--jetstream"])
            .arg("--store_dir")
            .arg(store.path());
        let (child, mut output) = Child::start(&mut command)?;
        let address = read_address(&mut output).await?;
        let log = tokio::spawn(async move {
            // A full pipe would stop the server.
            while let Ok(Some(_)) = output.stderr.next_line().await {}
        });
        Ok(Self {
            url: format!("nats://{address}"),
            child,
            log,
            _store: store,
        })
    }

    /// Ends the server in order, and removes its store.
    pub(crate) async fn stop(self) {
        self.child.terminate().await;
        self.log.abort();
    }
}

/// On Linux, the server ends also if this program is killed.
fn command(program: &Path) -> Command {
    if !cfg!(target_os = "linux") {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM"]).arg(program);
    command
}

/// Reads the log of the server until it is ready.
async fn read_address(output: &mut Output) -> Result<String> {
    const LISTENING: &str = "Listening for client connections on ";
    let mut log = String::new();
    let mut address = None;
    while let Ok(Some(line)) = output.stderr.next_line().await {
        if let Some((_, listening)) = line.split_once(LISTENING) {
            address = Some(listening.trim().to_owned());
        }
        if let Some(address) = address.take_if(|_| line.contains("Server is ready")) {
            return Ok(address);
        }
        log.push_str(&line);
        log.push('\n');
    }
    bail!("the server of NATS does not start:\n{log}")
}
