//! MCP: the bridge's own sessions and calls, and rmcp for the methods that reach no page.
//!
//! Only this module knows rmcp. `endpoint` authenticates a request and passes it on by its method:
//! `json_rpc_message` parses it, `checked_request`, `protocol_version` and `accept_header` check it. rmcp
//! rejects a request that fails a check and states the reason (`rmcp_services`, `rmcp_rejection`).
//!
//! Pages answer `tools/call` (`tools_call`, `param_headers`) and the methods of
//! `prompts_and_resources`. `page_call` is their common part, `call_input` has their parameters,
//! `call_stream` is the running call. `call_client` is its client, which receives progress and logs and
//! answers requests of the page (`client_questions`). `json_rpc_response` and `http_response` build the
//! response. `input_required` seals the state that a client of 2026-07-28 carries between the rounds of
//! a call; `request_digest` binds it to one request.
//!
//! `cluster_owner` finds the bridge that serves a request, if there are several. `initialize` opens a
//! `session`, and restores it by its id after a restart (`session_ids`,
//! `ended_ids`); `sessions` finds and ends them. `standalone_stream` sends the changes
//! to a client (`notifier`, `change_log`), and `event_log` stores the streams of calls, so that a client
//! can resume them. `tools_list` lists tools. `rmcp_handler` serves the other methods, with the
//! `request_context`. `requesting_client` describes the client of a request, and `operator` the sessions
//! to the operator.

// SEP-2577 deprecates logging, sampling, roots and subscriptions by method, which current clients
// still use.
#![allow(deprecated)]

mod accept_header;
mod call_client;
mod call_input;
mod call_stream;
mod capabilities;
mod change_log;
mod checked_request;
mod client_cache;
mod client_overview;
mod client_questions;
mod cluster_owner;
mod ended_ids;
mod endpoint;
mod event_json;
mod event_log;
mod headers;
mod http_response;
mod initialize;
mod input_required;
mod json_rpc_message;
mod json_rpc_response;
mod large_body;
mod list_page;
mod message_reader;
mod notifier;
mod operator;
mod page_call;
mod param_headers;
mod prompts_and_resources;
mod protocol_version;
mod request_context;
mod request_digest;
mod request_kind;
mod requesting_client;
mod response_limit;
mod rmcp_conversions;
mod rmcp_handler;
mod rmcp_rejection;
mod rmcp_services;
mod service;
mod session;
mod session_choice;
mod session_ids;
mod sessions;
mod standalone_stream;
mod tools_call;
mod tools_list;

pub(crate) use accept_header::accepts_only_events;
pub(crate) use call_client::MessageBuffer;
pub(crate) use ended_ids::ENDED_IDS_FILE;
pub(crate) use endpoint::{endpoint, serve};
pub(crate) use json_rpc_response::EncodedResponse;
pub(crate) use notifier::ClientNotifier;
pub(crate) use page_call::serve_events;
pub(crate) use rmcp_conversions::MAX_CLIENT_INFO_CHARS;
pub(crate) use rmcp_conversions::check_definition;
pub(crate) use service::McpService;
pub(crate) use session_ids::SessionIds;
