//! The bridges whose queries the agent answers, and the connection to each: its addresses, the tools of the
//! page that has sent a query, and reports on queries in the protocol of mcp-web 0.1. Both use the token of
//! the query. Bridges are recognized by their credentials, which can change while the agent runs.

mod allowed_tools;
mod bridges;
mod client;
mod credential_watch;
mod mcp_errors;
mod reports;

pub(crate) use allowed_tools::{AllowedTool, AllowedTools};
pub(crate) use bridges::{AcceptedCredentials, BridgeId, Bridges, ServedBridge};
pub(crate) use client::AgentBridge;
pub(crate) use credential_watch::watch_credentials;
pub(crate) use reports::QueryReporter;
