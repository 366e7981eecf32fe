//! The tools that the model can call at the moment.

use std::sync::Arc;
use std::time::Duration;

use crate::bridge::{PageTool, ToolClass, ToolEffect};
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
    pub(super) executor: Executor,
}

/// Who executes a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Executor {
    Page,
    /// The client that asks.
    Client,
    /// The agent: the tool changes the state that the application shares.
    Agent,
    /// Nobody: the arguments of a call are the answer to the query.
    Answer,
}

impl Executor {
    /// Returns what is appended to the name of a tool if another tool has that name.
    fn suffix(self) -> &'static str {
        match self {
            Self::Page => "_page",
            Self::Client => "_client",
            Self::Agent | Self::Answer => "_agent",
        }
    }
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

    /// Adds tools that the page does not execute. Those whose name another tool has get another one.
    pub(super) fn with(self, executor: Executor, more: &[Tool]) -> Self {
        if more.is_empty() {
            return self;
        }
        let mut tools = self.tools.to_vec();
        let mut infos = self.infos;
        for tool in more {
            let name = free_name(&tool.name, executor.suffix(), &tools);
            tools.push(Tool {
                name,
                ..tool.clone()
            });
            infos.push(ToolInfo {
                registered_name: tool.name.clone(),
                own_timeout: None,
                class: OTHER_CLASS,
                executor,
            });
        }
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
        let index = infos.position(|info| {
            info.registered_name == registered && info.executor == Executor::Page
        })?;
        Some(&self.tools.get(index)?.name)
    }

    /// Returns whether the page has registered a tool with this name, or the model calls one by it.
    pub(super) fn has_page_tool(&self, name: &str) -> bool {
        let is_offered = |info: &ToolInfo| info.executor == Executor::Page;
        self.offered_name(name).is_some() || self.info(name).is_some_and(is_offered)
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
        executor: Executor::Page,
    };
    (info, tool)
}

/// The class of tools that the page does not execute. They are made without the approval of a person:
/// the client asks for it itself.
const OTHER_CLASS: ToolClass = ToolClass {
    effect: ToolEffect::Write,
    is_open_world: false,
};

/// The maximum length of a name, in bytes. Providers of models accept no more.
const MAX_NAME_BYTES: usize = 64;

/// Returns a name that no other tool has: `name`, or one with this suffix.
fn free_name(name: &str, suffix: &str, tools: &[Tool]) -> String {
    let is_free = |name: &str| !tools.iter().any(|tool| tool.name == name);
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

fn tool_bytes(tool: &Tool) -> u64 {
    let description = tool.description.as_deref().unwrap_or_default().len();
    (tool.name.len() + description + tool.input_schema.to_string().len()) as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            description: None,
            input_schema: json!({ "type": "object" }),
        }
    }

    #[test]
    fn tools_of_the_page_keep_their_names_beside_those_of_the_client() {
        let long = "x".repeat(MAX_NAME_BYTES);
        let page_tools = ["paint", "paint_client", &long].map(|name| PageTool {
            registered_name: name.to_owned(),
            own_timeout: None,
            class: OTHER_CLASS,
            tool: tool(name),
        });
        let client_tools = ["paint", "speak", &long].map(tool);
        let catalog = ToolCatalog::new(page_tools.into()).with(Executor::Client, &client_tools);
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
