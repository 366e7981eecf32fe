//! The MCP leg: rmcp's Streamable HTTP service in front of the realms.
//!
//! This is the only module that knows rmcp. `endpoint` checks the token, smooths what rmcp is
//! strict about, and hands the request on; `handler` answers the methods; `reach` carries progress,
//! logs and questions to the client of a running call, `rounds` seals what a client of 2026-07-28
//! carries between the rounds of one; `sessions` binds each MCP session to the realm that opened
//! it, and ends those that are idle, `events` keeps what a dropped stream lost, `replay` says it again; `clients` tells
//! clients what changed; `known` is what a request shows of its client.
//!
//! Beside rmcp is the `lane`: most `tools/call` and `tools/list` take it, and never meet rmcp.

// SEP-2577 deprecates logging, sampling, roots and subscriptions by method; the clients of today
// have them.
#![allow(deprecated)]

mod capabilities;
mod convert;
mod endpoint;
mod event_log;
mod fast_path;
mod handler;
mod headers;
mod input_required;
mod large_body;
mod notifier;
mod peer_client;
mod raw_event;
mod request_kind;
mod request_scope;
mod requesting_client;
mod service;
mod session;
mod session_choice;
mod session_manager;

pub(crate) use convert::MAX_CLIENT_INFO_CHARS;
pub(crate) use convert::check_definition;
pub(crate) use endpoint::{endpoint, serve};
pub(crate) use service::McpService;
