//! The bridge: an MCP server whose tools live in web pages.
//!
//! How a call flows:
//!
//! 1. [`http`] takes the request, checks `Host`, `Origin` and token, and hands MCP to [`mcp`].
//! 2. [`calls`] asks the realm which page has the tool, and validates the arguments.
//! 3. [`hub`] runs the event in the [`realm`], which says what to send; the page's socket task
//!    sends it.
//! 4. The page answers on its socket; the realm ends the call, once; [`calls`] validates the
//!    result, [`result`] shapes it.
//! 5. A caller that goes away drops its future, which cancels the call in the page.
//!
//! To run a bridge inside another process, see [`serve`].

mod agent_queries;
mod calls;
mod compat;
mod config;
mod http;
mod hub;
mod mcp;
mod program;
mod results;
mod server;
#[cfg(feature = "simulation")]
#[doc(hidden)]
pub mod simulation;
mod web;
mod websocket;

pub use bridge_realm::policy::{AmbiguousCalls, DuplicateNames, SessionLimitPolicy};
pub use bridge_service::Secret;
pub use config::{
    Agent, AgentUrl, ClientProfile, Compat, Config, Identity, Profile, Profiles, Results, Tabs,
};
pub use http::App;
pub use program::{ProgramSettings, arguments, run};
pub use server::{ServerHandle, StartError, serve};
