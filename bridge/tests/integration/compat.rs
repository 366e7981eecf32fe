//! Compatibility with mcp-web 0.1: its page protocol, which every bridge supports, and its MCP over
//! HTTP, lists and results, which a bridge with `--compat mcp-web` supports.

mod compat_flag;
mod http;
pub(crate) mod kit;
mod lists;
mod mcp_client;
mod page_close;
mod page_resources;
mod page_session;
mod page_tools;
mod queries;
mod results;
