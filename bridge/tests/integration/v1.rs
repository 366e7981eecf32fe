//! The dialect of mcp-web 0.1. Each test has the name of a line of the contract.

mod client;
mod http;
mod kit;
mod lists;
mod page;
mod page_compat;
mod page_ends;
mod page_resources;
mod page_tools;
mod queries;
mod results;
