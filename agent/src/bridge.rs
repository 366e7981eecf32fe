//! The connection to the bridge: its addresses, the tools of the page that has sent a query, and reports
//! on queries in the protocol of mcp-web 0.1. Both use the token of the query.

mod allowed_tools;
mod client;
mod mcp_errors;
mod reports;

pub(crate) use allowed_tools::{AllowedTool, AllowedTools};
pub(crate) use client::AgentBridge;
pub(crate) use reports::QueryReporter;
