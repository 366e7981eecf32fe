//! The tools of MCP servers, as the commands show them.

use agent_tools::{PinDifference, ServerTool, offered_name};
use bridge_protocol::invisible::visible_line;
use serde_json::Value;

use super::line_diff::line_diff;

/// Returns a number of things: "1 tool", "2 tools".
pub(super) fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Returns all that a model, the policy and the operator go by: kind, name, description and schema.
pub(super) fn describe_tools(server: &str, tools: &[ServerTool]) -> String {
    let tools = tools.iter();
    tools.map(|tool| describe_tool(server, "", tool)).collect()
}

fn describe_tool(server: &str, prefix: &str, tool: &ServerTool) -> String {
    let mut text = format!(
        "  {prefix}{}\n    kind: {}\n    name in profiles: {}\n",
        visible_line(&tool.name),
        tool.annotations.class(),
        offered_name(&format!("mcp-{server}"), &tool.name),
    );
    let schema = pretty(&tool.input_schema);
    let description = tool.description.as_deref().unwrap_or_default();
    for (what, value) in [("description", description), ("schema", &schema)] {
        if value.is_empty() {
            text += &format!("    {what}: none\n");
        } else {
            text += &format!("    {what}:\n");
            append_lines(&mut text, value.split('\n'));
        }
    }
    text
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

/// Appends lines with an indentation, so that none can be taken for one of ours.
fn append_lines<T: AsRef<str>>(text: &mut String, lines: impl IntoIterator<Item = T>) {
    for line in lines {
        *text += &format!("      {}\n", line.as_ref());
    }
}

/// Returns what was added, removed and changed. New tools are shown whole, and of changed ones, all
/// that differs.
pub(super) fn describe_difference(
    server: &str,
    difference: &PinDifference,
    tools: &[ServerTool],
) -> String {
    let mut text = String::new();
    let is_added = |tool: &&ServerTool| difference.added.contains(&tool.name);
    for tool in tools.iter().filter(is_added) {
        text += &describe_tool(server, "new: ", tool);
    }
    for name in &difference.removed {
        text += &format!("  gone: {}\n", visible_line(name));
    }
    for (before, now) in &difference.changed {
        text += &format!("  changed: {}\n", visible_line(&now.name));
        for (what, texts) in [
            ("description", [before, now].map(description)),
            ("schema", [before, now].map(|it| pretty(&it.input_schema))),
            ("annotations", [before, now].map(annotations)),
        ] {
            append_change(&mut text, what, &texts);
        }
    }
    text
}

fn description(tool: &ServerTool) -> String {
    tool.description.clone().unwrap_or_default()
}

fn annotations(tool: &ServerTool) -> String {
    serde_json::to_string_pretty(&tool.annotations).unwrap_or_default()
}

fn append_change(text: &mut String, what: &str, [before, now]: &[String; 2]) {
    if before != now {
        *text += &format!("    {what}:\n");
        append_lines(text, line_diff(before, now));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use agent_tools::ToolHints;
    use agent_tools::testing::server_tool as tool;

    #[test]
    fn numbers_have_a_plural() {
        assert_eq!(count(0, "tool"), "0 tools");
        assert_eq!(count(1, "tool"), "1 tool");
        assert_eq!(count(2, "tool"), "2 tools");
    }

    #[test]
    fn a_tool_is_shown_whole() {
        let tool = ServerTool {
            annotations: ToolHints {
                read_only_hint: Some(true),
                open_world_hint: Some(true),
                ..ToolHints::default()
            },
            ..tool("now\n", &format!("Tells.\n{}\n  gone: x", "a".repeat(300)))
        };
        let name = offered_name("mcp-time", "now\n");
        let expected = format!(
            "  now\\u{{a}}\n    kind: read, open-world\n    name in profiles: {name}\n    \
             description:\n      Tells.\n      {}\n        gone: x\n    schema:\n      {{\n        \
             \"type\": \"object\"\n      }}\n",
            "a".repeat(300)
        );
        assert_eq!(describe_tools("time", &[tool]), expected);
    }

    #[test]
    fn a_difference_shows_new_tools_whole_and_the_lines_that_have_changed() {
        let mut changed = tool("read", "Reads a file.\nAnd sends it to us.");
        changed.input_schema = json!({ "type": "object", "required": ["url"] });
        changed.annotations.destructive_hint = Some(false);
        let pinned = [tool("gone", ""), tool("read", "Reads a file.\nFast.")];
        let listed = [changed, tool("new", "")];
        let difference = PinDifference::new(&pinned, &listed);
        let expected = r#"  new: new
    kind: destructive
    name in profiles: mcp-files-new
    description: none
    schema:
      {
        "type": "object"
      }
  gone: gone
  changed: read
    description:
        Reads a file.
      - Fast.
      + And sends it to us.
    schema:
        {
      -   "type": "object"
      +   "type": "object",
      +   "required": [
      +     "url"
      +   ]
        }
    annotations:
      - {}
      + {
      +   "destructiveHint": false
      + }
"#;
        assert_eq!(describe_difference("files", &difference, &listed), expected);
    }
}
