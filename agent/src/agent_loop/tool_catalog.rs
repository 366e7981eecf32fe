//! The tools that can be called at the moment.

use std::sync::Arc;
use std::time::Duration;

use crate::bridge::PageTool;
use crate::model::Tool;

/// The tools that can be called at the moment.
#[derive(Debug, Default)]
pub(super) struct ToolCatalog {
    tools: Arc<[Tool]>,
    /// What else is known of them, in the same order.
    infos: Vec<ToolInfo>,
    bytes: u64,
}

/// What the page says of a tool beside what the model reads.
#[derive(Debug)]
pub(super) struct ToolInfo {
    pub(super) registered_name: String,
    pub(super) own_timeout: Option<Duration>,
}

impl ToolCatalog {
    pub(super) fn new(listed: Vec<PageTool>) -> Self {
        let (infos, tools): (Vec<_>, Vec<_>) = listed.into_iter().map(split_listed).unzip();
        Self {
            bytes: tools.iter().map(tool_bytes).sum(),
            tools: tools.into(),
            infos,
        }
    }

    pub(super) fn tools(&self) -> Arc<[Tool]> {
        Arc::clone(&self.tools)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// What a model reads of them.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the page says of the tool that the model calls `name`.
    pub(super) fn info(&self, name: &str) -> Option<&ToolInfo> {
        let place = self.tools.iter().position(|tool| tool.name == name)?;
        self.infos.get(place)
    }

    /// How the model must call what the page calls `registered`.
    pub(super) fn offered_name(&self, registered: &str) -> Option<&str> {
        let mut known = self.infos.iter();
        let place = known.position(|known| known.registered_name == registered)?;
        Some(&self.tools.get(place)?.name)
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

fn split_listed(listed: PageTool) -> (ToolInfo, Tool) {
    let PageTool {
        registered_name: registered,
        own_timeout: takes,
        tool,
    } = listed;
    (
        ToolInfo {
            registered_name: registered,
            own_timeout: takes,
        },
        tool,
    )
}

fn tool_bytes(tool: &Tool) -> u64 {
    let description = tool.description.as_deref().unwrap_or_default().len();
    (tool.name.len() + description + tool.input_schema.to_string().len()) as u64
}
