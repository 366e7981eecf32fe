//! The clients that use the tools: AI clients and scripts.

mod connect;
mod full_client;
mod inspector;
mod mcp;
mod plain_http;
mod v1;

pub use full_client::{ClientEvent, FullClient};
pub use inspector::Inspector;
pub use mcp::{InFlightCall, McpClient};
pub use plain_http::PlainHttp;
pub use v1::V1Client;

/// How a client opens its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// With `initialize`, up to protocol 2025-11-25.
    Initialize,
    /// With `server/discover`: protocol 2026-07-28.
    Discover,
}

/// How a client's messages reach the bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP.
    Http,
    /// Standard input and output of `mcp-web-stdio`.
    Stdio,
}

/// Creates a client for plain HTTP, which uses no proxy of the machine.
pub fn http() -> reqwest::Client {
    // In a build of the whole workspace, reqwest uses TLS and needs a crypto provider. It does not
    // matter if one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}
