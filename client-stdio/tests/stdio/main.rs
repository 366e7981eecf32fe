//! Tests of the binary between an MCP client and an MCP server.
#![allow(clippy::unwrap_used)]

mod client;
mod command_line;
mod large;
mod offline;
mod online;
mod pass_through;
mod raw_server;
mod real_bridge;
mod restart;
mod server;
mod session_state;
mod silence;
mod tls;
mod tls_proxy;
#[cfg(unix)]
mod token_command;
mod tokens;
