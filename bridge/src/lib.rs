//! The bridge: an MCP server whose tools live in web pages.
//!
//! How a call flows:
//!
//! 1. [`http`] receives the request, checks `Host`, `Origin` and token, and passes MCP to [`mcp`].
//! 2. [`calls`] finds the page with the tool in the realm, and validates the arguments.
//! 3. [`hub`] runs the event in the [`realm`](bridge_realm::realm), whose effects go to the task of the
//!    page's socket.
//! 4. The page responds on its socket; the realm completes the call, once; [`calls`] validates the
//!    result, and truncates it to what its client can take.
//! 5. A caller that disconnects drops its future, which cancels the call in the page.
//!
//! To run a bridge inside another process, see [`serve`].

// Without Unix sockets, no bridge can be administrated, and what does it is not used.
#![cfg_attr(not(unix), allow(dead_code))]

mod admin;
mod agent_queries;
mod budget;
mod calls;
mod cluster;
mod command_line;
mod compat;
mod config;
mod counters;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod http;
mod hub;
#[cfg(feature = "in-memory")]
#[doc(hidden)]
pub mod in_memory;
mod lifecycle;
mod mcp;
mod program;
mod result_store;
mod server;
mod web;
mod websocket;

pub use bridge_edge::connections::{TlsAcceptor, TlsError};
pub use bridge_edge::{ForwardedHeader, TrustedProxy};
pub use bridge_output::LogFormat;
pub use bridge_realm::policy::{AmbiguousCalls, DuplicateNames, SessionLimitPolicy};
pub use bridge_settings::Secret;
pub use command_line::{admin_command, admin_main, command, main};
pub use config::{
    AdminSettings, Agent, AgentUrl, Audit, BridgeInfo, BridgeTraces, CallSettings, ClientProfile,
    Cluster, Compat, Compatibility, Config, HttpTimeouts, Identity, McpSessionLimits, Memory,
    Monitoring, Network, PageLimits, PageTimings, Profile, Profiles, Results, StateSettings, Tabs,
    TlsSettings, Tokens,
};
pub use http::MountedApp;
pub use program::{EXIT_RETRY, ProgramSettings, parse_arguments, run};
pub use server::{AddressInUse, ReleaseAddress, ServerHandle, StartError, serve};
pub use web::current_request_id;
