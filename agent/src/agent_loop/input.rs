//! The input with which a query is answered.

use agent_tools::SourceAccess;
use bridge_protocol::{Query, QueryCaller, QueryContent};
use tokio::sync::mpsc;

use super::state::QueryState;
use crate::bridge::AllowedTools;
use crate::config::AgentLimits;
use crate::model::{Model, ModelMessage, ModelTool};

/// The input with which a query is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryInput<'a> {
    pub(crate) query: &'a Query,
    pub(crate) page_tools: &'a AllowedTools,
    /// The sources of the agent that the query may use.
    pub(crate) sources: &'a SourceAccess,
    pub(crate) model: &'a dyn Model,
    pub(crate) system: &'a str,
    pub(crate) limits: &'a AgentLimits,
    /// Receives the progress. A full channel makes the model wait.
    pub(crate) progress: &'a mpsc::Sender<QueryContent>,
    pub(crate) state: &'a QueryState,
    /// The messages of earlier queries of the conversation.
    pub(crate) conversation: &'a [ModelMessage],
    /// The caller, if the bridge has sent it.
    pub(crate) caller: Option<&'a QueryCaller>,
    /// The tools that the client executes itself.
    pub(crate) client_tools: &'a [ModelTool],
}
