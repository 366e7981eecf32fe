//! The tools that the model can call at the moment.

use std::sync::Arc;
use std::time::Duration;

use crate::bridge::{PageTool, ToolClass};
use crate::model::Tool;

/// The tools that the model can call at the moment.
#[derive(Debug, Default)]
pub(super) struct ToolCatalog {
    tools: Arc<[Tool]>,
    /// The information about each tool, in the order of `tools`.
    infos: Vec<ToolInfo>,
    bytes: u64,
}

/// The properties of a tool that are not sent to the model.
#[derive(Debug)]
pub(super) struct ToolInfo {
    pub(super) registered_name: String,
    pub(super) own_timeout: Option<Duration>,
    pub(super) class: ToolClass,
}

impl ToolCatalog {
    pub(super) fn new(tools: Vec<PageTool>) -> Self {
        let (infos, tools): (Vec<_>, Vec<_>) = tools.into_iter().map(split).unzip();
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

    /// Returns the size of the tools as input of a model.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Looks up a tool by the name that the model uses.
    pub(super) fn info(&self, name: &str) -> Option<&ToolInfo> {
        let index = self.tools.iter().position(|tool| tool.name == name)?;
        self.infos.get(index)
    }

    /// Returns the registered name of a tool, or `name` itself if there is no such tool.
    pub(super) fn registered_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.info(name).map_or(name, |info| &info.registered_name)
    }

    /// Returns the name by which the model calls the tool that the page registered as `registered`.
    pub(super) fn offered_name(&self, registered: &str) -> Option<&str> {
        let mut infos = self.infos.iter();
        let index = infos.position(|info| info.registered_name == registered)?;
        Some(&self.tools.get(index)?.name)
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

fn split(page_tool: PageTool) -> (ToolInfo, Tool) {
    let PageTool {
        registered_name,
        own_timeout,
        class,
        tool,
    } = page_tool;
    let info = ToolInfo {
        registered_name,
        own_timeout,
        class,
    };
    (info, tool)
}

fn tool_bytes(tool: &Tool) -> u64 {
    let description = tool.description.as_deref().unwrap_or_default().len();
    (tool.name.len() + description + tool.input_schema.to_string().len()) as u64
}
