//! The connection to the bridge: its addresses, and reports on queries in the protocol of mcp-web 0.1,
//! with the token of the query.

mod client;
mod reports;

pub(crate) use client::AgentBridge;
pub(crate) use reports::QueryReporter;
