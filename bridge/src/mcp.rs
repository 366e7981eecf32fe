//! MCP: calls of tools on raw JSON, and rmcp's Streamable HTTP service for the other methods.
//!
//! Only this module knows rmcp. `endpoint` authenticates a request, and adapts it where rmcp is
//! strict. `message` parses it, and `checked_request` and `accept` check it; rmcp refuses what fails.
//! `tools_call` (with `param_headers`) and `tools_list` serve every client. `call_stream` is a running
//! call, `call_client` its client, which `client_questions` can ask, and `answer` and
//! `http_response` are what is sent. `input_required` seals the state that a client of 2026-07-28 carries between the
//! rounds of a call; `request_digest` is what binds it to one request.
//!
//! `handler` implements the methods that rmcp serves, with what `request_context` finds in the context
//! of a request; `peer_client` is the client of one. `session_manager` binds each MCP session to the
//! realm that opened it, and ends idle sessions. `event_log` stores events for streams that are
//! resumed, and `raw_event` converts those of calls. `notifier` sends notifications of changes.
//! `requesting_client` describes the client of a request, and `rmcp_rejection` gives the errors of
//! rmcp a JSON body.

// SEP-2577 deprecates logging, sampling, roots and subscriptions by method, which current clients
// still use.
#![allow(deprecated)]

mod accept;
mod answer;
mod call_client;
mod call_stream;
mod capabilities;
mod checked_request;
mod client_cache;
mod client_questions;
mod convert;
mod endpoint;
mod event_log;
mod handler;
mod headers;
mod http_response;
mod input_required;
mod large_body;
mod message;
mod notifier;
mod param_headers;
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
mod tools_call;
mod tools_list;

pub(crate) use convert::MAX_CLIENT_INFO_CHARS;
pub(crate) use convert::check_definition;
pub(crate) use endpoint::{endpoint, serve};
pub(crate) use service::McpService;
