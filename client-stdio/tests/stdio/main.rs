//! The real binary between a client and an MCP server.
#![allow(clippy::unwrap_used)]

mod client;
mod command_line;
mod journeys;
mod large;
mod offline;
mod pass_through;
mod raw_server;
mod real_bridge;
mod server;
mod session_state;
mod tls;
mod tls_proxy;
mod tokens;
