//! The command `tools`.

use std::process::ExitCode;

use bridge_output::{print, print_to_stderr};
use bridge_protocol::BUILTIN_TOOLS;
use bridge_protocol::invisible::{escape_in_json, visible_line};
use clap::Args;
use client_stdio::ConnectionFlags;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::bridge_request::{fail, request};

/// The command line of the command.
#[derive(Args)]
pub(crate) struct ToolsCommand {
    #[command(flatten)]
    connection: ConnectionFlags,

    /// Print JSON, with complete descriptions and schemas
    #[arg(long)]
    json: bool,
}

/// The answer of the bridge.
#[derive(Deserialize)]
struct ToolList {
    tools: Vec<ListedTool>,
}

/// A tool, as far as the list shows it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedTool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    input_schema: ListedSchema,
}

#[derive(Default, Deserialize)]
struct ListedSchema {
    #[serde(default)]
    properties: Map<String, Value>,
    #[serde(default)]
    required: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &ToolsCommand) -> ExitCode {
    match list(arguments) {
        Ok(text) => ExitCode::from(print(&text)),
        Err(error) => fail(&error),
    }
}

fn list(arguments: &ToolsCommand) -> Result<String, String> {
    let json = request(&arguments.connection, async |routes| routes.list().await)?;
    let list: Result<ToolList, _> = serde_json::from_str(&json);
    let list = list.map_err(|error| format!("the answer is not a list of tools: {error}"))?;
    if are_builtin(&list.tools) {
        print_to_stderr(
            "no page is connected for this token, and these are the tools of the bridge: open the app, or \
             copy the token from its configuration panel again",
        );
    }
    if arguments.json {
        return Ok(format!("{}\n", escape_in_json(&json)));
    }
    Ok(list.tools.iter().map(ListedTool::line).collect())
}

impl ListedTool {
    /// Returns a line with the name, the arguments and the begin of the description.
    fn line(&self) -> String {
        let ListedSchema {
            properties,
            required,
        } = &self.input_schema;
        let arguments = properties.keys().map(|name| {
            let mark = if required.contains(name) { "" } else { "?" };
            format!("{name}{mark}")
        });
        let arguments: Vec<_> = arguments.collect();
        let mut line = format!("{}({})", self.name, arguments.join(", "));
        if let Some(description) = self.description.lines().next() {
            line = format!("{line}: {description}");
        }
        format!("{}\n", visible_line(&line))
    }
}

/// Returns whether every bridge has these tools.
fn are_builtin(tools: &[ListedTool]) -> bool {
    let builtin: Vec<ListedTool> = serde_json::from_str(BUILTIN_TOOLS).unwrap_or_default();
    let mut names = tools.iter().map(|tool| &tool.name);
    names.all(|name| builtin.iter().any(|tool| tool.name == *name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(tool: Value) -> String {
        serde_json::from_value::<ListedTool>(tool).unwrap().line()
    }

    #[test]
    fn a_tool_is_one_line_with_its_arguments() {
        let schema = json!({
            "type": "object",
            "properties": { "title": {}, "column": {} },
            "required": ["title"],
        });
        let description = "Adds a card.\nTo a column.";
        let tool = json!({ "name": "add", "description": description, "inputSchema": schema });
        assert_eq!(line(tool), "add(title, column?): Adds a card.\n");
        assert_eq!(line(json!({ "name": "a" })), "a()\n");
        let hostile = json!({ "name": "a", "description": "\u{1b}[2Jb" });
        assert_eq!(line(hostile), "a(): \\u{1b}[2Jb\n");
    }

    #[test]
    fn the_tools_of_the_bridge_are_not_those_of_pages() {
        let tools = |names: &[&str]| {
            let tools = names.iter().map(|name| json!({ "name": name }));
            serde_json::from_value::<Vec<_>>(tools.collect()).unwrap()
        };
        assert!(are_builtin(&tools(&["list_active_sessions", "get_result"])));
        assert!(!are_builtin(&tools(&["list_active_sessions", "add_card"])));
    }
}
