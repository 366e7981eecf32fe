//! A request to call a tool.

use super::call_options::CallOptions;
use bridge_mcp_results::arguments::Arguments;

/// A call of a tool, with its arguments and its caller. An argument `session_id` takes precedence
/// over the caller's session.
pub(crate) struct CallRequest<'a> {
    pub(crate) caller: CallOptions<'a>,
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
}
