//! Tests of the bridge through its public interface: real sockets, real HTTP, free ports.
#![allow(clippy::unwrap_used)]

mod agent_queries;
mod any_definition;
mod background_calls;
mod client_quirks;
mod client_requests;
mod compat;
mod configuration;
mod configuration_file;
mod connections;
mod definitions;
mod documentation;
mod fair_shares;
mod fast_path;
mod hostile_peers;
mod identity;
mod input_required;
mod kit;
mod large_results;
mod limits;
mod mcp;
mod memory;
mod message_parts;
mod open_files;
mod page_frames;
mod page_socket;
mod prompts_and_resources;
mod rejections;
mod rest;
mod sdk_files;
mod sessions;
mod shares;
mod slow_clients;
mod slow_requests;
mod stream_resumption;
mod validation;
