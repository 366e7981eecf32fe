//! The tools of a query: those of sources and of the page, and those that the agent adds.

use std::sync::Arc;

use agent_tools::OfferedTool;

use super::answer_tool::AnswerTool;
use super::input::QueryInput;
use super::tool_catalog::{Executor, ToolCatalog};
use crate::bridge::AllowedTool;

/// Returns the tools of sources that the query may use. If the page restricts the tools, these are
/// those that it names.
pub(super) async fn source_tools(input: QueryInput<'_>) -> Vec<Arc<OfferedTool>> {
    let mut tools = input.sources.tools().await;
    if input.query.restrict_tools == Some(true) {
        let named = input.query.tools.as_deref().unwrap_or_default();
        tools.retain(|tool| named.iter().any(|it| it.name == tool.name));
    }
    tools
}

/// Returns the tools that the model can call: those of sources and of the page, and those of others.
pub(super) fn catalog(
    input: QueryInput<'_>,
    answer_tool: Option<&AnswerTool>,
    source_tools: &[Arc<OfferedTool>],
    page_tools: Vec<AllowedTool>,
) -> ToolCatalog {
    let answer_tool = answer_tool.map(|it| std::slice::from_ref(it.tool()));
    let state_tool = input.state.shared.tool();
    ToolCatalog::new(source_tools, input.sources.known_tools(), page_tools)
        .with(Executor::Answer, answer_tool.unwrap_or_default())
        .with(Executor::Agent, state_tool.as_slice())
        .with(Executor::Client, input.client_tools)
}
