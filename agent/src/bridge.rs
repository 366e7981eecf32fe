//! The connection to the bridge: the tools of its pages over MCP, and reports on queries in the
//! protocol of mcp-web 0.1. Both use the token of the query.
//!
//! Only [`tools`] uses rmcp.

mod client;
mod reports;
mod tools;

pub(crate) use client::BridgeClient;
pub(crate) use reports::QueryReporter;
pub(crate) use tools::{BridgeTools, PageCallResult, PageTool, ToolClass, ToolEffect};
