//! The bridge as a program that runs for years: its settings are loaded again, and it stops without failing
//! calls. Signals are those of Unix.

mod drain;
mod reload;
mod revoked_tokens;
mod service_manager;

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use reqwest::header::ACCEPT;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use crate::kit::{
    TOKEN, bridge_program, http_client, initialize_request, listening_url, poll_pause,
    with_deadline,
};

/// A bridge in another process, which is killed when this is dropped.
pub(crate) struct RunningBridge {
    child: Child,
    pub(crate) url: String,
    log: Lines<BufReader<ChildStderr>>,
}

impl RunningBridge {
    /// Starts the bridge on a free port, with further arguments.
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        let mut program = bridge_program();
        program.args(arguments).args(["--bind", "127.0.0.1:0"]);
        Self::spawn(program).await
    }

    async fn spawn(mut program: Command) -> Self {
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let url = listening_url(&mut child).await;
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, url, log }
    }

    /// The address and port.
    fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
        assert!(sent.await.unwrap().success());
    }

    /// Waits for a line of the log with this text.
    pub(crate) async fn recv_log(&mut self, text: &str) -> String {
        let found = async {
            loop {
                let line = self.log.next_line().await.unwrap();
                let line = line.unwrap_or_else(|| panic!("the log has ended without {text:?}"));
                if line.contains(text) {
                    return line;
                }
            }
        };
        with_deadline(text, found).await
    }

    /// Sends SIGHUP, and waits for a line of the log with this text.
    pub(crate) async fn reload(&mut self, text: &str) -> String {
        self.signal("HUP").await;
        self.recv_log(text).await
    }

    fn get(&self, path: &str) -> RequestBuilder {
        http_client().get(format!("{}{path}", self.url))
    }

    async fn status(&self, request: RequestBuilder) -> StatusCode {
        with_deadline("response", request.send())
            .await
            .unwrap()
            .status()
    }

    /// Waits until `/readyz` has this status, and returns its text.
    async fn wait_for_readiness(&self, status: u16) -> String {
        let ready = async {
            loop {
                let response = self.get("/readyz").send().await.unwrap();
                if response.status() == status {
                    return response.text().await.unwrap();
                }
                poll_pause().await;
            }
        };
        with_deadline("readiness", ready).await
    }

    /// Opens an MCP session of [`TOKEN`], and returns its standalone stream.
    async fn open_stream(&self) -> Response {
        let info = json!({ "name": "test", "version": "1" });
        let initialize = initialize_request("2025-11-25", json!({}), info);
        let url = format!("{}/mcp", self.url);
        let request = http_client().post(&url).bearer_auth(TOKEN);
        let request = request.header(ACCEPT, "application/json, text/event-stream");
        let response = with_deadline("initialize", request.json(&initialize).send()).await;
        let response = response.unwrap();
        assert_eq!(response.status(), 200);
        let session = response.headers()["mcp-session-id"].clone();
        let stream = http_client().get(&url).bearer_auth(TOKEN);
        let stream = stream.header(ACCEPT, "text/event-stream");
        let stream = stream.header("mcp-session-id", session).send();
        let stream = with_deadline("stream", stream).await.unwrap();
        assert_eq!(stream.status(), 200);
        stream
    }

    async fn wait_for_end(&mut self) -> ExitStatus {
        with_deadline("end of the bridge", self.child.wait())
            .await
            .unwrap()
    }
}

/// Replaces a file as an editor or a package manager does.
fn replace_file(path: &Path, text: &str) {
    let next = path.with_extension("next");
    std::fs::write(&next, text).unwrap();
    std::fs::rename(&next, path).unwrap();
}

fn write_file(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}
