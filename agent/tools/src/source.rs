//! A source of tools: the trait, its tools, and its state.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bridge_schema::Validator;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::class::ToolClass;
use crate::failure::AgentFailure;
use crate::output::CallOutput;

/// A source of tools that the operator has configured: a built-in one, or an MCP server.
///
/// [`Sources`](super::Sources) starts it at its first use and stops it with the agent. A call is made
/// only after it has passed the steps of the [`pipeline`](super::pipeline).
pub trait ToolSource: Send + Sync + Debug {
    /// Returns the name and the kind of the source.
    fn meta(&self) -> &SourceMeta;

    /// Prepares the source, within [`START_TIMEOUT`](crate::timeouts::START_TIMEOUT). It is called
    /// again after a failure, but never twice at the same time. By default, there is nothing to
    /// prepare.
    fn start(&self) -> BoxFuture<'_, Result<(), AgentFailure>> {
        async { Ok(()) }.boxed()
    }

    /// Returns the tools that the source has at the moment: the same list as long as it has not
    /// changed.
    fn tools(&self) -> Arc<[SourceTool]>;

    /// Returns whether [`tools`](Self::tools) are known, also before the source has started.
    fn has_known_tools(&self) -> bool {
        true
    }

    /// Returns the state of a source that may end and be started again while it is used.
    fn state(&self) -> Option<SourceState> {
        None
    }

    /// Returns the ids of the processes that the source has started and that run. By default, it has
    /// none.
    fn process_ids(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Calls a tool. Dropping the future cancels the call.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        context: &'a SourceContext,
    ) -> BoxFuture<'a, CallOutput>;

    /// Returns the text about the source for the system prompt, of which at most
    /// [`MAX_SOURCE_PROMPT_BYTES`] are used.
    fn prompt(&self) -> Option<Cow<'_, str>>;

    /// Ends everything that the source has started. By default, there is nothing to end.
    fn stop(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

/// Maximum length of the text about a source in the system prompt, in bytes.
pub(crate) const MAX_SOURCE_PROMPT_BYTES: usize = 2048;

/// Whether a source can be used at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// It was not needed yet, or has stopped until it is needed.
    Idle,
    /// It can be used.
    Running,
    /// The last attempt to start it has failed.
    Failed,
    /// It is configured and not used: it is disabled, or its configuration is wrong.
    Off,
}

impl SourceState {
    pub(super) const ALL: [Self; 4] = [Self::Idle, Self::Running, Self::Failed, Self::Off];

    /// Returns the word of the metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Off => "off",
        }
    }
}

/// The properties of a source that never change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceMeta {
    /// The name, which is the beginning of the names of its tools.
    pub name: String,
    /// `filesystem`, `mcp` …
    pub kind: &'static str,
}

/// A tool of a source.
#[derive(Clone, Debug)]
pub struct SourceTool {
    /// The name within the source.
    pub name: String,
    /// The description for models.
    pub description: Option<String>,
    /// The validator of its arguments, with the schema.
    pub arguments: Arc<Validator>,
    /// The class of the tool.
    pub class: ToolClass,
    /// The timeout of a call, if it is not that of the agent.
    pub timeout: Option<Duration>,
}

/// The context of a call: its user.
#[derive(Clone, Debug)]
pub struct SourceContext {
    /// The user, as the bridge identifies it.
    pub user: String,
}
