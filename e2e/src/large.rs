//! Large results of tools.

use mcp_web_sdk::{Handle, McpWeb, NoArguments, Tool};
use serde_json::{Value, json};

/// The kind of a large result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargeResult {
    /// One string, which becomes a text block.
    Text,
    /// One string of lines, some of whose characters must be escaped.
    Lines,
    /// An object with many small rows. Clients get it as a text, in which each quote is escaped,
    /// and as `structuredContent`.
    Rows,
}

/// A line of [`LargeResult::Lines`].
const LINE: &str = "A page said \"hello\" to the na\\ïve world: it is 20 °C, and no cloud.\n";

impl LargeResult {
    /// Returns a result of exactly this size in JSON.
    pub fn json(self, bytes: usize) -> Value {
        let value = match self {
            LargeResult::Text => json!("x".repeat(bytes - 2)),
            LargeResult::Lines => {
                let line = json!(LINE).to_string().len() - 2;
                let lines = LINE.repeat((bytes - 2) / line);
                json!(lines + &"x".repeat((bytes - 2) % line))
            }
            LargeResult::Rows => {
                let row =
                    |id: usize| json!({ "id": id, "name": format!("row {id}"), "done": false });
                let size = row(1_000_000).to_string().len() + 1;
                let rows: Vec<_> = (1_000_000..).take((bytes - 64) / size).map(row).collect();
                let mut value = json!({ "pad": "", "rows": rows });
                let missing = bytes - value.to_string().len();
                value["pad"] = "x".repeat(missing).into();
                value
            }
        };
        assert_eq!(value.to_string().len(), bytes);
        value
    }

    /// Adds a tool that always returns the same result of this size.
    pub fn add_tool(self, app: &McpWeb, name: &str, bytes: usize) -> Handle {
        let result = self.json(bytes);
        app.add_tool(Tool::new(name), move |_: NoArguments, _| {
            std::future::ready(Ok(result.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_results_have_the_requested_size() {
        for large in [LargeResult::Text, LargeResult::Lines, LargeResult::Rows] {
            assert_eq!(large.json(100_000).to_string().len(), 100_000);
        }
    }
}
