//! MCP: rmcp's Streamable HTTP service in front of the realms.
//!
//! Only this module knows rmcp. `endpoint` authenticates a request, and adapts it where rmcp is
//! strict; `handler` implements the methods, with what `request_context` finds in the context of a
//! request. `peer_client` sends progress, logs and requests to the
//! client of a call, and `input_required` seals the state that a client of 2026-07-28 carries
//! between the rounds of a call; `request_digest` is what binds it to one request. `session_manager` binds each MCP session to the realm that opened
//! it, and ends idle sessions. `event_log` stores events for streams that are resumed, and
//! `raw_event` converts the events of the fast path. `notifier` sends notifications of changes.
//! `requesting_client` describes the client of a request, and `rmcp_rejection` gives the errors of
//! rmcp a JSON body.
//!
//! Most `tools/call` and `tools/list` requests take the `fast_path`, without rmcp.

// SEP-2577 deprecates logging, sampling, roots and subscriptions by method, which current clients
// still use.
#![allow(deprecated)]

mod capabilities;
mod convert;
mod endpoint;
mod event_log;
mod fast_path;
mod handler;
mod headers;
mod input_required;
mod large_body;
mod notifier;
mod peer_client;
mod raw_event;
mod request_context;
mod request_digest;
mod request_kind;
mod request_scope;
mod requesting_client;
mod rmcp_rejection;
mod service;
mod session;
mod session_choice;
mod session_manager;

pub(crate) use convert::MAX_CLIENT_INFO_CHARS;
pub(crate) use convert::check_definition;
pub(crate) use endpoint::{endpoint, serve};
pub(crate) use service::McpService;
