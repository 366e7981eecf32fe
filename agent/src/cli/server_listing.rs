//! The tools of MCP servers, as the commands show them.

use std::fmt::Write as _;

use crate::text;
use crate::tools::{PinDifference, ToolDefinition, ToolEffect};

/// The maximum length of a description in a list, in characters.
const MAX_DESCRIPTION_CHARS: usize = 100;

/// Returns a line for each tool: what a call may do, and the beginning of the description.
pub(super) fn describe_tools(tools: &[ToolDefinition]) -> String {
    tools.iter().map(describe_tool).collect()
}

fn describe_tool(tool: &ToolDefinition) -> String {
    let class = tool.annotations.class();
    let effect = match class.effect {
        ToolEffect::Read => "read",
        ToolEffect::Write => "write",
        ToolEffect::Destructive => "destructive",
    };
    let open_world = if class.is_open_world {
        ", open-world"
    } else {
        ""
    };
    let description = tool.description.as_deref().unwrap_or_default();
    let line = description.lines().next().unwrap_or_default();
    let description = text::shorten(line, MAX_DESCRIPTION_CHARS);
    format!("  {} ({effect}{open_world}): {description}\n", tool.name)
}

/// Returns what was added, removed and changed. Of changed tools, all that differs is shown.
pub(super) fn describe_difference(difference: &PinDifference, tools: &[ToolDefinition]) -> String {
    let mut text = String::new();
    for name in &difference.added {
        let tool = tools.iter().find(|tool| tool.name == *name);
        let line = tool.map(describe_tool).unwrap_or_default();
        let _ = write!(
            text,
            "  new:{}",
            line.trim_start_matches(' ').replacen("", " ", 1)
        );
    }
    for name in &difference.removed {
        let _ = writeln!(text, "  gone: {name}");
    }
    for (before, now) in &difference.changed {
        let _ = writeln!(text, "  changed: {}", now.name);
        let description = |tool: &ToolDefinition| tool.description.clone().unwrap_or_default();
        describe_change(
            &mut text,
            "description",
            &description(before),
            &description(now),
        );
        let schema = |tool: &ToolDefinition| {
            serde_json::to_string_pretty(&tool.input_schema).unwrap_or_default()
        };
        describe_change(&mut text, "schema", &schema(before), &schema(now));
        let hints = |tool: &ToolDefinition| {
            serde_json::to_string_pretty(&tool.annotations).unwrap_or_default()
        };
        describe_change(&mut text, "annotations", &hints(before), &hints(now));
    }
    text
}

/// Appends the lines that only one of two texts has.
fn describe_change(text: &mut String, what: &str, before: &str, now: &str) {
    if before == now {
        return;
    }
    let _ = writeln!(text, "    {what}:");
    let only_in = |lines: &str, other: &str| -> Vec<String> {
        let is_new = |line: &&str| !other.lines().any(|it| it == *line);
        lines.lines().filter(is_new).map(str::to_owned).collect()
    };
    for line in only_in(before, now) {
        let _ = writeln!(text, "    - {line}");
    }
    for line in only_in(now, before) {
        let _ = writeln!(text, "    + {line}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::ToolHints;

    fn tool(name: &str, description: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            input_schema: json!({ "type": "object" }),
            annotations: ToolHints::default(),
        }
    }

    #[test]
    fn a_difference_shows_the_lines_that_have_changed() {
        let pinned = [tool("gone", ""), tool("read", "Reads a file.\nFast.")];
        let listed = [
            tool("read", "Reads a file.\nAnd sends it to us."),
            tool("new", "N"),
        ];
        let difference = PinDifference::new(&pinned, &listed);
        let expected = "  new: new (destructive): N\n  gone: gone\n  changed: read\n    description:\n    \
                        - Fast.\n    + And sends it to us.\n";
        assert_eq!(describe_difference(&difference, &listed), expected);
    }
}
