//! The tools that the operator has added to those of the page, and the pipeline of all calls.
//!
//! Nothing here is on by default. A page is not the operator: it may name tools, and a model may
//! request them, but only a [`ToolProfile`] grants them.
//!
//! 1. [`tools_file`] has the sources and the profiles.
//! 2. [`source`] is what a source is; [`managed_source`] starts it when it is needed first, by a
//!    [`shared_attempt`].
//! 3. [`sources`] has all sources of an agent, and the names by which models call their tools
//!    ([`offered_name`]).
//! 4. [`access`] is what one query may use of them: what its [`profile`] allows
//!    ([`name_patterns`]). [`report`] describes all of them for the operator.
//! 5. [`pipeline`] makes each call, also those of pages and clients: its steps are listed there, and
//!    [`call_profile`] says which of them apply to a tool. [`refusal`] has their texts for the model.
//! 6. [`call_record`] and [`audit`] record the calls, [`redaction`] without secrets; [`rate`] and
//!    [`user_shares`] bound what one user may do.
//! 7. [`servers_file`] lists the MCP servers that are sources, and [`pins`] the definitions of their
//!    tools ([`server_tool`]) that the operator has looked at.
//! 8. [`database`], [`filesystem`], [`websearch`] and [`github`] are built-in sources;
//!    [`builtin_tool`] describes their tools, and [`http_api`] is what those over HTTP share.
//!    [`served_source`] is one of them that another program uses on its own.

mod access;
mod approval;
mod audit;
mod builtin_tool;
mod call_profile;
mod call_record;
mod class;
mod database;
mod filesystem;
mod github;
mod http_api;
mod managed_source;
mod name_patterns;
mod offered_name;
mod offered_tool;
mod output;
mod pins;
pub(crate) mod pipeline;
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
#[cfg(test)]
pub(crate) mod tests;
mod tools_file;
mod user_shares;
mod websearch;

pub(crate) use access::SourceAccess;
pub(crate) use approval::Approval;
pub(crate) use audit::AuditLog;
pub(crate) use call_profile::{CallLimits, CallProfile};
pub(crate) use class::{ToolClass, ToolEffect};
pub(crate) use database::{READ_ARGUMENT, read_for_agent};
pub(crate) use name_patterns::NamePatterns;
pub(crate) use offered_name::{MAX_NAME_BYTES, offered_name};
pub(crate) use offered_tool::OfferedTool;
pub(crate) use output::{CallOutput, CallStatus};
pub(crate) use pins::{PinDifference, Pins};
pub(crate) use served_source::ServedSource;
pub(crate) use server_tool::{ServerTool, ToolHints};
pub(crate) use servers_file::{
    ProcessVariables, ServerDefinition, ServerEntry, ServerTransport, ServersFile, Variables,
};
pub(crate) use shared_attempt::SharedAttempt;
pub(crate) use source::{
    START_TIMEOUT, SourceContext, SourceMeta, SourceState, SourceTool, ToolSource,
};
pub(crate) use sources::{Records, SourceLimits, Sources, UnusedSource};
pub(crate) use tools_file::{SourceEntry, SourceSettings, ToolsFile};
pub(crate) use user_shares::UserShares;
