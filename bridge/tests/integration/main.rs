//! Tests of the bridge through its public interface: real sockets, real HTTP, free ports.
#![allow(clippy::unwrap_used)]

#[cfg(unix)]
mod administration;
mod agent_queries;
mod alerts;
mod any_definition;
mod audit;
mod background_calls;
mod call_path;
mod client_quirks;
mod client_requests;
#[cfg(target_os = "linux")]
mod cluster;
mod compat;
mod configuration;
mod configuration_file;
mod connections;
mod control_group;
mod definitions;
mod documentation;
mod encryption;
mod event_lines;
mod fair_shares;
mod hand_over;
mod health;
mod hostile_peers;
mod identity;
mod input_required;
mod kit;
mod large_results;
mod lifecycle;
mod limits;
mod many_users;
mod mcp;
mod mcp_answers;
mod memory;
mod message_parts;
mod metrics;
mod open_files;
mod outcomes;
mod page_frames;
mod page_socket;
mod prompts_and_resources;
mod refusals;
mod rejections;
mod request_ids;
mod rest;
mod restored_sessions;
#[cfg(unix)]
mod running_program;
mod sdk_files;
mod sessions;
mod shares;
mod slow_clients;
mod slow_requests;
mod stdio_messages;
mod stream_resumption;
mod strict_readers;
mod traces;
mod validation;
