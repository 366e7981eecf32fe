//! The dialect of mcp-web 0.1. Each test has the name of a line of the contract.

mod client;
mod kit;
mod lists;
mod page;
