//! A stdio MCP server behind Streamable HTTP, so that test suites which speak HTTP can be run
//! against `mcp-web-stdio`.
//!
//! An MCP session (up to 2025-11-25) gets a child process of its own, which ends with `DELETE`.
//! Requests of 2026-07-28 share one child. Ids and progress tokens are made unique in the child and
//! given back as they came. What stdio does not say is guessed: a request or a log message of the
//! server goes onto the response stream that was opened last, list changes onto the GET stream.
//!
//! Headers of requests, `Origin`, resuming of streams and the statuses of HTTP are the adapter's
//! own: checks of those say nothing about the program behind it.

mod child;
mod http_frontend;
mod routes;

use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinHandle;

use http_frontend::HttpFrontend;

/// Serves a stdio MCP server at a free port until it is dropped; its children end then as well.
#[derive(Debug)]
pub struct Adapter {
    url: String,
    server: JoinHandle<()>,
}

impl Adapter {
    /// Starts listening. `command` makes the command line of a child each time one is needed;
    /// standard input and output are set here.
    pub async fn start(command: impl Fn() -> Command + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let routes = HttpFrontend::new(Arc::new(command)).into_router();
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, routes).await;
        });
        Self { url, server }
    }

    /// The MCP endpoint.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        self.server.abort();
    }
}
