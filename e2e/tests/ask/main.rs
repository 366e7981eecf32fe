//! Queries of pages: native pages, real bridges and agents, and a mock provider with scripted
//! answers in the formats of four real ones, or the real server of llama.cpp.
#![allow(clippy::unwrap_used)]

mod agent_tools;
mod cancellation;
mod credentials;
mod direct_client;
mod direct_query;
mod disconnects;
mod llama_cpp;
mod mock;
mod models;
mod page_reload;
mod provider_failures;
mod test_bed;
mod tool_errors;
mod tool_rounds;
