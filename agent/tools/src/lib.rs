//! The tools that the operator has added to those of the page, and the pipeline of all calls.
//!
//! Nothing here is on by default. A page is not the operator: it may name tools, and a model may
//! request them, but only a [`ToolProfile`] grants them.
//!
//! 1. [`source`] has the trait of a source; [`managed_source`] starts one at its first use, by a
//!    [`shared_attempt`]. The crate `agent-sources` has the built-in sources, and the file with all
//!    sources and profiles.
//! 2. [`sources`] has all sources of an agent, and the names by which models call their tools
//!    ([`offered_name`]).
//! 3. [`access`] is the part of them that one query may use: its [`profile`] allows it
//!    ([`name_patterns`]). [`report`] describes all of them for the operator.
//! 4. [`pipeline`] makes each call, also those of pages and clients: its steps are listed there, and
//!    [`call_profile`] says which of them apply to a tool. [`refusal`] has their texts for the model.
//!    A person may have to [approve](approval) a call.
//! 5. [`call_record`] and [`audit`] record the calls, [`redaction`] without secrets; [`rate`] and
//!    [`user_shares`] bound what one user may do. [`metrics`] counts the calls, and the queries.
//! 6. [`servers_file`] lists the MCP servers that are sources, and [`pins`] the definitions of
//!    their tools ([`server_tool`]) that the operator has reviewed. [`mcp`] connects to them.
//! 7. [`timeouts`] has the times for starting, listing, idling and ending.
//! 8. [`builtin_tool`] describes the tools of built-in sources. [`served_source`] is one of them that
//!    another program uses on its own.
#![warn(missing_docs)]

mod access;
mod approval;
mod audit;
mod builtin_tool;
mod call_profile;
mod call_record;
mod class;
pub mod closed_stdin;
mod failure;
mod managed_source;
pub mod mcp;
pub mod media;
pub mod metrics;
mod name_patterns;
mod offered_name;
mod offered_tool;
mod output;
mod pins;
pub mod pipeline;
mod profile;
mod rate;
mod redaction;
mod refusal;
mod report;
mod served_source;
mod server_tool;
mod servers_file;
mod shared_attempt;
mod source;
mod sources;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod text;
mod timeouts;
mod user_shares;

pub use access::SourceAccess;
pub use approval::{Approval, AskFor};
pub use audit::AuditLog;
pub use builtin_tool::{builtin_tool, parse_arguments};
pub use call_profile::{CallLimits, CallProfile};
pub use call_record::{CLIENT_SOURCE, PAGE_SOURCE};
pub use class::{ToolClass, ToolEffect};
pub use failure::AgentFailure;
pub use metrics::Metrics;
pub use offered_name::{MAX_NAME_BYTES, offered_name};
pub use offered_tool::OfferedTool;
pub use output::{CallOutput, CallStatus};
pub use pins::{PinDifference, Pins};
pub use profile::{ProfileEntry, ToolProfile};
pub use served_source::ServedSource;
pub use server_tool::{ServerTool, ToolHints};
pub use servers_file::{
    EditError, SaveError, ServerDefinition, ServerEntry, ServerPolicy, ServerTransport,
    ServersFile, ServersFileError,
};
pub use source::{SourceContext, SourceMeta, SourceState, SourceTool, ToolSource};
pub use sources::{Records, SourceLimits, Sources, UnusedSource};
pub use user_shares::{CallPermit, UserShares};
