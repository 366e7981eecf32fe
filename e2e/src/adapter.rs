//! Serves a stdio MCP server over Streamable HTTP, so that test suites for HTTP can test
//! `mcp-web-stdio`.
//!
//! Each MCP session (up to 2025-11-25) gets its own child process, which ends with `DELETE`.
//! Requests of 2026-07-28 share one child. Request ids and progress tokens are replaced by unique
//! ones for the child, and restored in its messages. Messages over stdio do not name the stream
//! that they belong to, so the adapter guesses: requests and log messages of the server are sent to
//! the response stream that was opened last, list changes to the GET stream.
//!
//! Request headers, `Origin`, resumption of streams and HTTP statuses are handled by the adapter,
//! so checks of them do not test the program behind it.

mod child;
mod http_frontend;
mod routes;

use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinHandle;

use http_frontend::HttpFrontend;

/// Serves a stdio MCP server on a free port. Server and children stop when this is dropped.
#[derive(Debug)]
pub struct Adapter {
    url: String,
    server: JoinHandle<()>,
}

impl Adapter {
    /// Starts the server. `command` creates the command line of a child each time that one is
    /// needed; the adapter sets its standard input and output.
    pub async fn start(command: impl Fn() -> Command + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = HttpFrontend::new(Arc::new(command)).into_router();
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self { url, server }
    }

    /// Returns the URL of the MCP endpoint.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        self.server.abort();
    }
}
