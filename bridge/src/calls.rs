//! The requests of clients, from the transport to the page and back: route, validate, run, and
//! build the result.
//!
//! MCP, the REST API and the endpoint of mcp-web 0.1 all call the functions of this module.
//! Dropping the future of a call cancels the call in the page.
//!
//! 1. [`dispatch`] decides whether a tool belongs to the bridge ([`builtin_tools`]) or to a page
//!    ([`tools`]). Prompts, resources and completions have separate modules.
//! 2. [`in_flight`] drives a call while it runs: it forwards progress, logs and the page's requests
//!    to the client through a [`client_channel`].
//! 3. [`tool_outcome`] builds the result from the page's answer, and [`delivery_limits`] truncates
//!    it to the limits of the client.
//! 4. A client that does not wait for a long call gets a handle ([`background`]), and fetches the
//!    result with the tool [`get_result`].
//!
//! [`call_record`] counts and logs each round of a call, and [`call_trace`] has its spans.

mod audit;
mod background;
pub(crate) mod builtin_resources;
pub(crate) mod builtin_tools;
mod call_record;
mod call_request;
mod call_trace;
mod client_channel;
mod completion;
mod delivery_limits;
mod dispatch;
mod get_result;
mod in_flight;
mod media_budget;
mod page_wait;
mod progress;
mod prompts;
mod query_scope;
mod raw_call;
mod resources;
mod round_outcome;
mod tool_outcome;
mod tools;
mod truncate;
mod validation;

pub(crate) use bridge_mcp_results::arguments::Arguments;
pub(crate) use call_record::{CallRecord, Recorded};
pub(crate) use call_request::{CallOptions, CallRequest, ClientTimeout, DeliveryLimits};
pub(crate) use call_trace::RequestTrace;
pub(crate) use client_channel::{ClientChannel, DETACHED_CLIENT, SilentClient};
pub(crate) use completion::{CompletionRequest, complete};
pub(crate) use delivery_limits::enforce_contents_limit;
pub(crate) use dispatch::call_tool;
pub(crate) use media_budget::MediaBudget;
pub(crate) use page_wait::{
    pages_awaited_until, wait_for_any_page, wait_for_bare_session, wait_for_tool,
};
pub(crate) use prompts::{PromptRequest, get_prompt};
pub(crate) use query_scope::{tools_for_query, wait_for_query_page};
pub(crate) use raw_call::{call_raw, validate_raw_arguments};
pub(crate) use resources::read_resource;
pub(crate) use round_outcome::{ResumeToken, RoundOutcome};
