//! The dialect of mcp-web 0.1. Each test has the name of a line of the contract.

mod compat_flag;
mod http;
mod kit;
mod lists;
mod mcp_client;
mod page_close;
mod page_resources;
mod page_session;
mod page_tools;
mod queries;
mod results;
