//! A request to call a tool.

use super::arguments::Arguments;
use super::call_options::CallOptions;

/// Which tool is called, with which arguments and on whose behalf. An argument `session_id` takes
/// precedence over the caller's session.
pub(crate) struct CallRequest<'a> {
    pub(crate) caller: CallOptions<'a>,
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
}
