//! MCP: sessions and calls of the bridge's own, and rmcp for the methods that reach no page.
//!
//! Only this module knows rmcp. `endpoint` authenticates a request, and passes it on by its method:
//! `message` parses it, and `checked_request` and `accept` check it. rmcp refuses what fails, and says
//! why (`rmcp_services`, `rmcp_rejection`).
//!
//! A page answers `tools/call` (`tools_call`, `param_headers`) and the methods of
//! `prompts_and_resources`. `page_call` is what they have in common, `call_input` their parameters,
//! `call_stream` the running call and `call_client` its client, which receives progress and logs, and
//! which a page can ask (`client_questions`). `answer` and `http_response` are what is sent.
//! `input_required` seals the state that a client of 2026-07-28 carries between the rounds of a call;
//! `request_digest` is what binds it to one request.
//!
//! `initialize` opens a `session`, `sessions` finds and ends them. `standalone_stream` sends a client
//! what has changed (`notifier`, `change_log`), and `event_log` stores the streams of calls, so that a
//! client can resume them. `tools_list` lists tools. `handler` serves the other methods, with what
//! `request_context` finds in the context that rmcp has. `requesting_client` describes the client of a
//! request.

// SEP-2577 deprecates logging, sampling, roots and subscriptions by method, which current clients
// still use.
#![allow(deprecated)]

mod accept;
mod answer;
mod call_client;
mod call_input;
mod call_stream;
mod capabilities;
mod change_log;
mod checked_request;
mod client_cache;
mod client_questions;
mod convert;
mod endpoint;
mod event_log;
mod handler;
mod headers;
mod http_response;
mod initialize;
mod input_required;
mod large_body;
mod message;
mod notifier;
mod page_call;
mod param_headers;
mod prompts_and_resources;
mod request_context;
mod request_digest;
mod request_kind;
mod requesting_client;
mod rmcp_rejection;
mod rmcp_services;
mod service;
mod session;
mod session_choice;
mod sessions;
mod standalone_stream;
mod tools_call;
mod tools_list;

pub(crate) use convert::MAX_CLIENT_INFO_CHARS;
pub(crate) use convert::check_definition;
pub(crate) use endpoint::{endpoint, serve};
pub(crate) use notifier::ClientNotifier;
pub(crate) use service::McpService;
