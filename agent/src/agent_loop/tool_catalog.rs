//! The tools that the model can call at the moment.

use std::sync::Arc;
use std::time::Duration;

use agent_tools::{MAX_NAME_BYTES, OfferedTool, ToolClass, ToolEffect};
use serde_json::Value;

use crate::bridge::AllowedTool;
use crate::model::ModelTool;

/// The tools that the model can call at the moment.
#[derive(Debug, Default)]
pub(super) struct ToolCatalog {
    tools: Arc<[ModelTool]>,
    /// The information about each tool, in the order of `tools`.
    infos: Vec<ToolInfo>,
    /// The tools of all sources, whose names no other tool has.
    known: Arc<[Arc<OfferedTool>]>,
    bytes: u64,
}

/// The properties of a tool that are not sent to the model.
#[derive(Debug)]
pub(super) struct ToolInfo {
    pub(super) registered_name: String,
    /// The name under which the executor of the tool knows it.
    pub(super) call_name: String,
    pub(super) own_timeout: Option<Duration>,
    pub(super) class: ToolClass,
    pub(super) executor: Executor,
    /// The tool, if it is one of a source.
    pub(super) offered: Option<Arc<OfferedTool>>,
}

impl ToolInfo {
    /// Returns the name of the source of the tool, if it has one.
    pub(super) fn source(&self) -> Option<&str> {
        self.offered.as_ref().map(|tool| tool.source_name())
    }
}

/// The party that executes a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Executor {
    Page,
    /// A source of the agent, as the operator has configured it.
    Source,
    /// The client that asks.
    Client,
    /// The agent: the tool changes the state that the application shares.
    Agent,
    /// No party: the arguments of a call are the answer to the query.
    Answer,
}

impl Executor {
    /// Returns what is appended to the name of a tool if another tool has that name.
    fn suffix(self) -> &'static str {
        match self {
            Self::Page => "_page",
            // These names are given first.
            Self::Source => "_source",
            Self::Client => "_client",
            Self::Agent | Self::Answer => "_agent",
        }
    }
}

impl ToolCatalog {
    /// Lists tools of sources and of the page. No other tool has the name of one of `known`, the tools
    /// of all sources, also if the query may not use it.
    pub(super) fn new(
        source_tools: &[Arc<OfferedTool>],
        known: Arc<[Arc<OfferedTool>]>,
        page_tools: Vec<AllowedTool>,
    ) -> Self {
        let (mut infos, mut tools): (Vec<_>, Vec<_>) = source_tools.iter().map(source_tool).unzip();
        for page_tool in page_tools {
            let (info, mut tool) = split(page_tool);
            if !known.is_empty() {
                tool.name = free_name(&tool.name, info.executor.suffix(), &tools, &known);
            }
            infos.push(info);
            tools.push(tool);
        }
        Self {
            bytes: tools.iter().map(tool_bytes).sum(),
            tools: tools.into(),
            infos,
            known,
        }
    }

    /// Adds tools that the page does not execute. Those whose name another tool has get another one.
    pub(super) fn with(self, executor: Executor, more: &[ModelTool]) -> Self {
        if more.is_empty() {
            return self;
        }
        let mut tools = self.tools.to_vec();
        let mut infos = self.infos;
        for tool in more {
            let name = free_name(&tool.name, executor.suffix(), &tools, &self.known);
            tools.push(ModelTool {
                name,
                ..tool.clone()
            });
            infos.push(ToolInfo {
                registered_name: tool.name.clone(),
                call_name: tool.name.clone(),
                own_timeout: None,
                class: OTHER_CLASS,
                executor,
                offered: None,
            });
        }
        Self {
            bytes: tools.iter().map(tool_bytes).sum(),
            tools: tools.into(),
            infos,
            known: self.known,
        }
    }

    pub(super) fn tools(&self) -> Arc<[ModelTool]> {
        Arc::clone(&self.tools)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the size of the tools as input of a model.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn has_page_tools(&self) -> bool {
        self.infos
            .iter()
            .any(|info| info.executor == Executor::Page)
    }

    /// Looks up a tool by the name that the model uses.
    pub(super) fn info(&self, name: &str) -> Option<&ToolInfo> {
        let index = self.tools.iter().position(|tool| tool.name == name)?;
        self.infos.get(index)
    }

    /// Returns a tool of a source that the query does not have, by the name that the model would use.
    pub(super) fn withheld(&self, name: &str) -> Option<&OfferedTool> {
        let mut known = self.known.iter();
        let tool = known.find(|tool| tool.name == name)?;
        self.info(name).is_none().then_some(tool)
    }

    /// Returns the registered name of a tool, or `name` itself if no tool has it.
    pub(super) fn registered_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.info(name).map_or(name, |info| &info.registered_name)
    }

    /// Returns the name by which the model calls the tool that the page registered as `registered`.
    pub(super) fn offered_name(&self, registered: &str) -> Option<&str> {
        let mut infos = self.infos.iter();
        let index = infos.position(|info| {
            info.registered_name == registered && info.executor == Executor::Page
        })?;
        Some(&self.tools.get(index)?.name)
    }

    /// Returns whether a query can mean a tool by this name: the page has registered it, or the model
    /// calls a tool of the page or of a source by it.
    pub(super) fn has_named_tool(&self, name: &str) -> bool {
        let can_be_named =
            |info: &ToolInfo| matches!(info.executor, Executor::Page | Executor::Source);
        self.offered_name(name).is_some() || self.info(name).is_some_and(can_be_named)
    }

    /// Returns the name of the source of a tool, if it has one.
    pub(super) fn source(&self, name: &str) -> Option<&str> {
        self.info(name).and_then(ToolInfo::source)
    }

    /// Returns whether calls of a tool change nothing, by its hints.
    pub(super) fn is_read_only(&self, name: &str) -> bool {
        let effect = self.info(name).map(|info| info.class.effect);
        effect == Some(ToolEffect::Read)
    }

    /// Returns the schema of a tool.
    pub(super) fn input_schema(&self, name: &str) -> Option<&Value> {
        let tool = self.tools.iter().find(|tool| tool.name == name)?;
        Some(&tool.input_schema)
    }

    /// Returns the name by which the model calls the tool whose arguments are the answer.
    pub(super) fn answer_tool_name(&self) -> Option<&str> {
        let mut infos = self.infos.iter();
        let index = infos.position(|info| info.executor == Executor::Answer)?;
        Some(&self.tools.get(index)?.name)
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

fn split(page_tool: AllowedTool) -> (ToolInfo, ModelTool) {
    let AllowedTool {
        registered_name,
        own_timeout,
        class,
        tool,
    } = page_tool;
    let info = ToolInfo {
        registered_name,
        call_name: tool.name.clone(),
        own_timeout,
        class,
        executor: Executor::Page,
        offered: None,
    };
    (info, tool)
}

fn source_tool(offered: &Arc<OfferedTool>) -> (ToolInfo, ModelTool) {
    let OfferedTool { name, tool, .. } = &**offered;
    let info = ToolInfo {
        registered_name: name.clone(),
        call_name: tool.name.clone(),
        own_timeout: tool.timeout,
        class: tool.class,
        executor: Executor::Source,
        offered: Some(Arc::clone(offered)),
    };
    let tool = ModelTool {
        name: name.clone(),
        description: tool.description.clone(),
        input_schema: tool.arguments.schema().clone(),
    };
    (info, tool)
}

/// The class of tools that the client or the agent executes. No step of their calls depends on it.
const OTHER_CLASS: ToolClass = ToolClass {
    effect: ToolEffect::Write,
    is_open_world: false,
};

/// Returns a name that no other tool has: `name`, or one with this suffix.
fn free_name(name: &str, suffix: &str, tools: &[ModelTool], known: &[Arc<OfferedTool>]) -> String {
    let is_free = |name: &str| {
        !tools.iter().any(|tool| tool.name == name) && !known.iter().any(|tool| tool.name == name)
    };
    if is_free(name) {
        return name.to_owned();
    }
    let numbered = (0..).map(|number| {
        let suffix = match number {
            0 => suffix.to_owned(),
            number => format!("{suffix}_{number}"),
        };
        // The names of these tools are ASCII.
        let kept = name.len().min(MAX_NAME_BYTES - suffix.len());
        format!("{}{suffix}", &name[..kept])
    });
    let mut free = numbered.filter(|name| is_free(name));
    free.next().unwrap_or_default()
}

fn tool_bytes(tool: &ModelTool) -> u64 {
    let description = tool.description.as_deref().unwrap_or_default().len();
    (tool.name.len() + description + tool.input_schema.to_string().len()) as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> ModelTool {
        ModelTool {
            name: name.to_owned(),
            description: None,
            input_schema: json!({ "type": "object" }),
        }
    }

    #[test]
    fn tools_of_the_page_keep_their_names_beside_those_of_the_client() {
        let long = "x".repeat(MAX_NAME_BYTES);
        let page_tools = ["paint", "paint_client", &long].map(|name| AllowedTool {
            registered_name: name.to_owned(),
            own_timeout: None,
            class: OTHER_CLASS,
            tool: tool(name),
        });
        let client_tools = ["paint", "speak", &long].map(tool);
        let catalog = ToolCatalog::new(&[], Arc::default(), page_tools.into())
            .with(Executor::Client, &client_tools);
        let names = catalog.names();
        let shortened = format!("{}_client", "x".repeat(MAX_NAME_BYTES - 7));
        let expected = [
            "paint",
            "paint_client",
            &long,
            "paint_client_1",
            "speak",
            &shortened,
        ];
        assert_eq!(names, expected);
        let is_client = |name: &str| catalog.info(name).unwrap().executor == Executor::Client;
        assert!(!is_client("paint") && is_client("paint_client_1") && is_client("speak"));
        assert_eq!(catalog.registered_name("paint_client_1"), "paint");
        assert_eq!(catalog.offered_name("paint"), Some("paint"));
        assert_eq!(catalog.offered_name("speak"), None, "no response tool");
    }
}
