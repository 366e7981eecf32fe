//! The tools that pages register.

use e2e::LargeResult;
use serde_json::{Value, json};

/// The number of tools of each page.
pub(crate) const TOOLS: usize = 10;

/// The tools of pages that are called as fast as they answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadTools {
    /// Whether they have schemas for arguments and result, as nearly all tools have.
    pub(crate) schemas: bool,
}

impl LoadTools {
    pub(crate) const WITH_SCHEMAS: Self = Self { schemas: true };
    pub(crate) const WITHOUT_SCHEMAS: Self = Self { schemas: false };

    /// Returns the tools of a page.
    pub(crate) fn definitions(self, page: usize) -> Vec<Value> {
        (0..TOOLS)
            .map(|tool| self.definition(&name(page, tool)))
            .collect()
    }

    fn definition(self, name: &str) -> Value {
        let mut tool = json!({ "name": name, "description": "Always returns the same" });
        if self.schemas {
            tool["inputSchema"] = json!({ "type": "object", "properties": {
                "query": { "type": "string", "maxLength": 200 },
                "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
            }, "required": ["query"], "additionalProperties": false });
            tool["outputSchema"] = json!({ "type": "object", "properties": {
                "rows": { "type": "array", "items": { "type": "object", "properties": {
                    "id": { "type": "integer" },
                    "name": { "type": "string" },
                    "done": { "type": "boolean" },
                }, "required": ["id", "name", "done"] } },
                "pad": { "type": "string" },
            }, "required": ["rows"] });
        }
        tool
    }
}

/// Returns the tool of a page that is called: the last one, so that the cost of a linear search
/// would be visible.
pub(crate) fn called_tool(page: usize) -> String {
    name(page, TOOLS - 1)
}

fn name(page: usize, tool: usize) -> String {
    format!("page_{page}_tool_{tool}")
}

/// Returns the result of tools: JSON of exactly this size.
pub(crate) fn payload(kind: LargeResult, bytes: usize) -> String {
    kind.json(bytes).to_string()
}

/// The subjects of the tools of a board; they differ in length, as the descriptions do.
const NOUNS: [&str; TOOLS] = [
    "card",
    "column",
    "comment",
    "label",
    "attachment",
    "member",
    "checklist",
    "board",
    "due date",
    "notification",
];

/// A tool of each board.
pub(crate) const BOARD_TOOL: &str = "update_card_0";

/// Returns the tools of a board: realistic definitions of 280 to 500 bytes, which differ between
/// workspaces.
pub(crate) fn board_tools(workspace: Option<usize>) -> Vec<Value> {
    let suffix = workspace.map_or(String::new(), |number| format!(" (workspace {number})"));
    let tools = NOUNS.iter().enumerate();
    tools
        .map(|(number, noun)| board_tool(number, noun, &suffix))
        .collect()
}

fn board_tool(number: usize, noun: &str, suffix: &str) -> Value {
    let mut properties = json!({
        "id": { "type": "string", "description": format!("The id of the {noun}") },
        "title": { "type": "string", "minLength": 1, "maxLength": 200 },
    });
    if number.is_multiple_of(2) {
        properties["position"] = json!({ "type": "integer", "minimum": 0 });
    }
    if number.is_multiple_of(3) {
        properties["labels"] = json!({ "type": "array", "items": { "type": "string" } });
    }
    json!({
        "name": format!("update_{}_{number}", noun.replace(' ', "_")),
        "description": format!("Changes a {noun} of the board that the user looks at{suffix}"),
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": ["id"],
            "additionalProperties": false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_a_board_have_a_realistic_size_and_differ_between_workspaces() {
        for tool in board_tools(Some(9_999)) {
            let length = tool.to_string().len();
            assert!((280..=500).contains(&length), "{length}");
        }
        assert_eq!(board_tools(None)[0]["name"], BOARD_TOOL);
        assert_ne!(board_tools(Some(1)), board_tools(Some(2)));
    }

    #[test]
    fn payloads_are_compact_json_of_the_requested_size() {
        for kind in [LargeResult::Rows, LargeResult::Lines] {
            let json = payload(kind, 1_000);
            let value: Value = serde_json::from_str(&json).unwrap();
            assert_eq!((json.len(), value.to_string()), (1_000, json.clone()));
        }
    }
}
