//! The bridge of the test kit `mcp-web-sdk/testing`: it connects pages and MCP clients of one token
//! in the memory of a test.
//!
//! [`server`] is the MCP server: it answers requests from the realm, and turns the outputs of the
//! realm into the [`event`]s that the surrounding module delivers. The realm, the validation and
//! the results are those of the bridge (`bridge-realm`, `bridge-mcp-results`). `tool_routing` finds
//! the page of a call, and `outcome` builds results and errors from the answers of pages.
//! [`limits`] are the bridge's defaults. [`js`] is the interface for JavaScript.
#![warn(missing_docs)]

pub mod event;
pub mod js;
pub mod limits;
mod outcome;
pub mod params;
pub mod server;
mod tool_routing;
