//! A bridge that restarts while a client uses it.

use mcp_web_sdk::McpWeb;
use tempfile::TempDir;

use crate::request_tap::RequestTap;
use crate::{BridgeEndpoint, TestBed, echo_program};

/// A bridge that keeps its state in a folder, with a program that has the tool `echo`. Clients reach it
/// through a tap.
#[derive(Debug)]
pub struct RestartedBridge {
    bed: TestBed,
    tap: RequestTap,
    page: Option<McpWeb>,
    _folder: TempDir,
}

impl RestartedBridge {
    /// Starts the bridge and the program.
    pub async fn start() -> Self {
        let folder = TempDir::with_prefix("mcp-web-state-").unwrap();
        let path = folder.path().display().to_string();
        let bed = TestBed::bridge_with(&["--state-dir", &path]).await;
        Self {
            tap: RequestTap::start(bed.address()).await,
            page: Some(echo_program(&bed, "program").await),
            bed,
            _folder: folder,
        }
    }

    /// Returns how many requests have opened an MCP session.
    pub fn initialize_count(&self) -> usize {
        self.tap.count("\"initialize\"")
    }

    /// Kills the bridge like a crash, and returns when it listens again. Its program is not there yet.
    pub async fn crash_and_start(&mut self) {
        self.bed.crash().await;
        self.start_again().await;
    }

    /// Stops the bridge like an operator, and returns when it listens again. Its program is not there yet.
    pub async fn stop_and_start(&mut self) {
        self.bed.stop().await;
        self.start_again().await;
    }

    async fn start_again(&mut self) {
        self.page = None;
        self.bed.restart().await;
    }

    /// Connects the program again.
    pub async fn reconnect_program(&mut self) {
        self.page = Some(echo_program(&self.bed, "program").await);
    }
}

impl BridgeEndpoint for RestartedBridge {
    fn url(&self) -> String {
        format!("http://{}", self.tap.address())
    }

    fn token(&self) -> &str {
        self.bed.token()
    }
}
