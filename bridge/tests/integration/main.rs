//! The bridge through its door: real sockets, real HTTP, port 0.
#![allow(clippy::unwrap_used)]

mod agent;
mod any_definition;
mod asking;
mod configuration;
mod configuration_file;
mod connections;
mod definitions;
mod documented;
mod hostile;
mod identity;
mod kit;
mod lane;
mod large;
mod limits;
mod long;
mod mcp;
mod page_socket;
mod parts;
mod plain_http;
mod queries;
mod query_results;
mod real_clients;
mod refusals;
mod replay;
mod resources;
mod rounds;
mod sdk_files;
mod stalled;
mod tabs;
mod v1;
mod validation;
