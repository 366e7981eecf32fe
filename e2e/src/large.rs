//! Large results of tools.

use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::{NativeAnswer, NativeItem};

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
    pub fn json(self, bytes: usize) -> Box<RawValue> {
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
        let raw = to_raw_value(&value).expect("a value is JSON");
        assert_eq!(raw.get().len(), bytes);
        raw
    }

    /// Creates a tool that always returns the same result of this size.
    pub fn tool(self, name: &str, bytes: usize) -> NativeItem {
        let result = self.json(bytes);
        NativeItem::tool(name, move |_| {
            let result = result.clone();
            async move { Ok(NativeAnswer::Raw(result)) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_results_have_the_requested_size() {
        for large in [LargeResult::Text, LargeResult::Lines, LargeResult::Rows] {
            assert_eq!(large.json(100_000).get().len(), 100_000);
        }
    }
}
