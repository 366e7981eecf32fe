//! The calls of a query, for its final event.

use bridge_protocol::QueryToolCall;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// The maximum total size of the recorded results, in bytes. A result beyond it is left out; its
/// call is still recorded.
const MAX_RESULT_BYTES: usize = 4 * 1024 * 1024;

/// The calls of a query, in the order in which they ended.
#[derive(Debug, Default)]
pub(super) struct ToolCallLog {
    calls: Vec<QueryToolCall>,
    result_bytes: usize,
}

impl ToolCallLog {
    /// Records a call that has ended.
    pub(super) fn add(
        &mut self,
        tool: String,
        arguments: &Map<String, Value>,
        result: Option<Box<RawValue>>,
    ) {
        let arguments = to_raw_value(arguments).unwrap_or_default();
        let bytes = result.as_ref().map_or(0, |result| result.get().len());
        let is_within_limit = self.result_bytes + bytes <= MAX_RESULT_BYTES;
        if is_within_limit {
            self.result_bytes += bytes;
        }
        self.calls.push(QueryToolCall {
            tool,
            arguments,
            result: result.filter(|_| is_within_limit),
            source: None,
        });
    }

    pub(super) fn into_calls(self) -> Vec<QueryToolCall> {
        self.calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_beyond_the_limit_are_left_out_and_their_calls_are_not() {
        let large = || to_raw_value(&"x".repeat(MAX_RESULT_BYTES / 2)).ok();
        let mut log = ToolCallLog::default();
        for _ in 0..2 {
            log.add("large".to_owned(), &Map::new(), large());
        }
        log.add("small".to_owned(), &Map::new(), to_raw_value(&1).ok());
        let calls = log.into_calls();
        let has_result: Vec<_> = calls.iter().map(|call| call.result.is_some()).collect();
        assert_eq!(has_result, [true, false, true]);
    }
}
