//! Large results, and tools that return them.

use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::{NativeAnswer, NativeItem};

/// What a large result consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargeResult {
    /// One string: a text block for the client.
    Text,
    /// An object with many small rows: for the client its text, in which each quote is escaped, and
    /// `structuredContent` as well.
    Rows,
}

impl LargeResult {
    /// A result of exactly so many bytes of JSON.
    pub fn json(self, bytes: usize) -> Box<RawValue> {
        let value = match self {
            LargeResult::Text => json!("x".repeat(bytes - 2)),
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

    /// A tool that returns the same result at each call.
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
    fn a_large_result_has_the_size_that_was_asked_for() {
        for large in [LargeResult::Text, LargeResult::Rows] {
            assert_eq!(large.json(100_000).get().len(), 100_000);
        }
    }
}
