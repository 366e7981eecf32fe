//! What a query is answered with.

use agent_tools::SourceAccess;
use bridge_protocol::{Query, QueryCaller, QueryContent};
use tokio::sync::mpsc;

use super::state::QueryState;
use crate::bridge::AllowedTools;
use crate::config::AgentLimits;
use crate::model::{Model, ModelMessage, ModelTool};

/// What a query is answered with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryInput<'a> {
    pub(crate) query: &'a Query,
    pub(crate) page_tools: &'a AllowedTools,
    /// What the query may use of the sources of the agent.
    pub(crate) sources: &'a SourceAccess,
    pub(crate) model: &'a dyn Model,
    pub(crate) system: &'a str,
    pub(crate) limits: &'a AgentLimits,
    /// Receives the progress. A full channel makes the model wait.
    pub(crate) progress: &'a mpsc::Sender<QueryContent>,
    pub(crate) state: &'a QueryState,
    /// The messages of earlier queries of the conversation.
    pub(crate) conversation: &'a [ModelMessage],
    /// Who asks, if the bridge has told it.
    pub(crate) caller: Option<&'a QueryCaller>,
    /// The tools that the client executes itself.
    pub(crate) client_tools: &'a [ModelTool],
}
